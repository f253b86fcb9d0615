//! How a node stood while a turn decided: what only the world knows, and a model judges by.
//!
//! A flag is the same for a whole turn. A count moves within it, so where a bound is reached in the
//! middle of a turn it is open on which side of it a command was decided.

use std::sync::Arc;

use interlock_actors::message::Monotonic;
use interlock_actors::shard::Shard;
use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::Group;

/// Was something so?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sure {
    /// It was not.
    #[default]
    No,
    /// It came about in the turn.
    Perhaps,
    /// It was.
    Yes,
}

impl Sure {
    /// Each way that it may have been.
    #[must_use]
    pub const fn ways(self) -> &'static [bool] {
        match self {
            Self::No => &[false],
            Self::Perhaps => &[false, true],
            Self::Yes => &[true],
        }
    }

    /// Of a count that stood at `before` and grew by no more than `most`.
    const fn reached(before: i64, most: i64, bound: i64) -> Self {
        if before >= bound {
            Self::Yes
        } else if before.saturating_add(most) >= bound {
            Self::Perhaps
        } else {
            Self::No
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// When the turn decided.
    pub time: Timestamp,
    /// The monotonic clock at it: what had a deadline before it is not decided.
    pub mono: Monotonic,
    /// The wall clock was too far from node time.
    pub suspect: bool,
    /// Memory or disk were at their bound.
    pub full: bool,
    /// Was a space at its bound?
    pub spaces: Vec<(SpaceId, Sure)>,
    /// Was a part at its bound?
    pub parts: Vec<((SpaceId, u32), Sure)>,
    /// Parts that had nothing before the turn.
    pub other_parts: Sure,
    /// Commands that were under way.
    pub under_way: usize,
    /// An entity was on loan, as far as the node counts them.
    pub lending: bool,
}

/// Most entities that a command creates on one shard: its receipt, a row, an effect, a customer, an
/// object and one of the space.
const CREATED_MAX: i64 = 6;

impl Conditions {
    /// May nothing new be reserved in a space?
    #[must_use]
    pub fn is_full(&self, space: SpaceId) -> Sure {
        if self.full {
            return Sure::Yes;
        }
        let mut spaces = self.spaces.iter();
        let found = spaces.find(|(known, _)| *known == space);
        found.map_or(Sure::No, |(_, sure)| *sure)
    }

    /// Has a part of a space as many entities as it may have?
    #[must_use]
    pub fn is_part_full(&self, space: SpaceId, part: u32) -> Sure {
        let mut parts = self.parts.iter();
        let found = parts.find(|(known, _)| *known == (space, part));
        found.map_or(self.other_parts, |(_, sure)| *sure)
    }
}

/// The bounds of a shard, and the spaces that may reach them.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Its share of a space's entities.
    pub entities: i64,
    /// Its share of a part's.
    pub part: i64,
    /// The spaces of the run.
    pub spaces: Vec<SpaceId>,
}

impl Bounds {
    /// No bounds.
    pub const NONE: i64 = i64::MAX;

    /// What stands before a turn of a shard.
    #[must_use]
    pub fn before<M: Machine>(&self, shard: &Shard<M>) -> Counted {
        let mut counted = Counted::default();
        if self.entities != Self::NONE {
            let spaces = self.spaces.iter();
            counted.spaces = spaces.map(|&s| (s, shard.entities_of(&s))).collect();
        }
        if self.part != Self::NONE {
            let parts = shard.parts().iter();
            counted.parts = parts.map(|(part, count)| (*part, *count)).collect();
        }
        counted
    }
}

/// Entities of spaces and parts on a shard.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    spaces: Vec<(SpaceId, i64)>,
    parts: Vec<((SpaceId, u32), i64)>,
}

impl Conditions {
    /// Those of a turn that found these counts and answered so many commands.
    #[must_use]
    pub fn under(full: bool, counted: Counted, bounds: &Bounds, commands: usize) -> Self {
        let commands = i64::try_from(commands).unwrap_or(i64::MAX);
        let most = commands.saturating_mul(CREATED_MAX);
        let spaces = counted.spaces.into_iter();
        let spaces =
            spaces.map(|(space, count)| (space, Sure::reached(count, most, bounds.entities)));
        let parts = counted.parts.into_iter();
        let parts = parts.map(|(part, count)| (part, Sure::reached(count, commands, bounds.part)));
        Self {
            full,
            spaces: spaces.collect(),
            parts: parts.collect(),
            other_parts: Sure::reached(0, commands, bounds.part),
            ..Self::default()
        }
    }
}

/// What a frame holds, with the conditions of its turn.
#[derive(Clone, Debug)]
pub struct Framed {
    /// Those of its turn.
    pub conditions: Arc<Conditions>,
    /// Its records, by group.
    pub records: Vec<(Group, usize)>,
    /// Its notices.
    pub notices: usize,
    /// Its answers.
    pub answers: usize,
}

/// The conditions of each record of a group, in the order of the frames.
pub fn of_records(frames: &[Framed], group: Group) -> impl Iterator<Item = &Arc<Conditions>> {
    frames.iter().flat_map(move |frame| {
        let of_group = frame.records.iter().filter(move |(its, _)| *its == group);
        let count = of_group.map(|(_, count)| *count).sum();
        std::iter::repeat_n(&frame.conditions, count)
    })
}

/// The conditions of each answer, in the order of the frames.
pub fn of_answers(frames: &[Framed]) -> impl Iterator<Item = &Arc<Conditions>> {
    let each = frames.iter();
    each.flat_map(|frame| std::iter::repeat_n(&frame.conditions, frame.answers))
}
