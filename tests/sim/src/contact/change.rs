//! Changes that decisions must make, and whether a record's events are these.

use interlock_domain::contact::claim::{Claim, ClaimVia};
use interlock_domain::contact::command::{EffectKind, Settlement};
use interlock_domain::contact::event::Event;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::contact::name::{ChannelId, PurposeId, SourceId};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::EntityKey;
use interlock_domain::time::Timestamp;

use super::handoffs;
use super::judge::Moment;
use super::rules::Hours;

/// A change that a decision must make.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Reserved {
        key: EntityKey,
        attempt: u32,
        source: SourceId,
        kind: EffectKind,
        tied: bool,
    },
    Settled {
        key: EntityKey,
        settlement: Settlement,
        kind: EffectKind,
    },
    Counted {
        key: EntityKey,
        purpose: PurposeId,
        share: u64,
        decided: bool,
    },
    Made {
        key: EntityKey,
        id: Id,
    },
    Token {
        key: EntityKey,
        jti: Id,
    },
    Suppressed {
        key: EntityKey,
        source: SourceId,
        purpose: PurposeId,
        channel: Option<ChannelId>,
        window: Option<Hours>,
        until: Option<Timestamp>,
        /// The entry it renews.
        renews: Option<Id>,
    },
    Lifted {
        key: EntityKey,
        entry: Id,
    },
    Seen {
        key: EntityKey,
        channel: ChannelId,
        at: Timestamp,
    },
    HandedOver {
        key: EntityKey,
        handoff: Box<Handoff>,
    },
    HeldFor {
        key: EntityKey,
        hold: Box<Claim>,
    },
    /// What a source says of a target is over.
    Ended {
        key: EntityKey,
        id: Id,
        source: Text,
        observed_at: Timestamp,
    },
    /// This event and no other.
    Exactly {
        key: EntityKey,
        event: Box<Event>,
    },
    /// This, if what it is about is still there.
    Perhaps(Box<Self>),
}

/// Is an event of a record this change?
pub(super) fn fits(moment: &Moment<'_>, change: &Change, event: &(EntityKey, Event)) -> bool {
    if let Change::Perhaps(change) = change {
        return fits(moment, change, event);
    }
    let (at, event) = event;
    change.key() == *at
        && (fits_effect(moment, change, event)
            || fits_customer(moment, change, event)
            || fits_handoff(moment, change, event)
            || fits_end(moment, change, event)
            || matches!(change, Change::Exactly { event: due, .. } if **due == *event))
}

fn fits_effect(moment: &Moment<'_>, change: &Change, event: &Event) -> bool {
    let now = moment.now;
    match (change, event) {
        (
            Change::Reserved {
                attempt,
                source,
                kind,
                tied,
                ..
            },
            Event::EffectReserved(it),
        ) => {
            let lease = now.plus_s(moment.rules.lease_s);
            (it.attempt, it.source, it.kind) == (*attempt, *source, *kind)
                && it.tied == *tied
                && (it.at, it.lease_until) == (now, lease)
        }
        (
            Change::Settled {
                settlement, kind, ..
            },
            Event::EffectSettled(it),
        ) => {
            let ends = *settlement != Settlement::UnknownOutcome;
            let days = moment.rules.days[*kind as usize];
            (it.settlement, it.at) == (*settlement, now)
                && (!ends || i64::from(it.keep_days) == days)
        }
        _ => false,
    }
}

fn fits_end(moment: &Moment<'_>, change: &Change, event: &Event) -> bool {
    match (change, event) {
        (
            Change::Ended {
                id,
                source,
                observed_at,
                ..
            },
            Event::ClaimAccepted(it),
        ) => {
            (it.id, &it.source, it.observed_at) == (*id, source, *observed_at)
                && matches!(it.via, ClaimVia::Mapping | ClaimVia::Worker)
                && it.until <= moment.now
                && Some(it.epoch) == moment.epoch
        }
        _ => false,
    }
}

fn fits_handoff(moment: &Moment<'_>, change: &Change, event: &Event) -> bool {
    match (change, event) {
        (Change::HandedOver { handoff, .. }, Event::HandoffCreated(made)) => {
            handoffs::is_due(moment, handoff, made)
        }
        (Change::HeldFor { hold, .. }, Event::ClaimAccepted(made)) => {
            handoffs::is_hold_due(hold, made)
        }
        _ => false,
    }
}

fn fits_customer(moment: &Moment<'_>, change: &Change, event: &Event) -> bool {
    let now = moment.now;
    match (change, event) {
        (
            Change::Counted {
                purpose,
                share,
                decided,
                ..
            },
            Event::ContactCounted(it),
        ) => (it.purpose, it.share, it.at) == (*purpose, *share, now) && it.decided == *decided,
        (Change::Made { id, .. }, Event::ContactMade(it)) => it.id == *id,
        (Change::Token { key, jti }, Event::TokenSeen(it)) => {
            // How long a token is remembered is left open; one that never was, is not reused.
            it.jti == *jti && (!it.reused || moment.books.token(*key, *jti, moment.record))
        }
        (
            Change::Suppressed {
                key,
                source,
                purpose,
                channel,
                window,
                until,
                renews,
            },
            Event::SuppressionAdded(it),
        ) => {
            let is_taken = || {
                let mut entries = moment.books.entries(*key, moment.record);
                entries.any(|entry| entry.id == it.entry && entry.in_force(now))
            };
            (it.source, it.purpose, it.channel) == (*source, *purpose, *channel)
                && it.window.as_ref().map(Hours::of) == *window
                && it.until == *until
                && it.since <= now
                && renews.map_or_else(|| !is_taken(), |id| it.entry == id)
        }
        (Change::Lifted { entry, .. }, Event::SuppressionLifted(it)) => it.entry == *entry,
        (Change::Seen { channel, at, .. }, Event::MessageSeen(it)) => {
            (it.channel, it.occurred_at) == (*channel, *at)
        }
        _ => false,
    }
}

impl Change {
    fn key(&self) -> EntityKey {
        match self {
            Self::Reserved { key, .. }
            | Self::Settled { key, .. }
            | Self::Counted { key, .. }
            | Self::Made { key, .. }
            | Self::Token { key, .. }
            | Self::Suppressed { key, .. }
            | Self::Lifted { key, .. }
            | Self::Seen { key, .. }
            | Self::HandedOver { key, .. }
            | Self::HeldFor { key, .. }
            | Self::Ended { key, .. }
            | Self::Exactly { key, .. } => *key,
            Self::Perhaps(change) => change.key(),
        }
    }
}
