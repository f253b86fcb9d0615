//! How it is asked: HTTP routes, credentials, limits and problems.
//!
//! Here: the only place where wire types and domain types meet. Not here: what is decided
//! (`domain`), in which order (`actors`), and where spaces, keys and policies come from (the root
//! package fills the [`directory`] and the hooks of [`state`]).

pub mod analysis;
pub mod body_budget;
mod config;
mod contact;
pub mod decider;
pub mod directory;
pub mod extract;
pub mod hashing;
pub mod health;
mod ids;
mod keys;
pub mod limits;
pub mod lines;
pub mod list;
mod listen;
pub mod metrics;
pub mod naming;
pub mod observe;
pub mod openapi;
mod pace;
pub mod plane;
pub mod problem;
pub mod profile;
mod query;
pub mod rate;
pub mod request_id;
mod router;
mod sealing;
pub mod server;
pub mod signing;
mod slices;
pub mod state;
pub mod stopwatch;
pub mod test_clock;
#[cfg(feature = "testing")]
pub mod testing;

pub use server::server;
