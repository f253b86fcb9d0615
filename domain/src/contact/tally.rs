//! What was decided in the last days, in counts (`docs/spec/contact.md` §18, overview).
//!
//! Here: notes in, counts out, for all spaces together, by the hour. Bounded: above so many cells the
//! oldest hour goes, and figures count from the hour after it. Not here: who reads history (the
//! edge), and what is held now (`holdings`).

use std::collections::BTreeMap;

use crate::contact::budget;
use crate::contact::command::Direction;
use crate::contact::name::PurposeId;
use crate::contact::note::{Mark, Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Verdict;
use crate::ids::Id;
use crate::key::SpaceId;
use crate::time::Timestamp;

const HOUR_MS: i64 = 3_600_000;

/// Counts of one hour, space and purpose that are kept at most.
pub const CELLS_MAX: usize = 250_000;

/// For how many hours an allowed contact may be declared when its purpose is not declared any more.
const GONE_HOURS: i64 = 24;

/// What became of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// It was allowed and may still be declared.
    Reserved,
    /// It was declared; or it is the customer's own message, which came.
    Made,
    /// It was allowed and never declared.
    Expired,
}

/// How many contacts there were of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contacts {
    /// Whose message.
    pub outbound: bool,
    /// Why.
    pub purpose: PurposeId,
    /// What became of them.
    pub became: Became,
    /// How many.
    pub count: u64,
}

/// Counts of a space since a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// From when they count: the start of an hour.
    pub since: Timestamp,
    /// Contacts, in order.
    pub contacts: Vec<Contacts>,
    /// Declarations that named a token already named.
    pub tokens_reused: u64,
    /// Claims accepted beside a live one of another holder.
    pub ownership_overlaps: u64,
}

/// One hour of a space and a purpose; what has no purpose is under [`PurposeId::ANY`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    reserved: u32,
    /// Of those reserved in this hour.
    made: u32,
    declared: u32,
    inbound: u32,
    tokens_reused: u32,
    overlaps: u32,
}

/// Counts by the hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    cells: BTreeMap<(i64, SpaceId, PurposeId), Cell>,
    cells_max: usize,
    /// The first hour that is kept.
    first: i64,
}

impl Default for Tally {
    fn default() -> Self {
        Self::bounded(CELLS_MAX)
    }
}

/// The hour an instant lies in.
const fn hour(at: Timestamp) -> i64 {
    at.0.div_euclid(HOUR_MS)
}

/// The instant an id of ours was made at.
fn made_at(id: Id) -> Timestamp {
    let mut stamp = [0; 8];
    stamp[2..].copy_from_slice(&id.0[..6]);
    Timestamp(i64::from_be_bytes(stamp))
}

impl Tally {
    /// Nothing yet; keeps at most so many cells.
    #[must_use]
    pub const fn bounded(cells_max: usize) -> Self {
        Self {
            cells: BTreeMap::new(),
            cells_max,
            first: i64::MIN,
        }
    }

    /// Takes in the note of a decision. The order does not matter.
    pub fn add(&mut self, space: SpaceId, at: Timestamp, note: &Note) {
        let purpose = note.purpose.unwrap_or(PurposeId::ANY);
        let inbound = note.decision == Noted::Check(Verdict::Allow)
            && note.direction == Some(Direction::Inbound);
        if inbound {
            self.cell(at, space, purpose).inbound += 1;
        }
        if note.decision == Noted::AcceptedTokenReused {
            self.cell(at, space, purpose).tokens_reused += 1;
        }
        match &note.mark {
            Some(Mark::ContactReserved) => self.cell(at, space, purpose).reserved += 1,
            Some(Mark::ContactMade) => {
                // Under the hour in which it was allowed.
                let allowed_at = note.decision_id.map_or(at, made_at);
                self.cell(allowed_at, space, purpose).made += 1;
            }
            Some(Mark::ContactDeclared) => self.cell(at, space, purpose).declared += 1,
            Some(Mark::OwnershipOverlap) => self.cell(at, space, purpose).overlaps += 1,
            Some(Mark::Message(_)) | None => {}
        }
        self.keep_bound();
    }

    /// Takes in what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (&(hour, space, purpose), more) in &other.cells {
            let cell = self.cells.entry((hour, space, purpose)).or_default();
            cell.reserved += more.reserved;
            cell.made += more.made;
            cell.declared += more.declared;
            cell.inbound += more.inbound;
            cell.tokens_reused += more.tokens_reused;
            cell.overlaps += more.overlaps;
        }
        self.forget(self.first.max(other.first));
        self.keep_bound();
    }

    fn keep_bound(&mut self) {
        while self.cells.len() > self.cells_max {
            let Some((&(oldest, ..), _)) = self.cells.first_key_value() else {
                break;
            };
            self.forget(oldest + 1);
        }
    }

    /// What is counted of one space.
    #[must_use]
    pub fn only(&self, space: SpaceId) -> Self {
        let of_space = self.cells.iter().filter(|((_, of, _), _)| *of == space);
        Self {
            cells: of_space.map(|(key, cell)| (*key, *cell)).collect(),
            cells_max: self.cells_max,
            first: self.first,
        }
    }

    /// Forgets what was before an instant's hour.
    pub fn forget_before(&mut self, at: Timestamp) {
        self.forget(hour(at).max(self.first));
    }

    fn forget(&mut self, first: i64) {
        self.first = first;
        let least = (first, SpaceId([0; 16]), PurposeId::ANY);
        self.cells = self.cells.split_off(&least);
    }

    fn cell(&mut self, at: Timestamp, space: SpaceId, purpose: PurposeId) -> &mut Cell {
        // What comes late for an hour that is gone counts nowhere that is shown: the next look
        // forgets it again.
        self.cells.entry((hour(at), space, purpose)).or_default()
    }

    /// The counts of a space from the hour of `since` on.
    #[must_use]
    pub fn counts(
        &self,
        space: SpaceId,
        policy: &Policy,
        since: Timestamp,
        now: Timestamp,
    ) -> Decided {
        let first = hour(since).max(self.first);
        let mut decided = Decided {
            since: Timestamp(first.saturating_mul(HOUR_MS)),
            ..Decided::default()
        };
        let mut contacts: BTreeMap<(bool, PurposeId, Became), u64> = BTreeMap::new();
        let from = (first, SpaceId([0; 16]), PurposeId::ANY);
        for (&(at, of, purpose), cell) in self.cells.range(from..) {
            if of != space {
                continue;
            }
            decided.tokens_reused += u64::from(cell.tokens_reused);
            decided.ownership_overlaps += u64::from(cell.overlaps);
            let open = cell.reserved.saturating_sub(cell.made);
            let became = if lapsed(policy, purpose, at, now) {
                Became::Expired
            } else {
                Became::Reserved
            };
            let made = cell.declared + cell.reserved.min(cell.made);
            for (outbound, became, count) in [
                (true, became, open),
                (true, Became::Made, made),
                (false, Became::Made, cell.inbound),
            ] {
                if count > 0 {
                    let known = contacts.entry((outbound, purpose, became)).or_default();
                    *known += u64::from(count);
                }
            }
        }
        decided.contacts = contacts
            .into_iter()
            .map(|((outbound, purpose, became), count)| Contacts {
                outbound,
                purpose,
                became,
                count,
            })
            .collect();
        decided
    }
}

/// Whether everything that was allowed in an hour can no longer be cited.
fn lapsed(policy: &Policy, purpose: PurposeId, hour: i64, now: Timestamp) -> bool {
    let rules = policy.purpose_rules(purpose);
    let hours = rules.map_or(GONE_HOURS, |rules| i64::from(budget::keep(rules).hours));
    (hour + 1 + hours).saturating_mul(HOUR_MS) <= now.0
}
