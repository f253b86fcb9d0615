//! What is asked about erasures and legal holds.

use interlock_domain::contact::command::{
    Body, ForgetCustomer, HoldPlace, PlaceHold, ReleaseHold, Route,
};
use interlock_domain::contact::legal_hold::HoldTarget;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;

use crate::random::Random;

/// Holds of late that are asked about again.
const KNOWN_MAX: usize = 6;

/// Holds that came to light.
#[derive(Debug, Default)]
pub(super) struct Holds(Vec<Id>);

impl Holds {
    pub(super) fn placed(&mut self, id: Id) {
        self.0.push(id);
        if self.0.len() > KNOWN_MAX {
            self.0.remove(0);
        }
    }

    /// One of a few things; a hold that is known is released more often than another is placed.
    pub(super) fn ask(
        &self,
        customer: KeyHash,
        object: KeyHash,
        random: &mut Random,
    ) -> (Route, Body) {
        match random.weighted(&[3, 2, 5]) {
            0 => {
                let body = ForgetCustomer {
                    customer,
                    new_id: Id([0; 16]),
                    offers: Vec::new(),
                    handoffs: Vec::new(),
                };
                (Route::Forget, Body::ForgetCustomer(body))
            }
            1 => {
                let target = match random.below(5) {
                    0 => HoldTarget::Conversation(object),
                    1 => HoldTarget::Object(object),
                    _ => HoldTarget::Customer(customer),
                };
                let body = PlaceHold {
                    target,
                    new_id: Id([0; 16]),
                    handoffs: Vec::new(),
                };
                (Route::LegalHolds, Body::PlaceHold(body))
            }
            _ => {
                let unknown = self.0.is_empty() || random.chance(50);
                let body = ReleaseHold {
                    hold: if unknown {
                        Id([9; 16])
                    } else {
                        random.pick(&self.0)
                    },
                    handoffs: Vec::new(),
                    place: HoldPlace::ToFind,
                };
                (Route::LegalHolds, Body::ReleaseHold(body))
            }
        }
    }
}
