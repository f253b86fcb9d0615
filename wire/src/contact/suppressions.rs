//! `GET /v1/suppressions`, `GET /v1/suppressions/salt` and `POST /v1/operator/suppressions`.

use crate::answer::answer;
use crate::contact::declare::ContactWindow;
use crate::contact::subject::Handle;
use crate::read::request;
use crate::value::{Hash32, Instant, LongLabel, Name, Text, one_of};

request! {
    /// What people add to the list, or lift of what people added.
    PeoplesSuppression<'a> {
        /// What is done.
        action: required PeoplesAction,
        /// Who may not be contacted: a phone number or an e-mail address.
        subject: required Handle<'a>,
        /// For which purpose; `any` is every one.
        purpose: required Name<'a>,
        /// Where; every channel when left out.
        channel: optional Name<'a>,
        /// Why; needed by `added`, and not taken by `lifted`.
        reason: optional Name<'a>,
        /// Until when; of `added` alone.
        until: optional Instant,
        /// Only inside these local hours; of `added` alone.
        window: optional ContactWindow<'a>,
    }
}

one_of! {
    /// What people do to the list.
    PeoplesAction: "one of `added`, `lifted`" {
        /// The destination may not be contacted.
        Added = "added",
        /// It may be again, as far as people kept it from being.
        Lifted = "lifted",
    }
}

answer! {
    /// An entry of the list, as a reader keeps it. It never says who asked for it, or why.
    derive(Clone, Debug)
    Suppression<'a> {
        /// The entry; the newest state of an id counts.
        id: required &'a str as LongLabel<'_>,
        /// The destination, keyed with the reading source's salt.
        key: required [u8; 32] as Hash32,
        /// For which purpose; `any` is every one.
        purpose: required &'a str as Name<'_>,
        /// Where; every channel when absent.
        channel: optional &'a str as Name<'_>,
        /// Since when.
        since: required i64 as Instant,
        /// Until when; no end when absent.
        until: optional i64 as Instant,
        /// Only inside these local hours.
        window: optional ContactWindow<'a> as ContactWindow<'_>,
        /// The entry is gone: take it out of the copy.
        removed: required bool as bool,
    }
}

answer! {
    /// A page of changes, oldest first.
    derive(Clone, Debug)
    SuppressionPage<'a> {
        /// The salt of the keys; read it again when it is another.
        salt_id: required &'a str as LongLabel<'_>,
        /// The changes; fewer than the limit are the last ones for now.
        items: present Vec<Suppression<'a>> as Suppression<'_>,
        /// Where the next page starts.
        next_cursor: optional &'a str as Text,
        /// Empty the copy before these changes: the salt or the list is a new one.
        reset: required bool as bool,
    }
}

answer! {
    /// The calling source's own salt. Secret: it tells which destinations an entry can be of.
    derive(Clone, Copy)
    SuppressionSalt<'a> {
        /// The salt's id.
        salt_id: required &'a str as LongLabel<'_>,
        /// The salt.
        salt: required [u8; 32] as Hash32,
        /// Since when.
        valid_from: required i64 as Instant,
    }
}

impl std::fmt::Debug for SuppressionSalt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SuppressionSalt(…)")
    }
}
