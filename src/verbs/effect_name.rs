//! How an operator names an effect: by its key, its public id, or the short id that lists show.
//!
//! Here: the three forms and the effect they lead to. Not here: how a key is hashed
//! (`interlock_api::naming`). The key is hashed in the server and never logged.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_api::directory::SpaceEntry;
use interlock_api::naming;
use interlock_domain::key::KeyHash;
use serde::{Deserialize, Serialize};

use crate::admin::protocol::No;

/// The flags; exactly one of them.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct EffectFlags {
    /// The effect, by its key.
    #[arg(long, value_name = "KEY")]
    effect_key: Option<String>,
    /// The effect, by its public id of 43 characters.
    #[arg(long, value_name = "ID")]
    effect_id: Option<String>,
    /// The effect, by its short id of 22 characters (effects awaiting).
    #[arg(long, value_name = "ID")]
    short: Option<String>,
}

/// An effect as it is named.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EffectName {
    /// By its key.
    Key(String),
    /// By its public id.
    Id(String),
    /// By its short id.
    Short(String),
}

impl fmt::Debug for EffectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EffectName(…)")
    }
}

impl EffectFlags {
    /// The name that was given.
    pub(crate) fn name(&self) -> Option<EffectName> {
        let key = self.effect_key.clone().map(EffectName::Key);
        let id = self.effect_id.clone().map(EffectName::Id);
        let short = self.short.clone().map(EffectName::Short);
        key.or(id).or(short)
    }
}

impl EffectName {
    /// The effect in a space.
    ///
    /// # Errors
    /// When no effect has a name of that form.
    pub(crate) fn hash(&self, space: &SpaceEntry) -> Result<KeyHash, No> {
        let hash = match self {
            Self::Key(key) => naming::effect_of_key(space, key),
            Self::Id(id) => naming::effect_of_id(id)
                .ok_or_else(|| "an effect id has 43 characters of base64url".to_owned()),
            Self::Short(short) => URL_SAFE_NO_PAD
                .decode(short)
                .ok()
                .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok())
                .map(KeyHash)
                .ok_or_else(|| "a short id has 22 characters of base64url".to_owned()),
        };
        hash.map_err(No::Refused)
    }
}

/// The short id of an effect; its first 21 characters are those of the public id.
pub(crate) fn short(hash: KeyHash) -> String {
    URL_SAFE_NO_PAD.encode(hash.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_is_the_start_of_the_public_one() {
        let id = [0xa7; 32];
        let mut hash = [0; 16];
        hash.copy_from_slice(&id[..16]);
        let (short, long) = (short(KeyHash(hash)), URL_SAFE_NO_PAD.encode(id));
        assert_eq!(short.len(), 22);
        assert_eq!(short.get(..21), long.get(..21));
    }

    #[test]
    fn a_name_is_not_printed() {
        let name = EffectName::Key("secret".to_owned());
        assert!(!format!("{name:?}").contains("secret"));
    }
}
