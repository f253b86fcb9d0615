//! A customer: contacts counted, suppressions, claims, messages seen, commitments.
//!
//! Here: the customer entity, what its events do to it and when it may be forgotten; how it lies in
//! memory (`rare`) and on disk (`stored`). Not here: what is decided about it (`check` and the
//! declarations) and how budgets count (`budget`).

mod rare;
mod stored;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::contact::add_suppression::SUPPRESSIONS_MAX;
use crate::contact::claim::{self, Claim, ClaimVia, check_epochs};
use crate::contact::commitment::{self, Commitment};
use crate::contact::dealings::KnownHandoff;
use crate::contact::event::{
    ClaimReleased, CommitmentTurned, ContactCounted, ContactMade, MessageSeen, PromiseTurned,
    SuppressionLifted, TokenSeen,
};
use crate::contact::name::{ChannelId, PurposeId};
use crate::contact::paid::Meters;
use crate::contact::promise::Promise;
use crate::contact::short_list;
use crate::contact::suppression::Suppression;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::machine::Broken;
use crate::time::Timestamp;

pub use self::rare::{Details, Rare};

/// What is known of a customer: 96 bytes, of which one contact and one effect take their part in
/// line, so that most customers are one allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Customer {
    /// Contacts that may still count, oldest first.
    pub contacts: Contacts,
    /// The ids of the effects that allowed checks reserved for it, the newest last, at most
    /// [`EFFECTS_KEPT`]. They go with the rest of it and keep nothing.
    pub effects: Effects,
    /// All else, which few customers have.
    pub rare: Rare,
}

/// The contacts of a customer.
pub type Contacts = SmallVec<[Contact; 1]>;

/// The ids of effects of a customer.
pub type Effects = SmallVec<[[u8; 32]; 1]>;

/// How many contacts a customer under a legal hold keeps; the newest stay. 40 KiB, beside which the
/// other lists with their bounds leave the entity below its 1 MiB.
pub const HELD_CONTACTS_MAX: usize = 1_024;

/// With so many suppressions a customer under a legal hold keeps no more that are lifted or over.
pub const HELD_SUPPRESSIONS_MAX: usize = 256;

/// How many named tokens a customer keeps.
pub const TOKENS_KEPT: usize = 32;

/// How many effects a customer keeps: as many as a handoff's package shows.
pub const EFFECTS_KEPT: usize = 50;

/// For how many hours a named token is kept; a token lives two minutes, a late declaration hours.
const TOKEN_KEPT_HOURS: u16 = 24;

/// The share of contacts without a slice of their own.
pub const UNSLICED: u64 = 0;

/// One contact. 40 bytes: a busy space keeps tens of millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// When.
    pub at: Timestamp,
    /// From which share: an intent's number, or 0 for the unsliced share.
    pub share: u64,
    /// The decision, or the log row's id.
    pub id: Id,
    /// For which purpose.
    pub purpose: PurposeId,
    /// For how many hours it is remembered.
    pub keep_hours: u16,
    /// How it stands.
    pub state: ContactState,
}

/// How a contact stands. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContactState {
    /// Allowed, not yet declared.
    Reserved,
    /// Allowed and declared.
    Made,
    /// Declared without a decision held.
    Declared,
}

/// The newest message of the customer on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    /// On which channel.
    pub channel: ChannelId,
    /// When it was written.
    pub at: Timestamp,
    /// For how many hours it is remembered.
    pub keep_hours: u16,
}

/// A token a declaration named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenToken {
    /// The token's id.
    pub jti: Id,
    /// When.
    pub at: Timestamp,
}

fn hours_after(at: Timestamp, hours: u16) -> Timestamp {
    at.plus_s(i64::from(hours) * 3_600)
}

impl Contact {
    /// When it is forgotten.
    #[must_use]
    pub fn until(&self) -> Timestamp {
        hours_after(self.at, self.keep_hours)
    }

    /// Whether a declaration may cite it: an `allow` made it.
    #[must_use]
    pub const fn is_decision(&self) -> bool {
        match self.state {
            ContactState::Reserved | ContactState::Made => true,
            ContactState::Declared => false,
        }
    }
}

impl Customer {
    /// The decision of this customer and purpose that a declaration cites, when it is still held.
    #[must_use]
    pub fn held_decision(&self, id: Id, purpose: PurposeId, now: Timestamp) -> Option<&Contact> {
        self.contacts
            .iter()
            .rev()
            .find(|contact| contact.id == id)
            .filter(|contact| contact.purpose == purpose && contact.is_decision())
            .filter(|contact| now < contact.until())
    }

    /// Whether a declaration already named this token.
    #[must_use]
    pub fn has_seen_token(&self, jti: Id) -> bool {
        self.rare.tokens.iter().any(|token| token.jti == jti)
    }

    /// When the customer last wrote on a channel.
    #[must_use]
    pub fn last_message(&self, channel: ChannelId) -> Option<Timestamp> {
        let found = self
            .rare
            .messages
            .iter()
            .find(|last| last.channel == channel);
        found.map(|last| last.at)
    }

    /// Whether a legal hold keeps it from being erased and from losing what is old.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.rare.legal_holds > 0
    }

    /// Forgets everything but the suppressions, at a moment. What is added to a customer later goes
    /// too, for this says only what stays.
    pub(super) fn erase(&mut self, at: Timestamp) {
        let paid = self.rare.paid.as_deref();
        let left = Details {
            paid: paid.and_then(|paid| paid.erased(at)),
            suppressions: std::mem::take(&mut self.rare.suppressions),
            legal_holds: self.rare.legal_holds,
            ..Details::default()
        };
        *self = Self {
            rare: left.into(),
            ..Self::default()
        };
    }

    /// The handoffs that may still be found.
    #[must_use]
    pub fn handoffs(&self) -> &[KnownHandoff] {
        self.rare
            .dealings
            .as_ref()
            .map_or(&[], |dealings| &dealings.handoffs)
    }

    /// What the company owes, the soonest due first.
    #[must_use]
    pub fn promises(&self) -> &[Promise] {
        self.rare
            .dealings
            .as_ref()
            .map_or(&[], |dealings| &dealings.promises)
    }

    pub(super) fn count(&mut self, event: &ContactCounted) {
        if let Some(effect) = event.effect {
            self.remember(effect);
        }
        if !self.is_held() {
            self.contacts.retain(|contact| event.at < contact.until());
        }
        let contact = Contact {
            at: event.at,
            share: event.share,
            id: event.id,
            purpose: event.purpose,
            keep_hours: event.keep_hours,
            state: if event.decided {
                ContactState::Reserved
            } else {
                ContactState::Declared
            },
        };
        short_list::push_inline(&mut self.contacts, contact);
        if self.is_held() {
            let surplus = self.contacts.len().saturating_sub(HELD_CONTACTS_MAX);
            self.contacts.drain(..surplus);
        } else {
            self.keep_newest(event.purpose, usize::from(event.keep_newest));
        }
    }

    /// Drops contacts of a purpose that are not among the newest of their share. The newest of the
    /// purpose all stay: each is among those of its share.
    fn keep_newest(&mut self, purpose: PurposeId, newest: usize) {
        let of_purpose = |contact: &&Contact| contact.purpose == purpose;
        if self.contacts.iter().filter(of_purpose).count() <= newest {
            return;
        }
        let mut newer_by_share = std::collections::BTreeMap::<u64, usize>::new();
        let mut kept = Contacts::with_capacity(self.contacts.len());
        for contact in self.contacts.iter().rev() {
            if contact.purpose != purpose {
                kept.push(*contact);
                continue;
            }
            let newer = newer_by_share.entry(contact.share).or_default();
            if *newer < newest {
                kept.push(*contact);
            }
            *newer += 1;
        }
        kept.reverse();
        self.contacts = kept;
    }

    fn remember(&mut self, effect: [u8; 32]) {
        self.effects.retain(|known| *known != effect);
        if self.effects.len() >= EFFECTS_KEPT {
            self.effects.remove(0);
        }
        short_list::push_inline(&mut self.effects, effect);
    }

    pub(super) fn promise(&mut self, event: &PromiseTurned) {
        let dealings = self.rare.dealings.get_or_insert_default();
        dealings.promise(event);
        if dealings.is_empty() {
            self.rare.dealings = None;
        }
    }

    pub(super) fn make(&mut self, event: &ContactMade) {
        let cited = self
            .contacts
            .iter_mut()
            .find(|contact| contact.id == event.id);
        if let Some(contact) = cited {
            contact.state = ContactState::Made;
        }
    }

    pub(super) fn see_token(&mut self, event: &TokenSeen) {
        if event.reused {
            self.rare.tokens_reused = self.rare.tokens_reused.saturating_add(1);
        }
        let held = self.is_held();
        let lasts = |at| held || event.at < hours_after(at, TOKEN_KEPT_HOURS);
        self.rare
            .tokens
            .retain(|token| token.jti != event.jti && lasts(token.at));
        if self.rare.tokens.len() >= TOKENS_KEPT {
            self.rare.tokens.remove(0);
        }
        self.rare.tokens.push(SeenToken {
            jti: event.jti,
            at: event.at,
        });
    }

    pub(super) fn suppress(&mut self, suppression: &Suppression) {
        self.drop_suppressions(suppression.entry, suppression.since);
        let known = self
            .rare
            .suppressions
            .iter_mut()
            .find(|known| known.entry == suppression.entry);
        match known {
            Some(known) => *known = suppression.clone(),
            None => {
                self.make_room(suppression.since);
                short_list::push(&mut self.rare.suppressions, suppression.clone());
            }
        }
    }

    /// At the bound, drops the entry that is lifted or over for longest. A reader that has not heard
    /// of its end goes on to stop contacts by it.
    fn make_room(&mut self, now: Timestamp) {
        if self.rare.suppressions.len() < SUPPRESSIONS_MAX {
            return;
        }
        let over = self.rare.suppressions.iter().enumerate();
        let over = over.filter(|(_, known)| known.is_over(now));
        let oldest = over.min_by_key(|(_, known)| (known.forgotten_at(), known.number));
        if let Some(place) = oldest.map(|(place, _)| place) {
            self.rare.suppressions.remove(place);
        }
    }

    /// Drops entries that nobody needs any more, but for one.
    fn drop_suppressions(&mut self, but: Id, now: Timestamp) {
        if self.is_held() && self.rare.suppressions.len() < HELD_SUPPRESSIONS_MAX {
            return;
        }
        self.rare
            .suppressions
            .retain(|known| known.entry == but || known.is_kept(now));
    }

    pub(super) fn lift(&mut self, event: &SuppressionLifted) {
        self.drop_suppressions(event.entry, event.at);
        let known = self
            .rare
            .suppressions
            .iter_mut()
            .find(|known| known.entry == event.entry);
        if let Some(known) = known {
            (known.lifted, known.number) = (Some(event.at), event.number);
        }
    }

    pub(super) fn claim(&mut self, claim: &Claim) {
        let held = self.is_held();
        claim::accept(&mut self.rare.claims, claim, claim.accepted_at, held);
        if claim.via == ClaimVia::Handoff {
            self.rare.dealings.get_or_insert_default().hand_over(claim);
        }
    }

    pub(super) fn release(&mut self, event: &ClaimReleased) {
        claim::end(&mut self.rare.claims, event);
    }

    pub(super) fn offer(&mut self, made: &Commitment) {
        self.rare.commitments.retain(|known| known.id != made.id);
        self.rare.commitments.push(made.clone());
        self.forget_offers(made.turned_at);
    }

    pub(super) fn turn_offer(&mut self, event: &CommitmentTurned) {
        let known = self
            .rare
            .commitments
            .iter_mut()
            .find(|known| known.id == event.id);
        match known {
            Some(known) => (known.state, known.turned_at) = (event.state, event.at),
            None => self.rare.commitments.push(Commitment {
                id: event.id.clone(),
                kind: Text::from(""),
                score: None,
                until: None,
                state: event.state,
                turned_at: event.at,
            }),
        }
        self.forget_offers(event.at);
    }

    /// Drops offers that hold no more: those of long ago, and the oldest beyond the bound.
    fn forget_offers(&mut self, now: Timestamp) {
        let held = self.is_held();
        let lasts =
            |known: &Commitment| held || known.forgotten_at().is_none_or(|until| now < until);
        self.rare.commitments.retain(lasts);
        let ended = self
            .rare
            .commitments
            .iter()
            .filter(|known| !known.holds(now));
        let mut turned: Vec<Timestamp> = ended.map(|known| known.turned_at).collect();
        turned.sort_unstable();
        let surplus = turned.len().saturating_sub(commitment::ENDED_KEPT_MAX);
        let Some(oldest_kept) = turned.get(surplus).copied() else {
            return;
        };
        self.rare
            .commitments
            .retain(|known| known.holds(now) || known.turned_at >= oldest_kept);
    }

    pub(super) fn see_message(&mut self, event: &MessageSeen) {
        let seen = LastMessage {
            channel: event.channel,
            at: event.occurred_at,
            keep_hours: event.keep_hours,
        };
        let known = self
            .rare
            .messages
            .iter_mut()
            .find(|last| last.channel == event.channel);
        match known {
            Some(known) => *known = seen,
            None => self.rare.messages.push(seen),
        }
    }

    /// When nothing about the customer is left to remember: the last of all ends; `None` when
    /// something has no end, or a legal hold is on it. What ends earlier goes with the next event, not with one of its own.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        if self.is_held() {
            return None;
        }
        let mut last = Timestamp(i64::MIN);
        if let Some(dealings) = &self.rare.dealings {
            last = last.max(dealings.due()?);
        }
        for contact in &self.contacts {
            last = last.max(contact.until());
        }
        for suppression in &self.rare.suppressions {
            last = last.max(suppression.forgotten_at()?);
        }
        for claim in &self.rare.claims {
            last = last.max(claim::forgotten_at(claim.until));
        }
        for message in &self.rare.messages {
            last = last.max(hours_after(message.at, message.keep_hours));
        }
        for token in &self.rare.tokens {
            last = last.max(hours_after(token.at, TOKEN_KEPT_HOURS));
        }
        for commitment in &self.rare.commitments {
            last = last.max(commitment.forgotten_at()?);
        }
        let paid = self.rare.paid.as_deref().and_then(Meters::until);
        last = last.max(paid.unwrap_or(last));
        Some(last)
    }

    /// C1, C4 and C7, as far as one state shows them.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let back = self.contacts.windows(2).any(|pair| pair[1].at < pair[0].at);
        if back {
            return Err(Broken {
                invariant: "C1",
                seen: "a contact is older than the one counted before it".to_owned(),
            });
        }
        let mut ids: Vec<Id> = self.contacts.iter().map(|contact| contact.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Broken {
                invariant: "C1",
                seen: "one decision is counted twice".to_owned(),
            });
        }
        self.rare.paid.as_deref().map_or(Ok(()), Meters::check)?;
        check_epochs(self.rare.claims.iter().map(|claim| claim.epoch))
    }
}
