//! The model of the contact product: what is under way, the books, and the judgement.
//!
//! A record is checked against C1 to C5 when it reaches the log; an answer is checked whole
//! when it arrives: there must be a record, written since the question, at which the command comes
//! to exactly this answer, this note and these changes, or an outcome kept under its key.

use std::collections::BTreeMap;
use std::fmt::Debug;

use interlock_actors::message::Answer;
use interlock_domain::contact::Contact;
use interlock_domain::contact::claim::{Claim, ClaimVia};
use interlock_domain::contact::command::{Body, Command};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::name::{IntentId, OperationId, PurposeId};
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::contact::notice::Notice;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::{EffectState, Reply};
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_domain::machine::Versioned;
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, Sequence};

use super::ask::Clients;
use super::books::{Books, State};
use super::budget::left;
use super::check::{Standing, standing};
use super::holds::{Hold, Register};
pub(super) use super::line::Line;
use super::rules::Rules;
use crate::machine::{Ask, Memory, Model, Ticket, Violation, Written, violated};
use crate::random::Random;

/// A command under way.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) command: Command,
    /// Records in the log when it was asked.
    pub(super) since: u64,
    pub(super) answered: bool,
}

/// See the module.
#[derive(Debug)]
pub struct ContactModel {
    clients: Clients,
    pub(super) rules: BTreeMap<(SpaceId, u32), Rules>,
    asked: BTreeMap<Ticket, Asked>,
    pub(super) books: Books,
    pub(super) lines: BTreeMap<u64, Line>,
    pub(super) decisions: BTreeMap<Id, u64>,
    pub(super) records: u64,
    /// Records before this one were settled at the last rest.
    settled: u64,
    /// No decision was later than this.
    pub(super) latest: Timestamp,
    seen: BTreeMap<&'static str, u64>,
    /// The number of the last change of each list that readers were told of.
    told: BTreeMap<SpaceId, u64>,
}

impl Model<Contact> for ContactModel {
    fn new(random: &mut Random) -> Self {
        Self {
            clients: Clients::new(random),
            rules: BTreeMap::new(),
            asked: BTreeMap::new(),
            books: Books::default(),
            lines: BTreeMap::new(),
            decisions: BTreeMap::new(),
            records: 0,
            settled: 0,
            latest: Timestamp(0),
            seen: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.clients.spaces()
    }

    fn policy(&mut self, space: SpaceId, version: u32, random: &mut Random) -> Policy {
        let rules = Rules::new(random);
        let policy = rules.policy(version);
        self.rules.insert((space, version), rules);
        policy
    }

    fn ask(&mut self, ask: &Ask<'_, Policy>, random: &mut Random) -> Command {
        let rules = &self.rules[&(ask.space, ask.policy.version())];
        let command = self.clients.ask(ask.space, rules, ask.now, random);
        let asked = Asked {
            command: command.clone(),
            since: self.records,
            answered: false,
        };
        self.asked.insert(ask.ticket, asked);
        command
    }

    fn ticket(_note: &Note) -> Option<Ticket> {
        None
    }

    fn written(&mut self, record: &Written<Contact>) -> Result<(), Violation> {
        self.records = record.number;
        if record.policy == 0 {
            return self.swept(record);
        }
        let mut events = Vec::new();
        for entry in &record.entries {
            let Some(event) = &entry.event else {
                return violated("model", format!("a decision purged {:?}", entry.key));
            };
            self.holds(record, entry.key, event)?;
            events.push((entry.key, event.clone()));
        }
        for (key, event) in &events {
            self.books.enter(record.number, *key, event);
            self.tell(record.space, *key, event);
        }
        if let Some(note) = &record.note
            && let (Some(id), Noted::Check(_)) = (note.decision_id, note.decision)
            && self.decisions.insert(id, record.number).is_some()
        {
            return violated("C6", format!("{id:?} was decided twice"));
        }
        let line = Line {
            space: record.space,
            time: record.time,
            policy: record.policy,
            note: record.note.clone(),
            events,
            claimed: false,
        };
        self.lines.insert(record.number, line);
        Ok(())
    }

    /// A crash may swallow notices, but none comes twice, out of order or of nothing.
    fn noticed(&mut self, _: Group, _: Sequence, notice: &Notice) -> Result<(), Violation> {
        let Notice::ListChanged(told) = notice;
        let (space, number) = (told.space, told.entry.number);
        let last = self.told.insert(space, number).unwrap_or(0);
        let about = self.books.change(space, number);
        if number > last && about == Some(told.entry.entry) {
            return Ok(());
        }
        violated(
            "answers",
            format!("{told:?} after {last}, {about:?} by the books"),
        )
    }

    fn looked_up(
        &mut self,
        ticket: Ticket,
        found: &Reply,
        latest: Timestamp,
    ) -> Result<(), Violation> {
        self.latest = latest;
        let Some(asked) = self.asked.get(&ticket) else {
            return violated("answers", format!("command {ticket} was never asked"));
        };
        match self.found(asked, found) {
            Ok(()) => Ok(()),
            Err(why) => violated("model", format!("{why}: {found:?} to {asked:?}")),
        }
    }

    fn completed(&mut self, ticket: Ticket, command: &Command) {
        if let Some(asked) = self.asked.get_mut(&ticket) {
            asked.command = command.clone();
            asked.since = self.records;
        }
    }

    fn seen(&self) -> BTreeMap<&'static str, u64> {
        self.seen.clone()
    }

    fn answered(
        &mut self,
        ticket: Ticket,
        answer: &Answer<Reply>,
        latest: Timestamp,
    ) -> Result<(), Violation> {
        self.latest = latest;
        let Some(mut asked) = self.asked.remove(&ticket) else {
            return violated("answers", format!("command {ticket} was never asked"));
        };
        let explained = match answer {
            Answer::Decided(reply) => self.explain(&asked, reply),
            // A check without a key is answered in place.
            Answer::NotDecided(_)
                if asked.command.receipt.is_some()
                    || !matches!(asked.command.body, Body::Check(_)) =>
            {
                Ok(())
            }
            Answer::Busy => Ok(()),
            Answer::NotDecided(_) | Answer::Broken | Answer::Unavailable => {
                Err("no such answer".to_owned())
            }
        };
        if let Err(why) = explained {
            return violated("model", format!("{why}: {answer:?} to {asked:?}"));
        }
        asked.answered = true;
        self.asked.insert(ticket, asked);
        Ok(())
    }

    fn quiet(&mut self, memory: &Memory<ContactEntity>) -> Result<(), Violation> {
        let lost = self.asked.values().filter(|asked| !asked.answered).count();
        let fresh = self.lines.range(self.settled + 1..);
        let changes = |line: &&Line| !line.claimed && !line.events.is_empty();
        let unclaimed = fresh.filter(|(_, line)| changes(line)).count();
        if unclaimed > lost {
            return violated(
                "C6",
                format!("{unclaimed} changes, {lost} commands unanswered"),
            );
        }
        for (key, (_, entity)) in memory {
            if let Some(effect) = entity.as_effect() {
                let stands = self.books.attempt(*key, u64::MAX);
                let fine = stands.is_some_and(|attempt| {
                    let state = match attempt.state {
                        State::Reserved { .. } => EffectState::Reserved,
                        State::Done { .. } => EffectState::Done,
                        State::Failed { .. } => EffectState::Failed,
                        State::Unknown => EffectState::UnknownOutcome,
                    };
                    (effect.attempt, effect.state) == (attempt.number, state)
                });
                if !fine {
                    return violated("model", format!("{effect:?} is {stands:?} by the books"));
                }
            }
            let now = self.latest;
            self.remembers(self.books.claims(*key), entity.claims(), now)?;
            self.remembers(self.books.locks(*key), entity.locks(), now)?;
        }
        self.asked.clear();
        self.settled = self.records;
        Ok(())
    }
}

impl ContactModel {
    /// Counts a case.
    pub(super) fn saw(&mut self, case: Option<&'static str>) {
        if let Some(case) = case {
            *self.seen.entry(case).or_default() += 1;
        }
    }

    /// Clients learn of decisions they may cite and attempts they may settle.
    fn tell(&mut self, space: SpaceId, key: EntityKey, event: &Event) {
        match event {
            Event::ContactCounted(counted) if counted.decided => {
                let (id, purpose) = (counted.id, counted.purpose);
                self.clients.decided(space, id, key.hash, purpose);
            }
            Event::EffectReserved(reserved) => {
                self.clients.attempted(space, key.hash, reserved.attempt);
            }
            Event::ClaimAccepted(claim) => self.clients.claimed(space, claim.id, claim.epoch),
            Event::LockTaken(lock) => self.clients.claimed(space, lock.id, lock.epoch),
            Event::RowWritten(row) if row.admission.is_some() => {
                self.clients.admitted(space, Id(key.hash.0));
            }
            Event::HoldPlaced(hold) => self.clients.placed(space, hold.id),
            Event::RunRequested(run) => self.clients.requested(space, run.id),
            _ => {}
        }
    }

    /// C1, C2 and C5, and exactly once, at the moment a record reaches the log.
    fn holds(
        &self,
        record: &Written<Contact>,
        key: EntityKey,
        event: &Event,
    ) -> Result<(), Violation> {
        let (number, now) = (record.number, record.time);
        match event {
            Event::EffectReserved(reserved) => {
                let held = self.books.attempt(key, number);
                match standing(held, now) {
                    Standing::Free(attempt) if attempt == reserved.attempt => Ok(()),
                    Standing::Free(_) | Standing::Held(..) => {
                        violated("C2", format!("{reserved:?} over {held:?}"))
                    }
                }
            }
            Event::CustomerErased(_) if self.books.legal_holds.covers(key, number) => {
                violated("model", format!("{key:?} is erased under a legal hold"))
            }
            Event::UnitsReserved(reserved) => {
                let of = (key, reserved.operation);
                let used = self.books.spent.used(of, number, now) + u64::from(reserved.units);
                let rules = &self.rules[&(record.space, record.policy)];
                let mut caps = rules.caps.iter();
                let cap = caps.find(|cap| OperationId::of(cap.name) == reserved.operation);
                match cap {
                    Some(cap) if reserved.units == 0 || used <= u64::from(cap.limit) => Ok(()),
                    cap => violated("C7", format!("{used} units by {reserved:?} of {cap:?}")),
                }
            }
            Event::ContactCounted(counted) if counted.decided => {
                let stops = |entry: &&super::books::Entry| {
                    entry.in_force(now)
                        && [counted.purpose, PurposeId::ANY].contains(&entry.purpose)
                        && (entry.channel.is_none() || entry.channel == counted.channel)
                        && entry
                            .window
                            .as_ref()
                            .is_none_or(|hours| hours.end(now).is_some())
                };
                if let Some(entry) = self.books.entries(key, number).find(stops) {
                    return violated("C5", format!("{counted:?} in spite of {entry:?}"));
                }
                let rules = &self.rules[&(record.space, record.policy)];
                let rules = rules.purpose(counted.purpose);
                let Some(budget) = rules.and_then(|purpose| purpose.budget.as_ref()) else {
                    return Ok(());
                };
                let contacts = self.books.contacts(key, number);
                let share = Some(IntentId(counted.share));
                let left = left(budget, counted.purpose, share, contacts, now);
                if left.remaining == 0 || left.paced {
                    return violated("C1", format!("{counted:?} with {left:?} of {budget:?}"));
                }
                Ok(())
            }
            Event::SuppressionAdded(added) => self.counts(record, event, added.number),
            Event::SuppressionLifted(lifted) => self.counts(record, event, lifted.number),
            Event::ReceiptKept(kept) => match self.books.receipts(key).last() {
                Some(last) if now < last.until => {
                    violated("model", format!("{kept:?} over a kept outcome, {last:?}"))
                }
                Some(_) | None => Ok(()),
            },
            _ => self.holds_alone(record, key, event),
        }
    }

    /// Numbers of a space's list are in the order of its changes and leave none out.
    fn counts(
        &self,
        record: &Written<Contact>,
        event: &Event,
        number: u64,
    ) -> Result<(), Violation> {
        let mut before = 0;
        for entry in &record.entries {
            match &entry.event {
                Some(other) if other == event => break,
                Some(Event::SuppressionAdded(_) | Event::SuppressionLifted(_)) => before += 1,
                _ => {}
            }
        }
        let last = self.books.newest(record.space) + before;
        if number == last + 1 {
            return Ok(());
        }
        violated(
            "model",
            format!("{event:?} after change {last} of the list"),
        )
    }

    /// C3 and C4, and one row for each id.
    fn holds_alone(
        &self,
        record: &Written<Contact>,
        key: EntityKey,
        event: &Event,
    ) -> Result<(), Violation> {
        let (number, now) = (record.number, record.time);
        let epoch = match event {
            Event::ClaimAccepted(claim) => {
                let live = self.books.claims(key);
                let live = live.map_or_else(Vec::new, |all| all.live(number, now));
                let own = live.iter().any(|known| known.id == claim.id);
                let above =
                    |known: &&&Claim| known.holder != claim.holder && known.rank <= claim.rank;
                if claim.via == ClaimVia::Declaration
                    && !own
                    && claim.since == now
                    && let Some(held) = live.iter().find(above)
                {
                    return violated("C3", format!("{claim:?} under {held:?}"));
                }
                claim.epoch
            }
            Event::LockTaken(lock) => {
                let live = self.books.locks(key);
                let mut live = live.map_or_else(Vec::new, |all| all.live(number, now));
                live.retain(|known| known.task == lock.task && known.holder != lock.holder);
                if let Some(held) = live.first() {
                    return violated("C3", format!("{lock:?} beside {held:?}"));
                }
                lock.epoch
            }
            Event::RowWritten(row) => {
                // The id of an offer is free again long after its end.
                let known = self.books.row(key).filter(|known| now < known.until);
                return match known {
                    Some(known) => violated("model", format!("{row:?} over {known:?}")),
                    None => Ok(()),
                };
            }
            _ => return Ok(()),
        };
        let last = self.books.epoch(key);
        if epoch <= last {
            return violated("C4", format!("{event:?} after epoch {last}"));
        }
        Ok(())
    }

    /// At rest: what memory has is what the books have, and nothing that must be known is missing.
    fn remembers<T: Hold + Clone + PartialEq + Debug>(
        &self,
        all: Option<&Register<T>>,
        memory: &[T],
        now: Timestamp,
    ) -> Result<(), Violation> {
        for known in memory {
            let stands = all.and_then(|all| all.of_id(known.id(), u64::MAX));
            if stands != Some(known) {
                return violated("model", format!("{known:?} is {stands:?} by the books"));
            }
        }
        let live = all.map_or_else(Vec::new, |all| all.live(u64::MAX, now));
        match live.into_iter().find(|due| !memory.contains(due)) {
            Some(missing) => violated("C3", format!("{missing:?} is not in memory")),
            None => Ok(()),
        }
    }

    /// A sweep forgot something: was there nothing left to remember?
    fn swept(&self, record: &Written<Contact>) -> Result<(), Violation> {
        let now = record.time;
        for entry in &record.entries {
            let key = entry.key;
            let alive = entry.event.is_some()
                || self.books.legal_holds.covers(key, record.number)
                || match key.kind {
                    Kind::Effect => self
                        .books
                        .attempt(key, record.number)
                        .is_some_and(|attempt| attempt.at(now).is_some()),
                    Kind::Receipt => {
                        let last = self.books.receipts(key).last();
                        last.is_some_and(|kept| now < kept.until)
                    }
                    Kind::Customer | Kind::Object => {
                        let mut entries = self.books.entries(key, record.number);
                        let claims = self.books.claims(key);
                        let locks = self.books.locks(key);
                        entries.any(|entry| entry.in_force(now))
                            || self.books.offers.is_needed(key, record.number, now)
                            || claims.is_some_and(|all| all.is_needed(record.number, now))
                            || locks.is_some_and(|all| all.is_needed(record.number, now))
                    }
                    // Without it numbers of the list would come back.
                    Kind::Feed => true,
                    Kind::Holds => self.books.legal_holds.any(key.space),
                    Kind::Directory => {
                        let row = self.books.row(key);
                        row.is_some_and(|row| now < row.until)
                    }
                    _ => false,
                };
            if alive {
                return violated("model", format!("a sweep forgot {key:?}: {record:?}"));
            }
        }
        Ok(())
    }
}
