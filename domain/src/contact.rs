//! The contact product: may this agent contact this customer, act on this object, run this effect?
//!
//! Here: the machine, which only dispatches; one file per command below, one per entity. Not here:
//! routes (`api`), the wire's shapes (`wire`), durability (`actors`, `storage`). The rules are
//! `docs/spec/contact.md`; § numbers in comments are its.

mod add_suppression;
pub mod admission;
mod admit;
mod advise;
pub mod budget;
pub mod channel;
mod check;
pub mod claim;
mod claim_target;
pub mod command;
pub mod commitment;
pub mod customer;
pub mod dealings;
mod declare_contact_made;
mod declare_effect;
pub mod directory;
pub mod effect;
mod end_commitment;
mod end_fact;
mod end_observation;
mod end_report;
pub mod entity;
pub mod erasure;
pub mod event;
pub mod feed;
mod find_admission;
mod find_claim;
mod find_hold;
mod find_ties;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod forget_customer;
pub mod handoff;
pub mod holdings;
pub mod legal_hold;
mod lift_suppression;
mod lock_task;
mod look_up;
mod make_commitment;
pub mod name;
pub mod note;
mod note_message;
pub mod notice;
pub mod object;
mod observe_message;
mod observe_owner;
pub mod paid;
mod place_hold;
pub mod policy;
pub mod promise;
mod read_feed;
mod read_reports;
pub mod reason;
mod rebind;
pub mod receipt;
mod release_claim;
mod release_hold;
pub mod reply;
pub mod reports;
mod request_report;
mod reserve_effect;
mod settle_admission;
mod settle_effect;
pub mod shadow;
mod short_list;
mod show;
pub mod suppression;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod text;
pub mod ties;
mod turn_promise;
pub mod window;

use crate::contact::command::{
    AddSuppression, Body, ClaimPlace, Command, HoldPlace, LiftSuppression, ObserveOwner,
};
use crate::contact::customer::Customer;
use crate::contact::directory::{DirectoryRow, Target, row_key};
use crate::contact::effect::Effect;
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::feed::{Feed, feed_key};
use crate::contact::handoff::Handoff;
use crate::contact::legal_hold::{Holds, holds_key};
use crate::contact::note::Note;
use crate::contact::notice::Notice;
use crate::contact::object::Object;
use crate::contact::paid::{Meters, SpaceBudget};
use crate::contact::policy::Policy;
use crate::contact::receipt::Receipt;
use crate::contact::reply::Reply;
use crate::contact::reports::Reports;
use crate::ids::{Id, IdStream};
use crate::key::{EntityKey, KeyHash, KeyList, Kind, SpaceId};
use crate::machine::{Broken, Context, Decision, Entities, Machine, Sweep, Undecided};
use crate::time::Timestamp;

/// The contact machine.
#[derive(Debug)]
pub struct Contact;

impl Machine for Contact {
    type Entity = ContactEntity;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Note = Note;
    type Notice = Notice;
    type Policy = Policy;

    const PRODUCT: u8 = 1;
    const FORMAT: u16 = 1;
    const NAME: &'static str = "contact";
    const KEEPS_HISTORY: Option<Kind> = Some(Kind::Holds);

    fn space(command: &Command) -> SpaceId {
        command.space
    }

    fn keys(command: &Command) -> KeyList {
        let named = |kind, hash: KeyHash| key(command.space, kind, hash);
        let claimed = |id, on: Target| [row_key(command.space, id), on.key(command.space)];
        let mut keys = KeyList::new();
        let receipt = command.receipt;
        keys.extend(receipt.map(|known| named(Kind::Receipt, known.hash)));
        match &command.body {
            Body::Check(check) => {
                keys.extend(check.effect.map(|effect| named(Kind::Effect, effect.hash)));
                keys.extend(check.customer.map(|hash| named(Kind::Customer, hash)));
                keys.extend(check.object.map(|hash| named(Kind::Object, hash)));
            }
            Body::ReserveEffect(reserve) => reserve.keys(command.space, &mut keys),
            Body::SettleEffect(settle) => keys.push(named(Kind::Effect, settle.effect)),
            Body::DeclareEffect(declare) => keys.push(named(Kind::Effect, declare.effect)),
            Body::DeclareContactMade(declare) => {
                keys.extend(declare.customer.map(|hash| named(Kind::Customer, hash)));
            }
            Body::AddSuppression(AddSuppression { customer, .. })
            | Body::LiftSuppression(LiftSuppression { customer, .. }) => {
                keys.extend([named(Kind::Customer, *customer), feed_key(command.space)]);
            }
            Body::ReadFeed => keys.push(feed_key(command.space)),
            Body::ObserveMessage(observe) => keys.push(named(Kind::Customer, observe.customer)),
            Body::ClaimTarget(claim) | Body::ObserveOwner(ObserveOwner { claim, .. }) => {
                keys.extend(claimed(claim.new_id, claim.target));
            }
            Body::LockTask(lock) => {
                keys.extend(claimed(lock.new_id, Target::Object(lock.object)));
            }
            Body::ReleaseClaim(release) => keys.extend(place_key(command.space, release.place)),
            Body::MakeCommitment(made) => {
                let customer = named(Kind::Customer, made.customer);
                keys.extend([named(Kind::Directory, made.row), customer]);
            }
            Body::EndCommitment(end) => keys.extend(place_key(command.space, end.place)),
            Body::Admit(admit) => admit.keys(command.space, &mut keys),
            Body::SettleAdmission(settle) => settle.keys(command.space, &mut keys),
            Body::FindAdmission(find) => keys.push(row_key(command.space, find.admission)),
            Body::FindClaim(find) => keys.push(row_key(command.space, find.claim)),
            Body::Advise(advise) => keys.push(advise.target.key(command.space)),
            Body::Show(show) => keys.push(named(show.kind, show.hash)),
            Body::ForgetCustomer(body) => keys.extend(forget_customer::keys(command.space, body)),
            Body::PlaceHold(place) => {
                keys.extend(handoff_keys(command.space, &place.handoffs));
                keys.extend(place.target.key(command.space));
                keys.push(holds_key(command.space));
            }
            Body::ReleaseHold(release) => {
                if let HoldPlace::At(target) = release.place {
                    keys.extend(target.key(command.space));
                    keys.extend(handoff_keys(command.space, &release.handoffs));
                }
                keys.push(holds_key(command.space));
            }
            Body::FindHold(_) => keys.push(holds_key(command.space)),
            Body::NoteMessage(note) => keys.extend(note.key(command)),
            Body::EndObservation(end) => keys.extend(claimed(end.new_id, end.target)),
            Body::RequestReport(_) | Body::EndReport(_) | Body::ReadReports(_) => {
                keys.push(reports::reports_key(command.space));
            }
            Body::Handoff(body) => keys.extend(body.keys(command.space)),
            Body::TurnPromise(turn) => keys.push(named(Kind::Customer, turn.customer)),
            Body::EndFact(end) => end.keys(command.space, &mut keys),
            Body::FindTies(find) => keys.push(named(Kind::Object, find.object)),
        }
        keys
    }

    fn look_up(command: &Command) -> Option<Command> {
        look_up::of(command)
    }

    fn looked_up(command: Command, found: Reply) -> Result<Command, Reply> {
        look_up::complete(command, found)
    }

    fn decide(
        entities: &Entities<'_, ContactEntity>,
        command: &Command,
        context: &mut Context<'_, Policy>,
    ) -> Decision<Self> {
        if let Some(reply) = receipt::repeated(entities, command, context.now) {
            return Decision::read(reply);
        }
        if context.part_full && receipt::is_one_too_many(entities, command) {
            return Decision::read(Reply::TooManyKeys);
        }
        let mut decision = match &command.body {
            Body::Check(body) => check::decide(entities, command, body, context),
            Body::ReserveEffect(body) => reserve_effect::decide(entities, command, body, context),
            Body::SettleEffect(body) => settle_effect::decide(entities, command, body, context),
            Body::DeclareContactMade(body) => {
                declare_contact_made::decide(entities, command, body, context)
            }
            Body::DeclareEffect(body) => declare_effect::decide(entities, command, body, context),
            Body::AddSuppression(body) => add_suppression::decide(entities, command, body, context),
            Body::LiftSuppression(body) => {
                lift_suppression::decide(entities, command, body, context)
            }
            Body::ObserveMessage(body) => observe_message::decide(entities, command, body, context),
            Body::ClaimTarget(body) => claim_target::decide(entities, command, body, context),
            Body::ObserveOwner(body) => observe_owner::decide(entities, command, body, context),
            Body::LockTask(body) => lock_task::decide(entities, command, body, context),
            Body::ReleaseClaim(body) => release_claim::decide(entities, command, body, context),
            Body::MakeCommitment(body) => make_commitment::decide(entities, command, body, context),
            Body::EndCommitment(body) => end_commitment::decide(entities, command, body, context),
            Body::Admit(body) => admit::decide(entities, command, body, context),
            Body::SettleAdmission(body) => {
                settle_admission::decide(entities, command, body, context)
            }
            Body::FindAdmission(body) => {
                find_admission::decide(entities, command, body, context.now)
            }
            Body::FindClaim(body) => find_claim::decide(entities, command, body, context.now),
            Body::Advise(body) => advise::decide(entities, command, body, context),
            Body::Show(body) => show::decide(entities, command, body),
            Body::ForgetCustomer(body) => forget_customer::decide(entities, command, body, context),
            Body::PlaceHold(body) => place_hold::decide(entities, command, body, context),
            Body::ReleaseHold(body) => release_hold::decide(entities, command, body, context),
            Body::FindHold(body) => find_hold::decide(entities, command, body),
            Body::ReadFeed => read_feed::decide(entities, command),
            Body::NoteMessage(body) => note_message::decide(command, body, context.now),
            Body::EndObservation(body) => end_observation::decide(entities, command, body, context),
            Body::RequestReport(body) => request_report::decide(entities, command, *body, context),
            Body::EndReport(body) => end_report::decide(entities, command, body, context.now),
            Body::ReadReports(body) => read_reports::decide(entities, command, *body),
            Body::Handoff(body) => body.decide(entities, command, context),
            Body::TurnPromise(body) => turn_promise::decide(entities, command, body, context),
            Body::EndFact(body) => end_fact::decide(entities, command, body, context),
            Body::FindTies(body) => find_ties::decide(entities, command, *body),
        };
        receipt::keep(&mut decision, command, context.policy, context.now);
        decision
    }

    fn touch(entity: &ContactEntity) -> usize {
        entity.touch()
    }

    fn keeps_history(entity: &ContactEntity) -> bool {
        entity
            .as_holds()
            .is_some_and(|holds| !holds.live.is_empty())
    }

    fn empty(kind: Kind) -> ContactEntity {
        match kind {
            Kind::Receipt => ContactEntity::Receipt(Box::new(Receipt::EMPTY)),
            Kind::Effect => ContactEntity::Effect(Effect::EMPTY),
            Kind::Customer => ContactEntity::Customer(Box::<Customer>::default()),
            Kind::Object => ContactEntity::Object(Box::<Object>::default()),
            Kind::Directory => ContactEntity::Directory(Box::new(DirectoryRow::EMPTY)),
            Kind::Holds => ContactEntity::Holds(Box::<Holds>::default()),
            Kind::Feed => ContactEntity::Feed(Feed::default()),
            Kind::Reports => ContactEntity::Reports(Box::<Reports>::default()),
            Kind::SpaceBudget => ContactEntity::SpaceBudget(Box::<SpaceBudget>::default()),
            Kind::Handoff => ContactEntity::Handoff(Box::new(Handoff::empty())),
        }
    }

    fn apply(entity: &mut ContactEntity, event: &Event) {
        match (entity, event) {
            (ContactEntity::Effect(effect), Event::EffectReserved(event)) => effect.reserve(event),
            (ContactEntity::Effect(effect), Event::EffectSettled(event)) => effect.settle(event),
            (ContactEntity::Effect(effect), Event::KeyUntied(_)) => effect.untie(),
            (ContactEntity::Object(known), Event::KeyTied(event)) => known.tie(event),
            (ContactEntity::Object(known), Event::FactEnded(event)) => known.end_fact(event),
            (ContactEntity::Customer(known), Event::ContactCounted(event)) => known.count(event),
            (ContactEntity::Customer(known), Event::ContactMade(event)) => known.make(event),
            (ContactEntity::Customer(known), Event::TokenSeen(event)) => known.see_token(event),
            (ContactEntity::Customer(known), Event::SuppressionAdded(event)) => {
                known.suppress(event);
            }
            (ContactEntity::Customer(known), Event::SuppressionLifted(event)) => {
                known.lift(event);
            }
            (ContactEntity::Customer(known), Event::CommitmentMade(made)) => known.offer(made),
            (ContactEntity::Customer(known), Event::CommitmentTurned(event)) => {
                known.turn_offer(event);
            }
            (ContactEntity::Customer(known), Event::MessageSeen(event)) => {
                known.see_message(event);
            }
            (ContactEntity::Receipt(receipt), Event::ReceiptKept(event)) => {
                receipt.clone_from(event);
            }
            (ContactEntity::Customer(known), Event::ClaimAccepted(claim)) => known.claim(claim),
            (ContactEntity::Customer(known), Event::ClaimReleased(event)) => known.release(event),
            (ContactEntity::Object(known), Event::ClaimAccepted(claim)) => known.claim(claim),
            (ContactEntity::Object(known), Event::LockTaken(lock)) => known.lock(lock),
            (ContactEntity::Object(known), Event::ClaimReleased(event)) => known.release(event),
            (ContactEntity::Directory(row), Event::RowWritten(written)) => row.clone_from(written),
            (ContactEntity::Customer(known), Event::CustomerErased(event)) => known.erase(event.at),
            (ContactEntity::Customer(known), Event::HoldMarked(event)) => {
                event.count(&mut known.rare.legal_holds);
            }
            (ContactEntity::Object(known), Event::HoldMarked(event)) => known.mark(event),
            (ContactEntity::Holds(holds), Event::HoldPlaced(hold)) => holds.place(hold),
            (ContactEntity::Holds(holds), Event::HoldReleased(event)) => holds.release(event),
            (ContactEntity::Feed(feed), Event::FeedMoved(moved)) => *feed = *moved,
            (ContactEntity::Reports(known), Event::RunRequested(event)) => known.request(event),
            (ContactEntity::Reports(known), Event::RunEnded(event)) => known.end(event),
            (ContactEntity::Customer(known), Event::PromiseTurned(event)) => known.promise(event),
            (ContactEntity::Handoff(known), Event::HandoffCreated(made)) => known.clone_from(made),
            (ContactEntity::Handoff(known), Event::HandoffTurned(event)) => known.turn(event),
            (ContactEntity::Handoff(known), Event::HandoffHeld(event)) => known.hold(event),
            (ContactEntity::Handoff(known), Event::HandoffErased(_)) => known.erase(),
            (ContactEntity::Directory(row), Event::AdmissionSettled(event)) => {
                row.settle(event.state);
            }
            (ContactEntity::SpaceBudget(known), Event::CostMeasured(event)) => {
                known.measured = known.measured.max(Some(event.cost));
            }
            (known, Event::UnitsReserved(event)) => meters(known).reserve(event),
            (known, Event::UnitsCorrected(event)) => meters(known).correct(event),
            (
                ContactEntity::Effect(_)
                | ContactEntity::Customer(_)
                | ContactEntity::Object(_)
                | ContactEntity::Receipt(_)
                | ContactEntity::Directory(_)
                | ContactEntity::Holds(_)
                | ContactEntity::Feed(_)
                | ContactEntity::Reports(_)
                | ContactEntity::SpaceBudget(_)
                | ContactEntity::Handoff(_),
                _,
            ) => unreachable!("an event of another kind of entity"),
        }
    }

    /// A receipt counts for its source.
    fn part(entity: &ContactEntity) -> Option<u32> {
        entity.as_receipt().map(|receipt| receipt.source.0)
    }

    fn adds_to(command: &Command) -> Option<u32> {
        command.receipt.map(|_| command.source.0)
    }

    fn due(entity: &ContactEntity) -> Option<Timestamp> {
        match entity {
            ContactEntity::Effect(effect) => effect.due(),
            ContactEntity::Customer(customer) => customer.due(),
            ContactEntity::Object(object) => object.due(),
            ContactEntity::Receipt(receipt) => Some(receipt.until),
            ContactEntity::Directory(row) => Some(row.until),
            ContactEntity::Holds(holds) => holds.due(),
            ContactEntity::Feed(_) => None,
            ContactEntity::Reports(reports) => reports.due(),
            ContactEntity::SpaceBudget(budget) => budget.due(),
            ContactEntity::Handoff(handoff) => handoff.due(),
        }
    }

    fn sweep(entity: &ContactEntity, now: Timestamp) -> Sweep<Event> {
        match Self::due(entity) {
            Some(due) if due <= now => Sweep::Purge,
            Some(_) | None => Sweep::Keep,
        }
    }

    fn check(entity: &ContactEntity) -> Result<(), Broken> {
        match entity {
            ContactEntity::Effect(effect) => effect.check(),
            ContactEntity::Customer(customer) => customer.check(),
            ContactEntity::Object(object) => object.check(),
            ContactEntity::Holds(holds) => holds.check(),
            ContactEntity::Handoff(handoff) => handoff.check(),
            ContactEntity::Receipt(_) | ContactEntity::Directory(_) | ContactEntity::Feed(_) => {
                Ok(())
            }
            ContactEntity::Reports(reports) => reports.check(),
            ContactEntity::SpaceBudget(budget) => budget.meters.check(),
        }
    }

    fn rebind(command: &mut Command, policy: &Policy) -> Result<(), Reply> {
        rebind::rebind(command, policy)
    }

    fn undecided(
        command: &Command,
        policy: &Policy,
        why: Undecided,
        now: Timestamp,
        ids: &mut IdStream,
    ) -> Option<Reply> {
        match &command.body {
            // Under a key the stored answer may be another one, so nothing else may be answered.
            Body::Check(_) if command.receipt.is_some() => None,
            Body::Check(body) => check::undecided(body, policy, why, now, ids),
            Body::ReserveEffect(_)
            | Body::SettleEffect(_)
            | Body::DeclareContactMade(_)
            | Body::DeclareEffect(_)
            | Body::AddSuppression(_)
            | Body::LiftSuppression(_)
            | Body::ObserveMessage(_)
            | Body::ClaimTarget(_)
            | Body::ObserveOwner(_)
            | Body::LockTask(_)
            | Body::ReleaseClaim(_)
            | Body::MakeCommitment(_)
            | Body::EndCommitment(_)
            | Body::Admit(_)
            | Body::SettleAdmission(_)
            | Body::FindAdmission(_)
            | Body::FindClaim(_)
            | Body::Advise(_)
            | Body::Show(_)
            | Body::ForgetCustomer(_)
            | Body::PlaceHold(_)
            | Body::ReleaseHold(_)
            | Body::FindHold(_)
            | Body::ReadFeed
            | Body::NoteMessage(_)
            | Body::EndObservation(_)
            | Body::RequestReport(_)
            | Body::EndReport(_)
            | Body::ReadReports(_)
            | Body::Handoff(_)
            | Body::TurnPromise(_)
            | Body::EndFact(_)
            | Body::FindTies(_) => None,
        }
    }

    fn outcome(reply: &Reply) -> (&'static str, &'static str) {
        reply.outcome()
    }
}

/// The name of an entity of this product.
#[must_use]
pub const fn key(space: SpaceId, kind: Kind, hash: KeyHash) -> EntityKey {
    EntityKey { kind, space, hash }
}

/// The handoffs of these ids.
fn handoff_keys(space: SpaceId, ids: &[Id]) -> impl Iterator<Item = EntityKey> {
    ids.iter().map(move |id| handoff::handoff_key(space, *id))
}

/// The entity a place is, once it is known.
fn place_key(space: SpaceId, place: ClaimPlace) -> Option<EntityKey> {
    match place {
        ClaimPlace::At(target) => Some(target.key(space)),
        ClaimPlace::ToFind | ClaimPlace::Nowhere => None,
    }
}

/// Where units are counted on an entity.
fn meters(entity: &mut ContactEntity) -> &mut Meters {
    match entity {
        ContactEntity::Customer(customer) => customer.rare.paid.get_or_insert_default(),
        ContactEntity::Object(object) => object.paid.get_or_insert_default(),
        ContactEntity::SpaceBudget(budget) => &mut budget.meters,
        ContactEntity::Effect(_)
        | ContactEntity::Receipt(_)
        | ContactEntity::Directory(_)
        | ContactEntity::Holds(_)
        | ContactEntity::Feed(_)
        | ContactEntity::Reports(_)
        | ContactEntity::Handoff(_) => {
            unreachable!("units are counted on a customer, an object or the space")
        }
    }
}
