//! Redis as a peer: started with an append-only file that is synced before every answer, asked through
//! functions (`check.lua`) in pipelines or in one call. The load's commands are written once for each
//! connection; a new batch only overwrites digits, as in `template`, so that this client takes far
//! less of the processor than the server.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::child::{self, Child};
use super::judge::Verdict;
use super::keys::Check;
use super::resp::{self, Item, Reader};
use super::server::{Fact, Form, Link, Rules, Server, Target};

const SCRIPT: &str = include_str!("check.lua");
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// A running Redis.
#[derive(Debug)]
pub(crate) struct Redis {
    child: Child,
    port: u16,
    password: String,
    rules: Rules,
    version: String,
}

impl Redis {
    /// Starts one in a private directory under `parent`.
    pub(crate) fn start(rules: &Rules, parent: &Path) -> Result<Self, String> {
        let program = child::find("redis-server", &[]).ok_or(
            "redis-server is not installed; on Debian: apt-get install redis-server (7 or later)",
        )?;
        let folder = child::folder("redis", parent)?;
        let (port, password) = (child::free_port()?, child::password()?);
        // A rewrite of the file would only slow it down; `save` is another file, without a promise.
        let settings = format!(
            "bind 127.0.0.1\nport {port}\nrequirepass {password}\ndaemonize no\nsave \"\"\n\
             appendonly yes\nappendfsync always\nauto-aof-rewrite-percentage 0\n"
        );
        let file = folder.path().join("redis.conf");
        fs::write(&file, settings).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = Command::new(program);
        command.arg(&file);
        let child = Child::start("Redis", command, Signal::TERM, folder)?;
        let mut redis = Self {
            child,
            port,
            password,
            rules: rules.clone(),
            version: String::new(),
        };
        redis.make_ready()?;
        Ok(redis)
    }

    fn make_ready(&mut self) -> Result<(), String> {
        let (port, password) = (self.port, self.password.clone());
        let mut wire = self.child.wait_until(|| Wire::open(port, &password))?;
        let info = wire.text(&[b"INFO", b"server"])?;
        let version = info
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"));
        self.version = version.unwrap_or("of no known version").to_owned();
        let rules = &self.rules;
        let script = SCRIPT
            .replace("<LIMIT>", &rules.limit.to_string())
            .replace("<WINDOW_MS>", &rules.window_ms.to_string())
            .replace("<LEASE_MS>", &rules.lease_ms.to_string());
        wire.text(&[b"FUNCTION", b"LOAD", script.as_bytes()])
            .map_err(|error| format!("the rules in Redis {} (7 or later): {error}", self.version))
            .map(drop)
    }
}

impl Server for Redis {
    fn name(&self) -> String {
        format!("Redis {}", self.version)
    }

    fn forms(&self) -> &'static [Form] {
        &[Form::Pipeline, Form::Call]
    }

    fn conditions(&self) -> Result<Vec<String>, String> {
        let mut wire = Wire::open(self.port, &self.password)?;
        for (setting, wanted) in [("appendonly", "yes"), ("appendfsync", "always")] {
            wire.send(&[b"CONFIG", b"GET", setting.as_bytes()])?;
            wire.list(2)?;
            wire.bytes()?;
            let value = wire.bytes()?;
            if value != wanted.as_bytes() {
                let value = String::from_utf8_lossy(value);
                return Err(format!("Redis runs with {setting} {value}, not {wanted}"));
            }
        }
        let state = wire.text(&[b"INFO", b"persistence"])?;
        if !state.contains("aof_last_write_status:ok") {
            return Err("Redis could not write its append-only file".to_owned());
        }
        let durable =
            "appendonly yes, appendfsync always (read back), no rewrites, no RDB snapshots";
        Ok(vec![
            durable.to_owned(),
            "TCP on loopback, one database".to_owned(),
        ])
    }

    fn cpu_seconds(&self) -> f64 {
        child::cpu_seconds(self.child.id())
    }

    fn connect(&self, form: Form, run: u32, checks: usize) -> Result<Box<dyn Link>, String> {
        let wire = Wire::open(self.port, &self.password)?;
        let request = Request::new(form, run, checks, &self.rules.purpose);
        Ok(Box::new(Connection {
            wire,
            request,
            form,
            run,
        }))
    }
}

/// A connection and what was read from it.
#[derive(Debug)]
struct Wire {
    stream: TcpStream,
    reader: Reader,
}

impl Wire {
    fn open(port: u16, password: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        let set = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(ANSWER_WAIT)))
            .and_then(|()| stream.set_write_timeout(Some(ANSWER_WAIT)));
        set.map_err(|error| error.to_string())?;
        let mut wire = Self {
            stream,
            reader: Reader::default(),
        };
        wire.text(&[b"AUTH", password.as_bytes()])?;
        Ok(wire)
    }

    fn send(&mut self, words: &[&[u8]]) -> Result<(), String> {
        let mut bytes = Vec::new();
        resp::command(&mut bytes, words);
        self.stream
            .write_all(&bytes)
            .map_err(|error| error.to_string())
    }

    /// The next item; what Redis calls an error is one here.
    fn item(&mut self) -> Result<Item<'_>, String> {
        let item = self.reader.next(&mut self.stream);
        let item = item.map_err(|error| error.to_string())?;
        if let Item::Error(words) = item {
            return Err(String::from_utf8_lossy(words).into_owned());
        }
        Ok(item)
    }

    fn bytes(&mut self) -> Result<&[u8], String> {
        let item = self.item()?;
        if let Item::Text(text) = item {
            Ok(text)
        } else {
            Err(format!("an answer of another kind: {item:?}"))
        }
    }

    fn list(&mut self, wanted: usize) -> Result<(), String> {
        let item = self.item()?;
        if item == Item::List(wanted) {
            Ok(())
        } else {
            Err(format!("no list of {wanted}: {item:?}"))
        }
    }

    fn text(&mut self, words: &[&[u8]]) -> Result<String, String> {
        self.send(words)?;
        let text = self.bytes()?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn verdict(&mut self) -> Result<Verdict, String> {
        let text = self.bytes()?;
        Verdict::read(text).ok_or_else(|| {
            let text = String::from_utf8_lossy(text);
            format!("an answer that says nothing: {text}")
        })
    }
}

/// One connection of the load.
#[derive(Debug)]
struct Connection {
    wire: Wire,
    request: Request,
    form: Form,
    run: u32,
}

impl Link for Connection {
    fn ask(&mut self, checks: &[Check], verdicts: &mut Vec<Verdict>) -> Result<(), String> {
        self.request.renew(checks);
        let sent = self.wire.stream.write_all(&self.request.bytes);
        sent.map_err(|error| error.to_string())?;
        verdicts.clear();
        if self.form == Form::Call {
            self.wire.list(checks.len())?;
        }
        for _ in checks {
            verdicts.push(self.wire.verdict()?);
        }
        Ok(())
    }

    fn tell(&mut self, fact: &Fact) -> Result<bool, String> {
        let target = |target: &Target| match target {
            Target::Customer(number) => format!("c:+55119{number:08}"),
            Target::Object(number) => format!("o:order-{number:07}"),
        };
        let hold = |key: String, field: &str, holder: u64, rank: u32, lease_ms: u64| {
            let words = [
                key,
                field.to_owned(),
                format!("agent_{holder:02}"),
                rank.to_string(),
                lease_ms.to_string(),
            ];
            ("hold", words.to_vec())
        };
        let (function, words) = match fact {
            Fact::Settled { effect, state } => {
                let key = format!("e:load-{:08x}-{effect:012}", self.run);
                ("settle", vec![key, (*state).to_owned()])
            }
            Fact::Suppressed { customer, purpose } => {
                let key = target(&Target::Customer(*customer));
                ("suppress", vec![key, (*purpose).to_owned()])
            }
            Fact::Owned {
                target: of,
                holder,
                rank,
                lease_ms,
            } => hold(target(of), "owner", *holder, *rank, *lease_ms),
            Fact::Locked {
                object,
                holder,
                lease_ms,
            } => hold(
                target(&Target::Object(*object)),
                "l:t",
                *holder,
                0,
                *lease_ms,
            ),
        };
        let mut all: Vec<&[u8]> = vec![b"FCALL", function.as_bytes(), b"1"];
        all.extend(words.iter().map(String::as_bytes));
        self.wire.send(&all)?;
        let item = self.wire.item()?;
        if let Item::Number(number) = item {
            Ok(number == 1)
        } else {
            Err(format!("an answer of another kind: {item:?}"))
        }
    }
}

/// Where the digits of one check stand.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    effect: usize,
    customer: usize,
    object: usize,
    agent: usize,
    task: usize,
}

/// The commands of a batch, made anew in place.
#[derive(Debug)]
struct Request {
    bytes: Vec<u8>,
    places: Vec<Places>,
}

impl Request {
    fn new(form: Form, run: u32, checks: usize, purpose: &str) -> Self {
        let mut bytes = Vec::new();
        let mut places = vec![Places::default(); checks];
        let b = &mut bytes;
        if form == Form::Call {
            resp::list(b, 3 + checks * 3 + 1 + checks * 2);
            for word in ["FCALL", "checks", &(checks * 3).to_string()] {
                resp::text(b, word.as_bytes());
            }
            places
                .iter_mut()
                .for_each(|places| places.push_keys(b, run));
            resp::text(b, purpose.as_bytes());
            for places in &mut places {
                places.push_agent(b);
                places.push_task(b);
            }
        } else {
            for places in &mut places {
                resp::list(b, 9);
                for word in ["FCALL", "check", "3"] {
                    resp::text(b, word.as_bytes());
                }
                places.push_keys(b, run);
                places.push_agent(b);
                resp::text(b, purpose.as_bytes());
                places.push_task(b);
            }
        }
        Self { bytes, places }
    }

    fn renew(&mut self, checks: &[Check]) {
        for (places, check) in self.places.iter().zip(checks) {
            put(
                &mut self.bytes[places.effect..places.effect + 12],
                check.effect,
            );
            put(
                &mut self.bytes[places.customer..places.customer + 8],
                check.customer,
            );
            put(
                &mut self.bytes[places.object..places.object + 7],
                check.object,
            );
            put(&mut self.bytes[places.agent..places.agent + 2], check.agent);
            self.bytes[places.task] = if check.task { b't' } else { b'-' };
        }
    }
}

impl Places {
    fn push_keys(&mut self, bytes: &mut Vec<u8>, run: u32) {
        let effect = format!("e:load-{run:08x}-000000000000");
        self.effect = resp::text(bytes, effect.as_bytes()) + effect.len() - 12;
        let customer = b"c:+5511900000000";
        self.customer = resp::text(bytes, customer) + customer.len() - 8;
        let object = b"o:order-0000000";
        self.object = resp::text(bytes, object) + object.len() - 7;
    }

    fn push_agent(&mut self, bytes: &mut Vec<u8>) {
        let agent = b"agent_00";
        self.agent = resp::text(bytes, agent) + agent.len() - 2;
    }

    fn push_task(&mut self, bytes: &mut Vec<u8>) {
        self.task = resp::text(bytes, b"-");
    }
}

/// Writes `value` with leading zeros over all of `digits`.
fn put(digits: &mut [u8], mut value: u64) {
    for byte in digits.iter_mut().rev() {
        *byte = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(request: &Request) -> Vec<Vec<String>> {
        let (mut bytes, mut reader) = (&request.bytes[..], Reader::default());
        let mut commands = Vec::new();
        while let Ok(Item::List(items)) = reader.next(&mut bytes) {
            let mut word = || match reader.next(&mut bytes) {
                Ok(Item::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                other => panic!("{other:?}"),
            };
            commands.push((0..items).map(|_| word()).collect());
        }
        commands
    }

    #[test]
    fn a_batch_is_patched_into_both_forms() {
        let check = |n: u64| Check {
            agent: n,
            customer: 60_000_000 + n,
            object: n,
            effect: 500 + n,
            task: n == 2,
        };
        let mut pipeline = Request::new(Form::Pipeline, 0xfeed, 2, "marketing");
        pipeline.renew(&[check(1), check(2)]);
        let commands = words(&pipeline);
        assert_eq!(commands.len(), 2);
        assert_eq!(
            commands[1].join(" "),
            "FCALL check 3 e:load-0000feed-000000000502 c:+5511960000002 o:order-0000002 \
             agent_02 marketing t"
        );
        let mut call = Request::new(Form::Call, 0xfeed, 2, "marketing");
        call.renew(&[check(1), check(2)]);
        assert_eq!(
            words(&call)[0].join(" "),
            "FCALL checks 6 e:load-0000feed-000000000501 c:+5511960000001 o:order-0000001 \
             e:load-0000feed-000000000502 c:+5511960000002 o:order-0000002 marketing \
             agent_01 - agent_02 t"
        );
    }
}
