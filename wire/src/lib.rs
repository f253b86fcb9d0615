//! What is said: request and response types, problem codes, and how both are read and written.
//!
//! Here: the shapes of bodies, field by field, and the rules a single field can be judged by. Not
//! here: rules that need a space's policy (`api`), what an answer should be (`domain`), HTTP itself
//! (`api`). Depends on nothing else of ours.

pub mod clock;
pub mod contact;
pub mod json;
pub mod problem;
pub mod read;
pub mod time;
pub mod value;
