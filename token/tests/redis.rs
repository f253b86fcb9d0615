//! The memory of used tokens in a real Redis, which the tests start on a socket of their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use interlock_token::{RedisSeen, Seen, SeenError};
use tempfile::TempDir;

const FAR: i64 = 4_000_000_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// A Redis that keeps nothing on disk and ends with the test.
struct Redis {
    process: Child,
    folder: TempDir,
}

impl Redis {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let process = run(folder.path());
        Self { process, folder }
    }

    fn address(&self) -> String {
        format!("unix://{}", socket(self.folder.path()).display())
    }

    fn seen(&self) -> RedisSeen {
        RedisSeen::new(&self.address(), "used:", PATIENCE).expect("an address")
    }

    fn stop(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }

    fn start_again(&mut self) {
        self.process = run(self.folder.path());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("redis.sock")
}

/// Starts one and waits until it says that it takes connections.
fn run(folder: &Path) -> Child {
    let mut process = Command::new("redis-server")
        .current_dir(folder)
        .args(["--port", "0", "--save", "", "--appendonly", "no"])
        .args(["--daemonize", "no", "--unixsocket"])
        .arg(socket(folder))
        .stdout(Stdio::piped())
        .spawn()
        .expect("redis-server is missing; `cargo xtask setup` installs it");
    let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
    let mut lines = lines.map_while(Result::ok);
    let ready = lines.any(|line| line.to_lowercase().contains("ready to accept connections"));
    assert!(ready, "redis-server ended");
    // What it says later has to go somewhere.
    thread::spawn(move || lines.for_each(drop));
    process
}

fn id(number: u32) -> String {
    format!("0199a3b2-5c00-7a1e-8f3d-{number:012}")
}

#[test]
fn t2_a_token_goes_once_over_all_processes_of_a_gateway() {
    let redis = Redis::start();
    let firsts = thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| {
                let mut seen = redis.seen();
                scope.spawn(move || -> Vec<u32> {
                    let new =
                        |number: &u32| seen.first_time(&id(*number), FAR, 0).expect("it answers");
                    (0..200).filter(new).collect()
                })
            })
            .collect();
        let all = workers.into_iter().map(|one| one.join().expect("no panic"));
        all.flatten().collect::<Vec<u32>>()
    });
    let mut sorted = firsts;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..200).collect::<Vec<u32>>(), "each exactly once");
}

#[test]
fn an_id_ends_a_minute_after_its_token() {
    let redis = Redis::start();
    let mut seen = redis.seen();
    assert!(seen.first_time(&id(1), FAR, 0).expect("it answers"));
    // An end that is over already: Redis keeps nothing, and no gateway takes the token.
    assert!(seen.first_time(&id(2), 0, 0).expect("it answers"));
    let mut connection = redis::Client::open(redis.address())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    let mut end = |number: u32| -> i64 {
        let mut command = redis::cmd("EXPIRETIME");
        command.arg(format!("used:{}", id(number)));
        command.query(&mut connection).expect("a number")
    };
    assert_eq!(end(1), FAR + 60);
    assert_eq!(end(2), -2, "no such key");
}

#[test]
fn without_redis_nothing_goes_and_afterwards_it_goes_on() {
    let mut redis = Redis::start();
    let mut seen = redis.seen();
    assert!(seen.first_time(&id(1), FAR, 0).expect("it answers"));
    redis.stop();
    for number in [1, 2] {
        let SeenError(why) = seen
            .first_time(&id(number), FAR, 0)
            .expect_err("it is gone");
        assert!(!why.to_string().contains("0199a3b2"), "{why}");
    }
    redis.start_again();
    assert!(seen.first_time(&id(2), FAR, 0).expect("it answers"));
    assert!(!seen.first_time(&id(2), FAR, 0).expect("it answers"));
}

/// Something that listens and answers one thing to everybody, once each.
fn liar(folder: &Path, answer: &'static [u8]) -> String {
    let path = folder.join("liar.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let mut asked = [0; 4_096];
                while stream.read(&mut asked).is_ok_and(|count| count > 0) {
                    stream.write_all(answer).ok();
                }
            });
        }
    });
    format!("unix://{}", path.display())
}

#[test]
fn what_redis_does_not_say_clearly_lets_nothing_through() {
    for answer in [
        &b"-OOM command not allowed\r\n"[..],
        b"+QUEUED\r\n",
        b"nonsense\r\n",
        b":1\r\n",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let address = liar(folder.path(), answer);
        let mut seen = RedisSeen::new(&address, "", PATIENCE).expect("an address");
        for _ in 0..2 {
            let answered = seen.first_time(&id(1), FAR, 0);
            assert!(answered.is_err(), "{answered:?} to {answer:?}");
        }
    }
    assert!(RedisSeen::new("http://127.0.0.1", "", PATIENCE).is_err());
    let silent = tempfile::tempdir().expect("a folder");
    let address = liar(silent.path(), b"");
    let patience = Duration::from_millis(50);
    let mut seen = RedisSeen::new(&address, "", patience).expect("an address");
    assert!(
        seen.first_time(&id(1), FAR, 0).is_err(),
        "it waits no longer"
    );
}
