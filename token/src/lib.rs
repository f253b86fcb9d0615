//! Interlock: token.
