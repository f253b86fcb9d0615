//! Which implementation stands behind which seam.
//!
//! Here: the engine, the node's bounds, the server's bounds, and what the edge asks of the node.
//! The only file that knows all crates. Not here: any logic of theirs. Called by `serve` and
//! `running`.

mod clock;
mod notes;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interlock_actors::credits::CreditOptions;
use interlock_actors::history::HistoryOptions;
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::{Failure, Node, NodeHandle, NodeOptions, StartError};
use interlock_api::analysis::Analysis;
use interlock_api::limits::{ApiLimits, ListenOptions};
use interlock_api::list::SuppressionList;
use interlock_api::plane::Plane;
use interlock_api::state::{AppState, Readiness, TestClock};
use interlock_domain::contact::Contact;
use interlock_storage::run_mark::{self, Last, RunMark, RunState};
use interlock_storage::{Log, MemoryLog, Recovery, SledLog, SledOptions};

use self::clock::MovedClock;
use self::notes::Notes;
use crate::admin::Admin;
use crate::admin::plane::ConfigPlane;

use crate::config::{Config, Storage};
use crate::data_dir::{self, Hold, LOG_DIR, RUN_FILE, SECRET_FILE};
use crate::exit::{Exit, Stop};
use crate::log_stop;
use crate::panics;
use crate::reserve;
use crate::running::Start;
use crate::secret;
use crate::verbs::import;

/// The most shards that are taken unasked.
const SHARDS_UNASKED_MAX: usize = 16;
/// Keys that one step of truncation removes (`docs/storage.md` §1.5.9).
const TRUNCATE_KEYS_MAX: usize = 1_000;

/// An open log.
pub(crate) struct Opened {
    /// The log.
    pub(crate) log: Arc<dyn Log>,
    /// The data directory; `None` when nothing is kept.
    pub(crate) data: Option<PathBuf>,
    /// What the run before this one left; `None` at a first start.
    pub(crate) last_run: Option<RunState>,
    /// Where this run says what it is in the middle of.
    pub(crate) mark: Option<RunMark>,
    /// Whether there was a log before this start.
    pub(crate) found: bool,
    /// What opening did beside opening, in lines for the operator.
    pub(crate) notes: Vec<String>,
    /// The data directory, taken for this process.
    _hold: Option<Hold>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("data", &self.data)
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

/// Opens the log of the engine that the settings name.
///
/// # Errors
/// When the directory cannot be used, or the log is locked, damaged or newer.
pub(crate) fn open_log(settings: &Storage, accept_truncation: bool) -> Result<Opened, Stop> {
    if settings.engine == "memory" {
        return Ok(Opened {
            log: Arc::new(MemoryLog::new()),
            data: None,
            last_run: None,
            mark: None,
            found: false,
            notes: vec!["engine memory: everything is forgotten at the end".to_owned()],
            _hold: None,
        });
    }
    let data = Path::new(&settings.data_dir);
    data_dir::prepare(data)?;
    let hold = Hold::take(data)?;
    let dir = data.join(LOG_DIR);
    let found = dir.exists();
    let run = data.join(RUN_FILE);
    let last_run = run_mark::look(&run).map_err(log_stop::read)?;
    if !dir.join("db").exists() {
        expect_first(data, last_run)?;
    }
    let given_up = reserve::give_up(data);
    if !found {
        // Before the log: one without a mark beside it is refused, and gets none by being refused.
        RunMark::open(&run).map_err(log_stop::read)?;
    }
    let options = SledOptions {
        accept_truncation,
        acknowledged: last_run.acknowledged(&run),
        unordered: settings.ordered_writes == "off",
        ..SledOptions::default()
    };
    let log = panics::unsaid(|| SledLog::open(&dir, &options)).map_err(log_stop::read)?;
    let (mark, _) = RunMark::open(&run).map_err(log_stop::read)?;
    reserve::make(data, settings.free_bytes_min);
    let mut notes = notes(log.recovery(), !options.unordered);
    notes.splice(0..0, given_up);
    notes.extend(crate::verbs::compact::clear_left(data));
    Ok(Opened {
        log: Arc::new(log),
        data: Some(data.to_path_buf()),
        last_run: last_run.state(),
        mark: Some(mark),
        found,
        notes,
        _hold: Some(hold),
    })
}

/// Refuses, before anything is made, to take a directory that lost its log for a new one.
fn expect_first(data: &Path, last_run: Last) -> Result<(), Stop> {
    if let Some(cut_off) = import::left(data) {
        return Err(cut_off);
    }
    let appended = last_run.state().map_or(0, |state| state.appended);
    if appended > 0 || data.join(SECRET_FILE).exists() {
        return Err(secret::lost(data));
    }
    Ok(())
}

/// What opening did, in lines for the operator.
fn notes(recovery: &Recovery, ordered: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((commit, what)) = &recovery.torn {
        notes.push(format!(
            "log: the last commit ({commit}) was never finished and is removed: {what}"
        ));
    }
    if let Some((first, last, why)) = &recovery.given_up {
        notes.push(format!(
            "log: commits {first} to {last} are given up, as --accept-truncation asked: {why}"
        ));
    }
    for lacks in &recovery.lacks {
        notes.push(format!(
            "log: it is taken as it is, as --accept-truncation asked: {lacks}"
        ));
    }
    for day in &recovery.days {
        notes.push(format!(
            "history: {day}; reports go on without what it lacks, as --accept-truncation asked"
        ));
    }
    for path in &recovery.days_aside {
        let path = path.display();
        notes.push(format!(
            "history: the folder of a day was put aside, to {path}"
        ));
    }
    if recovery.segments_cleared > 0 {
        let cleared = recovery.segments_cleared;
        notes.push(format!(
            "log: {cleared} parts that a power cut left beyond its end are cleared"
        ));
    }
    for path in &recovery.moved_aside {
        let path = path.display();
        notes.push(format!(
            "log: a half-written file was moved aside to {path}"
        ));
    }
    if ordered && !recovery.writes_are_ordered {
        tracing::warn!(
            "the file system does not write the log in order: after a power cut during a large \
             commit, on a disk with a volatile cache, it may not open; keep it on ext4 or xfs"
        );
    }
    notes
}

/// How the run before this one ended.
pub(crate) fn last_run_line(last: Option<RunState>) -> String {
    let Some(RunState {
        ended,
        snapshot,
        truncation,
        on_loan,
        ..
    }) = last
    else {
        return "last run: unknown".to_owned();
    };
    if ended {
        return "last run: ended in order".to_owned();
    }
    format!("last run: killed, snapshot={snapshot} truncation={truncation} on_loan={on_loan}")
}

/// The node's bounds and paces. `accept_clock`: the operator accepts a wall clock that disagrees with
/// the log, once.
pub(crate) fn node_options(
    config: &Config,
    accept_clock: bool,
    recovery_hold: Option<Duration>,
) -> NodeOptions {
    NodeOptions {
        shards: shards(config.shards.count),
        turn_commands_max: size(config.shards.turn_commands_max),
        queue_per_entity_max: size(config.shards.queue_per_entity_max),
        slice_entities_max: size(config.snapshots.slice_entities_max),
        sweep_entities_max: size(config.shards.sweep_entities_max),
        entities_per_space_max: config.memory.entities_per_space_max,
        entities_per_part_max: config.limits.receipts_per_source_max,
        sweep_interval: Duration::from_millis(config.shards.sweep_interval_ms),
        credits: CreditOptions {
            commands_max: size(config.limits.commands_in_flight_max),
            bytes_max: size(config.limits.bytes_in_flight_max),
            space_commands_max: size(config.limits.commands_in_flight_per_space_max),
        },
        commit_bytes_max: size(config.journal.commit_bytes_max),
        keeper: KeeperOptions {
            snapshot_interval_ms: config.snapshots.interval_ms,
            snapshot_bytes_per_s: config.snapshots.bytes_per_s,
            journal_bytes_soft: config.snapshots.journal_bytes_soft,
            journal_bytes_max: config.journal.journal_bytes_max,
        },
        history: HistoryOptions {
            keep_days: u32::try_from(config.history.keep_days).unwrap_or(u32::MAX),
            queue_bytes_max: size(config.history.queue_bytes_max),
            write_interval: Duration::from_millis(config.history.write_interval_ms),
        },
        notices_max: size(config.limits.notices_max),
        truncate_keys_max: TRUNCATE_KEYS_MAX,
        free_bytes_min: config.storage.free_bytes_min,
        accept_clock,
        recovery_hold,
    }
}

/// How many shards: what was asked for, else one less than there are cores.
fn shards(asked: u64) -> u16 {
    let count = match size(asked) {
        0 => cores().saturating_sub(1).clamp(1, SHARDS_UNASKED_MAX),
        asked => asked,
    };
    u16::try_from(count).expect("the setting is at most 256")
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A setting as a size. Every one is bounded far below what a size holds on the machines that have
/// the memory for it.
fn size(setting: u64) -> usize {
    usize::try_from(setting).unwrap_or(usize::MAX)
}

/// A setting as a small number; every one that goes through here is bounded below it.
fn small(setting: u64) -> u32 {
    u32::try_from(setting).unwrap_or(u32::MAX)
}

/// The server's bounds on connections.
pub(crate) fn listen_options(config: &Config, address: SocketAddr) -> ListenOptions {
    let workers = match size(config.server.http_workers) {
        0 => cores(),
        asked => asked,
    };
    ListenOptions {
        addresses: vec![address],
        workers,
        backlog: small(config.server.backlog),
        connections_per_worker_max: size(config.server.connections_per_worker_max),
        keep_alive_s: config.server.keep_alive_s,
        head_read_ms_max: config.deadlines.head_read_ms_max,
        answer_stalled_ms_max: config.deadlines.answer_stalled_ms_max,
        shutdown_s_max: config.server.drain_s,
        access_log: config.telemetry.access_log == "on",
        ..ListenOptions::default()
    }
}

fn api_limits(config: &Config) -> ApiLimits {
    ApiLimits {
        check_deadline_ms: config.deadlines.check_deadline_ms,
        batch_deadline_ms: config.deadlines.batch_deadline_ms,
        request_deadline_ms: config.deadlines.request_deadline_ms,
        body_read_ms_max: config.deadlines.body_read_ms_max,
        body_bytes_max: size(config.limits.body_bytes_max),
        batch_bytes_max: size(config.limits.batch_bytes_max),
        bodies_bytes_max: size(config.limits.bodies_bytes_max),
        batches_bytes_max: size(config.limits.batches_bytes_max),
        batches_bytes_per_space_max: size(config.limits.batches_bytes_per_space_max),
        batches_waiting_per_space_max: size(config.limits.batches_waiting_per_space_max),
        space_asks_ms: config.limits.space_asks_ms,
        retry_after_s: small(config.limits.retry_after_s),
        commands_per_key_per_s: small(config.limits.commands_per_key_per_s),
        burst_per_key_s: small(config.limits.burst_per_key_s),
    }
}

/// What the handlers reach.
pub(crate) fn api_state(
    node: &Node<Contact>,
    start: &Start,
    admin: &Arc<Admin>,
    stopping: &Arc<AtomicBool>,
    list: Arc<SuppressionList>,
) -> AppState<NodeHandle<Contact>> {
    let stopping = Arc::clone(stopping);
    let clock = node.handle().clock().clone();
    let readiness = node.readiness();
    let pressure = node.pressure();
    let metrics = start.metrics.clone();
    let moved = clock
        .is_test()
        .then(|| Arc::new(MovedClock::new(node.handle())) as Arc<dyn TestClock>);
    AppState {
        directory: admin.shared_directory(),
        plane: Arc::new(ConfigPlane::new(Arc::clone(admin))) as Arc<dyn Plane>,
        decider: node.handle(),
        analysis: Analysis::new(Arc::new(Notes::new(Arc::clone(&start.opened.log)))),
        list,
        limits: api_limits(&start.config),
        now: Arc::new(move || clock.now()),
        readiness: Arc::new(move || {
            if stopping.load(Ordering::Relaxed) {
                Readiness::NotReady("stopping")
            } else if !readiness.all() {
                Readiness::NotReady("rebuilding")
            } else if pressure.clock_suspect.load(Ordering::Relaxed) {
                Readiness::NotReady("clock_suspect")
            } else {
                Readiness::Ready
            }
        }),
        metrics: Arc::new(move || metrics.render()),
        test_clock: moved,
    }
}

/// What the operator reads when the node cannot start.
pub(crate) fn start_refused(error: StartError) -> Stop {
    match error {
        StartError::Log(error) => log_stop::read(error),
        StartError::Clock(refused) => Stop::new(Exit::Clock, refused.to_string()),
        StartError::Thread(why) => Stop::new(Exit::Bug, why),
    }
}

/// What the operator reads when the node went down by itself.
pub(crate) fn went_down(failure: &Failure) -> Stop {
    let exit = match failure {
        Failure::Storage(_) => Exit::Storage,
        Failure::Recovery(_) => Exit::Corrupt,
        Failure::Clock(_) => Exit::Clock,
        Failure::Bug(_) => Exit::Bug,
    };
    Stop::new(exit, failure.text())
}
