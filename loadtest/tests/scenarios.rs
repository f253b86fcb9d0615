//! Every scenario once, short, against a server it starts itself: all answers are right, the document
//! has what the scenario is for, and nothing is left behind. Nothing here is about speed.
//!
//! The server is `interlock` beside the harness; a run of the workspace's tests builds it first.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use serde_json::Value;

const LOAD: &str = env!("CARGO_BIN_EXE_interlock-load");

fn server() -> PathBuf {
    let beside = Path::new(LOAD).with_file_name("interlock");
    assert!(
        beside.is_file(),
        "{} is not built: cargo build --bin interlock",
        beside.display()
    );
    beside
}

fn harness(words: &[&str]) -> Output {
    let run = Command::new(LOAD).args(words).output();
    run.expect("the built harness runs")
}

/// What a short run of a scenario finds, all of it right.
fn found(words: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, data) = (server(), folder.path().to_owned());
    let mut line: Vec<&str> = words.split(' ').collect();
    line.extend(["--spawn", server.to_str().expect("a path")]);
    line.extend(["--data", data.to_str().expect("a path")]);
    line.push("--json");
    let output = harness(&line);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(output.status.code(), Some(0), "{words}: {told}\n{document}");
    assert_eq!(document["passed"], true, "{words}: {document}");
    let left = std::fs::read_dir(&data).expect("a list").count();
    assert_eq!(left, 0, "{words}: its directory is gone");
    document
}

/// A figure of the first run that must be there and above 0.
fn figure(document: &Value, pointer: &str) -> f64 {
    let value = document["runs"][0].pointer(pointer).and_then(Value::as_f64);
    let value = value.unwrap_or_else(|| panic!("no {pointer} in {document}"));
    assert!(value > 0.0, "{pointer} in {document}");
    value
}

#[test]
fn single() {
    let document = found("single --rate 100 --requests 50");
    assert_eq!(document["runs"][0]["pace"], "open");
    assert_eq!(document["servers"][0]["spawned"], true);
    figure(&document, "/throughput/per_second");
    figure(&document, "/server/entities");
    figure(&document, "/server/written_bytes");
    assert!(document["runs"][0]["cpu"]["server_us"].is_number());
}

#[test]
fn batch() {
    let document = found("batch --closed --batch 50 --shards 2 --requests 20 --disk");
    assert_eq!(document["runs"][0]["pace"], "closed");
    let ready = document["servers"][0]["ready"].as_str().expect("a line");
    assert!(
        ready.starts_with("shards=2 engine=sled durability=fsync"),
        "{ready}"
    );
    figure(&document, "/ordered_pairs");
    figure(&document, "/server/record_bytes");
    let disk = &document["disk"];
    for name in [
        "alone_bytes_per_second",
        "record_bytes_per_second",
        "amplification",
    ] {
        assert!(disk[name].as_f64() > Some(0.0), "{name}: {disk}");
    }
    let busy = &document["runs"][0]["server"]["shards_busy"];
    assert_eq!(busy.as_array().map(Vec::len), Some(2), "{document}");
}

#[test]
fn tokens() {
    let document = found("tokens --closed --batch 20 --requests 8");
    figure(&document, "/tokens_verified");
    let words = document["words"][0].as_str().expect("a sentence");
    assert!(words.contains("in a tight loop here"), "{words}");
    assert!(!words.contains("not verified"), "{words}");
    assert!(
        document["signing"]["ratio"].as_f64() > Some(0.0),
        "{document}"
    );
}

#[test]
fn what_is_taken_and_given_back() {
    for words in ["claims", "effects", "paid", "declare"] {
        let document = found(&format!("{words} --closed --connections 2 --requests 40"));
        assert_eq!(document["scenario"], *words);
        figure(&document, "/throughput/requests_per_second");
    }
}

#[test]
fn mixed() {
    let document = found("mixed --closed --connections 4 --requests 120");
    figure(&document, "/requests");
    assert!(
        document["runs"][0]["steps"]
            .as_array()
            .is_some_and(|it| it.len() > 1)
    );
}

#[test]
fn hot() {
    let document =
        found("hot --closed --batch 20 --requests 10 --on spread,customer,object,half,space");
    let names = document["runs"].as_array().expect("runs").iter();
    let names: Vec<&str> = names.filter_map(|run| run["name"].as_str()).collect();
    let wanted = [
        "spread",
        "hot customer",
        "hot object",
        "spread half alone",
        "spread half beside the hot half",
        "hot half beside the spread half",
        "quiet space alone",
        "quiet space beside the flooding space",
        "flooding space beside the quiet space",
    ];
    assert_eq!(names, wanted);
    assert_eq!(document["words"].as_array().map(Vec::len), Some(2));
    let beside = document["beside"].as_array().expect("comparisons");
    let noisy: Vec<_> = beside
        .iter()
        .filter_map(|it| it["noisy"].as_str())
        .collect();
    assert_eq!(noisy, ["hot half", "flooding space"]);
}

#[test]
fn race() {
    let document = found("race --connections 8 --requests 200");
    let race = &document["race"];
    assert_eq!(race["violations"], Value::Array(Vec::new()));
    assert!(race["effect_attempts"].as_u64() > Some(0), "{race}");
    assert!(race["claims"].as_u64() > Some(0), "{race}");
}

#[test]
fn recover() {
    let document = found("recover --fill 1000 --seconds 1");
    let recovery = &document["recovery"];
    assert_eq!(recovery["lost"], 0);
    assert!(recovery["entities"].as_u64() > Some(0), "{recovery}");
    assert_eq!(document["servers"].as_array().map(Vec::len), Some(2));
}

#[test]
fn recover_with_a_long_journal() {
    let document = found("recover --fill 1000 --tail --set journal.journal_bytes_max=8388608");
    let recovery = &document["recovery"];
    assert_eq!(recovery["lost"], 0);
    // Near its bound, or where snapshots cut it before.
    assert!(
        recovery["journal_bytes"].as_u64() > Some(1_000_000),
        "{recovery}"
    );
}

/// The server's time passes faster, so that customers are purged while others come.
#[test]
fn steady() {
    let document = found("steady --seconds 3 --warm-up 1 --rate 2000 --quiet-rate 100 --live 2100");
    let steady = &document["steady"];
    assert!(steady["purged"].as_u64() > Some(0), "{steady}");
    assert!(steady["life_s"].as_f64() > Some(0.9), "{steady}");
    assert_eq!(document["beside"].as_array().map(Vec::len), Some(1));
    let names = document["runs"].as_array().expect("runs").iter();
    let names: Vec<&str> = names.filter_map(|run| run["name"].as_str()).collect();
    let wanted = [
        "single checks alone",
        "single checks beside batches",
        "batches",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn a_growth_that_only_fills_has_as_many_effects_as_customers() {
    let document = found("growth --fill-only --steps 500,1500");
    let entities = document["growth"].as_array().expect("steps").iter();
    let entities: Vec<_> = entities
        .filter_map(|step| step["entities"].as_u64())
        .collect();
    // One pair of checks in each batch of 500 shares an effect, and there are none in a fill.
    assert_eq!(entities, [1000, 3000]);
}

#[test]
fn shards_and_growth() {
    let document = found("shards --list 1,2 --requests 6");
    let words = document["words"][0].as_str().expect("a sentence");
    assert!(words.starts_with("Take "), "{words}");
    assert_eq!(document["shards"].as_array().map(Vec::len), Some(2));
    let document = found("growth --steps 500,1000 --requests 6");
    let steps = document["growth"].as_array().expect("steps");
    assert_eq!(steps.len(), 2);
    assert!(steps[1]["entities"].as_u64() > steps[0]["entities"].as_u64());
}

#[test]
fn peers() {
    let folder = tempfile::tempdir().expect("a folder");
    // PostgreSQL runs as another user when this is root's, and has to come by here.
    let passable = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(folder.path(), passable).expect("its mode");
    let data = folder.path().join("peers");
    std::fs::create_dir(&data).expect("a folder");
    let (page, data) = (folder.path().join("report.html"), data.display());
    let document = found(&format!(
        "peer --peer redis,postgres --at 1,2 --rounds 1 --batch 50 --requests 8 --peer-data {data} \
         --html {}",
        page.display()
    ));
    let peers = document["peers"].as_array().expect("peers");
    let of = |form| peers.iter().filter(|peer| peer["form"] == form).count();
    let forms = ["pipeline", "one call", "statement"].map(of);
    assert_eq!(forms, [2, 2, 2], "{document}");
    for peer in peers {
        let ratio = peer["ratio_to_best"]["median"].as_f64();
        assert!(ratio > Some(0.0), "{peer}");
    }
    let page = std::fs::read_to_string(page).expect("a page");
    for title in [
        "Interlock over Redis",
        "Interlock over PostgreSQL",
        "Latency",
    ] {
        assert!(page.contains(title), "{title}");
    }
    let left = std::fs::read_dir(data.to_string()).expect("a list").count();
    assert_eq!(left, 0, "the peers' directories are gone");
}

#[test]
fn nobody_to_ask_is_no_success() {
    let words = "single --url http://127.0.0.1:1 --key k --requests 1 --json";
    let output = harness(&words.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "nothing was measured");
    assert!(said.contains("is a server running there?"), "{said}");
    let output = harness(&["shards"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("give --spawn"), "{told}");
}

/// How many folders a harness has made in its own.
fn made(data: &Path) -> usize {
    std::fs::read_dir(data).expect("a list").count()
}

/// Some senders signal twice, and a terminal that goes away sends another signal than Ctrl-C.
#[test]
fn signals_leave_nothing_behind() {
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().expect("a folder");
        let (server, data) = (server(), folder.path());
        let mut command = Command::new(LOAD);
        command.args(["batch", "--closed", "--seconds", "600", "--spawn"]);
        command.arg(server).arg("--data").arg(data);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut run = command.spawn().expect("the built harness runs");
        let mut told = BufReader::new(run.stderr.take().expect("a pipe"));
        let mut first = String::new();
        told.read_line(&mut first).expect("how it goes");
        assert_eq!(made(data), 1, "{first}");
        for _ in 0..2 {
            kill_process(Pid::from_child(&run), signal).expect("it is there");
        }
        let mut rest = String::new();
        told.read_to_string(&mut rest).expect("how it ends");
        let status = run.wait().expect("it ends");
        assert_eq!(status.code(), Some(2), "{signal:?}");
        assert_eq!(made(data), 0, "{signal:?}: its directory is gone");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = Command::new(LOAD);
    command.args(["single", "--rate", "100", "--requests", "5", "--spawn"]);
    command.arg(server()).arg("--data").arg(folder.path());
    let output = command.stdout(full.expect("a device")).output();
    let output = output.expect("the built harness runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be written"), "{said}");
}
