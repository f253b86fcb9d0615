//! The model of the contact product: what is under way, the books, and the judgement.
//!
//! A record is checked against C1 to C5 when it reaches the log; an answer is checked whole
//! when it arrives: there must be a record, written since the question, at which the command comes
//! to exactly this answer, this note and these changes, or an outcome kept under its key.

use std::collections::BTreeMap;
use std::sync::Arc;

use interlock_actors::message::Answer;
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::{Body, Command};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::contact::notice::Notice;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::Reply;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_domain::machine::Versioned;
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, Sequence};

use super::ask::Clients;
use super::books::Books;
use super::coverage;
use super::ends::Ends;
pub(super) use super::line::Line;
use super::rules::Rules;
use crate::machine::{Ask, Given, Memory, Model, Ticket, Violation, Written, violated};
use crate::random::Random;

/// A command under way.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) command: Command,
    /// Records in the log when it was asked.
    pub(super) since: u64,
    pub(super) answered: bool,
    /// The version of the rules it was asked with.
    pub(super) policy: u32,
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
    ends: Ends,
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
            ends: Ends::default(),
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

    fn end_to_come(&mut self, now: Timestamp, random: &mut Random) -> Option<Timestamp> {
        self.ends.next(now, random)
    }

    fn ask(&mut self, ask: &Ask<'_, Policy>, random: &mut Random) -> Command {
        let rules = &self.rules[&(ask.space, ask.policy.version())];
        let command = self.clients.ask(ask.space, rules, ask.now, random);
        let asked = Asked {
            command: command.clone(),
            since: self.records,
            answered: false,
            policy: ask.policy.version(),
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
            self.books.touch(record.number, *key, record.time);
            self.saw(coverage::moment(event, record.time));
            self.tell(record.space, *key, event);
            if let Some(rules) = self.rules.get(&(record.space, record.policy)) {
                self.ends.learn(event, rules);
            }
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
            conditions: Arc::clone(&record.conditions),
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
        given: &Given<'_>,
    ) -> Result<(), Violation> {
        // An answer came about at the time of its turn.
        self.latest = given.conditions.time;
        let Some(mut asked) = self.asked.remove(&ticket) else {
            return violated("answers", format!("command {ticket} was never asked"));
        };
        let explained = match answer {
            Answer::Decided(reply) | Answer::Instead(reply) => self.explain(&asked, reply, given),
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
        if let (Answer::Decided(Reply::Shown(entity)), Body::Show(show)) =
            (answer, &asked.command.body)
            && show.kind == Kind::Customer
        {
            let customer = entity.as_deref().and_then(ContactEntity::as_customer);
            let space = asked.command.space;
            self.clients.shown(space, show.hash, customer);
        }
        self.saw(coverage::read_under(&asked.command, given.conditions));
        asked.answered = true;
        self.asked.insert(ticket, asked);
        Ok(())
    }

    fn quiet(
        &mut self,
        memory: &Memory<ContactEntity>,
        latest: Timestamp,
    ) -> Result<(), Violation> {
        self.latest = latest;
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
        self.agrees(memory)?;
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
            Event::HoldPlaced(hold) => self.clients.placed(space, hold),
            Event::HandoffCreated(made) => self.clients.passed_on(space, Id(key.hash.0), made),
            Event::RunRequested(run) => self.clients.requested(space, run.id),
            _ => {}
        }
    }
}
