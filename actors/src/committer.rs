//! The committer: one writer behind one queue of frames.
//!
//! Here: making one commit of several frames, syncing it through the log, and releasing what was
//! held for it. Not here: the queue and the thread (`node`), pacing of snapshots (`keeper`).
//! Keeps C6: nothing is released before the log has said that it is durable.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use interlock_domain::machine::Machine;
use interlock_storage::{
    Append, AppendError, Commit, Epoch, Group, Log, LogError, Owned, Sequence, SnapshotSeal,
};

use crate::bus::Notices;
use crate::history::{Feed, Lost};
use crate::keeper::Keeper;
use crate::message::{Answer, Frame, HeldAnswers, Monotonic};

/// What one commit came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Frames in it.
    pub frames: usize,
    /// Bytes written; 0 when it only released answers.
    pub bytes: usize,
    /// Answers released.
    pub answers: usize,
}

/// Writes frames to the log in the order they were handed over.
pub struct Committer<M: Machine> {
    log: Arc<dyn Log>,
    groups: BTreeMap<Group, (Epoch, Sequence)>,
    keeper: Keeper,
    notices: Notices<M::Notice>,
    history: Option<Feed>,
    /// Truncation stopped where history stands, and goes on when history does.
    held_back: bool,
}

impl<M: Machine> fmt::Debug for Committer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer")
            .field("keeper", &self.keeper)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Committer<M> {
    /// A committer for the groups this node owns.
    #[must_use]
    pub fn new(
        log: Arc<dyn Log>,
        owned: &[Owned],
        keeper: Keeper,
        notices: Notices<M::Notice>,
    ) -> Self {
        let groups = owned
            .iter()
            .map(|owned| (owned.group, (owned.epoch, owned.last)))
            .collect();
        Self {
            log,
            groups,
            keeper,
            notices,
            history: None,
            held_back: false,
        }
    }

    /// Hands every durable commit to history, and truncates nothing that history has not taken.
    #[must_use]
    pub fn with_history(mut self, history: Feed) -> Self {
        self.history = Some(history);
        self
    }

    /// Appends that are durable, over all groups.
    #[must_use]
    pub fn appended(&self) -> u64 {
        self.groups.values().map(|&(_, last)| last.0).sum()
    }

    /// The pacing of snapshots and truncation, to read.
    #[must_use]
    pub const fn keeper_ref(&self) -> &Keeper {
        &self.keeper
    }

    /// The pacing of snapshots and truncation.
    pub const fn keeper(&mut self) -> &mut Keeper {
        &mut self.keeper
    }

    /// Writes the frames as one commit, syncs, and releases what was held. After an error nothing
    /// may be committed again; the frames' waiters have been told.
    ///
    /// # Errors
    /// What the log refused; final.
    pub fn commit(
        &mut self,
        frames: Vec<Frame<M>>,
        now: Monotonic,
    ) -> Result<Committed, AppendError> {
        let mut report = Committed {
            frames: frames.len(),
            ..Committed::default()
        };
        let mut held = Vec::with_capacity(frames.len());
        let commit = self.assemble(frames, &mut held);
        let writes = commit != Commit::default();
        if writes {
            report.bytes = commit
                .appends
                .iter()
                .map(|append| append.records.len())
                .sum::<usize>()
                + commit
                    .slices
                    .iter()
                    .map(|slice| slice.bytes.len())
                    .sum::<usize>();
            if let Err(error) = self.log.commit(&commit) {
                for frame in held {
                    fail(frame);
                }
                return Err(error);
            }
            for append in &commit.appends {
                self.groups
                    .insert(append.group, (append.epoch, append.sequence));
            }
            self.keeper.committed(&commit, now);
            if let Some(history) = &self.history {
                history.push(commit.appends);
            }
        }
        for frame in held {
            report.answers += self.release(frame);
        }
        Ok(report)
    }

    /// Bytes of durable commits that history does not have yet.
    #[must_use]
    pub fn owed_to_history(&self) -> usize {
        self.history.as_ref().map_or(0, Feed::owed)
    }

    /// Waits until history has room for another commit. While its writer is behind, this slows
    /// intake; the answers of commits so far are out already.
    ///
    /// # Errors
    /// When history can no longer be written; final.
    pub fn wait_for_history(&self) -> Result<(), Lost> {
        self.history.as_ref().map_or(Ok(()), Feed::wait_for_room)
    }

    /// Has history hurry where truncation waits for it. For a journal that is long already.
    pub fn hurry_history(&self) {
        if let (true, Some(history)) = (self.held_back, &self.history) {
            history.hurry();
        }
    }

    /// Truncates what snapshots cover and history has, a bounded step; answers whether more is left.
    ///
    /// # Errors
    /// When the log cannot be written; final.
    pub fn truncate(&mut self, keys_max: usize) -> Result<bool, LogError> {
        if self.held_back && self.history.as_ref().is_some_and(Feed::has_moved) {
            self.held_back = false;
            self.keeper.truncate_again();
        }
        let Some(mut positions) = self.keeper.take_truncation() else {
            return Ok(false);
        };
        if let Some(history) = &mut self.history {
            self.held_back = history.hold_back(&mut positions);
        }
        let more = self.log.truncate(&positions, keys_max)?;
        if more {
            self.keeper.truncate_again();
        }
        Ok(more)
    }

    fn assemble(&self, frames: Vec<Frame<M>>, held: &mut Vec<Frame<M>>) -> Commit {
        let mut commit = Commit::default();
        let mut touched: BTreeMap<Group, [u64; 4]> = BTreeMap::new();
        for mut frame in frames {
            for records in frame.groups.drain(..) {
                let bits = touched.entry(records.group).or_insert([0; 4]);
                for (bits, more) in bits.iter_mut().zip(records.touched) {
                    *bits |= more;
                }
                self.add(&mut commit, records.group, records.bytes);
            }
            commit.slices.append(&mut frame.slices);
            commit
                .seals
                .extend(frame.seals.drain(..).map(|seal| SnapshotSeal {
                    partition: seal.partition,
                    snapshot: seal.snapshot,
                    position: seal.position,
                    slices: seal.slices,
                    header: seal.header,
                }));
            commit.meta.append(&mut frame.meta);
            held.push(frame);
        }
        for append in &mut commit.appends {
            let touched = touched[&append.group];
            let records = crate::message::GroupRecords {
                group: append.group,
                touched,
                bytes: Vec::new(),
            };
            append.partitions = records.partitions().collect();
        }
        commit
    }

    fn add(&self, commit: &mut Commit, group: Group, bytes: Vec<u8>) {
        if let Some(append) = commit
            .appends
            .iter_mut()
            .find(|append| append.group == group)
        {
            append.records.extend_from_slice(&bytes);
            return;
        }
        let &(epoch, last) = self
            .groups
            .get(&group)
            .expect("a node decides for groups it owns");
        commit.appends.push(Append {
            group,
            epoch,
            sequence: last.next(),
            partitions: Vec::new(),
            records: bytes,
        });
    }

    fn release(&self, frame: Frame<M>) -> usize {
        // Before the answers: who is told that a change is done finds its notice on the bus.
        for (group, notice) in frame.notices {
            let sequence = self
                .groups
                .get(&group)
                .map_or(Sequence(0), |&(_, last)| last);
            self.notices.publish(group, sequence, notice);
        }
        let mut answers = 0;
        for HeldAnswers {
            sink,
            answers: some,
        } in frame.replies
        {
            answers += some.len();
            sink.deliver(some);
        }
        for waiter in frame.waiters {
            waiter.0.done(true);
        }
        answers
    }
}

/// Tells everybody who waits for a frame that its outcome is unknown.
pub fn fail<M: Machine>(frame: Frame<M>) {
    for HeldAnswers { sink, answers } in frame.replies {
        let answers = answers
            .into_iter()
            .map(|(index, _)| (index, Answer::Unavailable))
            .collect();
        sink.deliver(answers);
    }
    for waiter in frame.waiters {
        waiter.0.done(false);
    }
}
