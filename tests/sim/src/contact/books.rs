//! Everything there ever was, as the log tells it: contacts, attempts, suppressions, messages.
//!
//! Nothing is forgotten and nothing is changed in place: each line says which record made it and
//! which ended it, so that the books can be read as they stood before any record.

use std::collections::BTreeMap;

use interlock_domain::contact::claim::{Claim, TaskLock};
use interlock_domain::contact::command::{EffectKind, Settlement};
use interlock_domain::contact::event::{EffectReserved, EffectSettled, Event};
use interlock_domain::contact::name::{ChannelId, PurposeId, SourceId};
use interlock_domain::contact::suppression::Suppression;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::time::Timestamp;

use super::facts::Ties;
use super::handoffs::Handoffs;
use super::holds::{Register, Row};
use super::offers::Offers;
use super::paid::Spent;
use super::privacy::LegalHolds;
use super::rules::Hours;
use super::shadow::Runs;

/// A contact that counts.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    pub(super) record: u64,
    pub(super) id: Id,
    pub(super) purpose: PurposeId,
    /// The number of the intent whose slice it took from; 0 for what the slices leave.
    pub(super) share: u64,
    pub(super) at: Timestamp,
    pub(super) decided: bool,
    /// Until when it is remembered whatever comes after it.
    pub(super) kept_until: Timestamp,
}

/// An entry of the suppression list.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) added: u64,
    /// The record that lifted it or put another in its place.
    pub(super) ended: Option<u64>,
    pub(super) id: Id,
    pub(super) source: SourceId,
    pub(super) purpose: PurposeId,
    pub(super) channel: Option<ChannelId>,
    pub(super) since: Timestamp,
    pub(super) until: Option<Timestamp>,
    pub(super) window: Option<Hours>,
}

/// The end of what has none.
const FOR_EVER: Timestamp = Timestamp(i64::MAX);

/// How an effect key stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) source: SourceId,
    pub(super) kind: EffectKind,
    pub(super) reserved_at: Timestamp,
    pub(super) state: State,
    /// It lives as long as an object, whatever its days.
    pub(super) tied: bool,
}

/// An attempt's state; time alone can change how it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Reserved { until: Timestamp },
    Done { at: Timestamp, until: Timestamp },
    Failed { until: Timestamp },
    Unknown,
}

/// An outcome that is kept for repeats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) record: u64,
    /// The record that put another in its place.
    pub(super) ended: u64,
    pub(super) until: Timestamp,
    pub(super) fingerprint: [u8; 16],
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Books {
    contacts: BTreeMap<EntityKey, Vec<Contact>>,
    entries: BTreeMap<EntityKey, Vec<Entry>>,
    messages: BTreeMap<EntityKey, Vec<(u64, ChannelId, Timestamp)>>,
    tokens: BTreeMap<EntityKey, Vec<(u64, Id)>>,
    attempts: BTreeMap<EntityKey, Vec<(u64, Attempt)>>,
    receipts: BTreeMap<EntityKey, Vec<Kept>>,
    claims: BTreeMap<EntityKey, Register<Claim>>,
    locks: BTreeMap<EntityKey, Register<TaskLock>>,
    /// The highest epoch each target ever gave.
    epochs: BTreeMap<EntityKey, u64>,
    rows: BTreeMap<EntityKey, Row>,
    /// How far each space's list was after which record, in order.
    feeds: BTreeMap<EntityKey, Vec<(u64, u64)>>,
    /// The entry that each numbered change of a space's list was about.
    changes: BTreeMap<(SpaceId, u64), Id>,
    /// Units of paid operations.
    pub(super) spent: Spent,
    /// Legal holds.
    pub(super) legal_holds: LegalHolds,
    /// The records of a customer's erasures.
    erased: BTreeMap<EntityKey, Vec<u64>>,
    /// Shadow runs.
    pub(super) runs: Runs,
    pub(super) offers: Offers,
    pub(super) handoffs: Handoffs,
    /// Keys that live as long as an object.
    pub(super) ties: Ties,
    /// Which records changed an entity, and when.
    touched: BTreeMap<EntityKey, Vec<(u64, Timestamp)>>,
}

impl Entry {
    fn new(record: u64, added: &Suppression) -> Self {
        Self {
            added: record,
            ended: None,
            id: added.entry,
            source: added.source,
            purpose: added.purpose,
            channel: added.channel,
            since: added.since,
            until: added.until,
            window: added.window.as_ref().map(Hours::of),
        }
    }

    /// `since <= now < until`.
    pub(super) fn in_force(&self, now: Timestamp) -> bool {
        self.since <= now && self.until.is_none_or(|until| now < until)
    }
}

impl Attempt {
    const fn new(reserved: &EffectReserved) -> Self {
        Self {
            number: reserved.attempt,
            source: reserved.source,
            kind: reserved.kind,
            reserved_at: reserved.at,
            state: State::Reserved {
                until: reserved.lease_until,
            },
            tied: reserved.tied,
        }
    }

    fn settled(&self, settled: &EffectSettled) -> Self {
        let at = settled.at;
        let days = at.plus_s(i64::from(settled.keep_days) * 86_400);
        let until = if self.tied { FOR_EVER } else { days };
        Self {
            state: match settled.settlement {
                Settlement::Done => State::Done { at, until },
                Settlement::Failed => State::Failed { until },
                Settlement::UnknownOutcome => State::Unknown,
            },
            ..self.clone()
        }
    }

    /// The object's life is over: what is settled is free from now on.
    fn untied(&self, at: Timestamp) -> Self {
        let state = match self.state {
            State::Done { at: done_at, .. } => State::Done {
                at: done_at,
                until: at,
            },
            State::Failed { .. } => State::Failed { until: at },
            state @ (State::Reserved { .. } | State::Unknown) => state,
        };
        Self {
            state,
            tied: false,
            ..self.clone()
        }
    }

    /// How it reads at a moment: `None` when the key is free again.
    pub(super) fn at(&self, now: Timestamp) -> Option<State> {
        match self.state {
            State::Reserved { until } if now >= until => Some(State::Unknown),
            State::Done { until, .. } | State::Failed { until } if now >= until => None,
            state => Some(state),
        }
    }
}

impl Books {
    /// Enters an event.
    pub(super) fn enter(&mut self, record: u64, key: EntityKey, event: &Event) {
        self.spent.enter(record, key, event);
        self.runs.enter(record, key.space, event);
        self.legal_holds.enter(record, key.space, event);
        self.handoffs.enter(record, key, event);
        self.ties.enter(record, key, event);
        match event {
            Event::ContactCounted(counted) => {
                self.contacts.entry(key).or_default().push(Contact {
                    record,
                    id: counted.id,
                    purpose: counted.purpose,
                    share: counted.share,
                    at: counted.at,
                    decided: counted.decided,
                    kept_until: counted
                        .at
                        .plus_ms(i64::from(counted.keep_hours) * 3_600_000),
                });
            }
            Event::TokenSeen(seen) => self.tokens.entry(key).or_default().push((record, seen.jti)),
            Event::SuppressionAdded(added) => {
                let list = self.entries.entry(key).or_default();
                end(list, record, added.entry);
                list.push(Entry::new(record, added));
                self.changes.insert((key.space, added.number), added.entry);
            }
            Event::SuppressionLifted(lifted) => {
                end(self.entries.entry(key).or_default(), record, lifted.entry);
                self.changes
                    .insert((key.space, lifted.number), lifted.entry);
            }
            Event::MessageSeen(seen) => {
                let line = (record, seen.channel, seen.occurred_at);
                self.messages.entry(key).or_default().push(line);
            }
            Event::EffectReserved(reserved) => {
                let list = self.attempts.entry(key).or_default();
                list.push((record, Attempt::new(reserved)));
            }
            Event::EffectSettled(settled) => {
                let list = self.attempts.entry(key).or_default();
                if let Some((_, last)) = list.last() {
                    let attempt = last.settled(settled);
                    list.push((record, attempt));
                }
            }
            Event::KeyUntied(untied) => {
                let list = self.attempts.entry(key).or_default();
                if let Some((_, last)) = list.last() {
                    let attempt = last.untied(untied.at);
                    list.push((record, attempt));
                }
            }
            Event::ReceiptKept(kept) => {
                let list = self.receipts.entry(key).or_default();
                if let Some(last) = list.last_mut() {
                    last.ended = record;
                }
                list.push(Kept {
                    record,
                    ended: u64::MAX,
                    until: kept.until,
                    fingerprint: kept.fingerprint,
                });
            }
            _ => self.enter_hold(record, key, event),
        }
    }

    fn enter_hold(&mut self, record: u64, key: EntityKey, event: &Event) {
        match event {
            Event::ClaimAccepted(claim) => {
                self.epochs.insert(key, claim.epoch);
                let claims = self.claims.entry(key).or_default();
                claims.enter(record, (**claim).clone());
            }
            Event::LockTaken(lock) => {
                self.epochs.insert(key, lock.epoch);
                let locks = self.locks.entry(key).or_default();
                locks.enter(record, (**lock).clone());
            }
            Event::ClaimReleased(released) => {
                let (id, at) = (released.id, released.at);
                let claims = self.claims.entry(key).or_default();
                if !claims.end(record, id, at) {
                    self.locks.entry(key).or_default().end(record, id, at);
                }
            }
            Event::RowWritten(row) => match self.rows.get_mut(&key) {
                Some(known) if known.loses_terms(row, record) => known.cleared = record,
                Some(_) | None => {
                    self.rows.insert(key, Row::new(record, row));
                }
            },
            Event::CustomerErased(_) => {
                self.erased.entry(key).or_default().push(record);
                self.claims.entry(key).or_default().erase(record);
                self.offers.enter(record, key, event);
            }
            Event::FeedMoved(feed) => {
                self.feeds.entry(key).or_default().push((record, feed.last));
            }
            _ => self.offers.enter(record, key, event),
        }
    }

    /// A record changes an entity at a moment.
    pub(super) fn touch(&mut self, record: u64, key: EntityKey, at: Timestamp) {
        self.touched.entry(key).or_default().push((record, at));
    }

    /// The records before which an entity stood differently since a record, and since when it did.
    pub(super) fn moments(
        &self,
        key: EntityKey,
        since: u64,
    ) -> impl Iterator<Item = (u64, Timestamp)> {
        let touched = self.touched.get(&key).map_or(&[][..], Vec::as_slice);
        let later = touched.partition_point(|line| line.0 <= since);
        let first = touched[..later].last();
        let first = first.map_or(Timestamp(0), |line| line.1);
        let later = touched[later..].iter();
        let later = later.map(|(record, at)| (record + 1, *at));
        std::iter::once((since + 1, first)).chain(later)
    }

    /// The last erasure of a customer before a record; 0 without one.
    fn erasure(&self, key: EntityKey, before: u64) -> u64 {
        let erased = self.erased.get(&key).map_or(&[][..], Vec::as_slice);
        let mut erased = erased.iter().rev();
        erased
            .find(|erased| **erased < before)
            .copied()
            .unwrap_or(0)
    }

    /// How far a space's list was before a record.
    pub(super) fn feed(&self, key: EntityKey, before: u64) -> u64 {
        let list = self.feeds.get(&key).map_or(&[][..], Vec::as_slice);
        let until = list.partition_point(|line| line.0 < before);
        list[..until].last().map_or(0, |line| line.1)
    }

    /// The number of the newest change of a space's list.
    pub(super) fn newest(&self, space: SpaceId) -> u64 {
        let mut changes = self.changes.range((space, 0)..=(space, u64::MAX));
        changes.next_back().map_or(0, |(key, _)| key.1)
    }

    /// The entry that a change of a space's list was about.
    pub(super) fn change(&self, space: SpaceId, number: u64) -> Option<Id> {
        self.changes.get(&(space, number)).copied()
    }

    /// A target's claims.
    pub(super) fn claims(&self, key: EntityKey) -> Option<&Register<Claim>> {
        self.claims.get(&key)
    }

    /// An object's locks.
    pub(super) fn locks(&self, key: EntityKey) -> Option<&Register<TaskLock>> {
        self.locks.get(&key)
    }

    /// The highest epoch a target gave so far.
    pub(super) fn epoch(&self, key: EntityKey) -> u64 {
        self.epochs.get(&key).copied().unwrap_or(0)
    }

    /// Where an id leads.
    pub(super) fn row(&self, key: EntityKey) -> Option<&Row> {
        self.rows.get(&key)
    }

    /// A customer's contacts before a record, in order.
    pub(super) fn contacts(&self, key: EntityKey, before: u64) -> impl Iterator<Item = &Contact> {
        let list = self.contacts.get(&key).map_or(&[][..], Vec::as_slice);
        let erasure = self.erasure(key, before);
        let from = list.partition_point(|contact| contact.record <= erasure);
        let until = list.partition_point(|contact| contact.record < before);
        list[from..until.max(from)].iter()
    }

    /// A customer's suppressions before a record.
    pub(super) fn entries(&self, key: EntityKey, before: u64) -> impl Iterator<Item = &Entry> {
        let list = self.entries.get(&key).map_or(&[][..], Vec::as_slice);
        list.iter().filter(move |entry| {
            entry.added < before && entry.ended.is_none_or(|ended| ended >= before)
        })
    }

    /// A customer's last message on a channel before a record.
    pub(super) fn message(
        &self,
        key: EntityKey,
        channel: ChannelId,
        before: u64,
    ) -> Option<Timestamp> {
        let list = self.messages.get(&key)?;
        let erasure = self.erasure(key, before);
        let seen = list
            .iter()
            .filter(|line| line.0 > erasure && line.0 < before && line.1 == channel);
        seen.map(|line| line.2).max()
    }

    /// Was a token named by a customer's declaration before a record?
    pub(super) fn token(&self, key: EntityKey, jti: Id, before: u64) -> bool {
        let list = self.tokens.get(&key).map_or(&[][..], Vec::as_slice);
        let erasure = self.erasure(key, before);
        list.iter()
            .any(|line| line.0 > erasure && line.0 < before && line.1 == jti)
    }

    /// An effect's last attempt before a record.
    pub(super) fn attempt(&self, key: EntityKey, before: u64) -> Option<&Attempt> {
        let list = self.attempts.get(&key)?;
        let until = list.partition_point(|line| line.0 < before);
        list[..until].last().map(|line| &line.1)
    }

    /// Every outcome ever kept under a key, in order.
    pub(super) fn receipts(&self, key: EntityKey) -> &[Kept] {
        self.receipts.get(&key).map_or(&[], Vec::as_slice)
    }
}

fn end(list: &mut [Entry], record: u64, id: Id) {
    for entry in list.iter_mut() {
        if entry.id == id && entry.ended.is_none() {
            entry.ended = Some(record);
        }
    }
}
