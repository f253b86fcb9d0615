//! The command line, and the plan of a run it describes.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::fairness::FairnessOptions;
use crate::paid::PaidOptions;
use crate::peer::PeerOptions;
use crate::template::Shape;

/// Checks in a batch, at most: the contract's bound.
const BATCH_MAX: u32 = 500;

/// Drives a running server with checks, validates every answer and prints figures.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 80)]
pub(crate) struct Options {
    /// What to ask.
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
    /// Also write what was found as one page with charts
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// The kinds of load.
#[derive(Debug, Subcommand)]
pub(crate) enum Scenario {
    /// Batches of distinct checks, spread over customers and objects
    Batch {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        batch: BatchOptions,
    },
    /// The same, with every check on one customer, one object, or first the one and then the other
    Hot {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        batch: BatchOptions,
        /// What all checks share
        #[arg(long, value_enum, default_value_t = On::Both)]
        on: On,
    },
    /// One check a request
    Single {
        #[command(flatten)]
        common: Common,
    },
    /// Calls of one paid operation of the space, each admitted and then settled
    Paid {
        #[command(flatten)]
        paid: PaidOptions,
    },
    /// Single checks of one space, alone and then beside a flood of batches of another
    Fairness {
        #[command(flatten)]
        fairness: FairnessOptions,
    },
    /// Batches beside Redis or PostgreSQL, started here with every answer on disk: the ratio of both
    Peer {
        #[command(flatten)]
        peer: Box<PeerOptions>,
    },
}

/// What the checks of a hot run share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// One customer, many objects
    Customer,
    /// One object, many customers
    Object,
    /// Two runs: one customer, then one object
    Both,
}

/// Options of batches.
#[derive(Debug, Clone, Args)]
pub(crate) struct BatchOptions {
    /// Checks in a request
    #[arg(long, default_value_t = BATCH_MAX, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) batch: u32,
    /// Pairs of checks a batch that share an effect key, which proves the order of the answers; the
    /// later one of a pair is denied
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub(crate) order_probes: u32,
}

/// Options of every scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// The server, http only
    #[arg(long, default_value = "http://127.0.0.1:7440")]
    pub(crate) url: String,
    /// An API key with the scope `coordinate`
    #[arg(long)]
    pub(crate) key: String,
    /// Measured seconds
    #[arg(long, default_value_t = 10.0, value_parser = measured)]
    pub(crate) seconds: f64,
    /// Seconds of load before the measured ones
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub(crate) warm_up: f64,
    /// Connections, each with one request under way
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) connections: u64,
    /// Checks a second to start, whatever the answers do (open loop); latency then counts from when
    /// a request should have started, so a server that stands still cannot hide it
    #[arg(long, value_parser = rate)]
    pub(crate) target_rate: Option<f64>,
    /// Chooses customers and objects; effect keys are new in every run
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Customers to spread over
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=9_999_999))]
    pub(crate) customers: u64,
    /// Objects to spread over
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=9_999_999))]
    pub(crate) objects: u64,
    /// The purpose of every check. In the conformance space `service` has no budget and no token, so
    /// every distinct check is allowed; `marketing` has both
    #[arg(long, default_value = "service", value_parser = name)]
    pub(crate) purpose: String,
    /// The channel of every check
    #[arg(long, default_value = "whatsapp", value_parser = name)]
    pub(crate) channel: String,
    /// The gateway of every check: a purpose with tokens then gets one signed for each allow
    #[arg(long, value_parser = name)]
    pub(crate) gateway: Option<String>,
    /// Leave with status 0 even if the server refused load with 429 or 503
    #[arg(long)]
    pub(crate) allow_refusals: bool,
    /// Print one JSON object a run instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// One run: what is asked, of whom, how and how long.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The scenario's name in reports.
    pub(crate) title: &'static str,
    /// The body's shape.
    pub(crate) shape: Shape,
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    /// The `Host` header.
    pub(crate) host: String,
    /// How long, before and during the measurement.
    pub(crate) warm_up: Duration,
    /// The measured time.
    pub(crate) measured: Duration,
    /// The options as given.
    pub(crate) common: Common,
}

impl Options {
    /// The runs of checks asked for, in order; none of the scenarios that have their own.
    pub(crate) fn plans(&self) -> Result<Vec<Plan>, String> {
        match &self.scenario {
            Scenario::Batch { common, batch } => Ok(vec![Plan::new("batch", common, Some(batch))?]),
            Scenario::Paid { .. } | Scenario::Fairness { .. } | Scenario::Peer { .. } => {
                Ok(Vec::new())
            }
            Scenario::Single { common } => Ok(vec![Plan::new("single", common, None)?]),
            Scenario::Hot { common, batch, on } => {
                let mut plans = Vec::new();
                if *on != On::Object {
                    let mut plan = Plan::new("hot customer", common, Some(batch))?;
                    plan.shape.customers = 1;
                    plans.push(plan);
                }
                if *on != On::Customer {
                    let mut plan = Plan::new("hot object", common, Some(batch))?;
                    plan.shape.objects = 1;
                    plan.shape.run = plan.shape.run.wrapping_add(1);
                    plans.push(plan);
                }
                Ok(plans)
            }
        }
    }
}

impl Plan {
    /// Single checks of the quiet space of a fairness run.
    pub(crate) fn quiet(common: &Common) -> Result<Self, String> {
        Self::new("quiet", common, None)
    }

    /// Batches of a comparison with peers; one bare check a request for batches of one.
    pub(crate) fn beside_peers(common: &Common, batch: &BatchOptions) -> Result<Self, String> {
        Self::new("peer", common, (batch.batch > 1).then_some(batch))
    }

    /// Full batches of its flooding space.
    pub(crate) fn flood(common: &Common) -> Result<Self, String> {
        let batch = BatchOptions {
            batch: BATCH_MAX,
            order_probes: 1,
        };
        Self::new("flood", common, Some(&batch))
    }

    fn new(
        title: &'static str,
        common: &Common,
        batch: Option<&BatchOptions>,
    ) -> Result<Self, String> {
        let (host, address) = resolve(&common.url)?;
        let path = if batch.is_some() {
            "/v1/coordination/check/batch"
        } else {
            "/v1/coordination/check"
        };
        let shape = Shape {
            path,
            batch: batch.map(|batch| batch.batch as usize),
            purpose: common.purpose.clone(),
            channel: common.channel.clone(),
            gateway: common.gateway.clone(),
            customers: common.customers,
            objects: common.objects,
            order_probes: batch.map_or(0, |batch| batch.order_probes as usize),
            run: run_tag(),
        };
        Ok(Self {
            title,
            shape,
            address,
            host,
            warm_up: Duration::from_secs_f64(common.warm_up),
            measured: Duration::from_secs_f64(common.seconds),
            common: common.clone(),
        })
    }

    /// Checks in one request.
    pub(crate) fn checks_per_request(&self) -> usize {
        self.shape.batch.unwrap_or(1)
    }
}

/// Differs between runs: hundredths of a second, which repeat after a year and four months.
pub(crate) fn run_tag() -> u32 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    (since.as_millis() / 10) as u32
}

pub(crate) fn resolve(url: &str) -> Result<(String, SocketAddr), String> {
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
    Ok((host.to_owned(), address))
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=86_400.0).contains(&value) {
        Ok(value)
    } else {
        Err("0 to 86400".to_owned())
    }
}

/// Too short a run has no figures.
pub(crate) fn measured(text: &str) -> Result<f64, String> {
    let value = seconds(text)?;
    if value >= 0.1 {
        Ok(value)
    } else {
        Err("0.1 to 86400".to_owned())
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1.0..=1e9).contains(&value) {
        Ok(value)
    } else {
        Err("1 to 1000000000".to_owned())
    }
}

/// Names go into request bodies as they are, so they must be what the contract calls a name.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let first = text.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = text
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if first && rest && text.len() <= 40 {
        Ok(text.to_owned())
    } else {
        Err("a name reads [a-z][a-z0-9_]*, at most 40 characters".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(line: &str) -> Vec<Plan> {
        let words = ["loadtest"].into_iter().chain(line.split(' '));
        Options::try_parse_from(words)
            .expect("a good line")
            .plans()
            .expect("plans")
    }

    #[test]
    fn hot_means_one_customer_then_one_object() {
        let both = plans("hot --key k");
        assert_eq!(
            (both[0].shape.customers, both[0].shape.objects),
            (1, 1_000_000)
        );
        assert_eq!(
            (both[1].shape.customers, both[1].shape.objects),
            (1_000_000, 1)
        );
        assert_ne!(both[0].shape.run, both[1].shape.run);
        assert_eq!(plans("hot --key k --on object").len(), 1);
    }

    #[test]
    fn bad_values_are_refused() {
        let bad = [
            "batch",
            "batch --key k --batch 501",
            "batch --key k --seconds -1",
            "batch --key k --seconds 0",
            "batch --key k --purpose Bad",
            "single --key k --order-probes 1",
        ];
        for line in bad {
            let words = ["loadtest"].into_iter().chain(line.split(' '));
            assert!(Options::try_parse_from(words).is_err(), "{line}");
        }
        for url in [
            "https://x",
            "127.0.0.1:1",
            "http://",
            "http://127.0.0.1:1/path",
        ] {
            assert!(resolve(url).is_err(), "{url}");
        }
    }
}
