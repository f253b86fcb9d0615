//! SIGTERM drains and ends with 0; a second one does not wait.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::{Server, Setup};

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
