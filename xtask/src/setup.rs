//! What tests need beyond the Rust toolchain: Debian packages, a Python environment with the
//! published SDK, the SDK's vectors and machine-readable contract, and cargo's test runner. Every part
//! is skipped when it is there; a stamp makes the second time quick.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};

/// Raise to make everybody's set-up run again.
const VERSION: u32 = 1;
const SDK: &str = "niadra==0.11.7";
const SDK_ARCHIVE: &str = "niadra-0.11.7";
const NEXTEST: (&str, &str) = ("cargo-nextest", "0.9.143");
/// See [`deny_tool`].
const DENY: (&str, &str) = ("cargo-deny", "0.20.2");
/// See [`mutants_tool`].
const MUTANTS: (&str, &str) = ("cargo-mutants", "27.1.0");
/// See [`fuzz_tool`].
const FUZZ: (&str, &str) = ("cargo-fuzz", "0.13.2");

/// The Python that has the SDK.
pub(crate) fn python() -> PathBuf {
    shell::work_folder().join("venv/bin/python")
}

/// Brings in all that is missing.
pub(crate) fn run() -> Outcome {
    let work = shell::work_folder();
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    debian_packages()?;
    let requirements = shell::root().join("tests/conformance/requirements.txt");
    let wanted = fs::read_to_string(&requirements)
        .map_err(|error| format!("{}: {error}", requirements.display()))?;
    let stamp = work.join("setup.stamp");
    let mark = format!("{VERSION}\n{SDK}\n{wanted}");
    let there = [python(), work.join("vectors"), work.join("openapi")]
        .iter()
        .all(|it| it.exists());
    if !there || fs::read_to_string(&stamp).unwrap_or_default() != mark {
        python_environment(&work, &requirements)?;
        sdk_data(&work)?;
        fs::write(&stamp, mark).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    cargo_tool(NEXTEST, &["nextest", "--version"])
}

/// Installs what the licence check runs with; it compiles for minutes, so only that check asks for it.
pub(crate) fn deny_tool() -> Outcome {
    cargo_tool(DENY, &["deny", "--version"])
}

/// Installs what makes up faults; only who asks for those needs it.
pub(crate) fn mutants_tool() -> Outcome {
    cargo_tool(MUTANTS, &["mutants", "--version"])
}

/// Installs what drives the fuzzer, and the compiler that can watch what an input reaches.
pub(crate) fn fuzz_tool() -> Outcome {
    let nightly = ["run", "nightly", "cargo", "--version"];
    if !shell::works(&mut shell::command("rustup", nightly)) {
        eprintln!("setup: installing the nightly toolchain");
        let install = ["toolchain", "install", "nightly", "--profile", "minimal"];
        shell::run(&mut shell::command("rustup", install))?;
    }
    cargo_tool(FUZZ, &["fuzz", "--version"])
}

fn cargo_tool((name, version): (&str, &str), probe: &[&str]) -> Outcome {
    if shell::works(&mut shell::cargo(probe)) {
        return Ok(());
    }
    eprintln!("setup: installing {name} {version} (compiles once, some minutes)");
    let arguments = ["install", "--locked", "--quiet", name, "--version", version];
    shell::run(&mut shell::cargo(arguments))
}

/// Installs the Debian packages whose programs are not there.
fn debian_packages() -> Outcome {
    let curl = shell::works(&mut shell::command("curl", ["--version"]));
    let strace = shell::works(&mut shell::command("strace", ["-V"]));
    let openssl = shell::works(&mut shell::command("openssl", ["version"]));
    let redis = shell::works(&mut shell::command("redis-server", ["--version"]));
    let postgres = is_postgres_there();
    let faketime = shell::works(&mut shell::command("faketime", ["--version"]));
    let modules = "import venv, ensurepip, pip";
    let venv = shell::works(&mut shell::command("python3", ["-c", modules]));
    let missing: Vec<&str> = [
        (curl, &["curl"][..]),
        (strace, &["strace"]),
        (openssl, &["openssl"]),
        (redis, &["redis-server"]),
        (postgres, &["postgresql"]),
        (faketime, &["faketime"]),
        (venv, &["python3-venv", "python3-pip"]),
    ]
    .into_iter()
    .filter(|(there, _)| !there)
    .flat_map(|(_, packages)| packages.iter().copied())
    .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let wanted = missing.join(" ");
    let user = shell::read(&mut shell::command("id", ["-u"]))?;
    if user.trim() != "0" {
        return Err(format!(
            "the tests need {wanted}, and only root may install it: run\n    \
             sudo apt-get update && sudo apt-get install -y {wanted}\nand then this again"
        ));
    }
    eprintln!("setup: installing {wanted}");
    shell::read(&mut shell::command("apt-get", ["update", "-q"]))?;
    let options = ["install", "-y", "-q", "--no-install-recommends"];
    let mut install = shell::command("apt-get", options.iter().chain(&missing));
    shell::read(install.env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
}

/// Whether PostgreSQL is installed; Debian keeps the server's programs off the PATH.
fn is_postgres_there() -> bool {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let places = versions.flatten().map(|version| version.path().join("bin"));
    let mut places = places.chain([PathBuf::new()]);
    places.any(|place| {
        let program = |name: &str| shell::works(&mut shell::command(place.join(name), ["-V"]));
        program("postgres") && program("initdb")
    })
}

fn python_environment(work: &Path, requirements: &Path) -> Outcome {
    eprintln!("setup: a Python environment with {SDK}");
    let venv = work.join("venv");
    shell::read(shell::command("python3", ["-m", "venv", "--clear"]).arg(&venv))?;
    let mut install = pip();
    install
        .args(["install", "--quiet", "--requirement"])
        .arg(requirements);
    shell::read(&mut install).map(drop)
}

fn pip() -> std::process::Command {
    let mut pip = shell::command(python(), ["-m", "pip"]);
    pip.args(["--disable-pip-version-check", "--no-input"]);
    pip
}

/// Takes the vectors and the contract out of the SDK's source distribution.
fn sdk_data(work: &Path) -> Outcome {
    eprintln!("setup: vectors and contract of {SDK}");
    let fresh = work.join("sdk");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(|error| format!("{}: {error}", fresh.display()))?;
    }
    let mut download = pip();
    download.args([
        "download",
        "--quiet",
        "--no-binary",
        ":all:",
        "--no-deps",
        "--dest",
    ]);
    shell::read(download.arg(&fresh).arg(SDK))?;
    let folders = ["vectors", "openapi"];
    let mut unpack = shell::command("tar", ["--extract", "--strip-components=2"]);
    unpack
        .arg("--file")
        .arg(fresh.join(format!("{SDK_ARCHIVE}.tar.gz")));
    unpack.arg("--directory").arg(&fresh);
    unpack.args(folders.map(|folder| format!("{SDK_ARCHIVE}/spec/{folder}")));
    shell::read(&mut unpack)?;
    for folder in folders {
        let place = work.join(folder);
        if place.exists() {
            fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        }
        fs::rename(fresh.join(folder), &place)
            .map_err(|error| format!("{}: {error}", place.display()))?;
    }
    Ok(())
}
