//! The `coordination` document as it is written (`docs/spec/contact.md` Appendix B).
//!
//! Here: its JSON shape; unknown members and repeated names are refused. Not here: rules between
//! members (`load`).

use std::fmt::Formatter;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::contact::policy::{Compatibility, HolderKind, PaidScope};

/// The document. A section that is left out has its defaults; one that is given is complete.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) purposes: Option<Named<PurposeDocument>>,
    pub(super) channels: Option<Named<ChannelDocument>>,
    pub(super) ownership: Option<OwnershipDocument>,
    pub(super) suppression: Option<SuppressionDocument>,
    pub(super) gateways: Option<Named<GatewayDocument>>,
    pub(super) effects: Option<EffectsDocument>,
    pub(super) commitments: Option<Named<Compatibility>>,
    pub(super) paid: Option<Named<PaidDocument>>,
    pub(super) handoffs: Option<HandoffsDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PurposeDocument {
    pub(super) fails: Fails,
    #[serde(default)]
    pub(super) token: bool,
    #[serde(default)]
    pub(super) quiet_exempt: bool,
    pub(super) budget: Option<BudgetDocument>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fails {
    Open,
    Closed,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BudgetDocument {
    pub(super) limit: u32,
    pub(super) per_hours: u32,
    #[serde(default)]
    pub(super) slices: Vec<SliceDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SliceDocument {
    pub(super) intent: String,
    pub(super) limit: u32,
    #[serde(default)]
    pub(super) spread: bool,
    pub(super) spread_days: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelDocument {
    pub(super) free_form_hours: Option<u32>,
    #[serde(default)]
    pub(super) template_required: bool,
    pub(super) quiet_hours: Option<HoursDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HoursDocument {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) tz: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnershipDocument {
    pub(super) levels: Option<Vec<String>>,
    pub(super) max_declared_lease_s: Option<u32>,
    pub(super) sources: Option<Named<OwnershipSourceDocument>>,
    #[serde(default)]
    pub(super) mappings: Vec<MappingDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnershipSourceDocument {
    pub(super) max_validity_s: u32,
    pub(super) holder_kind: HolderKind,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MappingDocument {
    pub(super) canonical_type: String,
    pub(super) source: String,
    pub(super) holder_field: Option<String>,
    pub(super) level: Option<String>,
    pub(super) lease_s: Option<u32>,
    #[serde(default)]
    pub(super) ends: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuppressionDocument {
    pub(super) reasons: Option<Named<ReasonDocument>>,
    pub(super) keep_changes_days: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReasonDocument {
    pub(super) days: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GatewayDocument {
    pub(super) key_ref: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectsDocument {
    pub(super) effect_lease_s: Option<u32>,
    pub(super) effect_key_days: Option<Named<u32>>,
    pub(super) paid_call_operation: Option<String>,
    pub(super) effect_key_of_fact: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaidDocument {
    pub(super) scope: PaidScope,
    pub(super) limit_units: u32,
    pub(super) per_hours: u32,
    pub(super) call_ceiling: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandoffsDocument {
    pub(super) level: Option<String>,
    pub(super) wait_s: Option<u32>,
    pub(super) vocabulary: Option<Vec<String>>,
    pub(super) outcomes: Option<Named<OutcomeDocument>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutcomeDocument {
    pub(super) suppress: Option<SuppressDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuppressDocument {
    pub(super) purpose: String,
    pub(super) reason: String,
    pub(super) channel: Option<String>,
}

/// A JSON object with free names, in the order of the names; a name given twice is refused, where
/// an ordinary map would keep the last in silence.
#[derive(Debug)]
pub(super) struct Named<T>(pub(super) Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamedVisitor(PhantomData))
    }
}

struct NamedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Vec<(String, T)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if entries.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
            let value = map.next_value()?;
            entries.push((name, value));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Named(entries))
    }
}
