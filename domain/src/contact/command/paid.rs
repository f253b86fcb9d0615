//! What is asked of paid operations.
//!
//! Here: the commands of admissions (`docs/spec/contact.md` §7). Not here: what they lead to (`admit`,
//! `settle_admission`, `find_admission`).

use crate::contact::directory::Target;
use crate::contact::name::OperationId;
use crate::contact::text::Text;
use crate::ids::Id;

/// May this call be made?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admit {
    /// The operation's name.
    pub operation: Text,
    /// What its cap is for: the customer, the object or the space, as the operation's scope says.
    pub target: Target,
    /// What the call costs, in units; `None`: the highest cost so far.
    pub units: Option<u32>,
    /// The id the admission gets; see [`ClaimTarget::new_id`](super::ClaimTarget).
    pub new_id: Id,
}

/// An admission is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettleAdmission {
    /// Which.
    pub admission: Id,
    /// How it ended.
    pub settlement: AdmissionSettlement,
    /// Where it is.
    pub place: AdmissionPlace,
}

/// How an admitted call ended, as told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionSettlement {
    /// It was made.
    Done {
        /// What it really cost, in units.
        cost: u32,
    },
    /// It failed; its units stay spent.
    Failed,
    /// It was not made; its units go back.
    Skipped,
}

/// Where an admission named by its id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionPlace {
    /// Not looked up yet.
    ToFind,
    /// The id's directory row leads here.
    At {
        /// The entity its units are on.
        target: Target,
        /// Its operation.
        operation: OperationId,
    },
    /// There is no such id, or it is forgotten.
    Nowhere,
}

/// Which entities an admission draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindAdmission {
    /// Which admission.
    pub admission: Id,
}
