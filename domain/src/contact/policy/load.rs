//! From a document to a policy; everything that is refused is refused here.
//!
//! Here: the rules between members and their bounds; a refusal names the member and the rule.
//! Not here: the JSON shape (`document`). Who may call: whoever loads a space.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::contact::command::EffectKind;
use crate::contact::name::{ChannelId, GatewayId, IntentId, PurposeId, ReasonId};
use crate::contact::policy::document::{
    BudgetDocument, ChannelDocument, Document, EffectsDocument, Fails, GatewayDocument,
    HandoffsDocument, MappingDocument, Named, OwnershipDocument, PaidDocument, PurposeDocument,
    ReasonDocument, SliceDocument, SuppressionDocument,
};
use crate::contact::policy::{
    Budget, Channel, Gateway, Handoffs, Mapping, MappingEffect, Ownership, OwnershipSource,
    PaidBudget, Policy, Purpose, Slice, SuppressionReason,
};
use crate::contact::text::Text;
use crate::contact::window::Window;

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
const SLICES_MAX: usize = 20;
const LIMIT_MAX: u32 = 1_000;
const HOURS_MAX: u32 = 366 * 24;
const DAYS_MAX: u32 = 36_500;
const LEASE_S_MAX: u32 = 86_400;
const HANDOFF_WAIT_S_MAX: u32 = 90 * 86_400;
const DAY_MS: i64 = 86_400_000;

/// The levels of a space that names none, the strictest first.
const LEVELS: [&str; 5] = [
    "closed",
    "human_active",
    "transfer_pending",
    "soft_pause",
    "agent_active",
];

impl Policy {
    /// The policy of a document.
    ///
    /// # Errors
    /// The first member that breaks a rule.
    pub fn load(version: u32, document: &str, vault: &Vault) -> Loaded<Self> {
        let document: Document = serde_json::from_str(document)
            .map_err(|error| refuse("coordination", error.to_string()))?;
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
        let (effect_lease_s, effect_key_days) = load_effects(document.effects)?;
        let handoffs = load_handoffs(document.handoffs, &ownership, &purposes, &reasons)?;
        Ok(Self {
            version,
            purposes,
            channels,
            reasons,
            gateways: load_gateways(document.gateways, vault)?,
            effect_lease_s,
            effect_key_days,
            ownership,
            keep_changes_days,
            commitments: load_named("commitments", document.commitments, |_, rule| Ok(rule))?,
            paid: load_named("paid", document.paid, load_paid)?,
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

fn standard_purposes() -> Vec<Purpose> {
    let purpose = |name: &str, guarded: bool| Purpose {
        id: PurposeId::of(name),
        name: Text::from(name),
        fails_closed: guarded,
        token: guarded,
        quiet_exempt: false,
        budget: None,
    };
    vec![
        purpose("collection", true),
        purpose("marketing", true),
        purpose("retention", true),
        purpose("service", false),
        purpose("transactional", false),
    ]
}

fn load_purposes(named: Named<PurposeDocument>) -> Loaded<Vec<Purpose>> {
    let entries = load_named("purposes", Some(named), |field, document| {
        let budget = document
            .budget
            .map(|budget| load_budget(&format!("{field}.budget"), budget))
            .transpose()?;
        Ok((
            document.fails,
            document.token,
            document.quiet_exempt,
            budget,
        ))
    })?;
    let mut purposes = Vec::with_capacity(entries.len());
    for (name, (fails, token, quiet_exempt, budget)) in entries {
        if &*name == "any" {
            return Err(refuse(
                "purposes.any",
                "`any` means every purpose; it cannot be one",
            ));
        }
        purposes.push(Purpose {
            id: PurposeId::of(&name),
            name,
            fails_closed: fails == Fails::Closed,
            token,
            quiet_exempt,
            budget,
        });
    }
    distinct("purposes", purposes.iter().map(|purpose| purpose.id.0))?;
    Ok(purposes)
}

fn load_budget(field: &str, document: BudgetDocument) -> Loaded<Budget> {
    let limit = bounded(&format!("{field}.limit"), document.limit, 1, LIMIT_MAX)?;
    let per_hours = hours(&format!("{field}.per_hours"), document.per_hours)?;
    let field = format!("{field}.slices");
    if document.slices.len() > SLICES_MAX {
        return Err(refuse(field, format!("at most {SLICES_MAX} slices")));
    }
    let mut slices: Vec<Slice> = Vec::with_capacity(document.slices.len());
    for (index, slice) in document.slices.into_iter().enumerate() {
        let slice = load_slice(&format!("{field}[{index}]"), slice)?;
        if slices.iter().any(|known| known.intent == slice.intent) {
            return Err(refuse(field, "an intent has at most one slice"));
        }
        slices.push(slice);
    }
    let sliced: u32 = slices.iter().map(|slice| slice.limit).sum();
    if sliced > limit {
        return Err(refuse(
            field,
            format!("limits add up to {sliced}, above the budget's limit of {limit}"),
        ));
    }
    Ok(Budget {
        limit,
        per_hours,
        slices,
    })
}

fn load_slice(field: &str, document: SliceDocument) -> Loaded<Slice> {
    let intent = name(&format!("{field}.intent"), &document.intent)?;
    let limit = bounded(&format!("{field}.limit"), document.limit, 1, LIMIT_MAX)?;
    let field = format!("{field}.spread_days");
    let spread_ms = match (document.spread, document.spread_days) {
        (true, None) => return Err(refuse(field, "a spread slice needs `spread_days`")),
        (false, Some(_)) => return Err(refuse(field, "needs `spread`: true")),
        (false, None) => None,
        (true, Some(spread_days)) => {
            let days = bounded(&field, spread_days, 1, 366)?;
            Some(i64::from(days) * DAY_MS / i64::from(limit))
        }
    };
    Ok(Slice {
        intent: IntentId::of(&intent),
        limit,
        spread_ms,
    })
}

fn usual_channels() -> Vec<Channel> {
    let channel = |name: &str, free_form_hours, template_required| Channel {
        id: ChannelId::of(name),
        name: Text::from(name),
        free_form_hours,
        template_required,
        quiet_hours: None,
    };
    vec![
        channel("chat", None, false),
        channel("email", None, false),
        channel("push", None, false),
        channel("sms", None, false),
        channel("voice", None, false),
        channel("whatsapp", Some(24), true),
    ]
}

fn load_channels(named: Named<ChannelDocument>) -> Loaded<Vec<Channel>> {
    let load = |field: &str, document: ChannelDocument| {
        let free_form_hours = document
            .free_form_hours
            .map(|value| hours(&format!("{field}.free_form_hours"), value))
            .transpose()?;
        let quiet_hours = document
            .quiet_hours
            .map(|hours| Window::new(&hours.from, &hours.to, &hours.tz, None))
            .transpose()
            .map_err(|why| refuse(format!("{field}.quiet_hours.{}", why.member()), why.rule()))?;
        Ok((free_form_hours, document.template_required, quiet_hours))
    };
    let entries = load_named("channels", Some(named), load)?;
    let mut channels = Vec::with_capacity(entries.len());
    for (name, (free_form_hours, template_required, quiet_hours)) in entries {
        channels.push(Channel {
            id: ChannelId::of(&name),
            name,
            free_form_hours,
            template_required,
            quiet_hours,
        });
    }
    distinct("channels", channels.iter().map(|channel| channel.id.0))?;
    Ok(channels)
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
    let keep = days("suppression.keep_changes_days", keep.unwrap_or(30))?;
    Ok((reasons, keep))
}

fn load_gateways(named: Option<Named<GatewayDocument>>, vault: &Vault) -> Loaded<Vec<Gateway>> {
    let load = |field: &str, document: GatewayDocument| {
        let field = format!("{field}.key_ref");
        let Some(reference) = document.key_ref.strip_prefix("vault:") else {
            return Err(refuse(field, "must read `vault:<name>`"));
        };
        let Some(key) = vault.get(reference) else {
            return Err(refuse(field, "the vault has no such key"));
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

fn load_effects(document: Option<EffectsDocument>) -> Loaded<(u32, [u16; EffectKind::ALL.len()])> {
    let (lease, listed) = document.map_or((None, None), |document| {
        (document.effect_lease_s, document.effect_key_days)
    });
    let lease = bounded(
        "effects.effect_lease_s",
        lease.unwrap_or(60),
        1,
        LEASE_S_MAX,
    )?;
    let mut key_days = [30, 365, 365, 3_650, 7, 90];
    for (kind, value) in listed.map(|listed| listed.0).unwrap_or_default() {
        let field = format!("effects.effect_key_days.{kind}");
        let Some(place) = EffectKind::ALL
            .iter()
            .position(|known| known.name() == kind)
        else {
            return Err(refuse(field, "no such kind of effect"));
        };
        key_days[place] = days(&field, value)?;
    }
    Ok((lease, key_days))
}

fn rank(field: &str, levels: &[Text], level: &str) -> Loaded<u8> {
    let place = levels.iter().position(|known| &**known == level);
    place
        .and_then(|place| u8::try_from(place).ok())
        .ok_or_else(|| refuse(field, "the level is not one of `ownership.levels`"))
}

fn load_ownership(document: Option<OwnershipDocument>) -> Loaded<Ownership> {
    let document = document.unwrap_or(OwnershipDocument {
        levels: None,
        max_declared_lease_s: None,
        sources: None,
        mappings: Vec::new(),
    });
    let listed = document
        .levels
        .unwrap_or_else(|| LEVELS.map(str::to_owned).into());
    let field = "ownership.levels";
    if listed.is_empty() || listed.len() > NAMES_MAX {
        return Err(refuse(field, format!("must be 1 to {NAMES_MAX} names")));
    }
    let mut levels: Vec<Text> = Vec::with_capacity(listed.len());
    for level in listed {
        let level = name(field, &level)?;
        if levels.contains(&level) {
            return Err(refuse(field, "a level is given twice"));
        }
        levels.push(level);
    }
    let sources = load_named("ownership.sources", document.sources, |field, source| {
        let field = format!("{field}.max_validity_s");
        Ok(OwnershipSource {
            max_validity_s: bounded(&field, source.max_validity_s, 1, LEASE_S_MAX)?,
            holder_kind: source.holder_kind,
        })
    })?;
    let mut mappings = Vec::with_capacity(document.mappings.len());
    for (index, mapping) in document.mappings.into_iter().enumerate() {
        let field = format!("ownership.mappings[{index}]");
        mappings.push(load_mapping(&field, mapping, &levels, &sources)?);
    }
    let lease = document.max_declared_lease_s.unwrap_or(LEASE_S_MAX);
    Ok(Ownership {
        levels,
        max_declared_lease_s: bounded("ownership.max_declared_lease_s", lease, 1, LEASE_S_MAX)?,
        sources,
        mappings,
    })
}

fn load_mapping(
    field: &str,
    document: MappingDocument,
    levels: &[Text],
    sources: &[(Text, OwnershipSource)],
) -> Loaded<Mapping> {
    if !sources.iter().any(|(name, _)| **name == *document.source) {
        let rule = "is not one of `ownership.sources`";
        return Err(refuse(format!("{field}.source"), rule));
    }
    let effect = match (
        document.ends,
        document.holder_field,
        document.level,
        document.lease_s,
    ) {
        (true, None, None, None) => MappingEffect::Ends,
        (false, Some(holder_field), Some(level), Some(lease_s)) => MappingEffect::Begins {
            holder_field: Text::from(holder_field.as_str()),
            rank: rank(&format!("{field}.level"), levels, &level)?,
            lease_s: bounded(&format!("{field}.lease_s"), lease_s, 1, LEASE_S_MAX)?,
        },
        (true | false, _, _, _) => {
            let rule = "needs either `ends`: true alone, or `holder_field`, `level` and `lease_s`";
            return Err(refuse(field, rule));
        }
    };
    Ok(Mapping {
        canonical_type: Text::from(document.canonical_type.as_str()),
        source: Text::from(document.source.as_str()),
        effect,
    })
}

fn load_paid(field: &str, document: PaidDocument) -> Loaded<PaidBudget> {
    let units = bounded(
        &format!("{field}.limit_units"),
        document.limit_units,
        1,
        u32::MAX,
    )?;
    let ceiling = format!("{field}.call_ceiling");
    Ok(PaidBudget {
        scope: document.scope,
        limit_units: units,
        per_hours: hours(&format!("{field}.per_hours"), document.per_hours)?,
        call_ceiling: bounded(&ceiling, document.call_ceiling, 1, units)?,
    })
}

fn load_handoffs(
    document: Option<HandoffsDocument>,
    ownership: &Ownership,
    purposes: &[Purpose],
    reasons: &[SuppressionReason],
) -> Loaded<Handoffs> {
    let document = document.unwrap_or(HandoffsDocument {
        level: None,
        wait_s: None,
        vocabulary: None,
        outcomes: None,
    });
    let rank = match document.level {
        Some(level) => rank("handoffs.level", &ownership.levels, &level)?,
        // A space with levels of its own and no handoff level gets its strictest but one, or the
        // only one: a handoff must hold against agents, not against a closed customer.
        None => rank("handoffs.level", &ownership.levels, "transfer_pending")
            .unwrap_or_else(|_| u8::from(ownership.levels.len() > 1)),
    };
    let listed = document
        .vocabulary
        .unwrap_or_else(|| ["resolved", "callback"].map(str::to_owned).into());
    if listed.len() > 50 {
        return Err(refuse("handoffs.vocabulary", "at most 50 names"));
    }
    let mut vocabulary = Vec::with_capacity(listed.len());
    for outcome in listed {
        vocabulary.push(name("handoffs.vocabulary", &outcome)?);
    }
    let mut suppressions = Vec::new();
    for (outcome, document) in load_named("handoffs.outcomes", document.outcomes, |_, d| Ok(d))? {
        let field = format!("handoffs.outcomes.{}", &*outcome);
        if !vocabulary.contains(&outcome) {
            return Err(refuse(field, "is not in `handoffs.vocabulary`"));
        }
        let Some(suppress) = document.suppress else {
            continue;
        };
        let purpose = match suppress.purpose.as_str() {
            "any" => Some(PurposeId::ANY),
            listed => find(purposes, |known| &*known.name == listed).map(|known| known.id),
        };
        let purpose = purpose
            .ok_or_else(|| refuse(format!("{field}.suppress.purpose"), "is not declared"))?;
        let reason = find(reasons, |known| *known.name == *suppress.reason)
            .ok_or_else(|| refuse(format!("{field}.suppress.reason"), "is not declared"))?;
        suppressions.push((outcome, purpose, reason.id));
    }
    let wait = document.wait_s.unwrap_or(86_400);
    Ok(Handoffs {
        rank,
        wait_s: bounded("handoffs.wait_s", wait, 1, HANDOFF_WAIT_S_MAX)?,
        vocabulary,
        suppressions,
    })
}

fn find<T>(items: &[T], matches: impl Fn(&T) -> bool) -> Option<&T> {
    items.iter().find(|item| matches(item))
}
