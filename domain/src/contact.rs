//! The contact product: may this agent contact this customer, act on this object, run this effect?
//!
//! Here: the machine, which only dispatches; one file per command below, one per entity. Not here:
//! routes (`api`), the wire's shapes (`wire`), durability (`actors`, `storage`). The rules are
//! `docs/spec/contact.md`; § numbers in comments are its.

pub mod claim;
pub mod command;
pub mod customer;
pub mod effect;
pub mod entity;
pub mod event;
pub mod name;
pub mod note;
pub mod object;
pub mod policy;
pub mod reason;
pub mod receipt;
pub mod reply;
pub mod suppression;
pub mod text;
pub mod window;
