//! A declaration about a handoff that moves nothing (`docs/spec/contact.md` §16, §17).
//!
//! Here: that one was made, and a word about one that this server cannot have made: both are recorded
//! and hold nobody. Not here: what moves a handoff (`accept`, `close`).

use crate::contact::Contact;
use crate::contact::command::Command;
use crate::contact::handoff::answer;
use crate::machine::Decision;

/// Decides it.
pub(in crate::contact) fn decide(command: &Command) -> Decision<Contact> {
    answer::recorded(command)
}
