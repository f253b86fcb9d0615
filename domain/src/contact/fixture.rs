//! What tests of this and other crates begin with: the conformance policy and short commands.
//!
//! Only in tests and under the feature `fixtures`. Not here: expectations.

mod handoffs;
mod reports;

pub use self::handoffs::{accept, accept_of, close, close_of, hand_over, promise, read_handoff};
pub use self::reports::{seen_over, sent};

use crate::contact::claim::{ClaimKind, ClaimVia};
use crate::contact::command::{
    AddSuppression, Body, Check, ClaimPlace, ClaimTarget, Command, DeclareContactMade,
    DeclareEffect, Direction, EffectKind, EffectRef, EndCommitment, LiftSuppression, LockTask,
    MakeCommitment, ObserveMessage, ObserveOwner, ReceiptRef, ReleaseClaim, ReserveEffect, Route,
    SettleEffect, SettledBy, Settlement,
};
use crate::contact::commitment::{CommitmentState, Score};
use crate::contact::directory::Target;
use crate::contact::name::{AgentId, ChannelId, IntentId, PurposeId, ReasonId, SourceId, TaskId};
use crate::contact::policy::{Policy, Vault};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::{KeyHash, SpaceId};
use crate::time::Timestamp;

/// The conformance space's document (`docs/spec/contact.md` Appendix B).
pub const CONFORMANCE: &str = include_str!("fixture/conformance.json");

/// The conformance space.
pub const SPACE: SpaceId = SpaceId([7; 16]);

/// The source most commands come from.
pub const AGENTS: SourceId = SourceId(1);

/// Another source.
pub const CRM: SourceId = SourceId(2);

/// The conformance space's vault: one key of 32 bytes `k`.
#[must_use]
pub fn vault() -> Vault {
    Vault::from([("wa_gateway".to_owned(), vec![b'k'; 32])])
}

/// The conformance policy, version 1.
///
/// # Panics
/// When the document of this build is refused.
#[must_use]
pub fn policy() -> Policy {
    Policy::load(1, CONFORMANCE, &vault()).expect("the conformance document is valid")
}

/// A hash that stands for a handle, key or id; tests name entities by short words.
#[must_use]
pub fn hash(word: &str) -> KeyHash {
    let low = IntentId::of(word).0.to_be_bytes();
    let high = TaskId::of(&format!("{word}/")).0.to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high);
    bytes[8..].copy_from_slice(&low);
    KeyHash(bytes)
}

/// An outbound check of `service` by `closing`, intent `follow_up`, about nothing.
#[must_use]
pub fn check() -> Check {
    Check {
        direction: Direction::Outbound,
        agent: AgentId::of("closing"),
        intent: IntentId::of("follow_up"),
        purpose: PurposeId::of("service"),
        channel: None,
        gateway: None,
        customer: None,
        object: None,
        task: None,
        effect: None,
        signer: 0,
    }
}

impl Check {
    /// The same check, inbound.
    #[must_use]
    pub const fn inbound(mut self) -> Self {
        self.direction = Direction::Inbound;
        self
    }

    /// By another agent.
    #[must_use]
    pub fn by(mut self, agent: &str) -> Self {
        self.agent = AgentId::of(agent);
        self
    }

    /// With another intent.
    #[must_use]
    pub fn intent(mut self, intent: &str) -> Self {
        self.intent = IntentId::of(intent);
        self
    }

    /// For a purpose.
    #[must_use]
    pub fn purpose(mut self, purpose: &str) -> Self {
        self.purpose = PurposeId::of(purpose);
        self
    }

    /// On a channel.
    #[must_use]
    pub fn on(mut self, channel: &str) -> Self {
        self.channel = Some(ChannelId::of(channel));
        self
    }

    /// Through a gateway.
    #[must_use]
    pub fn through(mut self, gateway: &str) -> Self {
        self.gateway = Some(crate::contact::name::GatewayId::of(gateway));
        self
    }

    /// To a customer.
    #[must_use]
    pub fn to(mut self, customer: &str) -> Self {
        self.customer = Some(hash(customer));
        self
    }

    /// About an object.
    #[must_use]
    pub fn about(mut self, object: &str) -> Self {
        self.object = Some(hash(object));
        self
    }

    /// About a task of the object.
    #[must_use]
    pub fn task(mut self, task: &str) -> Self {
        self.task = Some(TaskId::of(task));
        self
    }

    /// With an effect key, kind `delivery`.
    #[must_use]
    pub fn effect(mut self, key: &str) -> Self {
        self.effect = Some(EffectRef {
            hash: hash(key),
            rest: hash(key).0,
            kind: EffectKind::Delivery,
        });
        self
    }

    /// As a command.
    #[must_use]
    pub fn command(self) -> Command {
        command(AGENTS, Route::Check, Body::Check(self))
    }
}

/// A command of the conformance space.
#[must_use]
pub const fn command(source: SourceId, route: Route, body: Body) -> Command {
    Command {
        space: SPACE,
        source,
        route,
        receipt: None,
        body,
    }
}

impl Command {
    /// The same command from another source.
    #[must_use]
    pub fn sent_by(mut self, source: SourceId) -> Self {
        self.source = source;
        self
    }

    /// The same command under an `Idempotency-Key`; `request` stands for its content.
    #[must_use]
    pub fn keyed(mut self, key: &str, request: &str) -> Self {
        self.receipt = Some(ReceiptRef {
            hash: hash(key),
            fingerprint: hash(request).0,
        });
        self
    }
}

/// Reserve an effect of kind `delivery`.
#[must_use]
pub fn reserve(key: &str) -> Command {
    let effect = EffectRef {
        hash: hash(key),
        rest: hash(key).0,
        kind: EffectKind::Delivery,
    };
    let body = Body::ReserveEffect(ReserveEffect {
        effect,
        cost_units: 0,
        draws_on: None,
        fact: None,
    });
    command(AGENTS, Route::Effects, body)
}

/// Settle an attempt on the route.
#[must_use]
pub fn settle(key: &str, attempt: u32, settlement: Settlement) -> Command {
    settle_by(key, attempt, settlement, SettledBy::Holder)
}

/// Settle an attempt, as somebody.
#[must_use]
pub fn settle_by(key: &str, attempt: u32, settlement: Settlement, by: SettledBy) -> Command {
    let body = Body::SettleEffect(SettleEffect {
        effect: hash(key),
        attempt: Some(attempt),
        settlement,
        by,
    });
    command(AGENTS, Route::Settle, body)
}

/// Declare how an attempt ended.
#[must_use]
pub fn declare_effect(key: &str, attempt: u32, settlement: Settlement) -> Command {
    let body = Body::DeclareEffect(DeclareEffect {
        effect: hash(key),
        attempt,
        settlement,
    });
    command(AGENTS, Route::Declare, body)
}

/// Declare a contact on WhatsApp that cites `decision`.
#[must_use]
pub fn contact_made(customer: &str, purpose: &str, decision: Option<Id>) -> Command {
    let body = Body::DeclareContactMade(DeclareContactMade {
        customer: Some(hash(customer)),
        purpose: PurposeId::of(purpose),
        channel: ChannelId::of("whatsapp"),
        gateway: None,
        decision,
        jti: None,
        unchecked: false,
    });
    command(AGENTS, Route::Declare, body)
}

/// Suppress a customer for a purpose (`any` for every one) on every channel, reason `opt_out`.
#[must_use]
pub fn suppress(customer: &str, purpose: &str) -> AddSuppression {
    AddSuppression {
        customer: hash(customer),
        purpose: purpose_or_any(purpose),
        channel: None,
        reason: ReasonId::of("opt_out"),
        until: None,
        window: None,
        destination: customer.as_bytes().into(),
    }
}

impl AddSuppression {
    /// As a command.
    #[must_use]
    pub const fn command(self) -> Command {
        command(AGENTS, Route::Declare, Body::AddSuppression(self))
    }
}

/// Lift a suppression for a purpose on a channel.
#[must_use]
pub fn lift(customer: &str, purpose: &str, channel: Option<&str>) -> Command {
    let body = Body::LiftSuppression(LiftSuppression {
        customer: hash(customer),
        purpose: purpose_or_any(purpose),
        channel: channel.map(ChannelId::of),
    });
    command(AGENTS, Route::Declare, body)
}

/// How far the suppression list is.
#[must_use]
pub const fn read_feed() -> Command {
    command(AGENTS, Route::Suppressions, Body::ReadFeed)
}

fn purpose_or_any(purpose: &str) -> PurposeId {
    if purpose == "any" {
        return PurposeId::ANY;
    }
    PurposeId::of(purpose)
}

/// A message of the customer was seen.
#[must_use]
pub fn message(customer: &str, channel: &str, occurred_at: Timestamp) -> Command {
    let body = Body::ObserveMessage(ObserveMessage {
        customer: hash(customer),
        channel: ChannelId::of(channel),
        occurred_at,
    });
    command(AGENTS, Route::Batch, body)
}

/// A claim of kind `owner` for 600 s, at the least strict level. Its id is made of the words that
/// are given, so two claims of one holder on one target propose the same one.
#[must_use]
pub fn claim(target: Target, holder: &str) -> ClaimTarget {
    let place = match target {
        Target::Customer(hash) | Target::Object(hash) | Target::Space(hash) => hash,
    };
    let mut id = hash(holder).0;
    for (byte, of_place) in id.iter_mut().zip(place.0) {
        *byte ^= of_place.rotate_left(1);
    }
    ClaimTarget {
        target,
        kind: ClaimKind::Owner,
        holder: Text::from(holder),
        level: None,
        lease_s: 600,
        intents: Vec::new(),
        source: Text::from("agents"),
        new_id: Id(id),
    }
}

/// A claim on a customer.
#[must_use]
pub fn claim_on(customer: &str, holder: &str) -> ClaimTarget {
    claim(Target::Customer(hash(customer)), holder)
}

impl ClaimTarget {
    /// Of kind `case`.
    #[must_use]
    pub const fn case(mut self) -> Self {
        self.kind = ClaimKind::Case;
        self
    }

    /// At a level.
    #[must_use]
    pub fn level(mut self, level: &str) -> Self {
        self.level = Some(Text::from(level));
        self
    }

    /// For so many seconds.
    #[must_use]
    pub const fn lease_s(mut self, seconds: u32) -> Self {
        self.lease_s = seconds;
        self
    }

    /// Leaving an intent to others.
    #[must_use]
    pub fn leaving(mut self, intent: &str) -> Self {
        self.intents.push(IntentId::of(intent));
        self
    }

    /// With another id, should it be new.
    #[must_use]
    pub fn named(mut self, word: &str) -> Self {
        self.new_id = Id(hash(word).0);
        self
    }

    /// As a command of the route.
    #[must_use]
    pub fn command(self) -> Command {
        command(AGENTS, Route::Claims, Body::ClaimTarget(self))
    }

    /// As a declaration.
    #[must_use]
    pub fn declared(self) -> Command {
        command(AGENTS, Route::Declare, Body::ClaimTarget(self))
    }

    /// As an ownership source reports it.
    #[must_use]
    pub fn seen_by(mut self, source: &str, observed_at: Option<Timestamp>) -> Command {
        self.source = Text::from(source);
        let body = ObserveOwner {
            claim: self,
            observed_at,
            via: ClaimVia::Worker,
        };
        command(AGENTS, Route::Claims, Body::ObserveOwner(body))
    }
}

/// A lock for 600 s.
#[must_use]
pub fn lock(object: &str, task: &str, holder: &str) -> LockTask {
    LockTask {
        object: hash(object),
        task: Text::from(task),
        holder: Text::from(holder),
        level: None,
        lease_s: 600,
        source: Text::from("agents"),
        new_id: Id(hash(&format!("{object} {task} {holder}")).0),
    }
}

impl LockTask {
    /// As a command of the route.
    #[must_use]
    pub fn command(self) -> Command {
        command(AGENTS, Route::Claims, Body::LockTask(self))
    }

    /// As a declaration.
    #[must_use]
    pub fn declared(self) -> Command {
        command(AGENTS, Route::Declare, Body::LockTask(self))
    }
}

/// Give a claim or a lock back; its place is still to be found.
#[must_use]
pub fn release(claim: Id, epoch: i64) -> Command {
    let body = Body::ReleaseClaim(ReleaseClaim {
        claim,
        epoch,
        place: ClaimPlace::ToFind,
    });
    command(AGENTS, Route::Release, body)
}

/// Offer something to a customer.
#[must_use]
pub fn offer(customer: &str, id: &str, kind: &str) -> MakeCommitment {
    MakeCommitment {
        customer: hash(customer),
        id: Text::from(id),
        row: hash(id),
        kind: Text::from(kind),
        score: None,
        until: None,
        terms: None,
    }
}

impl MakeCommitment {
    /// With a score.
    #[must_use]
    pub const fn score(mut self, score: i64) -> Self {
        self.score = Some(Score(score));
        self
    }

    /// Until an instant.
    #[must_use]
    pub const fn until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    /// As a declaration.
    #[must_use]
    pub fn command(self) -> Command {
        command(AGENTS, Route::Declare, Body::MakeCommitment(self))
    }
}

/// Say what became of an offer; of a customer, or of nobody in particular.
#[must_use]
pub fn end_offer(customer: Option<&str>, id: &str, state: CommitmentState) -> Command {
    let place = customer.map_or(ClaimPlace::ToFind, |customer| {
        ClaimPlace::At(Target::Customer(hash(customer)))
    });
    let body = Body::EndCommitment(EndCommitment {
        place,
        id: Text::from(id),
        row: hash(id),
        state,
    });
    command(AGENTS, Route::Declare, body)
}
