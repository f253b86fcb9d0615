//! The contact product's bodies.
//!
//! Here: one file per route or family of routes, and [`subject`], which they share. Some bodies are
//! declared before their route is served; the document says so.

pub mod admissions;
pub mod advice;
pub mod check;
pub mod claims;
pub mod declare;
pub mod effects;
pub mod handoffs;
pub mod keys;
pub mod messages;
pub mod operator;
pub mod privacy;
pub mod promises;
pub mod reports;
pub mod subject;
pub mod suppressions;
