//! Golden events of paid operations.

use crate::contact::admission::{Admission, AdmissionState};
use crate::contact::directory::{DirectoryRow, Target};
use crate::contact::event::{AdmissionSettled, CostMeasured, Event, UnitsCorrected, UnitsReserved};
use crate::contact::name::{OperationId, SourceId};
use crate::contact::text::Text;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// Admissions and their units.
pub(super) fn events() -> Vec<Event> {
    let at = Timestamp(1);
    let admission = Admission {
        operation: Text::from("search"),
        at,
        expires_at: Timestamp(2),
        reserved: 6,
        state: AdmissionState::Done { cost: 5 },
        source: SourceId(3),
    };
    vec![
        Event::RowWritten(Box::new(DirectoryRow {
            target: Target::Space(KeyHash([0xcd; 16])),
            until: at,
            terms: None,
            erased: None,
            admission: Some(Box::new(admission)),
        })),
        Event::UnitsReserved(UnitsReserved {
            operation: OperationId(5),
            units: 4,
            at,
            keep_hours: 24,
            limit: 9,
        }),
        Event::UnitsCorrected(UnitsCorrected {
            operation: OperationId(5),
            reserved_at: at,
            from: 4,
            to: 3,
        }),
        Event::AdmissionSettled(AdmissionSettled {
            state: AdmissionState::Skipped,
            at,
        }),
        Event::CostMeasured(CostMeasured { cost: 5, at }),
    ]
}
