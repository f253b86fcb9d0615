//! The contact product's bodies.
//!
//! Here: one file per route, and [`subject`], which they share. Not here: the routes that do not
//! exist yet.

pub mod advice;
pub mod check;
pub mod claims;
pub mod declare;
pub mod effects;
pub mod messages;
pub mod subject;
