//! What was decided in the last days, in counts (`docs/spec/contact.md` §18, overview).
//!
//! Here: notes in, counts out, for all spaces together, by the hour; what was allowed in the last
//! minutes also by the second, for it may still be on its way. Bounded: above so many cells the
//! oldest hour goes, and figures count from the hour after it. Not here: who reads history (the
//! edge), and what is held now (`holdings`).

use std::collections::BTreeMap;

use crate::contact::check::VALID_FOR_S;
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

/// Seconds from the issue of a contact token to its last one (§13).
const TOKEN_S: i64 = 125;

/// For how many seconds what was allowed is known by the second: more than any token lives.
const FRESH_S: i64 = 300;

/// What became of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// It was allowed a moment ago: its token, or the time the answer holds for, is not over (§6).
    Reserved,
    /// It was declared; or it is the customer's own message, which came.
    Made,
    /// It was allowed, its time is over, and it was not declared so far.
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

/// What was allowed in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fresh {
    reserved: u32,
    made: u32,
}

/// Counts by the hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    cells: BTreeMap<(i64, SpaceId, PurposeId), Cell>,
    cells_max: usize,
    /// By the second, up to [`FRESH_S`] before the newest; at most as many as cells, then the oldest
    /// go and count as expired.
    fresh: BTreeMap<(i64, SpaceId, PurposeId), Fresh>,
    /// The newest second that was counted.
    newest: i64,
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
            fresh: BTreeMap::new(),
            newest: i64::MIN,
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
        // A contact counts when it was allowed, also where it is told to be made.
        let allowed_at = note.decision_id.map_or(at, made_at);
        match &note.mark {
            Some(Mark::ContactReserved) => {
                self.cell(allowed_at, space, purpose).reserved += 1;
                self.fresh(allowed_at, space, purpose).reserved += 1;
            }
            Some(Mark::ContactMade) => {
                self.cell(allowed_at, space, purpose).made += 1;
                self.fresh(allowed_at, space, purpose).made += 1;
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
        for (&key, more) in &other.fresh {
            let fresh = self.fresh.entry(key).or_default();
            fresh.reserved += more.reserved;
            fresh.made += more.made;
        }
        self.newest = self.newest.max(other.newest);
        self.forget(self.first.max(other.first));
        self.keep_bound();
    }

    fn keep_bound(&mut self) {
        let is_old = |second: i64| second <= self.newest.saturating_sub(FRESH_S);
        while let Some(oldest) = self.fresh.first_entry()
            && (is_old(oldest.key().0) || self.fresh.len() > self.cells_max)
        {
            self.fresh.pop_first();
        }
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
        let fresh = self.fresh.iter().filter(|((_, of, _), _)| *of == space);
        Self {
            cells: of_space.map(|(key, cell)| (*key, *cell)).collect(),
            cells_max: self.cells_max,
            fresh: fresh.map(|(key, fresh)| (*key, *fresh)).collect(),
            newest: self.newest,
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

    fn fresh(&mut self, at: Timestamp, space: SpaceId, purpose: PurposeId) -> &mut Fresh {
        let second = at.0.div_euclid(1_000);
        self.newest = self.newest.max(second);
        self.fresh.entry((second, space, purpose)).or_default()
    }

    /// Contacts of a space and purpose that may still go.
    fn pending(&self, space: SpaceId, purpose: PurposeId, policy: &Policy, now: Timestamp) -> u64 {
        let rules = policy.purpose_rules(purpose);
        let life = match rules {
            Some(rules) if rules.token => TOKEN_S,
            Some(_) | None => i64::from(VALID_FOR_S),
        };
        let since = now.0.div_euclid(1_000).saturating_sub(life);
        let from = (since.saturating_add(1), SpaceId([0; 16]), PurposeId::ANY);
        let fresh = self.fresh.range(from..);
        let fresh = fresh.filter(|((_, of, why), _)| (*of, *why) == (space, purpose));
        fresh
            .map(|(_, fresh)| u64::from(fresh.reserved.saturating_sub(fresh.made)))
            .sum()
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
        let mut undeclared: BTreeMap<PurposeId, u64> = BTreeMap::new();
        let from = (first, SpaceId([0; 16]), PurposeId::ANY);
        for (&(_, of, purpose), cell) in self.cells.range(from..) {
            if of != space {
                continue;
            }
            decided.tokens_reused += u64::from(cell.tokens_reused);
            decided.ownership_overlaps += u64::from(cell.overlaps);
            let open = u64::from(cell.reserved.saturating_sub(cell.made));
            *undeclared.entry(purpose).or_default() += open;
            let made = cell.declared + cell.reserved.min(cell.made);
            for (outbound, became, count) in [
                (true, Became::Made, made),
                (false, Became::Made, cell.inbound),
            ] {
                if count > 0 {
                    let known = contacts.entry((outbound, purpose, became)).or_default();
                    *known += u64::from(count);
                }
            }
        }
        for (purpose, open) in undeclared {
            let pending = self.pending(space, purpose, policy, now).min(open);
            let kinds = [
                (Became::Reserved, pending),
                (Became::Expired, open - pending),
            ];
            for (became, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
                contacts.insert((true, purpose, became), count);
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
