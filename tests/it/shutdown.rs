//! SIGTERM drains and ends with 0; a second one does not wait.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::{Server, Setup, until};
use crate::raw::Connection;

const NOON: &str = "2026-01-05T12:00:00Z";
const BODY: &[u8] = br#"{"now":"2026-01-05T12:00:01Z"}"#;

/// A request that is inside the server and whose body has not come yet.
fn request_in_flight(server: &Server) -> TcpStream {
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "PUT /test/clock HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        BODY.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).expect("it asks for the body");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[test]
fn terminate_answers_what_is_in_flight_and_ends_with_zero() {
    let server = Setup::new().test_clock(NOON).start();
    let mut slow = request_in_flight(&server);
    server.signal_terminate();
    server.stderr_line("draining");
    slow.write_all(BODY).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let ended = server.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_second_signal_does_not_wait_for_the_drain() {
    let server = Setup::new().test_clock(NOON).start();
    let slow = request_in_flight(&server);
    let ended = server.terminate_again();
    assert_eq!(ended.code, Some(22), "{ended:?}");
    drop(slow);
}

#[test]
fn terminate_while_rebuilding_ends_with_zero() {
    let server = Setup::new()
        .test_clock(NOON)
        .argument("--recovery-hold")
        .argument("3600")
        .start_listening();
    assert_eq!(server.get("/readyz", "").status, 503);
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Whoever is connected and asks nothing gets no more; a drain does not wait for it.
#[test]
fn terminate_closes_what_is_idle_and_refuses_what_is_new() {
    let server = Setup::new()
        .test_clock(NOON)
        .config("[server]\ndrain_s = 600\n")
        .start();
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut idle = Connection::new(server.url());
    let healthy = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    assert_eq!(idle.ask(healthy).expect("an answer").0, 200);
    let mut slow = request_in_flight(&server);
    server.signal_terminate();
    server.stderr_line("draining");
    until("the address to close", || {
        TcpStream::connect(&address).is_err().then_some(())
    });
    idle.ask(healthy)
        .expect_err("an idle connection gets no answer any more");
    slow.write_all(BODY).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let ended = server.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// With a notice, a load balancer sees that the node stops before its address closes.
#[test]
fn a_notice_is_given_while_requests_are_still_taken() {
    let settings = "[server]\nstopping_notice_s = 600\n";
    let server = Setup::new().test_clock(NOON).config(settings).start();
    assert_eq!(server.get("/readyz", "").status, 200);
    server.signal_terminate();
    server.stderr_line("the address closes in");
    for client in [server.client(), server.client()] {
        let answer = client.get("/readyz", "");
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.text.contains("stopping"), "{answer:?}");
        assert_eq!(client.get("/healthz", "").status, 200);
    }
    assert_eq!(server.set_clock("2026-01-05T12:00:01Z").status, 200);
    let ended = server.terminate_again();
    assert_eq!(ended.code, Some(22), "a second signal ends it: {ended:?}");
}
