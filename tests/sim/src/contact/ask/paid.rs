//! What is asked of paid operations, and of shadow runs.

use interlock_domain::contact::command::{
    AdmissionPlace, AdmissionSettlement, Admit, Body, EndReport, RequestReport, Route,
    SettleAdmission,
};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;

use super::super::paid::space_target;
use super::super::rules::Rules;
use crate::random::Random;

/// Ids of late that are asked about again.
const KNOWN_MAX: usize = 12;

/// Admissions and shadow runs that came to light.
#[derive(Debug, Default)]
pub(super) struct Known {
    admissions: Vec<Id>,
    runs: Vec<Id>,
}

impl Known {
    pub(super) fn admitted(&mut self, id: Id) {
        push(&mut self.admissions, id);
    }

    pub(super) fn requested(&mut self, id: Id) {
        push(&mut self.runs, id);
    }

    /// One of a few things.
    pub(super) fn ask(
        &self,
        rules: &Rules,
        customer: KeyHash,
        object: KeyHash,
        random: &mut Random,
    ) -> (Route, Body) {
        match random.weighted(&[6, 5, 1, 1]) {
            0 => admit(rules, customer, object, random),
            1 => (
                Route::SettleAdmission,
                Body::SettleAdmission(SettleAdmission {
                    admission: one_of(&self.admissions, random),
                    settlement: match random.below(4) {
                        0 => AdmissionSettlement::Failed,
                        1 => AdmissionSettlement::Skipped,
                        _ => AdmissionSettlement::Done {
                            cost: u32::try_from(random.below(7)).unwrap_or(0),
                        },
                    },
                    place: AdmissionPlace::ToFind,
                }),
            ),
            2 => {
                let days = random.pick(&[1, 30, 90]);
                (Route::Shadow, Body::RequestReport(RequestReport { days }))
            }
            _ => {
                let body = EndReport {
                    id: one_of(&self.runs, random),
                    summary: random.chance(700).then(|| vec![7; random.index(40)]),
                };
                (Route::Shadow, Body::EndReport(body))
            }
        }
    }
}

fn push(list: &mut Vec<Id>, id: Id) {
    list.push(id);
    if list.len() > KNOWN_MAX {
        list.remove(0);
    }
}

/// One that is known, mostly.
fn one_of(known: &[Id], random: &mut Random) -> Id {
    if known.is_empty() || random.chance(50) {
        return Id([9; 16]);
    }
    random.pick(known)
}

fn admit(rules: &Rules, customer: KeyHash, object: KeyHash, random: &mut Random) -> (Route, Body) {
    let cap = &rules.caps[random.index(rules.caps.len())];
    let target = match cap.scope {
        "object" => Target::Object(object),
        "subject" => Target::Customer(customer),
        _ => space_target(cap.name),
    };
    let units = random.chance(700).then(|| random.range(0..=6));
    let body = Admit {
        operation: Text::from(cap.name),
        target,
        units: units.map(|units| u32::try_from(units).unwrap_or(0)),
        new_id: Id([0; 16]),
    };
    (Route::Admissions, Body::Admit(body))
}
