//! What is decided: pure machines. No IO, no clock, no randomness, no threads, no async.
//!
//! Here: the contract every product fulfils ([`machine`]), the words it shares ([`key`], [`time`],
//! [`ids`]) and the products themselves. Not here: who decides in which order (`actors`), what is
//! on disk (`storage`), what a client sees (`wire`, `api`).

pub mod contact;
pub mod ids;
pub mod key;
pub mod machine;
pub mod time;
