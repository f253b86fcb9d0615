//! A customer as it is stored.
//!
//! Here: the fields in their order on disk, which is older than how a customer lies in memory. Not
//! here: what they mean (`customer`). Fields are only ever added behind what is there.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contact::claim::Claim;
use crate::contact::commitment::Commitment;
use crate::contact::customer::rare::Details;
use crate::contact::customer::{Contacts, Customer, Effects, LastMessage, SeenToken};
use crate::contact::dealings::Dealings;
use crate::contact::paid::Meters;
use crate::contact::suppression::Suppression;

/// The stored fields: `'a` borrowed to be written, or read and then owned.
macro_rules! stored {
    ($($field:ident: $type:ty,)*) => {
        #[derive(Serialize)]
        struct Written<'a> { $($field: &'a $type,)* }

        #[derive(Deserialize)]
        struct Read { $($field: $type,)* }
    };
}

stored! {
    contacts: Contacts,
    suppressions: Vec<Suppression>,
    claims: Vec<Claim>,
    messages: Vec<LastMessage>,
    tokens: Vec<SeenToken>,
    commitments: Vec<Commitment>,
    tokens_reused: u32,
    legal_holds: u32,
    paid: Option<Box<Meters>>,
    effects: Effects,
    dealings: Option<Box<Dealings>>,
}

impl Serialize for Customer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Details {
            suppressions,
            claims,
            messages,
            tokens,
            commitments,
            tokens_reused,
            legal_holds,
            paid,
            dealings,
        } = &*self.rare;
        Written {
            contacts: &self.contacts,
            suppressions,
            claims,
            messages,
            tokens,
            commitments,
            tokens_reused,
            legal_holds,
            paid,
            effects: &self.effects,
            dealings,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Customer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(deserializer)?;
        let details = Details {
            suppressions: read.suppressions,
            claims: read.claims,
            messages: read.messages,
            tokens: read.tokens,
            commitments: read.commitments,
            tokens_reused: read.tokens_reused,
            legal_holds: read.legal_holds,
            paid: read.paid,
            dealings: read.dealings,
        };
        Ok(Self {
            contacts: read.contacts,
            effects: read.effects,
            rare: details.into(),
        })
    }
}
