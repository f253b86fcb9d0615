//! Spaces from a file, for tests, trials and set-ups that are kept elsewhere.
//!
//! Here: the file's shape (JSON, or TOML by its name; `tests/conformance/README.md`) and applying
//! it: a space that does not exist is made whole, one that exists is left as it is. Not here: how a
//! space is stored (`registry`). Called by `serve`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_api::directory::{Role, Scope};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::exit::{Exit, Stop};
use crate::registry::Registry;
use crate::registry::key_text::KeyText;
use crate::registry::new_space::{NewKey, NewSource, NewSpace, VaultValue};
use crate::registry::policy;

/// A larger file is no seed.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A seed that could be read.
#[derive(Debug)]
pub(crate) struct Seed {
    spaces: Vec<NewSpace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    spaces: Vec<Space>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Space {
    id: Uuid,
    name: String,
    #[serde(default)]
    features: Vec<String>,
    #[serde(default)]
    sources: Vec<Source>,
    #[serde(default)]
    vault: BTreeMap<String, Hidden>,
    coordination: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    name: String,
    #[serde(default)]
    keys: Vec<Key>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    key: Hidden,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    roles: Vec<String>,
}

/// A text that is never printed.
#[derive(Deserialize)]
#[serde(transparent)]
struct Hidden(String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl Seed {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it, without any key or secret.
    pub(crate) fn load(path: &Path) -> Result<Self, Stop> {
        let refuse = |what: String| {
            let message = format!("seed {}: {what}", path.display());
            Stop::new(Exit::Seed, message)
        };
        let size = std::fs::metadata(path)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?
            .len();
        if size > FILE_BYTES_MAX {
            return Err(refuse(format!("is larger than {FILE_BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let toml = path.extension().is_some_and(|name| name == "toml");
        Self::parse(&text, toml).map_err(refuse)
    }

    fn parse(text: &str, toml: bool) -> Result<Self, String> {
        let file: File = if toml {
            // Without the library's excerpt of the file, which could hold a key.
            toml::from_str(text).map_err(|error| {
                let start = error.span().map_or(0, |span| span.start);
                let before = text.as_bytes().iter().take(start);
                let line = 1 + before.filter(|byte| **byte == b'\n').count();
                format!("line {line}: {}", without_values(error.message()))
            })?
        } else {
            let mut text = serde_json::Deserializer::from_str(text);
            let file: File = serde_path_to_error::deserialize(&mut text).map_err(placed)?;
            text.end().map_err(|error| error.to_string())?;
            file
        };
        let spaces = file.spaces.into_iter().map(|space| {
            let name = space.name.clone();
            new_space(space).map_err(|what| format!("space `{name}`: {what}"))
        });
        let spaces: Vec<NewSpace> = spaces.collect::<Result<_, String>>()?;
        apart(&spaces)?;
        Ok(Self { spaces })
    }

    /// Makes the spaces that do not exist; answers a line on each space.
    ///
    /// # Errors
    /// When a space is refused or the log refuses; spaces before it are made.
    pub(crate) fn apply(&self, registry: &mut Registry) -> Result<Vec<String>, Stop> {
        let mut lines = Vec::new();
        for space in &self.spaces {
            if let Some(name) = registry.space_name(space.id) {
                lines.push(format!(
                    "seed: space `{name}` ({}) exists and is left as it is",
                    space.id
                ));
                continue;
            }
            registry.create(space, Exit::Seed)?;
            lines.push(format!("seed: space `{}` ({}) made", space.name, space.id));
        }
        Ok(lines)
    }
}

/// A refusal with the member it is about.
fn placed(error: serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let what = without_values(&error.into_inner().to_string());
    match path.as_str() {
        "." => what,
        path => format!("{path}: {what}"),
    }
}

/// A library's words without the text it found where another thing belongs: it may be a key.
fn without_values(message: &str) -> String {
    let Some((before, rest)) = message.split_once("string \"") else {
        return message.to_owned();
    };
    let after = rest.rfind("\", expected").and_then(|at| rest.get(at + 1..));
    format!("{before}a text{}", after.unwrap_or_default())
}

fn new_space(space: Space) -> Result<NewSpace, String> {
    let vault = space.vault.into_iter().map(|(name, value)| {
        let bytes = URL_SAFE_NO_PAD.decode(&value.0).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        match bytes {
            Some(bytes) => Ok(VaultValue { name, bytes }),
            None => Err(format!(
                "the vault value `{name}` must be 32 bytes in base64url without padding"
            )),
        }
    });
    let new = NewSpace {
        id: space.id,
        name: space.name,
        features: space.features,
        vault: vault.collect::<Result<_, _>>()?,
        sources: space
            .sources
            .into_iter()
            .map(new_source)
            .collect::<Result<_, _>>()?,
        coordination: space.coordination.unwrap_or_else(policy::default_document),
    };
    new.check()?;
    // A document that is refused is refused before anything is made.
    policy::build(&new.coordination, 1, &new.vault)?;
    Ok(new)
}

/// No two spaces are one, and no key is of two sources.
fn apart(spaces: &[NewSpace]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for space in spaces {
        let name = &space.name;
        if !ids.insert(space.id) {
            return Err(format!("space `{name}`: its id is there twice"));
        }
        for key in space.sources.iter().flat_map(|source| &source.keys) {
            if !keys.insert(key.text.reveal()) {
                let id = &key.text.key_id;
                return Err(format!(
                    "space `{name}`: the key `{id}` belongs to another source"
                ));
            }
        }
    }
    Ok(())
}

fn new_source(source: Source) -> Result<NewSource, String> {
    let name = source.name;
    let keys = source.keys.iter().map(|key| {
        let text = KeyText::parse(&key.key.0)
            .map_err(|what| format!("a key of the source `{name}` {what}"))?;
        let scopes = key
            .scopes
            .iter()
            .map(|scope| Scope::from_name(scope).ok_or_else(|| format!("unknown scope `{scope}`")));
        let roles = key
            .roles
            .iter()
            .map(|role| Role::from_name(role).ok_or_else(|| format!("unknown role `{role}`")));
        Ok(NewKey {
            text,
            scopes: scopes.collect::<Result<_, String>>()?,
            roles: roles.collect::<Result<_, String>>()?,
        })
    });
    let keys = keys.collect::<Result<_, String>>()?;
    Ok(NewSource { name, keys })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"spaces": [{
        "id": "0192f5a0-0000-7000-8000-00000000a004", "name": "one", "features": ["coordination"],
        "sources": [{"name": "agents", "keys": [{
            "key": "nia_sk_test_br1_one_a_agentssecret0001",
            "scopes": ["coordinate"], "roles": ["analysis"]}]}],
        "vault": {"gateway": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s"},
        "coordination": {"purposes": {"service": {"fails": "open", "token": false}}}}]}"#;

    const TOML: &str = r#"
        [[spaces]]
        id = "0192f5a0-0000-7000-8000-00000000a004"
        name = "one"
        features = ["coordination"]
        vault.gateway = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s"
        coordination.purposes.service = { fails = "open", token = false }
        [[spaces.sources]]
        name = "agents"
        [[spaces.sources.keys]]
        key = "nia_sk_test_br1_one_a_agentssecret0001"
        scopes = ["coordinate"]
        roles = ["analysis"]
    "#;

    #[test]
    fn json_and_toml_say_the_same() {
        let json = Seed::parse(JSON, false).unwrap();
        let toml = Seed::parse(TOML, true).unwrap();
        assert_eq!(format!("{json:?}"), format!("{toml:?}"));
        assert_eq!(json.spaces[0].coordination, toml.spaces[0].coordination);
        assert_eq!(json.spaces[0].vault[0].bytes, [b'k'; 32]);
    }

    #[test]
    fn nothing_of_a_secret_is_printed() {
        let seed = Seed::parse(JSON, false).unwrap();
        assert!(!format!("{seed:?}").contains("agentssecret"));
        let broken = JSON.replace("agentssecret0001", "agentssecret 0001");
        let what = Seed::parse(&broken, false).unwrap_err();
        assert!(!what.contains("agentssecret"), "{what}");
        // Where a key stands for itself and not in an object.
        let key = "nia_sk_test_br1_one_a_agentssecret0001";
        let json = JSON.replace("[{\n            \"key\": \"", "[\"");
        let json = json.replace(
            "\",\n            \"scopes\": [\"coordinate\"], \"roles\": [\"analysis\"]}]",
            "\"]",
        );
        assert!(json.contains(&format!("[\"{key}\"]")), "{json}");
        let what = Seed::parse(&json, false).unwrap_err();
        assert!(
            what.starts_with("spaces[0].sources[0].keys[0]: invalid type: a text, expected"),
            "{what}"
        );
        let toml = format!("[[spaces]]\nid = [\"a\"]\nname = \"x\"\nvault = \"{key}\"\n");
        let what = Seed::parse(&toml, true).unwrap_err();
        assert!(!what.contains("agentssecret"), "{what}");
    }

    #[test]
    fn refuses_with_the_place() {
        let refused =
            |from: &str, to: &str| Seed::parse(&JSON.replace(from, to), false).unwrap_err();
        assert!(refused("\"name\": \"one\"", "\"nome\": \"one\"").contains("line 2"));
        let number = Seed::parse("{\"spaces\": 3}", false).unwrap_err();
        assert!(
            number.starts_with("spaces: invalid type: integer `3`"),
            "{number}"
        );
        assert!(refused("[\"coordination\"]", "[\"x\"]").contains("unknown feature `x`"));
        assert!(refused("[\"coordinate\"]", "[\"x\"]").contains("unknown scope `x`"));
        assert!(refused("[\"analysis\"]", "[\"x\"]").contains("unknown role `x`"));
        assert!(refused("a2tra2tra2t", "a2tra").contains("32 bytes"));
        assert!(refused("\"open\"", "\"ajar\"").contains("space `one`: purposes."));
    }

    #[test]
    fn refuses_what_is_there_twice() {
        let space = JSON
            .trim_start_matches("{\"spaces\": [")
            .trim_end_matches("]}");
        let twice = |other: &str| {
            let file = format!("{{\"spaces\": [{space}, {other}]}}");
            Seed::parse(&file, false).unwrap_err()
        };
        assert!(twice(space).ends_with("its id is there twice"));
        let other = space.replace("a004", "a005");
        assert!(twice(&other).ends_with("the key `a` belongs to another source"));
    }
}
