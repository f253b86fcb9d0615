//! Ownership, and the handoffs that hold by it.

use crate::contact::name::PurposeId;
use crate::contact::policy::document::{
    HandoffsDocument, MappingDocument, OwnershipDocument, SuppressDocument,
};
use crate::contact::policy::load::{
    LEASE_S_MAX, Loaded, NAMES_MAX, bounded, load_named, name, refuse,
};
use crate::contact::policy::{
    Channel, Handoffs, Mapping, MappingEffect, OutcomeSuppression, Ownership, OwnershipSource,
    Purpose, SuppressionReason,
};
use crate::contact::text::Text;

/// Longest name of a canonical event.
const TYPE_BYTES_MAX: usize = 256;

const HANDOFF_WAIT_S_MAX: u32 = 90 * 86_400;

/// The levels of a space that names none, the strictest first.
const LEVELS: [&str; 5] = [
    "closed",
    "human_active",
    "transfer_pending",
    "soft_pause",
    "agent_active",
];

fn rank(field: &str, levels: &[Text], level: &str) -> Loaded<u8> {
    let place = levels.iter().position(|known| &**known == level);
    place
        .and_then(|place| u8::try_from(place).ok())
        .ok_or_else(|| refuse(field, "the level is not one of `ownership.levels`"))
}

pub(super) fn load_ownership(document: Option<OwnershipDocument>) -> Loaded<Ownership> {
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
    if document.mappings.len() > NAMES_MAX {
        let rule = format!("at most {NAMES_MAX} mappings");
        return Err(refuse("ownership.mappings", rule));
    }
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
    if document.canonical_type.is_empty() || document.canonical_type.len() > TYPE_BYTES_MAX {
        let rule = format!("must have 1 to {TYPE_BYTES_MAX} bytes");
        return Err(refuse(format!("{field}.canonical_type"), rule));
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

pub(super) fn load_handoffs(
    document: Option<HandoffsDocument>,
    ownership: &Ownership,
    names: Declared<'_>,
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
        suppressions.push(load_suppress(outcome, &field, &suppress, names)?);
    }
    let wait = document.wait_s.unwrap_or(86_400);
    Ok(Handoffs {
        rank,
        wait_s: bounded("handoffs.wait_s", wait, 1, HANDOFF_WAIT_S_MAX)?,
        vocabulary,
        suppressions,
    })
}

/// Declared purposes, channels and reasons.
type Declared<'a> = (&'a [Purpose], &'a [Channel], &'a [SuppressionReason]);

fn load_suppress(
    outcome: Text,
    field: &str,
    suppress: &SuppressDocument,
    (purposes, channels, reasons): Declared<'_>,
) -> Loaded<OutcomeSuppression> {
    let undeclared = |member: &str| refuse(format!("{field}.suppress.{member}"), "is not declared");
    let purpose = match suppress.purpose.as_str() {
        "any" => Some(PurposeId::ANY),
        listed => find(purposes, |known| &*known.name == listed).map(|known| known.id),
    };
    let reason = find(reasons, |known| *known.name == *suppress.reason);
    let channel = suppress.channel.as_deref().map(|listed| {
        let known = find(channels, |known| &*known.name == listed);
        known.ok_or_else(|| undeclared("channel"))
    });
    Ok(OutcomeSuppression {
        outcome,
        purpose: purpose.ok_or_else(|| undeclared("purpose"))?,
        reason: reason.ok_or_else(|| undeclared("reason"))?.id,
        channel: channel.transpose()?.map(|known| known.id),
    })
}

fn find<T>(items: &[T], matches: impl Fn(&T) -> bool) -> Option<&T> {
    items.iter().find(|item| matches(item))
}
