//! The files that put the server to work, held to the server.
//!
//! Here: tests only. A flag, a code or a path that `deploy/` names must be one that exists.

use std::path::Path;

use clap::Parser;

use crate::config::Config;
use crate::exit::{self, Exit};
use crate::{Cli, Verb, serve};

const UNIT: &str = include_str!("../deploy/interlock.service");
const IMAGE: &str = include_str!("../deploy/Containerfile");
const PAGE: &str = include_str!("../docs/operate.md");

/// The value of the unit's one line with this name.
fn unit(name: &str) -> &'static str {
    let lines = UNIT.lines().filter_map(|line| line.split_once('='));
    let values: Vec<&str> = lines
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value)
        .collect();
    let [value] = values.as_slice() else {
        panic!("{name} is there once, not {values:?}");
    };
    value
}

/// The values of the image's instructions of one kind.
fn image(name: &str) -> Vec<String> {
    let joined = IMAGE.replace("\\\n", " ");
    let lines = joined.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

/// The flags of a command line that the server takes.
fn serving<S: AsRef<str>>(words: &[S]) -> Box<serve::Args> {
    let words = words.iter().map(AsRef::as_ref);
    match Cli::try_parse_from(words.clone()).map(|cli| cli.verb) {
        Ok(Verb::Serve(args)) => args,
        other => panic!("{:?} is {other:?}", words.collect::<Vec<_>>()),
    }
}

fn defaults() -> Config {
    Config::load(Some(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("config.toml"),
    ))
    .expect("the file in the repository is the defaults")
}

/// Whether a start after this end can go better although nobody has changed anything.
fn a_restart_may_mend(exit: Exit) -> bool {
    match exit {
        Exit::Done | Exit::Storage | Exit::Bug | Exit::Forced => true,
        Exit::Usage
        | Exit::Config
        | Exit::Listen
        | Exit::Locked
        | Exit::Corrupt
        | Exit::Secret
        | Exit::Clock
        | Exit::Format
        | Exit::Data
        | Exit::Seed
        // Only the verbs end with these.
        | Exit::NoServer
        | Exit::Refused
        | Exit::NotAccepted => false,
    }
}

#[test]
fn a_unit_is_restarted_only_for_what_a_restart_may_mend() {
    let codes: Vec<u8> = unit("RestartPreventExitStatus")
        .split(' ')
        .map(|code| code.parse().expect("a code"))
        .collect();
    let all = exit::ALL.iter().copied();
    let coming_back: Vec<u8> = all
        .filter(|exit| !a_restart_may_mend(*exit))
        .map(|exit| exit as u8)
        .collect();
    assert_eq!(codes, coming_back);
    assert_eq!(unit("Restart"), "always");
}

#[test]
fn both_start_a_server_with_flags_that_exist_and_data_in_their_own_folder() {
    let words: Vec<&str> = unit("ExecStart").split(' ').collect();
    let home = format!("/var/lib/{}", unit("StateDirectory"));
    assert_eq!(unit("WorkingDirectory"), home);
    let args = serving(&words);
    let data = args.data().expect("a data directory");
    assert!(data.starts_with(&home), "{}", data.display());
    assert!(words[0].ends_with("/interlock"), "{words:?}");
    // The page's blocks are for the unit as it stands.
    let user = unit("User");
    for said in [
        format!("sudo -u {user} interlock export --data {} ", data.display()),
        format!("--uid={user} \\\n  {} serve --data {home}/", words[0]),
    ] {
        assert!(PAGE.contains(&said), "{said}");
    }
    let commands = image("CMD");
    let [command] = commands.as_slice() else {
        panic!("one command, not {commands:?}");
    };
    let words: Vec<String> = serde_json::from_str(command).expect("a list of words");
    let args = serving(&words);
    let data = args.data().expect("a data directory");
    assert_eq!(image("VOLUME"), ["/var/lib/interlock"]);
    assert!(data.starts_with("/var/lib/interlock"), "{}", data.display());
    assert_eq!(image("STOPSIGNAL"), ["SIGTERM"]);
    assert_ne!(image("USER"), ["root"]);
}

#[test]
fn a_drain_ends_before_it_is_cut_short() {
    let wait_s: u64 = unit("TimeoutStopSec").parse().expect("seconds");
    let server = defaults().server;
    assert!(wait_s > server.stopping_notice_s + 2 * server.drain_s);
}

#[test]
fn the_image_shows_the_port_of_the_settings() {
    let listen = defaults().server.listen;
    let port = listen.rsplit(':').next().expect("a port");
    assert_eq!(image("EXPOSE"), [port]);
    for place in ["0.0.0.0:", "/dev/tcp/127.0.0.1/"] {
        assert!(IMAGE.contains(&format!("{place}{port}")), "{place}");
    }
}

#[test]
fn the_image_copies_what_there_is_and_every_member() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copies = image("COPY");
    let copied = || {
        let own = copies.iter().filter(|line| !line.starts_with("--from"));
        own.flat_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            words[..words.len() - 1].to_vec()
        })
    };
    for place in copied() {
        assert!(root.join(place).exists(), "{place}");
    }
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().expect("a manifest");
    let members = manifest["workspace"]["members"]
        .as_array()
        .expect("a workspace");
    for member in members {
        let member = member.as_str().expect("a folder");
        let there = copied().any(|place| Path::new(member).starts_with(place));
        assert!(there, "{member} is not copied");
    }
    for path in ["target/release/interlock", "deploy/interlock.service"] {
        let named = UNIT.contains(path) || IMAGE.contains(path);
        assert!(named, "{path} is named");
    }
}
