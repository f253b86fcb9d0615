//! `verify`: reads a data directory that no server uses, and judges all of it.
//!
//! Opening a database changes its files, so a copy of the log is read, made under the directory's
//! lock; nothing in the directory changes. Not here: the rules (`interlock_actors::verify`).

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlock_actors::NodeClock;
use interlock_actors::history;
use interlock_actors::verify::{PARTS, Verified, verify};
use interlock_domain::contact::Contact;
use interlock_domain::key::Kind;
use interlock_domain::time::Timestamp;
use interlock_storage::run_mark;
use interlock_storage::{Log, LogError, SledLog, SledOptions};
use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

use super::place::{self, Place};
use super::print;
use super::table::table;
use crate::admin::protocol::Answer;
use crate::console::{complain, say};
use crate::data_dir::{Hold, LOG_DIR, RUN_FILE};
use crate::exit::{Exit, Stop};
use crate::registry::Registry;
use crate::secret::{self, random_bytes};
use crate::{log_stop, panics};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Where the copy that is read is made, and removed again; it needs room for the log. Without
    /// one, the system's directory for temporary files.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// What was found; all of it is well, but for the faults.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    spaces: u64,
    keys: u64,
    entities: Vec<OfKind>,
    partitions: u64,
    partitions_with_purges: u64,
    snapshots: u64,
    commits: u64,
    commit_bytes: u64,
    appends: u64,
    records: u64,
    notes: u64,
    largest_entity_bytes: u64,
    history_days: u64,
    /// Those the journal has and history lacks are counted too.
    history_receipts: u64,
    log_bytes: u64,
    /// What is lacking or damaged, in words; a start refuses it.
    faults: Vec<String>,
    /// What a start would mend, in words.
    mended_by_a_start: Vec<String>,
    /// How many of the faults concern days of history alone.
    faults_of_history: usize,
}

/// Entities of a kind.
#[derive(Debug, Serialize, Deserialize)]
struct OfKind {
    kind: String,
    count: u64,
}

impl Args {
    /// Reads, judges and prints.
    ///
    /// # Errors
    /// What is wrong, with its place; that a server uses the directory; that there is no room.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let data = self.place.data()?;
        let log = place::log(&data)?;
        let hold = Hold::take(&data)?;
        let bytes = SledLog::bytes_of(&log).map_err(log_stop::read)?;
        let scratch = Scratch::make(self.scratch.as_deref(), bytes)?;
        let shown = |error: LogError| scratch.at_home(log_stop::read(error), &log);
        let copy = scratch.path.join(LOG_DIR);
        SledLog::copy(&log, &copy).map_err(shown)?;
        drop(hold);
        let mut found = look(&data, &scratch, bytes).map_err(|stop| scratch.at_home(stop, &log))?;
        for fault in &mut found.faults {
            *fault = scratch.named_at_home(fault, &log);
        }
        if self.place.json {
            print::json(&Answer::one(&found), None);
        } else {
            say(&words(&data, &found));
        }
        if found.faults.is_empty() {
            return Ok(());
        }
        let faults = found.faults.join("; ");
        let message = if found.faults.len() == found.faults_of_history {
            format!(
                "{faults}. Only reports of that day and `explain` need it, and no decision does: put a \
                 copy of its folder from before in its place; `interlock serve --accept-truncation` goes \
                 on without what it lacks"
            )
        } else {
            format!(
                "the log in {} is not whole: {faults}. Put a copy of the data directory from before in \
                 its place, or `interlock import` an export into an empty one; `interlock serve \
                 --accept-truncation` goes on with what is there",
                log.join("db").display()
            )
        };
        if self.place.json {
            // The document above has it already.
            complain(&message);
            return Err(Stop::new(Exit::Corrupt, ""));
        }
        Err(Stop::new(Exit::Corrupt, message))
    }
}

fn look(data: &Path, scratch: &Scratch, bytes: u64) -> Result<Found, Stop> {
    let dir = scratch.path.join(LOG_DIR);
    let run = data.join(RUN_FILE);
    let options = SledOptions {
        accept_truncation: true,
        acknowledged: run_mark::look(&run)
            .map_err(log_stop::read)?
            .acknowledged(&run),
        ..SledOptions::default()
    };
    let opened = panics::unsaid(|| SledLog::open(&dir, &options));
    let sled = opened.map_err(log_stop::read)?;
    // Every day was read, as the options ask.
    let (faults, mended) = (faults(&sled), mended(&sled));
    let faults_of_history = sled.recovery().days.len();
    let log: Arc<dyn Log> = Arc::new(sled);
    let secret = secret::look(data, &*log)?;
    let registry = Registry::open(Arc::clone(&log), &secret, NodeClock::system())?;
    let journal = log.journal_size();
    let verified = verify::<Contact>(&*log, &mut |part, so_far| {
        let entities: u64 = so_far.entities.iter().sum();
        complain(&format!(
            "read {part} of {PARTS} parts, {entities} entities"
        ));
    });
    let verified: Verified = verified.map_err(log_stop::read)?;
    let (history_days, history_receipts) = read_history(&dir, &*log)?;
    let entities = Kind::ALL.iter().zip(verified.entities);
    let entities = entities.filter(|(_, count)| *count > 0);
    Ok(Found {
        spaces: registry.spaces() as u64,
        keys: registry.keys() as u64,
        entities: entities
            .map(|(kind, count)| OfKind {
                kind: kind.name().to_owned(),
                count,
            })
            .collect(),
        partitions: verified.partitions,
        partitions_with_purges: verified.floors,
        snapshots: verified.snapshots,
        commits: journal.commits,
        commit_bytes: journal.bytes,
        appends: verified.appends,
        records: verified.records,
        notes: verified.notes,
        largest_entity_bytes: verified.entity_bytes_max,
        history_days,
        history_receipts,
        log_bytes: bytes,
        faults,
        mended_by_a_start: mended,
        faults_of_history,
    })
}

/// What opening the copy had to mend.
fn mended(log: &SledLog) -> Vec<String> {
    let recovery = log.recovery();
    let mut mended = Vec::new();
    if let Some((commit, _)) = &recovery.torn {
        mended.push(format!("the last commit ({commit}) was never finished"));
    }
    if recovery.segments_cleared > 0 {
        let parts = recovery.segments_cleared;
        mended.push(format!("a power cut left {parts} parts beyond the end"));
    }
    if !recovery.moved_aside.is_empty() {
        mended.push("a half-written file of the engine is there".to_owned());
    }
    mended
}

/// What it lacks of what was acknowledged. The copy is opened in spite of it, to say what is there.
fn faults(log: &SledLog) -> Vec<String> {
    let recovery = log.recovery();
    let mut faults = recovery.lacks.clone();
    if let Some((first, last, why)) = &recovery.given_up {
        faults.push(format!(
            "its commits {first} to {last} are damaged or missing, each with one answer or hundreds: of \
             {first}, {why}"
        ));
    }
    faults.extend(recovery.days.iter().cloned());
    faults
}

/// Reads every receipt of history, and what of the journal history has not taken yet; answers the
/// days, and the receipts.
fn read_history(dir: &Path, log: &dyn Log) -> Result<(u64, u64), Stop> {
    let failed = |error: std::io::Error| Stop::new(Exit::Data, format!("history: {error}"));
    let entries = match fs::read_dir(dir.join("history")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((0, 0)),
        Err(error) => return Err(failed(error)),
    };
    let mut days = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let midnight = format!("{}T00:00:00Z", name.to_string_lossy());
        days.extend(interlock_wire::time::parse(&midnight).map(Timestamp));
    }
    let (Some(first), Some(last)) = (days.iter().min(), days.iter().max()) else {
        return Ok((0, 0));
    };
    let mut receipts = 0;
    let end = last.plus_ms(DAY_MS - 1);
    history::between::<Contact>(log, *first, end, &mut |_| {
        receipts += 1;
        ControlFlow::Continue(())
    })
    .map_err(log_stop::read)?;
    Ok((days.len() as u64, receipts))
}

fn words(data: &Path, found: &Found) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut fact = |name: &str, value: u64| rows.push(vec![name.to_owned(), value.to_string()]);
    fact("spaces", found.spaces);
    fact("keys", found.keys);
    for of in &found.entities {
        fact(&format!("entities: {}", of.kind), of.count);
    }
    fact("bytes of the largest entity", found.largest_entity_bytes);
    fact("partitions", found.partitions);
    fact("partitions with purges", found.partitions_with_purges);
    fact("snapshots", found.snapshots);
    fact("commits in the journal", found.commits);
    fact("bytes in them", found.commit_bytes);
    fact("appends in them", found.appends);
    fact("records in them", found.records);
    fact("receipts in them", found.notes);
    fact("days of history", found.history_days);
    fact("receipts in history", found.history_receipts);
    fact("bytes of the log on disk", found.log_bytes);
    let mut text = table(&["found", "number"], &rows);
    for line in &found.mended_by_a_start {
        text.push_str(&format!("\nthe next start mends: {line}"));
    }
    if found.faults.is_empty() {
        text.push_str(&format!("\n\n{} is well", data.display()));
    }
    text
}

/// A directory of our own for the copy; removed when dropped.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn make(named: Option<&Path>, bytes: u64) -> Result<Self, Stop> {
        let parent = named.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let refuse = |what: String| {
            let message = format!("a copy in {}: {what}; see --scratch", parent.display());
            Stop::new(Exit::Data, message)
        };
        let room = statvfs(&parent).map_err(|error| refuse(error.to_string()))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        if free < bytes {
            return Err(refuse(format!("needs {bytes} bytes, {free} are free")));
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = random_bytes()?;
        let random = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
        let name = uuid::Builder::from_random_bytes(random).into_uuid();
        let path = parent.join(format!("interlock-verify-{name}"));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| refuse(error.to_string()))?;
        Ok(Self { path })
    }

    /// A refusal that names the data directory and not the copy.
    fn at_home(&self, stop: Stop, log: &Path) -> Stop {
        Stop::new(stop.exit, self.named_at_home(&stop.message, log))
    }

    fn named_at_home(&self, text: &str, log: &Path) -> String {
        let copy = self.path.join(LOG_DIR);
        text.replace(&copy.display().to_string(), &log.display().to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is in a directory for temporary files and closed to others.
        fs::remove_dir_all(&self.path).ok();
    }
}
