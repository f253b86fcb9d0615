//! Changes of a space's documents, and of the secrets that they name.
//!
//! Here: each change checked, with the version that it becomes. Not here: who may ask for it (`plane`)
//! and how it is put in force (`change`). Called by `plane` and the verbs.

use interlock_wire::plane::DocumentKind;
use serde_json::Value;

use super::{Change, Draft};
use crate::registry::diff::{Difference, diff};
use crate::registry::new_space::{VaultValue, vault_named};
use crate::registry::plane::{self, Said, defaults};
use crate::registry::rows::Sealed;
use crate::registry::{Checked, Known, Registry, policy};

/// Values of a space's vault, at most.
const VAULT_MAX: usize = 256;

/// Other rules for a space.
#[derive(Debug)]
pub(crate) struct NewRules {
    /// The space's name.
    pub(crate) space: String,
    /// The version in force.
    pub(crate) from_version: u32,
    /// What differs.
    pub(crate) differences: Vec<Difference>,
    /// The change; `None` when the document is the one in force.
    pub(crate) change: Option<Change>,
}

impl Known {
    /// Whether the rules take a value of the vault: a gateway's key is under that name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let reference = format!("vault:{name}");
        let gateways = self.row.coordination.get("gateways");
        let gateways = gateways.and_then(Value::as_object);
        gateways.is_some_and(|gateways| {
            let mut references = gateways.values().map(|gateway| &gateway["key_ref"]);
            references.any(|one| *one == *reference)
        })
    }
}

impl Registry {
    /// Checks another document for a space.
    pub(crate) fn new_rules(&self, space: &str, document: &str, why: &str) -> Checked<NewRules> {
        let known = self.find(space)?;
        let document: Value = policy::read(document, &known.vault)?;
        let mut rules = NewRules {
            space: known.row.name.clone(),
            from_version: known.row.policy_version,
            differences: diff(
                &known.row.coordination,
                &document,
                &defaults(DocumentKind::Coordination),
            ),
            change: None,
        };
        if !rules.differences.is_empty() {
            let said = Said::by_operator(why);
            rules.change = Some(self.with_rules(known, document, said)?.done());
        }
        Ok(rules)
    }

    /// Checks another value for a name of a space's vault. What the rules take from there is in force
    /// with it, as a version of the rules; a value that they do not take makes none.
    pub(crate) fn new_vault_value(&self, space: &str, value: VaultValue) -> Checked<Change> {
        let known = self.find(space)?;
        vault_named(&value.name)?;
        let is_used = known.takes(&value.name);
        let mut vault = known.vault.clone();
        let mut draft = self.unchanged(known);
        let said = Said::by_operator(format!("the vault value `{}` is set", value.name));
        self.seal_into(
            &mut draft.meta,
            known.row.id,
            Sealed::Vault(&value.name),
            &value.bytes,
        )?;
        match vault.iter().position(|one| one.name == value.name) {
            Some(place) => vault[place] = value,
            None if vault.len() >= VAULT_MAX => {
                return Err(format!("the vault holds {VAULT_MAX} values and no more"));
            }
            None => {
                draft.row.vault.push(value.name.clone());
                draft.is_row_changed = true;
                vault.push(value);
            }
        }
        draft.vault = vault;
        if !is_used {
            return Ok(draft.done());
        }
        self.next_rules(draft, said).map(Draft::done)
    }

    /// Other rules for a space.
    pub(in crate::registry) fn with_rules(
        &self,
        known: &Known,
        document: Value,
        said: Said,
    ) -> Checked<Draft> {
        let mut draft = self.unchanged(known);
        draft.row.coordination = document;
        self.next_rules(draft, said)
    }

    /// The rules of a draft as a version of their own.
    fn next_rules(&self, mut draft: Draft, said: Said) -> Checked<Draft> {
        let next = draft.row.policy_version.checked_add(1);
        draft.row.policy_version = next.ok_or("the rules have no further version number")?;
        let Draft { row, vault, .. } = &draft;
        draft.policy = policy::build(&row.coordination, row.policy_version, vault)?;
        draft.remember(DocumentKind::Coordination, said, self.clock.now());
        Ok(draft)
    }

    /// Other features for a space.
    pub(in crate::registry) fn with_features(
        &self,
        known: &Known,
        document: &Value,
        said: Said,
    ) -> Checked<Draft> {
        let mut draft = self.unchanged(known);
        draft.row.features = plane::read_features(&document.to_string())?;
        let next = draft.row.features_version.checked_add(1);
        draft.row.features_version = next.ok_or("the features have no further version number")?;
        draft.remember(DocumentKind::Features, said, self.clock.now());
        Ok(draft)
    }
}
