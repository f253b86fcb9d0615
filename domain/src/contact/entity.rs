//! The state of one entity, of any kind.
//!
//! Here: the enum and how an entity is taken out of it. Not here: what each kind is (`customer`,
//! `object`, `effect`, `receipt`).

use serde::{Deserialize, Serialize};

use crate::contact::customer::Customer;
use crate::contact::effect::Effect;
use crate::contact::object::Object;
use crate::contact::receipt::Receipt;

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
}

impl ContactEntity {
    /// The effect, if it is one.
    #[must_use]
    pub fn as_effect(&self) -> Option<&Effect> {
        match self {
            Self::Effect(effect) => Some(effect),
            Self::Customer(_) | Self::Object(_) | Self::Receipt(_) => None,
        }
    }

    /// The customer, if it is one.
    #[must_use]
    pub fn as_customer(&self) -> Option<&Customer> {
        match self {
            Self::Customer(customer) => Some(customer),
            Self::Effect(_) | Self::Object(_) | Self::Receipt(_) => None,
        }
    }

    /// The object, if it is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            Self::Effect(_) | Self::Customer(_) | Self::Receipt(_) => None,
        }
    }

    /// The receipt, if it is one.
    #[must_use]
    pub fn as_receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Receipt(receipt) => Some(receipt),
            Self::Effect(_) | Self::Customer(_) | Self::Object(_) => None,
        }
    }
}
