//! The state of one entity, of any kind.
//!
//! Here: the enum and how an entity is taken out of it. Not here: what each kind is (`customer`,
//! `object`, `effect`, `receipt`, `directory`, `legal_hold`, `reports`, `paid`, `handoff`).

use serde::{Deserialize, Serialize};

use crate::contact::claim::{Claim, TaskLock};
use crate::contact::customer::Customer;
use crate::contact::directory::DirectoryRow;
use crate::contact::effect::Effect;
use crate::contact::feed::Feed;
use crate::contact::handoff::Handoff;
use crate::contact::legal_hold::Holds;
use crate::contact::object::Object;
use crate::contact::paid::{Meters, SpaceBudget};
use crate::contact::receipt::Receipt;
use crate::contact::reports::Reports;

/// One entity. Effects are the many, so they stand in line; the others are boxed, so that an
/// effect costs no more than itself. Stored: append only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ContactEntity {
    /// An external act that must happen once.
    Effect(Effect),
    /// A customer.
    Customer(Box<Customer>),
    /// A record in some system.
    Object(Box<Object>),
    /// The outcome of an `Idempotency-Key`.
    Receipt(Box<Receipt>),
    /// Where an id we handed out leads.
    Directory(Box<DirectoryRow>),
    /// A space's legal holds.
    Holds(Box<Holds>),
    /// How far the suppression list is.
    Feed(Feed),
    /// The shadow runs of a space.
    Reports(Box<Reports>),
    /// A space-wide budget.
    SpaceBudget(Box<SpaceBudget>),
    /// A customer handed over.
    Handoff(Box<Handoff>),
}

impl ContactEntity {
    /// Reads what a check reads of it behind a reference. The number means nothing.
    #[must_use]
    pub fn touch(&self) -> usize {
        match self {
            Self::Customer(customer) => {
                let newest = customer.contacts.last();
                let newest = newest.map_or(0, |contact| usize::from(contact.keep_hours));
                customer.rare.claims.len() + customer.effects.len() + newest
            }
            Self::Object(object) => object.locks.len(),
            Self::Effect(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => 0,
        }
    }

    /// The effect, if it is one.
    #[must_use]
    pub fn as_effect(&self) -> Option<&Effect> {
        match self {
            Self::Effect(effect) => Some(effect),
            Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The customer, if it is one.
    #[must_use]
    pub fn as_customer(&self) -> Option<&Customer> {
        match self {
            Self::Customer(customer) => Some(customer),
            Self::Effect(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The object, if it is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The receipt, if it is one.
    #[must_use]
    pub fn as_receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Receipt(receipt) => Some(receipt),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The directory row, if it is one.
    #[must_use]
    pub fn as_directory(&self) -> Option<&DirectoryRow> {
        match self {
            Self::Directory(row) => Some(row),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The space's legal holds, if they are.
    #[must_use]
    pub fn as_holds(&self) -> Option<&Holds> {
        match self {
            Self::Holds(holds) => Some(holds),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The feed of the suppression list, if it is one.
    #[must_use]
    pub fn as_feed(&self) -> Option<&Feed> {
        match self {
            Self::Feed(feed) => Some(feed),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The shadow runs, if it is them.
    #[must_use]
    pub fn as_reports(&self) -> Option<&Reports> {
        match self {
            Self::Reports(reports) => Some(reports),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The handoff, if it is one.
    #[must_use]
    pub fn as_handoff(&self) -> Option<&Handoff> {
        match self {
            Self::Handoff(handoff) => Some(handoff),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_) => None,
        }
    }

    /// The claims on a customer or an object; none on anything else.
    #[must_use]
    pub fn claims(&self) -> &[Claim] {
        match self {
            Self::Customer(customer) => &customer.rare.claims,
            Self::Object(object) => &object.claims,
            Self::Effect(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => &[],
        }
    }

    /// The locks on an object's tasks; none on anything else.
    #[must_use]
    pub fn locks(&self) -> &[TaskLock] {
        match self {
            Self::Object(object) => &object.locks,
            Self::Customer(_)
            | Self::Effect(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::SpaceBudget(_)
            | Self::Handoff(_) => &[],
        }
    }

    /// The space-wide budget, if it is one.
    #[must_use]
    pub fn as_space_budget(&self) -> Option<&SpaceBudget> {
        match self {
            Self::SpaceBudget(budget) => Some(budget),
            Self::Effect(_)
            | Self::Customer(_)
            | Self::Object(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::Handoff(_) => None,
        }
    }

    /// The units drawn on a customer, an object or the space; `None` when there never were any.
    #[must_use]
    pub fn meters(&self) -> Option<&Meters> {
        match self {
            Self::Customer(customer) => customer.rare.paid.as_deref(),
            Self::Object(object) => object.paid.as_deref(),
            Self::SpaceBudget(budget) => Some(&budget.meters),
            Self::Effect(_)
            | Self::Receipt(_)
            | Self::Directory(_)
            | Self::Holds(_)
            | Self::Feed(_)
            | Self::Reports(_)
            | Self::Handoff(_) => None,
        }
    }
}
