//! Interlock: wire.
