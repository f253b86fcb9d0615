//! Interlock: api.
