//! The contact product's routes.
//!
//! Here: one file per route, each parse, validate, hash, ask, render. [`command`] makes commands of
//! requests, [`ask`] has them decided, [`refused`] turns what is not an answer into a problem.

pub(crate) mod admissions;
pub(crate) mod ask;
pub(crate) mod awaiting;
pub(crate) mod batch;
pub(crate) mod check;
pub(crate) mod claims;
pub(crate) mod command;
pub(crate) mod context;
pub(crate) mod declare;
pub(crate) mod destination;
pub(crate) mod effects;
pub(crate) mod facts;
pub(crate) mod forget;
#[cfg(test)]
mod golden;
pub(crate) mod handoffs;
pub(crate) mod identity;
pub(crate) mod keyed;
pub(crate) mod legal_holds;
pub(crate) mod mappings;
pub(crate) mod messages;
pub(crate) mod offers;
pub(crate) mod operator;
pub(crate) mod ownership;
pub(crate) mod people;
pub(crate) mod promises;
pub(crate) mod refused;
pub(crate) mod reports;
pub(crate) mod show;
pub(crate) mod sought;
pub(crate) mod suppressions;
