//! SIGTERM drains and ends with 0.

use crate::harness::Setup;

#[test]
fn terminate_drains_and_ends_with_zero() {
    let server = Setup::new().start();
    assert_eq!(server.client().get("/healthz", "").status, 200);
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn terminate_while_rebuilding_ends_with_zero() {
    let server = Setup::new()
        .test_clock("2026-01-05T12:00:00Z")
        .argument("--recovery-hold")
        .argument("3600")
        .start_listening();
    assert_eq!(server.get("/readyz", "").status, 503);
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
