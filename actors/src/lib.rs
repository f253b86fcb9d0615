//! Interlock: actors.
