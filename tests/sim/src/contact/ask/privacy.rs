//! What is asked about erasures and legal holds.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{
    Body, ForgetCustomer, HoldPlace, PlaceHold, ReleaseHold, Route, Show,
};
use interlock_domain::contact::customer::Customer;
use interlock_domain::contact::legal_hold::HoldTarget;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, Kind};

use super::handoffs::Handoffs;
use crate::random::Random;

/// Holds of late that are asked about again.
const KNOWN_MAX: usize = 6;

/// What an erasure must name beside its customer: offers and handoffs.
type Named = (Vec<Text>, Vec<Id>);

/// Holds that came to light, and what customers were last seen to have.
#[derive(Debug, Default)]
pub(super) struct Holds {
    placed: Vec<Id>,
    shown: BTreeMap<KeyHash, Named>,
    /// Whose the last of them were.
    last: Option<KeyHash>,
}

impl Holds {
    pub(super) fn placed(&mut self, id: Id) {
        self.placed.push(id);
        if self.placed.len() > KNOWN_MAX {
            self.placed.remove(0);
        }
    }

    pub(super) fn shown(&mut self, customer: KeyHash, holds: Option<&Customer>) {
        let offers = holds.map_or(&[][..], |holds| &holds.rare.commitments);
        let offers = offers.iter().map(|offer| offer.id.clone()).collect();
        let handoffs = holds.map_or(&[][..], Customer::handoffs).iter();
        let handoffs = handoffs.map(|known| known.id).collect();
        self.shown.insert(customer, (offers, handoffs));
        self.last = Some(customer);
    }

    /// One of a few things; a hold that is known is released more often than another is placed.
    pub(super) fn ask(
        &mut self,
        (customer, object): (KeyHash, KeyHash),
        rows: &BTreeMap<Text, KeyHash>,
        handoffs: &Handoffs,
        random: &mut Random,
    ) -> (Route, Body) {
        // As the edge has it: it reads, and erases at once.
        if let Some(last) = self.last.take_if(|_| random.chance(300)) {
            let body = self.forget(last, rows, random);
            return (Route::Forget, Body::ForgetCustomer(body));
        }
        match random.weighted(&[3, 2, 4, 2]) {
            0 => {
                let body = self.forget(customer, rows, random);
                (Route::Forget, Body::ForgetCustomer(body))
            }
            1 => {
                let target = match random.below(5) {
                    0 => HoldTarget::Conversation(object),
                    1 | 2 => HoldTarget::Object(object),
                    _ => HoldTarget::Customer(customer),
                };
                let body = PlaceHold {
                    target,
                    new_id: Id([0; 16]),
                    handoffs: handoffs.kept_by(target),
                };
                (Route::LegalHolds, Body::PlaceHold(body))
            }
            2 => {
                let unknown = self.placed.is_empty() || random.chance(50);
                let body = ReleaseHold {
                    hold: if unknown {
                        Id([9; 16])
                    } else {
                        random.pick(&self.placed)
                    },
                    handoffs: handoffs.all(),
                    place: HoldPlace::ToFind,
                };
                (Route::LegalHolds, Body::ReleaseHold(body))
            }
            _ => {
                let (kind, hash) = (Kind::Customer, customer);
                (Route::Forget, Body::Show(Show { kind, hash }))
            }
        }
    }

    /// Names what the customer was last seen to have, which may be of long ago.
    fn forget(
        &self,
        customer: KeyHash,
        rows: &BTreeMap<Text, KeyHash>,
        random: &mut Random,
    ) -> ForgetCustomer {
        let seen = self.shown.get(&customer).cloned();
        let (offers, handoffs) = seen.unwrap_or_default();
        let named = offers.into_iter().filter_map(|id| {
            let row = *rows.get(&id)?;
            Some((id, row))
        });
        let mut body = ForgetCustomer {
            customer,
            new_id: Id([0; 16]),
            offers: named.collect(),
            handoffs,
        };
        if random.chance(50) {
            body.offers.pop();
            body.handoffs.pop();
        }
        body
    }
}
