//! What agents, panels and consumers ask of the contact product. In `ask/`: what they ask about
//! contacts (`contacts`), ownership (`own`), offers, promises and the list (`dealings`), paid operations
//! and shadow runs (`paid`), erasures and legal holds (`privacy`), and handoffs (`handoffs`).

mod contacts;
mod dealings;
mod handoffs;
mod own;
mod paid;
mod privacy;
mod reads;

use std::collections::BTreeMap;

use interlock_domain::contact::command::{
    Body, Command, DeclareEffect, EffectKind, EffectRef, EndFact, LiftSuppression, ReceiptRef,
    Route, Settlement,
};
use interlock_domain::contact::customer::Customer;
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::legal_hold::LegalHold;
use interlock_domain::contact::name::{PurposeId, SourceId};
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_storage::PARTITIONS_PER_GROUP;
use xxhash_rust::xxh3::xxh3_128;

use self::contacts::{channel, observe, purpose_or_any, reserve};
use super::rules::{Hours, Rules};
use crate::keys::{key_in, space};
use crate::random::Random;

/// Integrations of a space.
const SOURCES: u32 = 3;
/// Keyed requests that may be sent again.
const REPEATABLE: usize = 40;

/// One space's customers, effects, objects and keys.
#[derive(Debug)]
struct Place {
    customers: Vec<KeyHash>,
    effects: Vec<KeyHash>,
    objects: Vec<KeyHash>,
    windows: Vec<Hours>,
    keys: BTreeMap<(u32, u8), Vec<KeyHash>>,
    /// Keyed requests of late.
    sent: Vec<Command>,
    /// Attempts seen of late, by effect.
    attempts: BTreeMap<KeyHash, u32>,
    /// Decisions seen of late, with customer and purpose.
    decisions: Vec<(Id, KeyHash, PurposeId)>,
    ids: own::Ids,
    known: paid::Known,
    holds: privacy::Holds,
    offers: dealings::Offers,
    handoffs: handoffs::Handoffs,
}

/// Everybody who asks.
#[derive(Debug)]
pub(super) struct Clients {
    places: BTreeMap<SpaceId, Place>,
    /// Weights of the bodies, in the order of [`Clients::body`].
    bodies: [u64; 18],
    keyed: u64,
    hot: u64,
    /// Chance of something about paid operations or shadow runs, in a thousand.
    paid: u64,
    /// Chance of an erasure or something about a legal hold, in a thousand.
    privacy: u64,
    /// Chance of something about a handoff, in a thousand.
    handoffs: u64,
    /// Chance of a read or a note, in a thousand.
    reads: u64,
}

/// How attempts end; failed ones go on, so they are the more.
const SETTLEMENTS: [Settlement; 4] = [
    Settlement::Done,
    Settlement::Failed,
    Settlement::Failed,
    Settlement::UnknownOutcome,
];

impl Clients {
    pub(super) fn new(random: &mut Random) -> Self {
        let count = random.range(1..=2);
        let partitions = random.pick(&[1, 8, u64::from(PARTITIONS_PER_GROUP)]);
        let places = (0..count).map(|_| {
            let space = space(random);
            (space, Place::new(space, partitions, random))
        });
        Self {
            places: places.collect(),
            bodies: [
                60,
                random.pick(&[10, 40]),
                random.pick(&[5, 30]),
                random.pick(&[3, 20]),
                random.pick(&[3, 20]),
                random.pick(&[0, 2, 10]),
                random.pick(&[0, 2, 10]),
                random.pick(&[0, 5]),
                random.pick(&[5, 20, 60]),
                random.pick(&[0, 5, 20]),
                random.pick(&[5, 20, 60]),
                random.pick(&[5, 20]),
                random.pick(&[0, 0, 15, 40]),
                random.pick(&[0, 3, 15]),
                random.pick(&[0, 5, 30]),
                random.pick(&[1, 5]),
                random.pick(&[0, 1, 4]),
                random.pick(&[0, 10, 30]),
            ],
            keyed: random.pick(&[0, 300, 800]),
            hot: random.pick(&[0, 300, 900]),
            paid: random.pick(&[0, 0, 30, 250]),
            privacy: random.pick(&[0, 20, 60, 150]),
            handoffs: random.pick(&[0, 20, 100, 300]),
            reads: random.pick(&[0, 10, 60]),
        }
    }

    pub(super) fn spaces(&self) -> Vec<SpaceId> {
        self.places.keys().copied().collect()
    }

    /// A decision came to light.
    pub(super) fn decided(&mut self, space: SpaceId, id: Id, customer: KeyHash, of: PurposeId) {
        if let Some(place) = self.places.get_mut(&space) {
            place.decisions.push((id, customer, of));
            if place.decisions.len() > REPEATABLE {
                place.decisions.remove(0);
            }
        }
    }

    /// An attempt came to light.
    pub(super) fn attempted(&mut self, space: SpaceId, effect: KeyHash, attempt: u32) {
        if let Some(place) = self.places.get_mut(&space) {
            place.attempts.insert(effect, attempt);
        }
    }

    /// A claim or a lock came to light.
    pub(super) fn claimed(&mut self, space: SpaceId, id: Id, epoch: u64) {
        if let Some(place) = self.places.get_mut(&space) {
            place.ids.claimed(id, epoch);
        }
    }

    /// An admission came to light.
    pub(super) fn admitted(&mut self, space: SpaceId, id: Id) {
        if let Some(place) = self.places.get_mut(&space) {
            place.known.admitted(id);
        }
    }

    /// A legal hold came to light.
    pub(super) fn placed(&mut self, space: SpaceId, hold: &LegalHold) {
        if let Some(place) = self.places.get_mut(&space) {
            place.holds.placed(hold.id);
        }
    }

    /// A handoff came to light.
    pub(super) fn passed_on(&mut self, space: SpaceId, id: Id, handoff: &Handoff) {
        if let Some(place) = self.places.get_mut(&space) {
            place.handoffs.made(id, handoff);
        }
    }

    /// What a customer holds came to light.
    pub(super) fn shown(&mut self, space: SpaceId, customer: KeyHash, holds: Option<&Customer>) {
        if let Some(place) = self.places.get_mut(&space) {
            place.holds.shown(customer, holds);
        }
    }

    /// A shadow run came to light.
    pub(super) fn requested(&mut self, space: SpaceId, id: Id) {
        if let Some(place) = self.places.get_mut(&space) {
            place.known.requested(id);
        }
    }

    pub(super) fn ask(
        &mut self,
        space: SpaceId,
        rules: &Rules,
        now: Timestamp,
        random: &mut Random,
    ) -> Command {
        let (bodies, keyed, hot, reads) = (self.bodies, self.keyed, self.hot, self.reads);
        let (paid, privacy, handoffs) = (self.paid, self.privacy, self.handoffs);
        let place = self
            .places
            .get_mut(&space)
            .expect("a space that takes part");
        if !place.sent.is_empty() && random.chance(keyed / 3) {
            let mut again = place.sent[random.index(place.sent.len())].clone();
            // The edge refuses names that its rules do not know.
            if rules.knows(&again) {
                place.ids.name(&mut again.body, random);
                return again;
            }
        }
        let (route, body) = if random.chance(paid) {
            let (customer, object) = (random.pick(&place.customers), place.object(hot, random));
            place.known.ask(rules, customer, object, random)
        } else if random.chance(privacy) {
            let (customer, object) = (random.pick(&place.customers), place.object(hot, random));
            let rows = place.offers.rows();
            place
                .holds
                .ask((customer, object), rows, &place.handoffs, random)
        } else if random.chance(handoffs) {
            let about = place.about(hot, now, random);
            place.handoffs.ask(rules, about, random)
        } else if random.chance(reads) {
            let about = place.about(hot, now, random);
            reads::ask(rules, about, random)
        } else {
            place.body(random.weighted(&bodies), rules, now, hot, random)
        };
        let source = random.range(1..=u64::from(SOURCES));
        let source = match route {
            Route::PeoplesSuppressions => SourceId::PEOPLE,
            _ => SourceId(u32::try_from(source).expect("a few sources")),
        };
        let mut command = Command {
            space,
            source,
            route,
            receipt: None,
            body,
        };
        // These are asked for without a key here.
        let bare = matches!(
            route,
            Route::Shadow | Route::Forget | Route::LegalHolds | Route::Suppressions
        ) || is_read(&command.body);
        if !bare && random.chance(keyed) {
            let request = format!("{command:?}");
            command.receipt = Some(ReceiptRef {
                hash: place.key(source, route, random),
                fingerprint: xxh3_128(request.as_bytes()).to_be_bytes(),
            });
            place.sent.push(command.clone());
            if place.sent.len() > REPEATABLE {
                place.sent.remove(0);
            }
        }
        place.ids.name(&mut command.body, random);
        command
    }
}

impl Place {
    /// A key that was used before for something else, or a new one.
    fn key(&self, source: SourceId, route: Route, random: &mut Random) -> KeyHash {
        if random.chance(200) {
            return random.pick(&self.keys[&(source.0, route as u8)]);
        }
        self.ids.fresh(Kind::Receipt, random)
    }

    fn new(space: SpaceId, partitions: u64, random: &mut Random) -> Self {
        let customers = random.pick(&[1, 3, 12]);
        let effects = random.pick(&[2, 6, 40]);
        let mut some = |kind, count| -> Vec<KeyHash> {
            let fresh = |_| key_in(space, kind, partitions, random).hash;
            (0..count).map(fresh).collect()
        };
        let routes = [
            Route::Check,
            Route::CheckBatch,
            Route::Declare,
            Route::Effects,
            Route::Settle,
            Route::Batch,
            Route::Claims,
            Route::Release,
            Route::Admissions,
            Route::SettleAdmission,
            Route::Shadow,
            Route::PeoplesSuppressions,
            Route::OperatorSettle,
            Route::Promises,
            Route::Handoffs,
            Route::HandoffAccept,
            Route::HandoffOutcome,
            Route::EndFact,
        ];
        let mut keys = BTreeMap::new();
        for source in 0..=SOURCES {
            for route in routes {
                keys.insert((source, route as u8), some(Kind::Receipt, 3));
            }
        }
        Self {
            customers: some(Kind::Customer, customers),
            effects: some(Kind::Effect, effects),
            objects: some(Kind::Object, 3),
            windows: (0..2).map(|_| Hours::new(random)).collect(),
            keys,
            sent: Vec::new(),
            attempts: BTreeMap::new(),
            decisions: Vec::new(),
            ids: own::Ids::new(space, partitions),
            known: paid::Known::default(),
            holds: privacy::Holds::default(),
            offers: dealings::Offers::new(space, partitions, random),
            handoffs: handoffs::Handoffs::default(),
        }
    }

    fn body(
        &mut self,
        which: usize,
        rules: &Rules,
        now: Timestamp,
        hot: u64,
        random: &mut Random,
    ) -> (Route, Body) {
        let customer = if random.chance(hot) {
            self.customers[0]
        } else {
            random.pick(&self.customers)
        };
        let effect = EffectRef {
            hash: random.pick(&self.effects),
            rest: [0; 16],
            kind: random.pick(&EffectKind::ALL),
        };
        let attempt = self.attempts.get(&effect.hash).copied().unwrap_or(1);
        let attempt = attempt + u32::from(random.chance(100));
        let settlement = random.pick(&SETTLEMENTS);
        match which {
            0 => {
                let object = self.object(hot, random);
                self.check(rules, (customer, object), effect, random)
            }
            1 => {
                let object = self.object(hot, random);
                let body = reserve(effect, rules, object, random);
                (Route::Effects, Body::ReserveEffect(body))
            }
            2 => dealings::settle(effect.hash, attempt, settlement, random),
            3 => {
                let body = DeclareEffect {
                    effect: effect.hash,
                    attempt,
                    settlement,
                };
                (Route::Declare, Body::DeclareEffect(body))
            }
            4 => (Route::Declare, self.contact(rules, customer, random)),
            5 => (
                dealings::listing(random),
                self.suppress(rules, customer, now, random),
            ),
            6 => {
                let body = LiftSuppression {
                    customer,
                    purpose: purpose_or_any(rules, random),
                    channel: random.chance(500).then(|| channel(rules, random)),
                };
                (dealings::listing(random), Body::LiftSuppression(body))
            }
            7 => observe(rules, customer, now, random),
            8..=11 => self.ownership(which, rules, (customer, now), hot, random),
            12 => self.offers.make(rules, (customer, now), random),
            13 => self.offers.end(customer, random),
            14 => dealings::promise((customer, now), random),
            15 => dealings::read_feed(),
            16 => self.end_fact(hot, random),
            _ => {
                let target = self.target(customer, hot, random);
                own::map(&mut self.ids, rules, (target, now), random)
            }
        }
    }

    /// Customers and objects that checks are about are taken and given back.
    fn ownership(
        &mut self,
        which: usize,
        rules: &Rules,
        (customer, now): (KeyHash, Timestamp),
        hot: u64,
        random: &mut Random,
    ) -> (Route, Body) {
        let object = self.object(hot, random);
        let target = self.target(customer, hot, random);
        match which {
            8 => own::claim(rules, target, random),
            9 => own::observe(&mut self.ids, rules, (target, now), random),
            10 => own::lock(rules, object, random),
            _ => own::release(&self.ids, random),
        }
    }

    fn end_fact(&self, hot: u64, random: &mut Random) -> (Route, Body) {
        let object = self.object(hot, random);
        let body = EndFact { object, keys: None };
        (Route::EndFact, Body::EndFact(body))
    }

    fn about(&self, hot: u64, now: Timestamp, random: &mut Random) -> handoffs::About {
        handoffs::About {
            customer: random.pick(&self.customers),
            object: self.object(hot, random),
            effect: random.pick(&self.effects),
            now,
        }
    }

    fn target(&self, customer: KeyHash, hot: u64, random: &mut Random) -> Target {
        if random.chance(500) {
            return Target::Customer(customer);
        }
        Target::Object(self.object(hot, random))
    }

    fn object(&self, hot: u64, random: &mut Random) -> KeyHash {
        if random.chance(hot) {
            return self.objects[0];
        }
        random.pick(&self.objects)
    }
}

/// A read has no idempotency key.
const fn is_read(body: &Body) -> bool {
    matches!(
        body,
        Body::Show(_)
            | Body::Advise(_)
            | Body::ReadReports(_)
            | Body::Handoff(
                HandoffCommand::Read(_)
                    | HandoffCommand::ListEffects(_)
                    | HandoffCommand::SeeEffect(_)
            )
    )
}
