//! What is asked about offers and promises, and who reads the suppression list.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{
    Body, ClaimPlace, EndCommitment, MakeCommitment, Route, SettleEffect, SettledBy, Settlement,
    TurnPromise,
};
use interlock_domain::contact::commitment::{CommitmentState, Score};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::promise::{Promise, PromiseState};
use interlock_domain::contact::text::Text;
use interlock_domain::key::{KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;

use super::super::rules::Rules;
use crate::keys::key_in;
use crate::random::Random;

/// Ids that offers of a run use again and again.
const IDS: usize = 12;

/// Ids of offers, with the names of their rows.
#[derive(Debug)]
pub(super) struct Offers {
    space: SpaceId,
    partitions: u64,
    ids: Vec<(Text, KeyHash)>,
    /// Of late, from all ids.
    recent: Vec<(Text, KeyHash)>,
    given: u64,
    /// Where each id that was ever used has its row.
    rows: BTreeMap<Text, KeyHash>,
}

impl Offers {
    pub(super) fn new(space: SpaceId, partitions: u64, random: &mut Random) -> Self {
        let mut offers = Self {
            space,
            partitions,
            ids: Vec::new(),
            recent: Vec::new(),
            given: 0,
            rows: BTreeMap::new(),
        };
        offers.ids = (0..IDS).map(|_| offers.fresh(random)).collect();
        offers
    }

    fn fresh(&mut self, random: &mut Random) -> (Text, KeyHash) {
        self.given += 1;
        let row = key_in(self.space, Kind::Directory, self.partitions, random);
        let id = (Text::from(&*format!("o{}", self.given)), row.hash);
        self.rows.insert(id.0.clone(), id.1);
        self.recent.push(id.clone());
        if self.recent.len() > IDS {
            self.recent.remove(0);
        }
        id
    }

    pub(super) const fn rows(&self) -> &BTreeMap<Text, KeyHash> {
        &self.rows
    }

    fn id(&mut self, random: &mut Random) -> (Text, KeyHash) {
        match random.weighted(&[2, 5, 3]) {
            0 => self.ids[random.index(self.ids.len())].clone(),
            1 => self.recent[random.index(self.recent.len())].clone(),
            _ => self.fresh(random),
        }
    }

    /// Something is offered.
    pub(super) fn make(
        &mut self,
        rules: &Rules,
        (customer, now): (KeyHash, Timestamp),
        random: &mut Random,
    ) -> (Route, Body) {
        let (id, row) = self.id(random);
        let score = random.pick(&[1_i64, 1, 2, 5, -3]);
        let body = MakeCommitment {
            customer,
            id,
            row,
            kind: Text::from(rules.offers[random.index(rules.offers.len())].0),
            score: random.chance(700).then_some(Score(score)),
            until: soon(now, 800, random),
            terms: random.chance(300).then(|| vec![7; 3]),
        };
        (Route::Declare, Body::MakeCommitment(body))
    }

    /// A word about an offer, with or without a word on whose it is.
    pub(super) fn end(&mut self, customer: KeyHash, random: &mut Random) -> (Route, Body) {
        let (id, row) = self.id(random);
        let place = if random.chance(500) {
            ClaimPlace::ToFind
        } else {
            ClaimPlace::At(Target::Customer(customer))
        };
        let state = random.pick(&[
            CommitmentState::Accepted,
            CommitmentState::Withdrawn,
            CommitmentState::Declined,
        ]);
        let body = EndCommitment {
            place,
            id,
            row,
            state,
        };
        (Route::Declare, Body::EndCommitment(body))
    }
}

/// A moment within the next hours, mostly; or none.
pub(super) fn soon(now: Timestamp, per_mille: u64, random: &mut Random) -> Option<Timestamp> {
    let ahead = random.pick(&[2_000, 60_000, 7_200_000]);
    let ahead = i64::try_from(random.range(1..=ahead)).unwrap_or(1);
    random.chance(per_mille).then(|| now.plus_ms(ahead))
}

/// A word about a promise. There are more ids than a customer may have open ones.
pub(super) fn promise((customer, now): (KeyHash, Timestamp), random: &mut Random) -> (Route, Body) {
    let number = if random.chance(600) {
        random.below(6)
    } else {
        random.below(60)
    };
    let state = match random.weighted(&[5, 1, 1]) {
        0 => PromiseState::Open,
        1 => PromiseState::Kept,
        _ => PromiseState::Withdrawn,
    };
    let body = TurnPromise {
        customer,
        promise: Promise {
            id: Text::from(&*format!("p{number}")),
            owner: Text::from(random.pick(&["billing", "support"])),
            due: soon(now, 600, random),
        },
        state,
    };
    (Route::Promises, Body::TurnPromise(body))
}

/// Somebody asks how far the suppression list is.
pub(super) const fn read_feed() -> (Route, Body) {
    (Route::Suppressions, Body::ReadFeed)
}

/// By which way an entry of the suppression list comes: a source's or people's.
pub(super) fn listing(random: &mut Random) -> Route {
    random.pick(&[
        Route::Declare,
        Route::Declare,
        Route::Declare,
        Route::PeoplesSuppressions,
    ])
}

/// A settlement: of the holder, or of somebody who settles for others.
pub(super) fn settle(
    effect: KeyHash,
    attempt: u32,
    settlement: Settlement,
    random: &mut Random,
) -> (Route, Body) {
    let by = [SettledBy::Holder, SettledBy::Observation, SettledBy::Person];
    let by = by[random.weighted(&[6, 1, 1])];
    let holder = by == SettledBy::Holder;
    // Others may mean whatever attempt is the current one.
    let named = holder || random.chance(500);
    let body = SettleEffect {
        effect,
        attempt: named.then_some(attempt),
        settlement,
        by,
    };
    let route = if holder {
        Route::Settle
    } else {
        Route::OperatorSettle
    };
    (route, Body::SettleEffect(body))
}
