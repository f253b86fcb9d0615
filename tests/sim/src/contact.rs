//! The contact product, simulated against a model of its own.
//!
//! The model is written from `docs/spec/contact.md` and shares nothing with the product but its
//! types, not even a number (`limits`): it keeps every contact, attempt, suppression, claim, lock, unit and hold there ever was, with
//! the record of the log that made it, and judges a decision over what stood before that record. In
//! `contact/`: the rules of a run (`rules`) and the clocks of its zones (`zones`), what is asked (`ask`), the books (`books`, `holds`,
//! `line`), what a check must come to (`check`), claims and locks (`claims`, `locks`), offers and promises (`offers`),
//! paid operations (`paid`), shadow runs (`shadow`), erasures and legal holds (`privacy`), handoffs (`handoffs`), keys
//! that live as long as a fact (`facts`), where nothing new may be reserved (`pressed`), what left nothing behind (`undecided`)
//! and everything else (`judge`), the changes of a record (`change`), the model that brings them together
//! (`model`), what must hold at each record and at rest (`laws`), how it explains an answer (`explain`) and what a record of it is (`recorded`), when
//! things end (`ends`), a
//! read (`reads`) and advice (`advice`), a look-up (`found`) and a repeat (`first`), and which cases a run has seen (`coverage`).

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::match_wildcard_for_single_variants,
    reason = "the model knows the part of the product it asks for; the rest may grow beside it"
)]

mod advice;
mod ask;
mod books;
mod budget;
mod change;
mod check;
mod claims;
mod coverage;
mod ends;
mod explain;
mod facts;
mod first;
mod found;
mod handoffs;
mod holds;
mod judge;
mod laws;
mod limits;
mod line;
mod locks;
mod model;
mod offers;
mod paid;
mod pressed;
mod privacy;
mod reads;
mod recorded;
mod rules;
mod shadow;
mod undecided;
mod zones;

use interlock_domain::contact::Contact;

pub use coverage::CASES;
pub use model::ContactModel;

use crate::machine::SimMachine;

impl SimMachine for Contact {
    type Model = ContactModel;
}
