//! The contract of a fenced log: what an engine promises, and the plain data it takes and gives.
//!
//! A *commit* is what the committer writes at once: the frames of several groups, slices of
//! snapshots, seals and meta values. It lands whole or not at all, and once [`Log::commit`] has
//! returned `Ok` it survives a power cut. Engines never interpret the bodies.

use std::fmt;
use std::ops::ControlFlow;

use crate::Coverage;
use crate::pin::Pin;

/// Number of groups; a space lies in exactly one.
pub const GROUPS: u16 = 64;
/// Partitions in each group.
pub const PARTITIONS_PER_GROUP: u16 = 256;
/// Largest value an engine may store under one key: a larger one could end in a file sled never
/// syncs (`docs/storage.md` §1.5.1). 7 KiB is not enough of a bound: when a replaced snapshot's
/// chunks are removed, sled merges emptied leaves into full ones, so a leaf holds well over 17
/// values for a while, and is then written as a blob.
pub const CHUNK_BYTES_MAX: usize = 4 * 1024;
/// Largest commit an engine has to take, all bodies together.
pub const COMMIT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Largest slice of a snapshot.
pub const SLICE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Largest header of a seal.
pub const HEADER_BYTES_MAX: usize = 4 * 1024;
/// Longest key of a meta value or a history row.
pub const KEY_BYTES_MAX: usize = 256;
/// Largest meta value or history row.
pub const VALUE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What a node acquires, fences and numbers its log by. `0..64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(pub u16);

/// The unit of a snapshot. `0..16384`; the upper part is the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u16);

impl Partition {
    /// The group this partition lies in.
    #[must_use]
    pub const fn group(self) -> Group {
        Group(self.0 / PARTITIONS_PER_GROUP)
    }
}

/// Fencing number of a group: raised by each acquisition, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// Position in a group's log. The first append of a group has sequence 1; 0 is "before all".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

impl Sequence {
    /// The position after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {}", self.0)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}", self.0)
    }
}

/// The records one commit adds to one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The group; at most one append per group in a commit.
    pub group: Group,
    /// The epoch the writer acquired.
    pub epoch: Epoch,
    /// Must be exactly one above the group's last sequence.
    pub sequence: Sequence,
    /// Partitions that `records` touch, sorted, without repeats: kept beside the records so that
    /// truncation can be judged without understanding them.
    pub partitions: Vec<Partition>,
    /// Opaque bytes.
    pub records: Vec<u8>,
}

/// One slice of a partition's snapshot. Slices of a snapshot are numbered from 0 without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSlice {
    /// The partition the slice is of.
    pub partition: Partition,
    /// Names the snapshot within the partition; larger than that of every earlier one.
    pub snapshot: u64,
    /// Number of the slice.
    pub index: u32,
    /// Opaque bytes, at most 8 MiB; the engine cuts them to its own chunks.
    pub bytes: Vec<u8>,
}

/// Makes a snapshot the partition's current one; its slices were written in this commit or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSeal {
    /// The partition.
    pub partition: Partition,
    /// The snapshot that is complete.
    pub snapshot: u64,
    /// Everything of the partition up to and with this sequence of its group is in the snapshot.
    pub position: Sequence,
    /// How many slices there are.
    pub slices: u32,
    /// Opaque bytes of the owner (the partition's floor), at most 4 KiB.
    pub header: Vec<u8>,
}

/// Everything written at once. An empty commit is a bug of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Records by group.
    pub appends: Vec<Append>,
    /// Slices of snapshots.
    pub slices: Vec<SnapshotSlice>,
    /// Snapshots that became whole.
    pub seals: Vec<SnapshotSeal>,
    /// Named values outside the groups (secrets, spaces, keys): key at most 256 bytes, value at
    /// most 4 MiB; `None` removes it.
    pub meta: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// A group this process owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The group.
    pub group: Group,
    /// The epoch to append with.
    pub epoch: Epoch,
    /// The last sequence that is in the log (or was, before a recorded gap): append the next.
    pub last: Sequence,
}

/// One append as it is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The group.
    pub group: Group,
    /// The epoch it was written with.
    pub epoch: Epoch,
    /// Its position.
    pub sequence: Sequence,
    /// The partitions it touches.
    pub partitions: Vec<Partition>,
    /// The bytes that were appended.
    pub records: Vec<u8>,
}

/// A snapshot that is whole and current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// The partition.
    pub partition: Partition,
    /// Its name within the partition.
    pub snapshot: u64,
    /// What it covers.
    pub position: Sequence,
    /// How many slices it has.
    pub slices: u32,
    /// The owner's header.
    pub header: Vec<u8>,
}

/// What an engine can do, for the start line, the status page and the committer's bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Name in `config.toml` and the ready line (`sled`, `memory`).
    pub engine: &'static str,
    /// What an acknowledged commit survives, in one word for the ready line (`fsync`, `none`).
    pub durability: &'static str,
    /// Largest commit.
    pub commit_bytes_max: usize,
    /// May more than one node share the log?
    pub multi_node: bool,
}

/// Sizes for metrics and for the bound on the journal's tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalSize {
    /// Commits that replay would read.
    pub commits: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How much history is kept, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistorySize {
    /// The days that have rows, oldest first.
    pub days: Vec<HistoryDay>,
    /// Bytes they take where they lie.
    pub bytes: u64,
}

/// A log between two commits, but for its journal and snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Every group that was ever acquired, by group.
    pub groups: Vec<Owned>,
    /// Every meta value, by key.
    pub meta: Vec<Row>,
}

/// Did an append whose outcome was unknown land?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// It is in the log, durably.
    Yes,
    /// It is not, and its sequence is free.
    No,
}

/// Why a commit was refused. Nothing of a refused commit is in the log, except after `Unknown`.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another owner acquired the group since.
    #[error("{group} was acquired by another owner (epoch {})", current.0)]
    Fenced {
        /// The group.
        group: Group,
        /// The epoch in force.
        current: Epoch,
    },
    /// The sequence is not the next one (a gap or a duplicate).
    #[error("{group} expects sequence {}", expected.0)]
    Conflict {
        /// The group.
        group: Group,
        /// What the next append must carry.
        expected: Sequence,
    },
    /// The commit breaks a bound or a rule of the trait; a bug of the caller.
    #[error("the commit breaks the log's contract: {0}")]
    Invalid(String),
    /// No room; nothing was written.
    #[error("no room for the commit: {0}")]
    Full(String),
    /// It may or may not be in the log. The caller must stop serving and start again; it never
    /// retries a sync.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
}

/// Why something could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another process holds the directory.
    #[error("{0}")]
    Locked(String),
    /// Bytes are not what was written: names the place and the verb that repairs it.
    #[error("{0}")]
    Corrupt(String),
    /// The log was written by a newer format.
    #[error("{0}")]
    Format(String),
    /// The operating system refused.
    #[error("{0}")]
    Io(String),
}

/// Positions by group, for replay: what is at or before a group's position is not read again.
/// A group that is not listed is read from the start.
pub type Positions = std::collections::BTreeMap<Group, Sequence>;

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// What is called for each row that is read, until it breaks off.
pub type VisitRow<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A fenced, group-committed log with snapshots. One writer calls [`Log::commit`]; readers may run
/// beside each other before the writer starts.
pub trait Log: Send + Sync {
    /// Takes ownership of groups: raises their epochs durably. From then on an append with an
    /// older epoch is refused.
    ///
    /// # Errors
    /// When the engine cannot be read or written.
    fn acquire(&self, groups: &[Group]) -> Result<Vec<Owned>, LogError>;

    /// Writes a commit whole, synced, or not at all.
    ///
    /// # Errors
    /// See [`AppendError`]; after `Unknown` no further commit may be tried on this handle.
    fn commit(&self, commit: &Commit) -> Result<(), AppendError>;

    /// After `Unknown`, on a newly opened handle: is this append in the log with these bytes? To be
    /// asked before anything is truncated. `No` also when the sequence holds other bytes.
    ///
    /// # Errors
    /// When the engine cannot be read, or the sequence lies in the truncated part.
    fn resolve(
        &self,
        group: Group,
        epoch: Epoch,
        sequence: Sequence,
        records: &[u8],
    ) -> Result<Landed, LogError>;

    /// Reads appends in commit order, those after `after` of their group. Within a group the
    /// sequences grow; a gap appears only where recovery recorded one.
    ///
    /// # Errors
    /// `Corrupt` when a commit in the middle is damaged.
    fn replay(
        &self,
        after: &Positions,
        visit: &mut dyn FnMut(Replayed) -> ControlFlow<()>,
    ) -> Result<(), LogError>;

    /// The current snapshot of each partition that has one, by partition.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn snapshots(&self) -> Result<Vec<SnapshotInfo>, LogError>;

    /// Reads the slices of a current snapshot in order.
    ///
    /// # Errors
    /// `Corrupt` when a slice is missing or damaged.
    fn read_snapshot(
        &self,
        info: &SnapshotInfo,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError>;

    /// Which parts of the journal snapshots do not cover yet, as the engine sees it now.
    fn coverage(&self) -> Coverage;

    /// Removes commits all of whose appends are at or before `upto`, oldest first and stopping at
    /// the first that is not (so that a commit missing from the middle can be told from one that
    /// was truncated), and the chunks of snapshots that a seal replaced; at most `limit` keys.
    /// Answers whether work is left. Refuses to remove an append that no snapshot covers, or that
    /// history has not taken yet when [`Log::history_position`] is in use. Not durable by itself:
    /// after a power cut some of it may have to be done again.
    ///
    /// # Errors
    /// `Corrupt` when asked to remove what is not covered; nothing is removed then.
    fn truncate(&self, upto: &Positions, limit: usize) -> Result<bool, LogError>;

    /// What keeps truncation away while a whole log is read: [`Log::truncate`] removes nothing and
    /// answers that no work is left while it is taken and within its bound.
    fn pin(&self) -> &Pin;

    /// Where every group stands and every meta value, as of one moment between two commits.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn cut(&self) -> Result<Cut, LogError>;

    /// Size of the journal's tail.
    fn journal_size(&self) -> JournalSize;

    /// A meta value.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LogError>;

    /// All meta values whose key starts with `prefix`, in key order.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<Row>, LogError>;

    /// Appends rows to a UTC day's history, idempotently: the same `(day, key)` again overwrites
    /// with equal bytes. Durable when it returns. `position` is what history has taken, by group.
    ///
    /// # Errors
    /// When the engine cannot be written.
    fn history_append(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
    ) -> Result<(), LogError> {
        self.history_append_paced(day, rows, position, &mut || ())
    }

    /// As [`Log::history_append`]; `between` is called between two syncs, where many rows need several:
    /// who waits there lets commits use the disk meanwhile.
    ///
    /// # Errors
    /// When the engine cannot be written.
    fn history_append_paced(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
        between: &mut dyn FnMut(),
    ) -> Result<(), LogError>;

    /// Reads a day's rows from a key on, in key order.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn history_read(
        &self,
        day: HistoryDay,
        from: &[u8],
        visit: &mut VisitRow<'_>,
    ) -> Result<(), LogError>;

    /// Removes whole days before `day`; answers which.
    ///
    /// # Errors
    /// When the engine cannot be written.
    fn history_purge(&self, before: HistoryDay) -> Result<Vec<HistoryDay>, LogError>;

    /// How much history is kept.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn history_size(&self) -> Result<HistorySize, LogError>;

    /// What history has taken durably; `None` while no history was ever written.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn history_position(&self) -> Result<Option<Positions>, LogError>;

    /// Bytes free where the log lies; `None` when the engine has no such bound.
    fn free_bytes(&self) -> Option<u64>;

    /// What this engine can do.
    fn capabilities(&self) -> Capabilities;
}

/// A UTC day as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryDay(pub i32);
