//! Who is asked: a server that runs already, or one that is started for the run.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use crate::options::Where;
use crate::process::Process;
use crate::report;
use crate::spawn::{self, Spawned};

/// An address and a key for it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// `http://HOST:PORT`.
    pub(crate) url: String,
    /// The `Host` header.
    pub(crate) host: String,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The API key. Never printed.
    pub(crate) key: String,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Reads an address; http only.
    pub(crate) fn new(url: &str, key: &str) -> Result<Self, String> {
        let host = url
            .strip_prefix("http://")
            .map(|rest| rest.trim_end_matches('/'))
            .filter(|host| !host.is_empty() && !host.contains('/'))
            .ok_or_else(|| format!("the url must read http://HOST:PORT, not {url}"))?;
        let with_port = if host.contains(':') {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let mut addresses = with_port
            .to_socket_addrs()
            .map_err(|error| format!("{with_port}: {error}"))?;
        let address = addresses
            .next()
            .ok_or_else(|| format!("{with_port} has no address"))?;
        Ok(Self {
            url: url.to_owned(),
            host: host.to_owned(),
            address,
            key: key.to_owned(),
        })
    }

    /// The same server with another key.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }
}

/// Which space of a spawned server a scenario asks (`loadtest/space.json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// Purposes without tokens: `service` has a budget that no run exhausts, `transactional` has
    /// none. Also the paid operation `load`.
    Load,
    /// The same in small, beside it.
    Quiet,
    /// `marketing`, with a token for each allow.
    Tokens,
    /// `scarce`, four contacts a day.
    Race,
    /// Everything a fleet uses.
    Fleet,
    /// `hourly`, whose budget counts for an hour.
    Hourly,
}

/// The key of a gateway in the space of tokens, in base64url.
pub(crate) fn gateway_key(name: &str) -> Option<String> {
    let file: serde_json::Value = serde_json::from_str(spawn::SEED).ok()?;
    let mut spaces = file["spaces"].as_array()?.iter();
    let tokens = spaces.find(|space| space["name"] == "tokens")?;
    tokens["vault"][name].as_str().map(str::to_owned)
}

impl Space {
    /// Its key, which is in the file.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Load => "nia_sk_test_br1_load_a_loadsecret0000000001",
            Self::Quiet => "nia_sk_test_br1_quiet_a_quietsecret000000001",
            Self::Tokens => "nia_sk_test_br1_tokens_a_tokensecret000000001",
            Self::Race => "nia_sk_test_br1_race_a_racesecret0000000001",
            Self::Fleet => "nia_sk_test_br1_fleet_a_fleetsecret000000001",
            Self::Hourly => "nia_sk_test_br1_hourly_a_hourlysecret00000001",
        }
    }
}

/// A server to ask. One that was started for the run ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Target {
    /// Where, and with which key.
    pub(crate) endpoint: Endpoint,
    /// Its process, when it is one of this machine.
    pub(crate) process: Option<Process>,
    /// The server, when it was started for the run.
    pub(crate) spawned: Option<Spawned>,
    settings: Vec<String>,
}

impl Target {
    /// Finds the server, or starts it.
    pub(crate) fn open(wanted: &Where, space: Space) -> Result<Self, String> {
        if wanted.spawn.is_none() {
            let key = wanted
                .key
                .clone()
                .or_else(|| std::env::var("INTERLOCK_KEY").ok());
            let key = key
                .ok_or("no key: give --key or set INTERLOCK_KEY, or let --spawn start a server")?;
            let endpoint = Endpoint::new(&wanted.url, &key)?;
            let process = Process::listening_at(endpoint.address);
            return Ok(Self {
                endpoint,
                process,
                spawned: None,
                settings: Vec::new(),
            });
        }
        Self::spawn(wanted, wanted.shards, space)
    }

    /// Starts a server with so many shards, whatever the options say of them.
    pub(crate) fn spawn(wanted: &Where, shards: Option<u32>, space: Space) -> Result<Self, String> {
        let binary = wanted.spawn.clone().flatten();
        let spawned = Spawned::start(&spawn::Wanted {
            binary: spawn::binary(binary)?,
            parent: wanted.data.clone(),
            shards,
            settings: wanted.set.clone(),
            clock: None,
        })?;
        Self::of(spawned, space)
    }

    /// Starts a server whose time begins at a moment, in RFC 3339, and moves only when it is told to.
    pub(crate) fn spawn_at(wanted: &Where, clock: &str, space: Space) -> Result<Self, String> {
        let binary = wanted.spawn.clone().flatten();
        let spawned = Spawned::start(&spawn::Wanted {
            binary: spawn::binary(binary)?,
            parent: wanted.data.clone(),
            shards: wanted.shards,
            settings: wanted.set.clone(),
            clock: Some(clock.to_owned()),
        })?;
        Self::of(spawned, space)
    }

    fn of(spawned: Spawned, space: Space) -> Result<Self, String> {
        Ok(Self {
            endpoint: Endpoint::new(spawned.url(), space.key())?,
            process: Some(spawned.process()),
            settings: spawned.settings().to_vec(),
            spawned: Some(spawned),
        })
    }

    /// Kills a spawned server and starts it again on the same data.
    pub(crate) fn kill_and_start(self, space: Space) -> Result<Self, String> {
        let spawned = self.spawned.ok_or("only a spawned server can be killed")?;
        Self::of(spawned.kill_and_start()?, space)
    }

    /// Its data directory, when it was started for the run.
    pub(crate) fn data(&self) -> Option<PathBuf> {
        self.spawned.as_ref().map(Spawned::data)
    }

    /// What a report says of it.
    pub(crate) fn facts(&self) -> report::Server {
        report::Server {
            url: self.endpoint.url.clone(),
            spawned: self.spawned.is_some(),
            ready: self
                .spawned
                .as_ref()
                .map_or_else(String::new, |spawned| spawned.ready().to_owned()),
            settings: self.settings.clone(),
        }
    }

    /// Ends a spawned server and says when it did not end well.
    pub(crate) fn close(self) -> Result<(), String> {
        self.spawned.map_or(Ok(()), Spawned::stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_none_are_refused() {
        for url in [
            "https://x",
            "127.0.0.1:1",
            "http://",
            "http://127.0.0.1:1/path",
        ] {
            assert!(Endpoint::new(url, "k").is_err(), "{url}");
        }
        let endpoint = Endpoint::new("http://127.0.0.1:7/", "k").expect("an address");
        assert_eq!(endpoint.host, "127.0.0.1:7");
        assert!(!format!("{:?}", endpoint.with_key("secret")).contains("secret"));
    }

    #[test]
    fn each_spaces_key_is_in_the_file() {
        let file: serde_json::Value = serde_json::from_str(spawn::SEED).expect("JSON");
        let spaces = file["spaces"].as_array().expect("spaces");
        for space in [
            Space::Load,
            Space::Quiet,
            Space::Tokens,
            Space::Race,
            Space::Fleet,
            Space::Hourly,
        ] {
            let key =
                |found: &serde_json::Value| found["sources"][0]["keys"][0]["key"] == space.key();
            assert_eq!(
                spaces.iter().filter(|found| key(found)).count(),
                1,
                "{space:?}"
            );
        }
    }
}
