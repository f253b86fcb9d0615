//! A shadow run: the rules over messages that went already, with nothing enforced
//! (`docs/spec/contact.md` §18).
//!
//! Here: the messages of some customers in, conflicts out. Every message counts as sent, whatever
//! the rules would have said. Not here: where the messages come from and how many are held at once
//! (the edge). Nothing of it names a customer.

use std::collections::{BTreeMap, BTreeSet};

use crate::contact::budget;
use crate::contact::command::Direction;
use crate::contact::customer::UNSLICED;
use crate::contact::name::{AgentId, ChannelId, PurposeId};
use crate::contact::note::{Mark, MessageNoted, Note};
use crate::contact::policy::{Policy, Purpose};
use crate::contact::text::Text;
use crate::contact::window::Cover;
use crate::ids::Id;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// Within how many hours two agents are too near.
const CONCURRENT_HOURS: u16 = 24;

/// Samples of each conflict.
const SAMPLES_EACH: usize = 4;

/// What the rules would have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Conflict {
    /// Another agent wrote to the customer less than 24 hours earlier.
    ConcurrentAgents,
    /// Outside the channel's free-form window, and not a template.
    OutsideWindow,
    /// In the channel's quiet hours.
    QuietHours,
    /// The purpose's budget had no unit free.
    OverBudget,
    /// Its token went with an earlier message.
    TokensUsedTwice,
}

impl Conflict {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::ConcurrentAgents,
        Self::OutsideWindow,
        Self::QuietHours,
        Self::OverBudget,
        Self::TokensUsedTwice,
    ];

    /// The word in a summary.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::ConcurrentAgents => "concurrent_agents",
            Self::OutsideWindow => "outside_window",
            Self::QuietHours => "quiet_hours",
            Self::OverBudget => "over_budget",
            Self::TokensUsedTwice => "tokens_used_twice",
        }
    }
}

/// A message, as its note has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// On which channel.
    pub channel: Option<ChannelId>,
    /// Why.
    pub purpose: Option<PurposeId>,
    /// The rest.
    pub noted: Box<MessageNoted>,
}

/// One conflict to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which.
    pub conflict: Conflict,
    /// When the message was written.
    pub at: Timestamp,
    /// On which channel.
    pub channel: Option<ChannelId>,
    /// The agents, as far as they have names that may be shown.
    pub agents: Vec<Text>,
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Messages that were looked at.
    pub messages: u64,
    /// Customers they went to.
    pub customers: u64,
    /// Conflicts, in the order of [`Conflict::ALL`].
    pub counts: [u64; Conflict::ALL.len()],
    /// At most four of each.
    pub samples: Vec<Sample>,
}

impl Message {
    /// The message of a note, when it is of one.
    #[must_use]
    pub fn of(note: Note) -> Option<Self> {
        let Some(Mark::Message(noted)) = note.mark else {
            return None;
        };
        debug_assert_eq!(
            noted.agent.is_some(),
            note.direction == Some(Direction::Outbound)
        );
        Some(Self {
            channel: note.channel,
            purpose: note.purpose,
            noted,
        })
    }

    /// Which of so many parts of all customers it belongs to.
    #[must_use]
    pub const fn part(&self, parts: u32) -> u32 {
        part(self.noted.customer, parts)
    }
}

/// Which of so many parts a customer belongs to.
#[must_use]
pub const fn part(customer: KeyHash, parts: u32) -> u32 {
    let [a, b, c, d, ..] = customer.0;
    // The remainder of a number below 2^32 by a part of it.
    u32::from_be_bytes([a, b, c, d]) % parts
}

/// For how many hours back a message may matter to a later one.
#[must_use]
pub fn widest_hours(policy: &Policy) -> u16 {
    let windows = policy
        .channels()
        .iter()
        .filter_map(|one| one.free_form_hours);
    let budgets = policy.purposes().iter().filter(|one| one.budget.is_some());
    let kept = budgets.map(|one| budget::keep(one).hours);
    windows.chain(kept).fold(CONCURRENT_HOURS, u16::max)
}

/// A run over the messages written from `from` on.
#[derive(Debug)]
pub struct Shadow<'p> {
    policy: &'p Policy,
    from: Timestamp,
    found: Found,
}

impl<'p> Shadow<'p> {
    /// A run that has seen nothing.
    #[must_use]
    pub fn new(policy: &'p Policy, from: Timestamp) -> Self {
        Self {
            policy,
            from,
            found: Found::default(),
        }
    }

    /// Takes in all messages of some customers, in any order. Those written before the run's begin
    /// are what the others are judged by.
    pub fn see(&mut self, mut messages: Vec<Message>) {
        // The customer's own message of an instant opens the window for ours.
        messages.sort_by_key(|one| {
            let noted = &one.noted;
            (noted.customer, noted.occurred_at, noted.agent.is_some())
        });
        for of_one in messages.chunk_by(|a, b| a.noted.customer == b.noted.customer) {
            self.customer(of_one);
        }
    }

    /// What it found.
    #[must_use]
    pub fn found(self) -> Found {
        self.found
    }

    fn customer(&mut self, messages: &[Message]) {
        let mut past = Past::default();
        let mut counted = 0;
        for message in messages {
            let Some(agent) = message.noted.agent else {
                if let Some(channel) = message.channel {
                    past.inbound.insert(channel, message.noted.occurred_at);
                }
                continue;
            };
            if self.from <= message.noted.occurred_at {
                counted += 1;
                self.judge(message, agent, &past);
            }
            past.sent(message, agent, self.policy);
        }
        self.found.messages += counted;
        self.found.customers += u64::from(counted > 0);
    }

    fn judge(&mut self, message: &Message, agent: AgentId, past: &Past) {
        let at = message.noted.occurred_at;
        let other = past.other(agent, at);
        let purpose = message.purpose.and_then(|id| self.policy.purpose_rules(id));
        let conflicts = [
            (Conflict::ConcurrentAgents, other.is_some()),
            (Conflict::OutsideWindow, self.is_outside(message, past)),
            (Conflict::QuietHours, self.is_quiet(message, purpose)),
            (Conflict::OverBudget, past.is_over(message, purpose)),
            (Conflict::TokensUsedTwice, past.has_used(message.noted.jti)),
        ];
        for (conflict, is_there) in conflicts {
            if is_there {
                let with = other.filter(|_| conflict == Conflict::ConcurrentAgents);
                self.note(conflict, message, with);
            }
        }
    }

    fn note(&mut self, conflict: Conflict, message: &Message, with: Option<&Writer>) {
        let count = &mut self.found.counts[conflict as usize];
        *count += 1;
        if *count > SAMPLES_EACH as u64 {
            return;
        }
        let earlier = with.and_then(|writer| writer.name.clone());
        let agents = earlier.into_iter().chain(message.noted.name.clone());
        self.found.samples.push(Sample {
            conflict,
            at: message.noted.occurred_at,
            channel: message.channel,
            agents: agents.collect(),
        });
    }

    fn is_outside(&self, message: &Message, past: &Past) -> bool {
        let rules = message.channel.and_then(|id| self.policy.channel_rules(id));
        let Some(rules) = rules.filter(|rules| rules.template_required) else {
            return false;
        };
        let Some(hours) = rules.free_form_hours else {
            return false;
        };
        let last = past.inbound.get(&rules.id);
        let open = last
            .is_some_and(|last| message.noted.occurred_at < last.plus_s(i64::from(hours) * 3_600));
        !message.noted.template && !open
    }

    fn is_quiet(&self, message: &Message, purpose: Option<&Purpose>) -> bool {
        let exempt = purpose.is_some_and(|purpose| purpose.quiet_exempt);
        let rules = message.channel.and_then(|id| self.policy.channel_rules(id));
        let hours = rules.and_then(|rules| rules.quiet_hours.as_ref());
        let quiet = hours.filter(|_| !exempt);
        match quiet.map(|window| window.cover(message.noted.occurred_at)) {
            Some(Cover::Inside(_)) => true,
            Some(Cover::Outside) | None => false,
        }
    }
}

/// Who wrote, and when last.
#[derive(Clone, Debug)]
struct Writer {
    agent: AgentId,
    at: Timestamp,
    name: Option<Text>,
}

/// What earlier messages of a customer leave behind.
#[derive(Debug, Default)]
struct Past {
    /// The last writer, and the last one who is somebody else.
    writers: [Option<Writer>; 2],
    /// The customer's last message on each channel.
    inbound: BTreeMap<ChannelId, Timestamp>,
    /// Times and shares of each purpose with a budget, oldest first.
    contacts: BTreeMap<PurposeId, Vec<(Timestamp, u64)>>,
    /// Tokens.
    tokens: BTreeSet<Id>,
}

impl Past {
    /// The last other agent, when that was less than 24 hours earlier.
    fn other(&self, agent: AgentId, at: Timestamp) -> Option<&Writer> {
        let near = |writer: &&Writer| {
            writer.agent != agent && at < writer.at.plus_s(i64::from(CONCURRENT_HOURS) * 3_600)
        };
        self.writers.iter().flatten().find(near)
    }

    fn is_over(&self, message: &Message, purpose: Option<&Purpose>) -> bool {
        let Some((purpose, rules)) = purpose.and_then(|one| Some((one, one.budget.as_ref()?)))
        else {
            return false;
        };
        let share = share(message, purpose);
        let contacts = self
            .contacts
            .get(&purpose.id)
            .map_or(&[][..], Vec::as_slice);
        let at = message.noted.occurred_at;
        let look = budget::of_share(rules, share, contacts.iter().copied(), at);
        look.is_exhausted() || look.paced
    }

    fn has_used(&self, jti: Option<Id>) -> bool {
        jti.is_some_and(|jti| self.tokens.contains(&jti))
    }

    fn sent(&mut self, message: &Message, agent: AgentId, policy: &Policy) {
        let at = message.noted.occurred_at;
        let writer = Writer {
            agent,
            at,
            name: message.noted.name.clone(),
        };
        let last = self.writers[0].replace(writer);
        if let Some(last) = last.filter(|last| last.agent != agent) {
            self.writers[1] = Some(last);
        }
        self.tokens.extend(message.noted.jti);
        let Some(purpose) = message.purpose.and_then(|id| policy.purpose_rules(id)) else {
            return;
        };
        if purpose.budget.is_some() {
            let keep_s = i64::from(budget::keep(purpose).hours) * 3_600;
            let contacts = self.contacts.entry(purpose.id).or_default();
            contacts.retain(|(before, _)| at < before.plus_s(keep_s));
            if contacts.len() >= budget::kept_at_most(purpose) as usize {
                contacts.remove(0);
            }
            contacts.push((at, share(message, purpose)));
        }
    }
}

fn share(message: &Message, purpose: &Purpose) -> u64 {
    let budget = purpose.budget.as_ref().zip(message.noted.intent);
    budget.map_or(UNSLICED, |(budget, intent)| budget::share(budget, intent))
}
