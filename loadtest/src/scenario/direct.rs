//! `direct`: the node without HTTP. Threads hand batches of ready commands to the router and wait for
//! their answers, as HTTP workers do; shards, committer and log are the server's. Once with a log that
//! keeps nothing and once with one on disk, so that a slow-down can be placed: what the first is short
//! of is the shards', what lies between the two is the log's, and what lies between the second and
//! `batch --closed` is HTTP's, parsing and hashing included.
//!
//! The one scenario that uses code of the server, and so behind a feature of the crate. The load runs
//! in the server's process: its processor time is not told apart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use interlock_actors::credits::CreditOptions;
use interlock_actors::history::HistoryOptions;
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::{Answer, Node, NodeClock, NodeHandle, NodeOptions, Submission};
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::{
    Body, Check, Command, Direction, EffectKind, EffectRef, Route,
};
use interlock_domain::contact::name::{AgentId, IntentId, SourceId};
use interlock_domain::contact::policy::{Policy, Vault};
use interlock_domain::contact::reason::Verdict;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::{KeyHash, SpaceId};
use interlock_storage::{Log, MemoryLog, SledLog, SledOptions};
use serde_json::Value;

use crate::checks::{About, BATCH_MAX};
use crate::interrupt;
use crate::options::{Length, NO_END, Output};
use crate::process::{self, Process};
use crate::progress;
use crate::random::Random;
use crate::report::{Cpu, Document, Faults, Loop, Run, Throughput};
use crate::spawn::SEED;
use crate::tally::{self, Tally};

const USUAL_CONNECTIONS: u64 = 4;
/// How long the node may take to answer a batch, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a command counts as of the bytes in flight: about a check's body.
const COMMAND_BYTES: usize = 270;
const SPACE: SpaceId = SpaceId([0xB1; 16]);

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    about: About,
    /// Checks in a batch
    #[arg(long, default_value_t = BATCH_MAX, value_parser = clap::value_parser!(u32).range(1..=500))]
    batch: u32,
    /// Shards
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    shards: u16,
    /// The logs to try, with commas between them
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Kind::Memory, Kind::Sled])]
    log: Vec<Kind>,
    /// Where the private directory is made; without it beside this program
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Keeps nothing: no disk
    Memory,
    /// The server's own, synced before every answer
    Sled,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    for kind in &asked.log {
        let parent = match &asked.data {
            Some(parent) => parent.clone(),
            None => beside_program()?,
        };
        let folder = tempfile::Builder::new()
            .prefix("interlock-load-")
            .tempdir_in(&parent)
            .map_err(|error| format!("a directory in {}: {error}", parent.display()))?;
        let (log, name): (Arc<dyn Log>, _) = match kind {
            Kind::Memory => (Arc::new(MemoryLog::new()), "direct, nothing kept"),
            Kind::Sled => {
                document.machine.file_system = crate::machine::file_system_of(folder.path());
                let log = SledLog::open(&folder.path().join("log"), &SledOptions::default());
                let log = log.map_err(|error| format!("the log: {error}"))?;
                (Arc::new(log), "direct, on disk")
            }
        };
        progress::say(name);
        let measured = measure(asked, &log)?;
        document
            .runs
            .push(report(asked, name, measured, folder.path()));
    }
    document.words.extend(comparison(&document.runs));
    Ok(())
}

fn beside_program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    Ok(own.parent().map_or_else(std::env::temp_dir, Path::to_owned))
}

/// The rules of the space `load`, as a spawned server has them.
fn policy() -> Result<Policy, String> {
    let seed: Value = serde_json::from_str(SEED).map_err(|error| error.to_string())?;
    let rules = seed["spaces"][0]["coordination"].to_string();
    Policy::load(1, &rules, &Vault::default()).map_err(|refused| format!("the rules: {refused:?}"))
}

/// What a run came to.
struct Measured {
    tally: Tally,
    seconds: f64,
    cpu_s: f64,
    written_bytes: u64,
}

/// Starts a node on a log, loads it and stops it.
fn measure(asked: &Asked, log: &Arc<dyn Log>) -> Result<Measured, String> {
    let policy = Arc::new(policy()?);
    actix::System::new().block_on(async {
        let policies = vec![(SPACE, Arc::clone(&policy))];
        let clock = NodeClock::system();
        let node = Node::<Contact>::start(Arc::clone(log), policies, clock, None, options(asked))
            .map_err(|error| format!("the node: {error}"))?;
        node.recovered().await.ok_or("the node did not recover")?;
        let (handle, asked_of) = (node.handle(), Load::of(asked, policy)?);
        let loaded = tokio::task::spawn_blocking(move || asked_of.run(&handle)).await;
        node.stop(PATIENCE).await;
        loaded.unwrap_or_else(|_| Err("the load's thread panicked".to_owned()))
    })
}

/// The defaults of `config.toml`.
fn options(asked: &Asked) -> NodeOptions {
    NodeOptions {
        shards: asked.shards,
        turn_commands_max: 128,
        queue_per_entity_max: 1_024,
        slice_entities_max: 500,
        sweep_entities_max: 256,
        entities_per_space_max: 100_000_000,
        entities_per_part_max: 10_000_000,
        sweep_interval: Duration::from_secs(1),
        credits: CreditOptions {
            commands_max: 65_536,
            bytes_max: 256 << 20,
            space_commands_max: 32_768,
        },
        commit_bytes_max: 1 << 20,
        keeper: KeeperOptions {
            snapshot_interval_ms: 300_000,
            snapshot_bytes_per_s: 10 << 20,
            journal_bytes_soft: 320 << 20,
            journal_bytes_max: 2 << 30,
        },
        history: HistoryOptions {
            keep_days: 90,
            queue_bytes_max: 64 << 20,
            write_interval: Duration::from_secs(1),
        },
        notices_max: 65_536,
        truncate_keys_max: 1_000,
        free_bytes_min: 256 << 20,
        accept_clock: false,
        recovery_hold: None,
    }
}

/// What the threads of a run have in common.
struct Load {
    policy: Arc<Policy>,
    check: Check,
    batch: u64,
    customers: u64,
    objects: u64,
    seed: u64,
    connections: u64,
    warm_up: Duration,
    measured: Duration,
    /// Batches after which it ends, where it is not time that ends it.
    limit: Option<u64>,
    taken: AtomicU64,
}

impl Load {
    fn of(asked: &Asked, policy: Arc<Policy>) -> Result<Self, String> {
        let about = &asked.about;
        let purpose = policy.purpose(&about.purpose);
        let check = Check {
            direction: Direction::Outbound,
            agent: AgentId::of("agent_00"),
            intent: IntentId::of("follow_up"),
            purpose: purpose.ok_or_else(|| format!("no purpose `{}`", about.purpose))?,
            channel: policy.channel(&about.channel),
            gateway: None,
            customer: None,
            object: None,
            task: None,
            effect: None,
            signer: 0,
        };
        Ok(Self {
            policy,
            check,
            batch: u64::from(asked.batch),
            customers: about.customers,
            objects: about.objects,
            seed: about.seed,
            connections: asked.length.connections.unwrap_or(USUAL_CONNECTIONS),
            warm_up: match asked.length.requests {
                Some(_) => Duration::ZERO,
                None => Duration::from_secs_f64(asked.length.warm_up),
            },
            measured: match asked.length.requests {
                Some(_) => NO_END,
                None => Duration::from_secs_f64(asked.length.seconds),
            },
            limit: asked.length.requests,
            taken: AtomicU64::new(0),
        })
    }

    /// Loads the node over all threads.
    fn run(self, handle: &NodeHandle<Contact>) -> Result<Measured, String> {
        let from = Instant::now() + self.warm_up;
        let end = from + self.measured;
        let (tallies, cpu_s, written_bytes) = thread::scope(|scope| {
            let load = &self;
            let threads: Vec<_> = (0..self.connections)
                .map(|number| scope.spawn(move || load.ask(handle, number, from, end)))
                .collect();
            let look = || {
                let own = Process::own();
                let cpu_s = own.cpu_seconds().unwrap_or(0.0);
                (cpu_s, own.written_bytes().unwrap_or(0))
            };
            interrupt::sleep_until(from);
            let before = look();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err("a thread of the load panicked".to_owned()))
            };
            let tallies: Result<Vec<Tally>, String> = threads.into_iter().map(join).collect();
            let after = look();
            (tallies, after.0 - before.0, after.1 - before.1)
        });
        let until = Instant::now().min(end);
        interrupt::check()?;
        let mut tally = Tally::new(1)?;
        for one in &tallies? {
            tally.add(one)?;
        }
        Ok(Measured {
            tally,
            seconds: until
                .saturating_duration_since(from)
                .as_secs_f64()
                .max(1e-9),
            cpu_s,
            written_bytes,
        })
    }

    /// One thread: a batch, its answers, the next.
    fn ask(
        &self,
        handle: &NodeHandle<Contact>,
        number: u64,
        from: Instant,
        end: Instant,
    ) -> Result<Tally, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| error.to_string())?;
        let mut tally = Tally::new(1)?;
        let mut random = Random::new(self.seed, number);
        let mut effect = number << 40;
        while Instant::now() < end && !interrupt::asked() && self.goes_on() {
            let commands = (0..self.batch).map(|_| {
                effect += 1;
                self.command(&mut random, effect)
            });
            let submission = Submission {
                commands: commands.collect(),
                policy: Arc::clone(&self.policy),
                deadline: PATIENCE,
                bytes: COMMAND_BYTES * self.batch as usize,
            };
            let start = Instant::now();
            let Ok(answers) = runtime.block_on(handle.submit(submission)) else {
                tally.refused += 1;
                *tally.statuses.entry(503).or_default() += 1;
                thread::sleep(Duration::from_millis(5));
                continue;
            };
            let done = Instant::now();
            let allowed = answers.iter().filter(|answer| is_allowed(answer)).count() as u64;
            if allowed != self.batch || answers.len() as u64 != self.batch {
                tally.wrong += 1;
                tally.quote(format!(
                    "{allowed} of {} new effects were allowed",
                    self.batch
                ));
            }
            if start >= from {
                tally.took(0, done - start);
            }
            if (from..=end).contains(&done) {
                tally.requests += 1;
                tally.units += allowed;
            }
        }
        Ok(tally)
    }

    /// Whether there is another batch.
    fn goes_on(&self) -> bool {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        self.limit.is_none_or(|limit| number < limit)
    }

    fn command(&self, random: &mut Random, effect: u64) -> Command {
        let mut check = self.check.clone();
        check.customer = Some(hash(1, random.below(self.customers)));
        check.object = Some(hash(2, random.below(self.objects)));
        check.effect = Some(EffectRef {
            hash: hash(3, effect),
            rest: hash(4, effect).0,
            kind: EffectKind::Delivery,
        });
        Command {
            space: SPACE,
            source: SourceId(1),
            route: Route::CheckBatch,
            receipt: None,
            body: Body::Check(check),
        }
    }
}

/// Spread as a keyed hash would be.
fn hash(kind: u64, number: u64) -> KeyHash {
    let mut random = Random::new(number, kind);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random.next().to_le_bytes());
    bytes[8..].copy_from_slice(&random.next().to_le_bytes());
    KeyHash(bytes)
}

fn is_allowed(answer: &Answer<Reply>) -> bool {
    matches!(answer, Answer::Decided(Reply::Check(reply)) if reply.verdict == Verdict::Allow)
}

fn report(asked: &Asked, name: &str, measured: Measured, folder: &Path) -> Run {
    let Measured {
        tally,
        seconds,
        cpu_s,
        written_bytes,
    } = measured;
    let right = tally.wrong == 0;
    let each = |total: f64| total / tally.units.max(1) as f64;
    Run {
        name: name.to_owned(),
        pace: Loop::Closed,
        rate: None,
        unit: "checks",
        connections: asked.length.connections.unwrap_or(USUAL_CONNECTIONS),
        batch: f64::from(asked.batch),
        about: format!(
            "{}, {}, no HTTP, {:.0} bytes written each, {:.1} MB on disk",
            asked.about.words(),
            super::shards::named(asked.shards.into()),
            each(written_bytes as f64),
            process::disk_bytes(folder) as f64 / 1e6
        ),
        seconds,
        count: tally.units,
        undecided: 0,
        requests: tally.requests,
        throughput: right.then(|| Throughput {
            per_second: tally.units as f64 / seconds,
            requests_per_second: tally.requests as f64 / seconds,
        }),
        latency: tally::latency(&tally.latency),
        steps: Vec::new(),
        over_time: Vec::new(),
        decisions: [("allow", tally.units)].into(),
        reasons: [].into(),
        tokens: 0,
        tokens_verified: 0,
        ordered_pairs: 0,
        faults: Faults {
            wrong_answers: tally.wrong,
            refused: tally.refused,
            statuses: tally.statuses.clone(),
            first: tally.quoted.clone(),
            ..Faults::default()
        },
        sent_bytes: 0,
        received_bytes: 0,
        cpu: Cpu {
            generator_us: each(cpu_s * 1e6),
            generator_cores: cpu_s / seconds,
            ..Cpu::default()
        },
        server: None,
    }
}

/// Where the time is, when both logs were tried.
fn comparison(runs: &[Run]) -> Option<String> {
    let [memory, disk] = runs else { return None };
    let rate = |run: &Run| run.throughput.map(|it| it.per_second);
    let (without, with) = (rate(memory)?, rate(disk)?);
    Some(format!(
        "Router and shards alone decide {without:.0} checks/s, with the log on disk {with:.0}, {:.0} \
         % of that. What `batch --closed` gives less is HTTP's: parsing, hashing, rendering, sockets \
         and the generator. Processor time here is of load and node together.",
        with / without * 100.0
    ))
}
