//! Interlock: domain.
