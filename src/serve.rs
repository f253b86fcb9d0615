//! The verb `serve`: from a command line to a node that answers, and back.
//!
//! Here: the order in which a start and a stop happen, and what the operator reads on standard
//! output. Not here: each step (`config`, `listen`, `data_dir`, `secret`, `registry`, `seed`,
//! `first_start`, `wiring`).
//!
//! A start refuses what it can before it makes anything: settings, seed and address come before
//! the data directory. The server listens before recovery ends, so that it can say that it is not
//! ready.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::NodeClock;
use interlock_domain::time::Timestamp;
use interlock_storage::Log;

use crate::config::Config;
use crate::console::say;
use crate::exit::{Exit, Stop};
use crate::first_start::Made;
use crate::listen;
use crate::registry::Registry;
use crate::running::{self, Running};
use crate::seed::Seed;
use crate::tls::Tls;
use crate::wiring::{self, Opened};
use crate::{data_dir, first_start, memory_watch, reserve, secret, telemetry};

/// The flags. A flag goes before the setting of the same name.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The settings file; without it `./config.toml` is read when there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory ([storage] data_dir).
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The address to listen on ([server] listen).
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The certificate in PEM; the server then speaks TLS ([server] tls_cert).
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Its private key in PEM ([server] tls_key).
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// How many shards decide, 0 to 256; 0 takes one less than there are cores ([shards] count).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=256))]
    shards: Option<u64>,
    /// Makes the spaces of a file that do not exist yet (JSON, or TOML by its name).
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,
    /// For tests: domain time starts here and moves only by PUT /test/clock, which needs no key. On
    /// loopback only.
    #[arg(long, value_name = "RFC3339", value_parser = instant)]
    test_clock: Option<Timestamp>,
    /// For tests: keeps the last partition unrebuilt that long.
    #[arg(long, value_name = "SECONDS", requires = "test_clock",
          value_parser = clap::value_parser!(u64).range(0..=3_600))]
    recovery_hold: Option<u64>,
    /// Starts although the machine's clock is far from the last record.
    #[arg(long)]
    accept_clock: bool,
    /// Starts although the log is damaged in the middle: what follows the damage is given up.
    #[arg(long)]
    accept_truncation: bool,
    /// Listens beyond loopback without TLS: keys and answers cross the network in the clear.
    #[arg(long)]
    insecure_http: bool,
}

#[cfg(test)]
impl Args {
    /// The data directory of the command line.
    pub(crate) fn data(&self) -> Option<&std::path::Path> {
        self.data.as_deref()
    }
}

pub(crate) fn instant(text: &str) -> Result<Timestamp, String> {
    interlock_wire::time::parse(text)
        .map(Timestamp)
        .ok_or_else(|| "an instant such as 2026-03-01T12:00:00Z".to_owned())
}

/// Runs until a signal asks it to end or it cannot go on.
///
/// # Errors
/// Why it could not start, or could not go on.
pub(crate) fn run(args: &Args) -> Result<(), Stop> {
    let config = settings(args)?;
    let tls = Tls::load(&config.server)?;
    let safe = tls.is_some() || args.insecure_http;
    let address = listen::address(&config.server.listen, safe)?;
    if args.test_clock.is_some() {
        listen::of_a_test(address)?;
    }
    let seed = args.seed.as_deref().map(Seed::load).transpose()?;
    telemetry::start_log(&config.telemetry)?;
    if let Some(tls) = &tls {
        tls.warn_of_open_key();
    }
    let metrics = telemetry::start_metrics()?;
    memory_watch::keep_pages_small();
    let reserved = listen::reserve(address)?;
    data_dir::close_to_others();
    // From here on, so that the time a start reports includes opening and verifying the log.
    let clock = args
        .test_clock
        .map_or_else(NodeClock::system, NodeClock::test);
    let (opened, registry) = open(&config, args, seed.as_ref(), &clock, |made, opened| {
        let scarce = reserve::scarce(opened.log.free_bytes(), config.storage.free_bytes_min);
        let asking = first_start::Asking {
            address: reserved.address,
            tls: tls.is_some(),
            scarce: scarce.is_some(),
        };
        say(&first_start::block(made, opened.data.as_deref(), &asking));
    })?;
    let verbs_in = verbs_dir(args, &opened)?;
    let start = running::Start {
        config,
        address: reserved.address,
        tls: tls.map(Arc::new),
        opened,
        verbs_in,
        metrics,
        clock,
        accept_clock: args.accept_clock,
        recovery_hold: args.recovery_hold.map(Duration::from_secs),
    };
    actix_web::rt::System::new().block_on(async { Running::start(start, registry)?.serve().await })
}

/// The settings with the flags on top.
fn settings(args: &Args) -> Result<Config, Stop> {
    let mut config = Config::load(args.config.as_deref())?;
    if let Some(listen) = &args.listen {
        config.server.listen.clone_from(listen);
    }
    if let Some(shards) = args.shards {
        config.shards.count = shards;
    }
    let paths = [
        (&args.data, &mut config.storage.data_dir, "data directory"),
        (&args.tls_cert, &mut config.server.tls_cert, "tls_cert"),
        (&args.tls_key, &mut config.server.tls_key, "tls_key"),
    ];
    for (flag, setting, what) in paths {
        let Some(path) = flag else { continue };
        *setting = path.to_str().map(str::to_owned).ok_or_else(|| {
            let message = format!("{what} {}: not in UTF-8", path.display());
            Stop::new(Exit::Usage, message)
        })?;
    }
    Ok(config)
}

/// Opens the log, finds the secret, loads the spaces, and makes the first ones.
fn open(
    config: &Config,
    args: &Args,
    seed: Option<&Seed>,
    clock: &NodeClock,
    show: impl FnOnce(&Made, &Opened),
) -> Result<(Opened, Registry), Stop> {
    let opened = wiring::open_log(&config.storage, args.accept_truncation)?;
    for line in &opened.notes {
        say(line);
    }
    let log: Arc<dyn Log> = Arc::clone(&opened.log);
    let secret = match &opened.data {
        Some(data) => secret::open(data, &*log)?,
        None => secret::for_memory(&*log)?,
    };
    let mut registry = Registry::open(log, &secret, clock.clone())?;
    match seed {
        Some(seed) => {
            for line in seed.apply(&mut registry)? {
                say(&line);
            }
        }
        None if registry.spaces() == 0 => {
            first_start::make(&mut registry, |made| show(made, &opened))?;
        }
        None => {}
    }
    Ok((opened, registry))
}

/// The directory in which the verbs find the server: the data directory. What is kept in memory
/// alone has none, unless one is named.
fn verbs_dir(args: &Args, opened: &Opened) -> Result<Option<PathBuf>, Stop> {
    if let (None, Some(named)) = (&opened.data, &args.data) {
        data_dir::prepare(named)?;
        return Ok(Some(named.clone()));
    }
    Ok(opened.data.clone())
}

/// The line of a start that found data, without the time recovery took.
pub(crate) fn found(opened: &Opened, registry: &Registry) -> Option<String> {
    let data = opened.data.as_deref().filter(|_| opened.found)?;
    Some(format!(
        "found {}: {}, {}",
        data.display(),
        counted(registry.spaces() as u64, "space"),
        counted(registry.keys() as u64, "key"),
    ))
}

/// A number with its noun.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if noun.ends_with("ity") => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
    }
}

/// The last line of a start.
pub(crate) fn ready_line(
    address: SocketAddr,
    tls: bool,
    shards: u16,
    opened: &Opened,
    test_clock: bool,
) -> String {
    let capabilities = opened.log.capabilities();
    let clock = if test_clock {
        " TEST CLOCK: TIME MOVES ONLY BY PUT /test/clock"
    } else {
        ""
    };
    format!(
        "ready {url} shards={shards} engine={engine} durability={durability}{clock}",
        url = first_start::url(address, tls),
        engine = capabilities.engine,
        durability = capabilities.durability,
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_hold_needs_a_test_clock() {
        assert!(Line::try_parse_from(["serve", "--recovery-hold", "1"]).is_err());
        let both = [
            "serve",
            "--recovery-hold",
            "1",
            "--test-clock",
            "2026-01-05T12:00:00Z",
        ];
        let line = Line::try_parse_from(both).unwrap();
        assert_eq!(line.args.test_clock, Some(Timestamp(1_767_614_400_000)));
        assert!(Line::try_parse_from(["serve", "--test-clock", "noon"]).is_err());
    }

    #[test]
    fn counts_read_well() {
        assert_eq!(counted(1, "key"), "1 key");
        assert_eq!(counted(2, "key"), "2 keys");
        assert_eq!(counted(0, "entity"), "0 entities");
    }
}
