//! The contact token and canonical destinations.
//!
//! Here: what a company embeds in its gateway. No server dependency.
