//! From a document to a policy; everything that is refused is refused here.
//!
//! Here and in `load/`: the rules between members and their bounds; a refusal names the member and
//! the rule. Not here: the JSON shape (`document`). Who may call: whoever loads a space.

mod effects;
mod ownership;
mod paid;
mod purposes;

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::contact::name::{GatewayId, ReasonId};
use crate::contact::policy::document::{
    Document, GatewayDocument, Named, ReasonDocument, SuppressionDocument,
};
use crate::contact::policy::{Gateway, Policy, SuppressionReason};
use crate::contact::suppression::CHANGES_KEPT_DAYS;
use crate::contact::text::Text;

use effects::load_effects;
use ownership::{load_handoffs, load_ownership};
use paid::load_paid;
use purposes::{load_channels, load_purposes, standard_purposes, usual_channels};

/// Keys of gateways by their reference without the `vault:` in front.
pub type Vault = BTreeMap<String, Vec<u8>>;

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The member at fault, as a path.
    pub field: String,
    /// The rule that does not hold.
    pub rule: String,
}

impl Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.rule)
    }
}

impl std::error::Error for LoadError {}

type Loaded<T> = Result<T, LoadError>;

const NAMES_MAX: usize = 64;
const HOURS_MAX: u32 = 366 * 24;
const DAYS_MAX: u32 = 36_500;
const LEASE_S_MAX: u32 = 86_400;

impl Policy {
    /// A document that spells out what each section is when it is left out, for whoever shows that to
    /// people. The level of handoffs is not among it: it follows from the levels of ownership.
    pub const DEFAULT_SECTIONS: &'static str = include_str!("defaults.json");

    /// The policy of a document.
    ///
    /// # Errors
    /// The first member that breaks a rule.
    pub fn load(version: u32, document: &str, vault: &Vault) -> Loaded<Self> {
        if !document.trim_start().starts_with('{') {
            // The reader of a struct would also take its members as a list.
            return Err(refuse("coordination", "must be a JSON object"));
        }
        let mut json = serde_json::Deserializer::from_str(document);
        let read = serde_path_to_error::deserialize(&mut json);
        let document: Document = read.map_err(|error| unread(&error))?;
        json.end()
            .map_err(|_| refuse("coordination", "goes on after its end"))?;
        Self::from_document(version, document, vault)
    }

    /// The policy of a space without a document: the five standard purposes without budgets and
    /// the usual channels (§19).
    ///
    /// # Panics
    /// Never: the defaults keep every rule, which a test shows.
    #[must_use]
    pub fn defaults(version: u32) -> Self {
        Self::from_document(version, Document::default(), &Vault::new())
            .expect("the defaults keep every rule")
    }

    fn from_document(version: u32, document: Document, vault: &Vault) -> Loaded<Self> {
        let purposes = match document.purposes {
            Some(purposes) => load_purposes(purposes)?,
            None => standard_purposes(),
        };
        let channels = match document.channels {
            Some(channels) => load_channels(channels)?,
            None => usual_channels(),
        };
        let ownership = load_ownership(document.ownership)?;
        let (reasons, keep_changes_days) = load_suppression(document.suppression)?;
        let paid = load_paid(document.paid)?;
        let effects = load_effects(document.effects, &paid)?;
        let handoffs = load_handoffs(
            document.handoffs,
            &ownership,
            (&purposes, &channels, &reasons),
        )?;
        Ok(Self {
            version,
            purposes,
            channels,
            reasons,
            gateways: load_gateways(document.gateways, vault)?,
            effect_lease_s: effects.lease_s,
            effect_key_days: effects.key_days,
            effect_key_of_fact: effects.key_of_fact,
            ownership,
            keep_changes_days,
            commitments: load_named("commitments", document.commitments, |_, rule| Ok(rule))?,
            paid,
            paid_call_operation: effects.paid_call_operation,
            handoffs,
        })
    }
}

fn refuse(field: impl Into<String>, rule: impl Into<String>) -> LoadError {
    LoadError {
        field: field.into(),
        rule: rule.into(),
    }
}

/// What could not be read, by the member's path. The reader's line and column are left out: a
/// document may have been written anew on its way here.
fn unread(error: &serde_path_to_error::Error<serde_json::Error>) -> LoadError {
    let said = error.inner().to_string();
    let rule = said.split(" at line ").next().unwrap_or_default();
    let path = error.path().to_string();
    let field = match path.as_str() {
        "." | "?" | "" => "coordination",
        path => path,
    };
    refuse(field, rule)
}

fn bounded(field: &str, value: u32, from: u32, to: u32) -> Loaded<u32> {
    if (from..=to).contains(&value) {
        return Ok(value);
    }
    Err(refuse(field, format!("must be {from} to {to}")))
}

/// Like [`bounded`], for values that are kept in 16 bits.
fn bounded_16(field: &str, value: u32, from: u32, to: u16) -> Loaded<u16> {
    let value = bounded(field, value, from, u32::from(to))?;
    Ok(u16::try_from(value).unwrap_or(to))
}

fn hours(field: &str, value: u32) -> Loaded<u16> {
    bounded_16(
        field,
        value,
        1,
        u16::try_from(HOURS_MAX).unwrap_or(u16::MAX),
    )
}

fn days(field: &str, value: u32) -> Loaded<u16> {
    bounded_16(field, value, 1, u16::try_from(DAYS_MAX).unwrap_or(u16::MAX))
}

/// A name as the contract has it: `^[a-z][a-z0-9_]{0,39}$`.
fn name(field: &str, text: &str) -> Loaded<Text> {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|first| first.is_ascii_lowercase());
    let goes_on =
        bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if starts && goes_on && text.len() <= 40 {
        return Ok(Text::from(text));
    }
    Err(refuse(field, "a name must match ^[a-z][a-z0-9_]{0,39}$"))
}

/// Loads an object of names, each value with its path.
fn load_named<D, T>(
    section: &str,
    named: Option<Named<D>>,
    mut load: impl FnMut(&str, D) -> Loaded<T>,
) -> Loaded<Vec<(Text, T)>> {
    let entries = named.map(|named| named.0).unwrap_or_default();
    if entries.len() > NAMES_MAX {
        return Err(refuse(section, format!("at most {NAMES_MAX} names")));
    }
    let mut loaded = Vec::with_capacity(entries.len());
    for (key, document) in entries {
        let field = format!("{section}.{key}");
        loaded.push((name(&field, &key)?, load(&field, document)?));
    }
    Ok(loaded)
}

/// Numbers stand for names; two names with one number would be one thing.
fn distinct(section: &str, numbers: impl Iterator<Item = u32>) -> Loaded<()> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(refuse(section, "two names have one number; rename one"));
    }
    Ok(())
}

fn load_suppression(
    document: Option<SuppressionDocument>,
) -> Loaded<(Vec<SuppressionReason>, u16)> {
    let (reasons, keep) = document.map_or((None, None), |document| {
        (document.reasons, document.keep_changes_days)
    });
    let usual = || {
        let usual = ["complaint", "opt_out"];
        Named(
            usual
                .map(|name| (name.to_owned(), ReasonDocument::default()))
                .into(),
        )
    };
    let load = |field: &str, document: ReasonDocument| {
        let field = format!("{field}.days");
        document.days.map(|value| days(&field, value)).transpose()
    };
    let entries = load_named(
        "suppression.reasons",
        Some(reasons.unwrap_or_else(usual)),
        load,
    )?;
    let reasons: Vec<_> = entries
        .into_iter()
        .map(|(name, days)| SuppressionReason {
            id: ReasonId::of(&name),
            name,
            days,
        })
        .collect();
    distinct(
        "suppression.reasons",
        reasons.iter().map(|reason| reason.id.0),
    )?;
    let most = u16::try_from(CHANGES_KEPT_DAYS - 1).unwrap_or(u16::MAX);
    let keep = keep.unwrap_or(u32::from(most));
    let keep = bounded_16("suppression.keep_changes_days", keep, 1, most)?;
    Ok((reasons, keep))
}

fn load_gateways(named: Option<Named<GatewayDocument>>, vault: &Vault) -> Loaded<Vec<Gateway>> {
    let load = |field: &str, document: GatewayDocument| {
        let field = format!("{field}.key_ref");
        let Some(reference) = document.key_ref.strip_prefix("vault:") else {
            return Err(refuse(field, "must read `vault:<name>`"));
        };
        let Some(key) = vault.get(reference) else {
            // Only a name may be said again: what else it is was sent.
            let reference = name(&field, reference)?;
            let rule = format!(
                "the vault has no such key; set it with `interlock vault set --space SPACE {r}`, its value on \
                 standard input, or give it to `spaces create` with `--vault {r}=FILE`",
                r = &*reference
            );
            return Err(refuse(field, rule));
        };
        <[u8; 32]>::try_from(key.as_slice()).map_err(|_| refuse(field, "the key must be 32 bytes"))
    };
    let entries = load_named("gateways", named, load)?;
    let gateways: Vec<_> = entries
        .into_iter()
        .map(|(name, key)| Gateway {
            id: GatewayId::of(&name),
            name,
            key,
        })
        .collect();
    distinct("gateways", gateways.iter().map(|gateway| gateway.id.0))?;
    Ok(gateways)
}
