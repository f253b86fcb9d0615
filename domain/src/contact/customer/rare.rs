//! What few customers have.
//!
//! Here: all of it behind one pointer, for a customer lives in memory a million times, and nearly
//! every one has contacts and effects alone. Not here: what its parts mean (`customer`).

use std::ops::{Deref, DerefMut};

use crate::contact::claim::Claim;
use crate::contact::commitment::Commitment;
use crate::contact::customer::{LastMessage, SeenToken};
use crate::contact::dealings::Dealings;
use crate::contact::paid::Meters;
use crate::contact::suppression::Suppression;

/// What is known of a customer beside its contacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Suppressions, in the order they came; lifted and ended ones for a while.
    pub suppressions: Vec<Suppression>,
    /// Claims on the customer, live or ended.
    pub claims: Vec<Claim>,
    /// The newest message of the customer on each channel.
    pub messages: Vec<LastMessage>,
    /// Tokens that declarations named, oldest first, at most [`super::TOKENS_KEPT`].
    pub tokens: Vec<SeenToken>,
    /// What was offered.
    pub commitments: Vec<Commitment>,
    /// How often a declaration named a token already named.
    pub tokens_reused: u32,
    /// Legal holds on the customer. While there is one nothing is dropped for its age.
    pub legal_holds: u32,
    /// Units of paid operations drawn on the customer.
    pub paid: Option<Box<Meters>>,
    /// Open promises and handoffs.
    pub dealings: Option<Box<Dealings>>,
}

impl Details {
    const NONE: Self = Self {
        suppressions: Vec::new(),
        claims: Vec::new(),
        messages: Vec::new(),
        tokens: Vec::new(),
        commitments: Vec::new(),
        tokens_reused: 0,
        legal_holds: 0,
        paid: None,
        dealings: None,
    };
}

/// The details of a customer. They read as empty until something is written.
#[derive(Clone, Debug, Default)]
pub struct Rare(Option<Box<Details>>);

impl From<Details> for Rare {
    fn from(details: Details) -> Self {
        Self((details != Details::NONE).then(|| Box::new(details)))
    }
}

impl Deref for Rare {
    type Target = Details;

    fn deref(&self) -> &Details {
        static NONE: Details = Details::NONE;
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for Rare {
    fn deref_mut(&mut self) -> &mut Details {
        self.0.get_or_insert_default()
    }
}

/// Nothing written is as good as emptied again.
impl PartialEq for Rare {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
