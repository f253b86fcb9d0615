//! What counters must come to, from plain maps fed in log order.
//!
//! Independent of shards, loans and versions: it knows what was asked, recomputes every record and
//! compares it with its note and with the answer. Answers that leave no record must be true at some
//! moment between question and answer.

use std::collections::BTreeMap;

use interlock_actors::message::Answer;
use interlock_actors::record::Change;
use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_domain::machine::{Machine, Undecided};
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, Sequence};

use super::ask::Clients;
use super::{Act, Command, Entity, Event, Note, Noted, Policy, RECEIPT_KEPT_MS, Reply, Values};
use crate::machine::{Ask, Given, Memory, Model, Ticket, Violation, Written, violated};
use crate::random::Random;
use crate::timeline::Timeline;

/// A command under way.
#[derive(Debug)]
struct Asked {
    command: Command,
    /// Records in the log when it was asked.
    since: u64,
    /// Where its record lies, and what that says.
    done: Option<(Group, Sequence, Noted)>,
    /// Its notice left.
    noticed: bool,
}

/// A receipt as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    first: Ticket,
    values: Values,
    until: Timestamp,
}

/// See the module.
#[derive(Debug)]
pub struct CountersModel {
    clients: Clients,
    asked: BTreeMap<Ticket, Asked>,
    /// By space and number of the pair.
    pairs: BTreeMap<(SpaceId, usize), Timeline<i64>>,
    receipts: BTreeMap<EntityKey, Timeline<Option<Kept>>>,
    limits: BTreeMap<(SpaceId, u32), i64>,
    epochs: BTreeMap<(SpaceId, usize), u64>,
    records: u64,
}

/// A machine whose words are those of counters.
pub(super) trait Alike:
    Machine<
        Entity = Entity,
        Command = Command,
        Event = Event,
        Reply = Reply,
        Note = Note,
        Notice = Ticket,
        Policy = Policy,
    >
{
}

impl<M> Alike for M where
    M: Machine<
            Entity = Entity,
            Command = Command,
            Event = Event,
            Reply = Reply,
            Note = Note,
            Notice = Ticket,
            Policy = Policy,
        >
{
}

impl<M: Alike> Model<M> for CountersModel {
    fn new(random: &mut Random) -> Self {
        let clients = Clients::new(random);
        let pairs = clients.places.iter().flat_map(|place| {
            let pairs = place.pairs.iter();
            pairs.map(|pair| ((place.space, pair.number), Timeline::new(0)))
        });
        let receipts = clients.places.iter().flat_map(|place| &place.receipts);
        Self {
            pairs: pairs.collect(),
            receipts: receipts.map(|&key| (key, Timeline::new(None))).collect(),
            asked: BTreeMap::new(),
            limits: BTreeMap::new(),
            epochs: BTreeMap::new(),
            records: 0,
            clients,
        }
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.clients
            .places
            .iter()
            .map(|place| place.space)
            .collect()
    }

    fn policy(&mut self, space: SpaceId, version: u32, random: &mut Random) -> Policy {
        let policy = self.clients.policy(version, random);
        self.limits.insert((space, version), policy.limit);
        policy
    }

    fn ask(&mut self, ask: &Ask<'_, Policy>, random: &mut Random) -> Command {
        let command = self.clients.ask(ask, random);
        let asked = Asked {
            command: command.clone(),
            since: self.records,
            done: None,
            noticed: false,
        };
        self.asked.insert(ask.ticket, asked);
        command
    }

    fn ticket(note: &Note) -> Option<Ticket> {
        Some(note.ticket)
    }

    fn written(&mut self, record: &Written<M>) -> Result<(), Violation> {
        self.records = record.number;
        match &record.note {
            Some(note) => self.decided(record, note),
            None => self.swept(record),
        }
    }

    fn noticed(
        &mut self,
        group: Group,
        sequence: Sequence,
        notice: &Ticket,
    ) -> Result<(), Violation> {
        match self.asked.get_mut(notice) {
            Some(Asked {
                done: Some((at, place, Noted::Done(_))),
                noticed,
                ..
            }) if (*at, *place) == (group, sequence) && !*noticed => {
                *noticed = true;
                Ok(())
            }
            asked => violated(
                "C6",
                format!("a notice at {group} {sequence:?} of {asked:?}"),
            ),
        }
    }

    fn answered(
        &mut self,
        ticket: Ticket,
        answer: &Answer<Reply>,
        given: &Given<'_>,
    ) -> Result<(), Violation> {
        let Some(asked) = self.asked.get(&ticket) else {
            return violated("answers", format!("command {ticket} was never asked"));
        };
        let late = matches!(
            answer,
            Answer::Instead(Reply::Late) | Answer::NotDecided(Undecided::Deadline)
        );
        if late == given.late && self.is_right(asked, answer) {
            return Ok(());
        }
        violated("model", format!("{answer:?} to {asked:?}"))
    }

    fn quiet(&mut self, memory: &Memory<Entity>, _: Timestamp) -> Result<(), Violation> {
        for place in &self.clients.places {
            for pair in &place.pairs {
                let expected = *self.pairs[&(place.space, pair.number)].last();
                for key in [pair.left, pair.right] {
                    let value = match memory.get(&key) {
                        Some((_, Entity::Counter(counter))) => counter.value,
                        Some((_, Entity::Receipt(_))) => i64::MIN,
                        None => 0,
                    };
                    if value != expected {
                        return violated("model", format!("{key:?} is {value}, not {expected}"));
                    }
                }
            }
        }
        for asked in self.asked.values() {
            let due = matches!(asked.command.act, Act::Add { .. }) && asked.done.is_some();
            if asked.noticed && !due {
                return violated("model", format!("a notice of nothing: {asked:?}"));
            }
        }
        self.asked.clear();
        self.pairs.values_mut().for_each(Timeline::forget);
        self.receipts.values_mut().for_each(Timeline::forget);
        Ok(())
    }
}

impl CountersModel {
    /// A decision is in the log: is it what must come of the command?
    fn decided<M: Alike>(&mut self, record: &Written<M>, note: &Note) -> Result<(), Violation> {
        let Some(asked) = self.asked.get_mut(&note.ticket) else {
            return violated("C6", format!("nobody asked for {note:?}"));
        };
        let (group, sequence) = record.at;
        asked.done = Some((group, sequence, note.noted.clone()));
        let command = asked.command.clone();
        let space = command.space;
        let now = |number: usize| *self.pairs[&(space, number)].last();
        let before: Values = command.pairs.iter().map(|pair| now(pair.number)).collect();
        let limit = self
            .limits
            .get(&(space, record.policy))
            .copied()
            .unwrap_or(-1);
        let after: Values = match command.act {
            Act::Add { amount, .. } => before.iter().map(|value| value + amount).collect(),
            Act::Clear => before.iter().map(|_| 0).collect(),
            Act::Read | Act::Panic | Act::Misfit => {
                return violated("model", format!("a record of {command:?}"));
            }
        };
        let adds = matches!(command.act, Act::Add { .. });
        let fits = !adds || after.iter().all(|value| value.abs() <= limit);
        let expected = if fits {
            Noted::Done(after.clone())
        } else {
            Noted::Refused(before)
        };
        if note.noted != expected {
            return violated(
                "model",
                format!("{note:?}, expected {expected:?} of {command:?}"),
            );
        }
        self.epochs_grow(&command, note)?;
        if !fits {
            return Ok(());
        }
        for (pair, value) in command.pairs.iter().zip(&after) {
            if let Some(line) = self.pairs.get_mut(&(space, pair.number)) {
                line.set(record.number, *value);
            }
        }
        self.keep(record, &command, after)
    }

    /// The version of an entity, read as an epoch, only grows, over purges too.
    fn epochs_grow(&mut self, command: &Command, note: &Note) -> Result<(), Violation> {
        for (pair, &epoch) in command.pairs.iter().zip(&note.epochs) {
            let last = self.epochs.entry((command.space, pair.number)).or_insert(0);
            if epoch < *last {
                return violated(
                    "C4",
                    format!("the epoch of {pair:?} fell from {last} to {epoch}"),
                );
            }
            *last = epoch;
        }
        Ok(())
    }

    fn keep<M: Alike>(
        &mut self,
        record: &Written<M>,
        command: &Command,
        values: Values,
    ) -> Result<(), Violation> {
        let Act::Add {
            receipt: Some(key), ..
        } = command.act
        else {
            return Ok(());
        };
        let Some(line) = self.receipts.get_mut(&key) else {
            return violated("model", format!("{key:?} is no receipt"));
        };
        if let Some(kept) = line.last()
            && record.time < kept.until
        {
            return violated("model", format!("done twice: {command:?} over {kept:?}"));
        }
        let kept = Kept {
            first: command.ticket,
            values,
            until: record.time.plus_ms(RECEIPT_KEPT_MS),
        };
        line.set(record.number, Some(kept));
        Ok(())
    }

    /// A sweep changed something: was it due?
    fn swept<M: Alike>(&mut self, record: &Written<M>) -> Result<(), Violation> {
        for entry in &record.entries {
            let due = match (entry.change, entry.key.kind) {
                (Change::Purged, Kind::Receipt) => {
                    let Some(line) = self.receipts.get_mut(&entry.key) else {
                        return violated("model", format!("{:?} is no receipt", entry.key));
                    };
                    let due = line
                        .last()
                        .as_ref()
                        .is_some_and(|kept| record.time >= kept.until);
                    line.set(record.number, None);
                    due
                }
                (Change::Purged, _) => {
                    let place = self.clients.place(record.space);
                    let mut pairs = place.pairs.iter();
                    let of = pairs.find(|pair| [pair.left, pair.right].contains(&entry.key));
                    of.is_some_and(|pair| *self.pairs[&(record.space, pair.number)].last() == 0)
                }
                (Change::Event, _) => entry.event == Some(Event::Aged),
                (Change::Created, _) => false,
            };
            if !due {
                return violated("model", format!("a sweep did {entry:?}"));
            }
        }
        Ok(())
    }

    fn is_right(&self, asked: &Asked, answer: &Answer<Reply>) -> bool {
        let done = asked.done.as_ref().map(|(.., noted)| noted);
        let act = &asked.command.act;
        match answer {
            Answer::Decided(Reply::Done(values)) => done == Some(&Noted::Done(values.clone())),
            Answer::Decided(Reply::Refused { values, version }) => {
                let recorded = asked.command.ticket.is_multiple_of(2);
                let limit = self.limits.get(&(asked.command.space, *version));
                let Act::Add { amount, .. } = *act else {
                    return false;
                };
                let over = |value: &i64| limit.is_none_or(|limit| (value + amount).abs() > *limit);
                let seen = match done {
                    Some(noted) => *noted == Noted::Refused(values.clone()),
                    None => !recorded && self.held(asked, values),
                };
                seen && values.iter().any(over)
            }
            Answer::Decided(Reply::Seen(values)) => {
                *act == Act::Read && done.is_none() && self.held(asked, values)
            }
            Answer::Decided(Reply::Repeated { first, values, at }) => {
                done.is_none() && self.repeats(asked, (*first, values, *at))
            }
            Answer::Decided(Reply::Unknown) => done.is_none(),
            Answer::Instead(Reply::Late) => *act == Act::Read && done.is_none(),
            Answer::NotDecided(why) => {
                *why == Undecided::Deadline && *act != Act::Read && done.is_none()
            }
            Answer::Broken => matches!(act, Act::Panic | Act::Misfit) && done.is_none(),
            Answer::Busy => done.is_none(),
            Answer::Decided(Reply::Torn | Reply::Early | Reply::Misbound | Reply::Late)
            | Answer::Instead(_)
            | Answer::Unavailable => false,
        }
    }

    /// Had all pairs of the command these values at one moment since it was asked?
    fn held(&self, asked: &Asked, values: &Values) -> bool {
        let mut moments = vec![(asked.since, self.records)];
        for (pair, value) in asked.command.pairs.iter().zip(values) {
            let line = &self.pairs[&(asked.command.space, pair.number)];
            let spans: Vec<(u64, u64)> = line
                .spans(asked.since, |held| held == value)
                .flat_map(|span| moments.iter().map(move |moment| meet(span, *moment)))
                .filter(|(from, to)| from <= to)
                .collect();
            moments = spans;
        }
        !moments.is_empty()
    }

    /// Was there such a receipt since the command was asked?
    fn repeats(&self, asked: &Asked, seen: (Ticket, &Values, Timestamp)) -> bool {
        let (first, values, at) = seen;
        let Act::Add {
            receipt: Some(key), ..
        } = asked.command.act
        else {
            return false;
        };
        let same = |kept: &Option<Kept>| {
            kept.as_ref().is_some_and(|kept| {
                kept.first == first && kept.values == *values && at < kept.until
            })
        };
        self.receipts[&key]
            .spans(asked.since, same)
            .next()
            .is_some()
    }
}

const fn meet(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (
        if a.0 > b.0 { a.0 } else { b.0 },
        if a.1 < b.1 { a.1 } else { b.1 },
    )
}
