//! What a start refuses: one clear line, its own exit code, no stack trace.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::harness::Setup;

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");

#[test]
fn a_taken_port() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let setup = Setup::new().listen(&address);
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(4));
    assert_eq!(
        ended.refusal(),
        format!(
            "interlock: listen {address}: another process listens there; stop it, or choose another \
             address with --listen"
        )
    );
    assert!(!setup.data().path().exists(), "nothing was made");
}

#[test]
fn an_address_beyond_loopback() {
    let ended = Setup::new().listen("0.0.0.0:0").start_refused();
    assert_eq!(ended.code, Some(4));
    assert!(ended.refusal().ends_with("or say --insecure-http"));
    let server = Setup::new()
        .listen("0.0.0.0:0")
        .argument("--insecure-http")
        .start();
    assert_eq!(server.get("/healthz", "").status, 200);
}

/// Whoever may move the clock ends every lease and refills every budget: also TLS and the operator's word
/// for plain HTTP leave that to this machine.
#[test]
fn a_test_clock_beyond_loopback() {
    let setup = Setup::new()
        .listen("0.0.0.0:0")
        .argument("--insecure-http")
        .test_clock("2026-01-05T12:00:00Z");
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let said = ended.refusal();
    assert!(said.contains("without a key; listen on loopback"), "{said}");
    assert!(said.ends_with("or start without --test-clock"), "{said}");
    assert!(!setup.data().path().exists(), "nothing was made");
}

/// Pitfall 31.
#[test]
fn a_locked_directory() {
    let server = Setup::new().start();
    let other = Setup::new()
        .argument("--data")
        .argument(server.data().path());
    let ended = other.start_refused();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let place = server.data().path().display().to_string();
    assert!(ended.refusal().contains(&place), "{ended:?}");
    assert!(
        ended.refusal().contains("stop it, or name another"),
        "{ended:?}"
    );
}

#[test]
fn a_secret_that_was_swapped_or_lost() {
    let setup = Setup::new();
    assert_eq!(setup.start().terminate().code, Some(0));
    let secret = setup.data().path().join("secret");
    let right = fs::read(&secret).unwrap();
    fs::write(&secret, [7; 32]).unwrap();
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(7));
    assert!(
        ended
            .refusal()
            .contains("is not the secret this data was written with")
    );
    fs::remove_file(&secret).unwrap();
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(7));
    assert!(ended.refusal().contains("is gone"));
    fs::write(&secret, right).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    let server = setup.start();
    let mode = fs::metadata(&secret).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "an open secret is closed");
    drop(server);
}

#[test]
fn settings_that_cannot_be_read() {
    let ended = Setup::new()
        .argument("--config")
        .argument("none.toml")
        .start_refused();
    assert_eq!(ended.code, Some(3));
    assert!(
        ended
            .refusal()
            .starts_with("interlock: config none.toml: cannot be read")
    );
}

#[test]
fn an_unknown_setting_names_the_nearest() {
    let setup = Setup::new().config("[shards]\nturn_command_max = 4\n");
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(3));
    assert_eq!(
        ended.refusal(),
        "interlock: config config.toml: line 2: unknown setting `turn_command_max` in [shards]; \
         did you mean `turn_commands_max`?"
    );
    assert!(!setup.data().path().exists(), "nothing was made");
}

#[test]
fn a_setting_out_of_its_bounds() {
    let address = Setup::new().config("[server]\nlisten = \"x\"\n");
    let ended = address.start_refused();
    assert_eq!(ended.code, Some(3));
    let line = "interlock: config config.toml: line 2: [server] listen = \"x\": it is an address";
    assert!(ended.refusal().starts_with(line), "{ended:?}");
    let ended = Setup::new()
        .config("[deadlines]\ncheck_deadline_ms = 0\n")
        .start_refused();
    assert_eq!(ended.code, Some(3));
    assert!(
        ended
            .refusal()
            .ends_with("check_deadline_ms = 0 is outside 10 to 60000")
    );
}

#[test]
fn a_hold_without_a_test_clock_and_an_unknown_flag() {
    let hold = Setup::new().argument("--recovery-hold").argument("1");
    let ended = hold.start_refused();
    assert_eq!(ended.code, Some(2));
    assert!(ended.refusal().contains("--test-clock"), "{ended:?}");
    let ended = Setup::new().argument("--shard").start_refused();
    assert_eq!(ended.code, Some(2));
    assert!(ended.refusal().contains("--shard"), "{ended:?}");
}

#[test]
fn a_directory_of_someone_else() {
    let setup = Setup::new().argument("--data").argument(".");
    setup.data().write("letter.txt", "dear reader");
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(10));
    assert!(ended.refusal().contains("letter.txt"));
}

#[test]
fn a_log_that_was_damaged() {
    let setup = Setup::new();
    assert_eq!(setup.start().terminate().code, Some(0));
    let db = setup.data().path().join("log/db");
    let length = fs::metadata(&db).unwrap().len();
    fs::write(&db, vec![0xa5; usize::try_from(length).unwrap()]).unwrap();
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.refusal().contains("log"), "{ended:?}");
}

/// Wherever the database is cut, a start that would lack something acknowledged is refused: also
/// where the engine takes the cut for the end of its log.
#[test]
fn a_log_that_was_cut() {
    let effect = |number: u32| json!({"effect_key": format!("cut-{number}"), "kind": "filing"});
    let server = Setup::new().seed(SEED).start();
    for number in 0..400 {
        let once = number.to_string();
        let answer = server.post_once("/v1/coordination/effects", KEY, &once, &effect(number));
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let setup = server.kill();
    let database = setup.data().path().join("log/db");
    let whole = fs::read(&database).expect("the database");
    for keep in [whole.len() / 2, whole.len() / 5, 100] {
        fs::write(&database, &whole[..keep]).expect("the database");
        let ended = setup.start_refused();
        assert_eq!(ended.code, Some(6), "cut to {keep}: {ended:?}");
        assert!(ended.refusal().contains("log"), "{}", ended.refusal());
    }
    fs::write(&database, &whole).expect("the database");
    let server = setup.start();
    let again = server.post_once("/v1/coordination/effects", KEY, "other", &effect(399));
    assert_eq!(
        again.status, 409,
        "with the file whole nothing is missing: {again:?}"
    );
}

/// What `docs/operate.md` says of it: what is missing is free again, also where it was acknowledged;
/// what is there is not.
#[test]
fn a_log_that_was_cut_is_given_up_from_the_cut_on_when_the_operator_says_so() {
    let path = "/v1/coordination/effects";
    let effect = |number: u32| json!({"effect_key": format!("cut-{number}"), "kind": "filing"});
    let server = Setup::new().seed(SEED).start();
    for number in 0..200 {
        let answer = server.post_once(path, KEY, &number.to_string(), &effect(number));
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let setup = server.kill();
    let database = setup.data().path().join("log/db");
    let whole = fs::read(&database).expect("the database");
    fs::write(&database, &whole[..whole.len() / 2]).expect("the database");
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.refusal().contains("has lost"), "{ended:?}");
    let server = setup.clone().argument("--accept-truncation").start();
    let status = |number: u32| {
        let again = server.post_once(path, KEY, &format!("again-{number}"), &effect(number));
        again.status
    };
    assert_eq!((status(0), status(199)), (409, 201));
    // It is for one start.
    server.kill();
    setup.start();
}
