//! What is said: request and response types, problem codes, and how they are read, written and shown
//! in the published document.
//!
//! Here: the shapes of bodies, field by field, and the rules a single field can be judged by. Not
//! here: rules that need a space's policy (`api`), what an answer should be (`domain`), HTTP itself
//! (`api`). Depends on nothing else of ours.

pub mod answer;
pub mod clock;
pub mod contact;
pub mod json;
pub mod plane;
pub mod problem;
pub mod profile;
pub mod read;
pub mod shape;
pub mod time;
pub mod value;
