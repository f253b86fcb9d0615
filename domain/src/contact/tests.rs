//! Tests of the contact machine: tables and sequences of decide and apply.
//!
//! Here: a world of entities that runs commands the way a shard does, and checks after each what
//! must always hold. Not here: the cases (`tests/*`, named by the acceptance rows they cover).

mod budgets;
mod channels;
mod claims;
mod commitments;
mod dealings;
mod degraded;
mod earlier;
mod effects;
mod ended_claims;
mod facts;
mod golden;
mod handoffs;
mod holds;
mod inbound;
mod kept;
mod laws;
mod locks;
mod mappings;
mod meters;
mod models;
mod notes;
mod order;
mod packages;
mod paid;
mod paid_model;
mod policies;
mod privacy;
mod promises;
mod receipts;
mod reports;
mod shadow;
mod stored;
mod suppression_model;
mod suppressions;
mod tally;
mod windows;

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::contact::Contact;
use crate::contact::claim::{Claim, ClaimKind, ClaimVia, TaskLock};
use crate::contact::command::{Body, Check, Command};
use crate::contact::customer::Customer;
use crate::contact::effect::Effect;
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::feed::feed_key;
use crate::contact::fixture::{self, SPACE, hash};
use crate::contact::name::{IntentId, PurposeId};
use crate::contact::note::Note;
use crate::contact::notice::Notice;
use crate::contact::object::Object;
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{BudgetView, CheckReply, DeclareReply, EffectReply, Reply};
use crate::contact::text::Text;
use crate::ids::{Id, IdStream};
use crate::key::{EntityKey, Kind};
use crate::machine::{Context, Decision, Entities, Machine, Sweep, View};
use crate::time::Timestamp;

/// 2026-03-10T12:00:00Z: a Tuesday noon, outside every quiet hour of the conformance space but
/// `always_quiet`.
const NOON: Timestamp = Timestamp(1_773_144_000_000);

const HOUR_S: i64 = 3_600;

/// Entities, a policy and a clock.
struct World {
    policy: Policy,
    now: Timestamp,
    full: bool,
    part_full: bool,
    clock_suspect: bool,
    ids: IdStream,
    entities: BTreeMap<EntityKey, (u64, ContactEntity)>,
    /// Everything that was recorded, for replay.
    log: Vec<(EntityKey, Event)>,
    notes: Vec<Note>,
    notices: Vec<Notice>,
}

impl World {
    fn new() -> Self {
        Self::with(fixture::policy())
    }

    fn with(policy: Policy) -> Self {
        Self {
            policy,
            now: NOON,
            full: false,
            part_full: false,
            clock_suspect: false,
            ids: IdStream::new([1; 32]),
            entities: BTreeMap::new(),
            log: Vec::new(),
            notes: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Runs a command, with everything that must hold around it.
    fn run(&mut self, command: &Command) -> Reply {
        if let Some(look_up) = Contact::look_up(command) {
            let found = self.run(&look_up);
            return match Contact::looked_up(command.clone(), found) {
                Ok(complete) => self.run(&complete),
                Err(reply) => reply,
            };
        }
        let decision = self.decide(command);
        let keys = Contact::keys(command);
        for (key, event) in &decision.events {
            assert!(keys.contains(key), "an event of a key that was not named");
            self.record(*key, event);
        }
        if let Some(note) = &decision.note {
            assert_eq!(&through_postcard(note), note);
            self.notes.push(note.clone());
        }
        self.assert_answer(&decision);
        self.assert_replay();
        self.notices.extend(decision.notices);
        decision.reply
    }

    fn decide(&mut self, command: &Command) -> Decision<Contact> {
        let mut keys = Contact::keys(command);
        keys.sort_unstable();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count, "a key is named twice");
        let views: SmallVec<[View<'_, ContactEntity>; 4]> = keys
            .iter()
            .map(|key| {
                assert_eq!(key.space, SPACE);
                let known = self.entities.get(key);
                View {
                    key: *key,
                    entity: known.map(|(_, entity)| entity),
                    next_version: known.map_or(1, |(version, _)| version + 1),
                }
            })
            .collect();
        let mut context = Context {
            now: self.now,
            ids: &mut self.ids,
            policy: &self.policy,
            full: self.full,
            part_full: self.part_full,
            clock_suspect: self.clock_suspect,
        };
        Contact::decide(&Entities::new(views), command, &mut context)
    }

    /// The number of the list's newest change.
    fn feed(&self) -> u64 {
        let feed = self.entities.get(&feed_key(SPACE));
        feed.and_then(|(_, entity)| entity.as_feed())
            .map_or(0, |feed| feed.last)
    }

    /// Runs a command without looking, for the thousands of a crowded entity.
    fn run_unchecked(&mut self, command: &Command) {
        for (key, event) in self.decide(command).events {
            let empty = || (0, Contact::empty(key.kind));
            let (version, entity) = self.entities.entry(key).or_insert_with(empty);
            Contact::apply(entity, &event);
            *version += 1;
            self.log.push((key, event));
        }
    }

    fn record(&mut self, key: EntityKey, event: &Event) {
        let event = through_postcard(event);
        let empty = || (0, Contact::empty(key.kind));
        let (version, entity) = self.entities.entry(key).or_insert_with(empty);
        Contact::apply(entity, &event);
        *version += 1;
        Contact::check(entity).expect("the entity's invariants hold");
        assert_eq!(&through_postcard(entity), entity);
        self.log.push((key, event));
    }

    /// D19: one code on a non-allow; and only an allow leaves anything behind.
    fn assert_answer(&self, decision: &Decision<Contact>) {
        let Reply::Check(reply) = &decision.reply else {
            return;
        };
        if reply.verdict != Verdict::Allow {
            assert_eq!(reply.reasons.len(), 1, "one code on a non-allow");
            let kept = decision.events.iter();
            let kinds: Vec<Kind> = kept.map(|(key, _)| key.kind).collect();
            let nothing = kinds.iter().all(|kind| *kind == Kind::Receipt);
            assert!(nothing, "a non-allow leaves {kinds:?}");
            assert!(!reply.sign);
        }
        for budget in &reply.budgets {
            assert!(reply.name(budget.purpose, &self.policy).is_some());
        }
    }

    /// C6: replaying the log gives the same memory, but for what tests placed by hand and what was
    /// purged.
    fn assert_replay(&self) {
        let mut replayed: BTreeMap<EntityKey, ContactEntity> = BTreeMap::new();
        for (key, event) in &self.log {
            let entity = replayed
                .entry(*key)
                .or_insert_with(|| Contact::empty(key.kind));
            Contact::apply(entity, event);
        }
        for (key, entity) in &replayed {
            let has_claims = |known: &ContactEntity| match known {
                ContactEntity::Customer(customer) => !customer.rare.claims.is_empty(),
                ContactEntity::Object(_) => true,
                ContactEntity::Effect(_)
                | ContactEntity::Receipt(_)
                | ContactEntity::Directory(_)
                | ContactEntity::Holds(_)
                | ContactEntity::Feed(_)
                | ContactEntity::Reports(_)
                | ContactEntity::SpaceBudget(_)
                | ContactEntity::Handoff(_) => false,
            };
            if let Some((_, known)) = self.entities.get(key)
                && !has_claims(known)
            {
                assert_eq!(known, entity);
            }
        }
    }

    fn check(&mut self, check: Check) -> CheckReply {
        let reply = self.run(&check.command());
        let Reply::Check(reply) = reply else {
            panic!("a check was answered with {reply:?}");
        };
        *reply
    }

    fn declare(&mut self, command: &Command) -> DeclareReply {
        let reply = self.run(command);
        let Reply::Declared(reply) = reply else {
            panic!("a declaration was answered with {reply:?}");
        };
        reply
    }

    fn effect(&mut self, command: &Command) -> EffectReply {
        let reply = self.run(command);
        let Reply::Effect(reply) = reply else {
            panic!("an effect was answered with {reply:?}");
        };
        reply
    }

    fn pass_s(&mut self, seconds: i64) {
        self.now = self.now.plus_s(seconds);
    }

    /// Purges what is due, as a sweep does.
    fn sweep(&mut self) -> usize {
        let now = self.now;
        let before = self.entities.len();
        self.entities.retain(|_, (_, entity)| {
            let due = Contact::due(entity).is_some_and(|due| due <= now);
            let purges = Contact::sweep(entity, now) == Sweep::Purge;
            assert_eq!(due, purges);
            !purges
        });
        self.log.retain(|(key, _)| self.entities.contains_key(key));
        before - self.entities.len()
    }

    fn customer(&self, word: &str) -> &Customer {
        let key = super::key(SPACE, Kind::Customer, hash(word));
        let found = self
            .entities
            .get(&key)
            .and_then(|(_, entity)| entity.as_customer());
        found.expect("the customer is known")
    }

    fn effect_row(&self, word: &str) -> Option<&Effect> {
        let key = super::key(SPACE, Kind::Effect, hash(word));
        self.entities
            .get(&key)
            .and_then(|(_, entity)| entity.as_effect())
    }

    /// Puts a claim on a customer, since no command does yet.
    fn claim(&mut self, customer: &str, claim: Claim) {
        let key = super::key(SPACE, Kind::Customer, hash(customer));
        let empty = || (0, Contact::empty(Kind::Customer));
        let (_, entity) = self.entities.entry(key).or_insert_with(empty);
        if let ContactEntity::Customer(known) = entity {
            known.rare.claims.push(claim);
        }
        Contact::check(entity).expect("the customer's invariants hold");
    }

    /// Changes an object by hand, since no command does yet.
    fn object(&mut self, word: &str, change: impl FnOnce(&mut Object)) {
        let key = super::key(SPACE, Kind::Object, hash(word));
        let empty = || (0, Contact::empty(Kind::Object));
        let (_, entity) = self.entities.entry(key).or_insert_with(empty);
        if let ContactEntity::Object(known) = entity {
            change(known);
        }
        Contact::check(entity).expect("the object's invariants hold");
    }

    fn release_claims(&mut self, customer: &str) {
        let key = super::key(SPACE, Kind::Customer, hash(customer));
        if let Some((_, ContactEntity::Customer(known))) = self.entities.get_mut(&key) {
            known.rare.claims.clear();
        }
    }
}

fn through_postcard<T>(value: &T) -> T
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let bytes = postcard::to_allocvec(value).expect("it encodes");
    postcard::from_bytes(&bytes).expect("it decodes")
}

/// A claim of level `agent_active` for an hour.
fn claim_of(holder: &str, epoch: u64) -> Claim {
    Claim {
        id: Id([u8::try_from(epoch).unwrap_or(0); 16]),
        kind: ClaimKind::Owner,
        holder: Text::from(holder),
        level: Text::from("agent_active"),
        rank: 4,
        source: Text::from("agents"),
        via: ClaimVia::Declaration,
        since: NOON,
        accepted_at: NOON,
        until: NOON.plus_s(HOUR_S),
        epoch,
        intents: Vec::new(),
        observed_at: NOON,
        named_at: NOON,
    }
}

/// A lock for an hour.
fn lock_of(holder: &str, task: &str, epoch: u64) -> TaskLock {
    TaskLock {
        id: Id([u8::try_from(epoch).unwrap_or(0); 16]),
        holder: Text::from(holder),
        task: Text::from(task),
        source: Text::from("agents"),
        since: NOON,
        until: NOON.plus_s(HOUR_S),
        epoch,
        level: Text::from("agent_active"),
        accepted_at: NOON,
        named_at: NOON,
    }
}

/// What decided: the verdict and its only code.
fn decided(reply: &CheckReply) -> (Verdict, Option<Reason>) {
    (reply.verdict, reply.reasons.first().copied())
}

const ALLOWED: (Verdict, Option<Reason>) = (Verdict::Allow, None);

const fn deferred(reason: Reason) -> (Verdict, Option<Reason>) {
    (Verdict::Defer, Some(reason))
}

const fn denied(reason: Reason) -> (Verdict, Option<Reason>) {
    (Verdict::Deny, Some(reason))
}

/// A purpose's budget in an answer.
fn budget_of(reply: &CheckReply, purpose: &str) -> BudgetView {
    let id = PurposeId::of(purpose);
    let found = reply.budgets.iter().find(|view| view.purpose == id);
    *found.expect("the purpose has a budget")
}

fn is_check(command: &Command) -> bool {
    matches!(command.body, Body::Check(_))
}

fn intent(name: &str) -> IntentId {
    IntentId::of(name)
}
