//! A space's rules as they are used: parsed, validated, numbered.
//!
//! Here: the rules and their look-up by name and by number. Not here: the document they are read
//! from (`policy/document`) and what is refused of it (`policy/load`). A policy never changes; a
//! newer one has a larger version.

mod document;
mod load;
mod sensitive;

use std::fmt::{Debug, Formatter};

pub use load::{LoadError, Vault};
pub use sensitive::{Sensitive, sensitive};

use crate::contact::command::EffectKind;
use crate::contact::name::{ChannelId, GatewayId, IntentId, PurposeId, ReasonId};
use crate::contact::text::Text;
use crate::contact::window::Window;
use crate::machine::Versioned;

/// The rules of one space.
#[derive(Debug)]
pub struct Policy {
    version: u32,
    purposes: Vec<Purpose>,
    channels: Vec<Channel>,
    reasons: Vec<SuppressionReason>,
    gateways: Vec<Gateway>,
    /// Seconds an attempt is held before its outcome counts as unknown.
    pub effect_lease_s: u32,
    /// Days a done or failed key is remembered, by kind.
    effect_key_days: [u16; EffectKind::ALL.len()],
    /// Whether a key lives as long as the fact its first reservation names, by kind.
    effect_key_of_fact: [bool; EffectKind::ALL.len()],
    /// How ownership is resolved (§9).
    pub ownership: Ownership,
    /// Days a change of the suppression list is kept for readers (§15).
    pub keep_changes_days: u16,
    /// Types of commitments and how they agree (§11).
    pub commitments: Vec<(Text, Compatibility)>,
    /// Budgets of paid operations (§7).
    pub paid: Vec<(Text, PaidBudget)>,
    /// The space-wide operation that effects of the kind `paid_call` draw on (§7).
    pub paid_call_operation: Option<Text>,
    /// Handoffs (§16).
    pub handoffs: Handoffs,
}

/// A purpose (§1, §6).
#[derive(Clone, Debug, PartialEq)]
pub struct Purpose {
    /// Its number.
    pub id: PurposeId,
    /// Its name.
    pub name: Text,
    /// When in doubt, nobody is contacted.
    pub fails_closed: bool,
    /// An allowed contact needs a token.
    pub token: bool,
    /// Its contacts may go in quiet hours.
    pub quiet_exempt: bool,
    /// How many contacts a customer gets.
    pub budget: Option<Budget>,
}

/// A cap on a customer's contacts (§6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Contacts in the window, 1 to 1,000.
    pub limit: u32,
    /// The window.
    pub per_hours: u16,
    /// Parts of the limit that belong to an intent.
    pub slices: Vec<Slice>,
}

/// A part of a budget that belongs to an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The intent's number; a slice's share in stored contacts.
    pub intent: IntentId,
    /// Contacts in the window, 1 or more.
    pub limit: u32,
    /// Milliseconds between two contacts, when the slice is spread.
    pub spread_ms: Option<i64>,
}

/// A channel (§12).
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Its number.
    pub id: ChannelId,
    /// Its name.
    pub name: Text,
    /// Hours after the customer's last message in which free-form messages may go.
    pub free_form_hours: Option<u16>,
    /// Outside them only templates may go.
    pub template_required: bool,
    /// When nothing may go.
    pub quiet_hours: Option<Window>,
}

/// Why a destination may be suppressed (§15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionReason {
    /// Its number.
    pub id: ReasonId,
    /// Its name.
    pub name: Text,
    /// Days an entry without an end of its own lasts; `None`: no end.
    pub days: Option<u16>,
}

/// A dispatch point (§13).
#[derive(Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its number.
    pub id: GatewayId,
    /// Its name.
    pub name: Text,
    /// The key it shares with us, for recipient hashes. Never printed.
    pub key: [u8; 32],
}

/// How ownership is resolved (§9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Levels, the strictest first.
    pub levels: Vec<Text>,
    /// The longest declared lease, in seconds.
    pub max_declared_lease_s: u32,
    /// Ownership sources by name.
    pub sources: Vec<(Text, OwnershipSource)>,
    /// Canonical events that begin or end an ownership.
    pub mappings: Vec<Mapping>,
}

/// A system that reports ownership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipSource {
    /// The longest validity of what it reports, in seconds.
    pub max_validity_s: u32,
    /// What its holders are.
    pub holder_kind: HolderKind,
}

/// What a holder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// A program.
    Agent,
    /// A person.
    Human,
    /// A queue of people.
    Queue,
    /// A system.
    System,
}

/// A canonical event that says something about ownership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The event's type.
    pub canonical_type: Text,
    /// The ownership source it counts for.
    pub source: Text,
    /// What it says.
    pub effect: MappingEffect,
}

/// What a mapped event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MappingEffect {
    /// Somebody has the target from now on.
    Begins {
        /// The event's member that names the holder.
        holder_field: Text,
        /// The level's place among the levels.
        rank: u8,
        /// For how many seconds.
        lease_s: u32,
    },
    /// The source's claim is over.
    Ends,
}

/// How commitments of a type agree with each other (§11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compatibility {
    /// The first one holds.
    FirstHolds,
    /// The one with the highest score holds.
    BestWins,
    /// It holds alone, over every type.
    Exclusive,
}

/// A cap on a paid operation (§7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidBudget {
    /// What the cap is for.
    pub scope: PaidScope,
    /// Units in the window, 1 to 1,000,000,000.
    pub limit_units: u32,
    /// The window.
    pub per_hours: u16,
    /// The highest cost of one call, 1 to `limit_units`.
    pub call_ceiling: u32,
}

/// What a paid cap is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaidScope {
    /// Each object.
    Object,
    /// Each customer.
    Subject,
    /// The space.
    Space,
}

/// How handoffs go (§16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoffs {
    /// The level of a handoff's hold: its place among the levels.
    pub rank: u8,
    /// How long an outcome is waited for, in seconds.
    pub wait_s: u32,
    /// Outcomes there are.
    pub vocabulary: Vec<Text>,
    /// What an outcome suppresses.
    pub suppressions: Vec<OutcomeSuppression>,
}

/// What an outcome suppresses (§16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeSuppression {
    /// The outcome.
    pub outcome: Text,
    /// For which purpose; [`PurposeId::ANY`] for every one.
    pub purpose: PurposeId,
    /// Why.
    pub reason: ReasonId,
    /// On which channel; `None` for every one.
    pub channel: Option<ChannelId>,
}

impl Versioned for Policy {
    fn version(&self) -> u32 {
        self.version
    }
}

impl Policy {
    /// The number of a declared purpose.
    #[must_use]
    pub fn purpose(&self, name: &str) -> Option<PurposeId> {
        let found = self.purposes.iter().find(|purpose| &*purpose.name == name);
        found.map(|purpose| purpose.id)
    }

    /// The number of a purpose a suppression may name: a declared one, or `any`.
    #[must_use]
    pub fn suppression_purpose(&self, name: &str) -> Option<PurposeId> {
        if name == "any" {
            return Some(PurposeId::ANY);
        }
        self.purpose(name)
    }

    /// The number of a declared channel.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<ChannelId> {
        let found = self.channels.iter().find(|channel| &*channel.name == name);
        found.map(|channel| channel.id)
    }

    /// The number of a declared gateway.
    #[must_use]
    pub fn gateway(&self, name: &str) -> Option<GatewayId> {
        let found = self.gateways.iter().find(|gateway| &*gateway.name == name);
        found.map(|gateway| gateway.id)
    }

    /// The number of a declared reason of suppressions.
    #[must_use]
    pub fn suppression_reason(&self, name: &str) -> Option<ReasonId> {
        let found = self.reasons.iter().find(|reason| &*reason.name == name);
        found.map(|reason| reason.id)
    }

    /// The place and name of a level, 0 the strictest; without a name the least strict one. `None`
    /// when it is not declared.
    #[must_use]
    pub fn level(&self, name: Option<&str>) -> Option<(u8, &Text)> {
        let levels = &self.ownership.levels;
        let place = match name {
            Some(name) => levels.iter().position(|level| **level == *name)?,
            None => levels.len().checked_sub(1)?,
        };
        Some((u8::try_from(place).ok()?, levels.get(place)?))
    }

    /// How commitments of a type agree; `None` when it is not declared.
    #[must_use]
    pub fn compatibility(&self, kind: &str) -> Option<Compatibility> {
        let found = self.commitments.iter().find(|(name, _)| **name == *kind);
        found.map(|(_, rule)| *rule)
    }

    /// The budget of a paid operation; `None` when it is not declared.
    #[must_use]
    pub fn paid_budget(&self, operation: &str) -> Option<&PaidBudget> {
        let found = self.paid.iter().find(|(name, _)| **name == *operation);
        found.map(|(_, budget)| budget)
    }

    /// An ownership source; `None` when it is not declared.
    #[must_use]
    pub fn ownership_source(&self, name: &str) -> Option<&OwnershipSource> {
        let sources = &self.ownership.sources;
        let found = sources.iter().find(|(known, _)| **known == *name);
        found.map(|(_, source)| source)
    }

    /// A purpose's rules; `None` when it is not declared.
    #[must_use]
    pub fn purpose_rules(&self, id: PurposeId) -> Option<&Purpose> {
        self.purposes.iter().find(|purpose| purpose.id == id)
    }

    /// A channel's rules; `None` when it is not declared.
    #[must_use]
    pub fn channel_rules(&self, id: ChannelId) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.id == id)
    }

    /// A gateway; `None` when it is not declared.
    #[must_use]
    pub fn gateway_rules(&self, id: GatewayId) -> Option<&Gateway> {
        self.gateways.iter().find(|gateway| gateway.id == id)
    }

    /// A suppression reason; `None` when it is not declared.
    #[must_use]
    pub fn reason_rules(&self, id: ReasonId) -> Option<&SuppressionReason> {
        self.reasons.iter().find(|reason| reason.id == id)
    }

    /// A purpose's name; `None` when it is not declared.
    #[must_use]
    pub fn purpose_name(&self, id: PurposeId) -> Option<&str> {
        self.purpose_rules(id).map(|purpose| &*purpose.name)
    }

    /// A purpose's name, or `any` for every one; `None` when it is not declared.
    #[must_use]
    pub fn suppression_purpose_name(&self, id: PurposeId) -> Option<&str> {
        if id == PurposeId::ANY {
            return Some("any");
        }
        self.purpose_name(id)
    }

    /// A channel's name; `None` when it is not declared.
    #[must_use]
    pub fn channel_name(&self, id: ChannelId) -> Option<&str> {
        self.channel_rules(id).map(|channel| &*channel.name)
    }

    /// All purposes, in the order of their names.
    #[must_use]
    pub fn purposes(&self) -> &[Purpose] {
        &self.purposes
    }

    /// All channels, in the order of their names.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// All gateways, in the order of their names.
    #[must_use]
    pub fn gateways(&self) -> &[Gateway] {
        &self.gateways
    }

    /// Days a done or failed key of a kind is remembered.
    #[must_use]
    pub fn effect_key_days(&self, kind: EffectKind) -> u16 {
        self.effect_key_days[kind as usize]
    }

    /// Whether a key of a kind lives as long as the fact its first reservation names (§8).
    #[must_use]
    pub fn effect_key_of_fact(&self, kind: EffectKind) -> bool {
        self.effect_key_of_fact[kind as usize]
    }
}

impl Debug for Gateway {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
