//! Spaces, sources, keys, rules and vault values: what a node knows beside its decisions.
//!
//! Here: they are kept in the log's meta values and loaded into the edge's directory at a start.
//! Keys are kept as keyed hashes, secrets sealed; a space is written whole or not at all. Not here:
//! who may ask for a change. Called by `serve`, `seed` and `first_start`, before the node starts
//! to write.

pub(crate) mod key_text;
pub(crate) mod new_space;
pub(crate) mod policy;
mod rows;
mod seal;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use interlock_api::directory::{
    Directory, Features, KeyDigest, KeyEntry, Role, Scope, SourceEntry, SpaceEntry, SpaceSecret,
};
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::key::SpaceId;
use interlock_storage::{Commit, Log};
use uuid::Uuid;

use self::new_space::{COORDINATION, NewSpace, VaultValue};
use self::rows::{FORMAT, Format, KeyRow, Sealed, SourceRow, SpaceRow};
use self::seal::Sealer;
use crate::exit::{Exit, Stop};
use crate::log_stop;
use crate::secret::{Secret, Use, random_bytes};

/// Meta values as a commit takes them.
type Meta = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// The node's spaces.
pub(crate) struct Registry {
    log: Arc<dyn Log>,
    sealer: Sealer,
    directory: Arc<Directory>,
    spaces: BTreeMap<Uuid, Known>,
    keys: usize,
}

/// What is asked of a space that is loaded.
#[derive(Debug)]
struct Known {
    name: String,
    policy: Arc<Policy>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("spaces", &self.spaces)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Loads everything into a new directory.
    ///
    /// # Errors
    /// When a row cannot be read, is of a newer format or contradicts another.
    pub(crate) fn open(log: Arc<dyn Log>, secret: &Secret) -> Result<Self, Stop> {
        let mut registry = Self {
            log,
            sealer: Sealer::new(&secret.derive(Use::Seal)),
            directory: Arc::new(Directory::new(&secret.derive(Use::Keys))),
            spaces: BTreeMap::new(),
            keys: 0,
        };
        let mut sources = BTreeMap::new();
        let spaces = registry.log.meta_scan(rows::SPACES);
        for (name, value) in spaces.map_err(log_stop::read)? {
            let row: SpaceRow = decode(&name, &value)?;
            sources.insert(row.id, row.sources.clone());
            registry.load_space(&row)?;
        }
        let keys = registry.log.meta_scan(rows::KEYS);
        for (name, value) in keys.map_err(log_stop::read)? {
            let row: KeyRow = decode(&name, &value)?;
            let entry = key_entry(&name, &row, &sources)?;
            registry.directory.put_key(entry);
            registry.keys += 1;
        }
        Ok(registry)
    }

    /// What requests are authenticated against.
    pub(crate) fn directory(&self) -> Arc<Directory> {
        Arc::clone(&self.directory)
    }

    /// The rules of every space.
    pub(crate) fn policies(&self) -> Vec<(SpaceId, Arc<Policy>)> {
        self.spaces
            .iter()
            .map(|(id, known)| (SpaceId(*id.as_bytes()), Arc::clone(&known.policy)))
            .collect()
    }

    /// How many spaces there are.
    pub(crate) fn spaces(&self) -> usize {
        self.spaces.len()
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.keys
    }

    /// The name of a space that exists.
    pub(crate) fn space_name(&self, id: Uuid) -> Option<&str> {
        self.spaces.get(&id).map(|known| known.name.as_str())
    }

    /// Makes a space with everything in it, durably, and loads it.
    ///
    /// # Errors
    /// What is wrong with it, with the code of whoever asked; or the log's refusal.
    pub(crate) fn create(&mut self, new: &NewSpace, asked: Exit) -> Result<(), Stop> {
        let refuse = |what: String| Stop::new(asked, format!("space `{}`: {what}", new.name));
        new.check().map_err(refuse)?;
        if self.spaces.contains_key(&new.id) {
            return Err(refuse("exists".to_owned()));
        }
        let row = space_row(new);
        // Refused before anything is written.
        policy::build(&row.coordination, row.policy_version, &new.vault).map_err(refuse)?;
        let mut meta = Meta::new();
        meta.push((rows::space_name(new.id), Some(encode(&row))));
        self.seal_into(&mut meta, new.id, Sealed::Space, &random_bytes()?)?;
        for VaultValue { name, bytes } in &new.vault {
            self.seal_into(&mut meta, new.id, Sealed::Vault(name), bytes)?;
        }
        let mut entries = Vec::new();
        for (source, row) in new.sources.iter().zip(&row.sources) {
            for key in &source.keys {
                let digest = self.directory.digest(key.text.reveal());
                let name = rows::key_name(&digest.0);
                let known = self.log.meta(&name).map_err(log_stop::read)?.is_some();
                if known || meta.iter().any(|(other, _)| *other == name) {
                    let id = &key.text.key_id;
                    return Err(refuse(format!("the key `{id}` belongs to another source")));
                }
                let row = key_row(new.id, row, key);
                entries.push((name.clone(), row.clone()));
                meta.push((name, Some(encode(&row))));
            }
        }
        let commit = Commit {
            meta,
            ..Commit::default()
        };
        self.log.commit(&commit).map_err(log_stop::write)?;
        self.load_space(&row)?;
        let sources = BTreeMap::from([(row.id, row.sources)]);
        for (name, row) in entries {
            self.directory.put_key(key_entry(&name, &row, &sources)?);
            self.keys += 1;
        }
        Ok(())
    }

    fn load_space(&mut self, row: &SpaceRow) -> Result<(), Stop> {
        let secret = self.open_sealed(row.id, Sealed::Space)?;
        let mut vault = Vec::new();
        for name in &row.vault {
            let bytes = self.open_sealed(row.id, Sealed::Vault(name))?;
            let name = name.clone();
            vault.push(VaultValue { name, bytes });
        }
        let policy = policy::build(&row.coordination, row.policy_version, &vault)
            .map_err(|what| corrupt(&rows::space_name(row.id), &what))?;
        self.directory.put_space(SpaceEntry {
            id: SpaceId(*row.id.as_bytes()),
            name: row.name.as_str().into(),
            features: Features {
                coordination: row.features.iter().any(|name| name == COORDINATION),
            },
            policy: Arc::clone(&policy),
            secret: SpaceSecret::new(&secret),
            sources: row.sources.iter().map(source_entry).collect(),
        });
        let name = row.name.clone();
        self.spaces.insert(row.id, Known { name, policy });
        Ok(())
    }

    fn seal_into(
        &self,
        meta: &mut Meta,
        id: Uuid,
        what: Sealed<'_>,
        bytes: &[u8; 32],
    ) -> Result<(), Stop> {
        let name = rows::sealed_name(id, what);
        let Some(sealed) = self.sealer.seal(&name, bytes) else {
            return Err(Stop::new(Exit::Data, "no random bytes"));
        };
        meta.push((name, Some(sealed)));
        Ok(())
    }

    fn open_sealed(&self, id: Uuid, what: Sealed<'_>) -> Result<[u8; 32], Stop> {
        let name = rows::sealed_name(id, what);
        let stored = self.log.meta(&name).map_err(log_stop::read)?;
        let bytes = stored.and_then(|stored| self.sealer.open(&name, &stored));
        bytes
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
            .ok_or_else(|| corrupt(&name, "is missing or was sealed under another secret"))
    }
}

fn space_row(new: &NewSpace) -> SpaceRow {
    let sources = (1..).zip(&new.sources).map(|(id, source)| SourceRow {
        id,
        name: source.name.clone(),
    });
    SpaceRow {
        format: FORMAT,
        id: new.id,
        name: new.name.clone(),
        features: new.features.clone(),
        sources: sources.collect(),
        vault: new.vault.iter().map(|value| value.name.clone()).collect(),
        policy_version: 1,
        coordination: new.coordination.clone(),
    }
}

fn key_row(space: Uuid, source: &SourceRow, key: &new_space::NewKey) -> KeyRow {
    KeyRow {
        format: FORMAT,
        key_id: key.text.key_id.clone(),
        space,
        source: source.id,
        test: key.text.test,
        region: key.text.region.clone(),
        scopes: key
            .scopes
            .iter()
            .map(|scope| scope.name().to_owned())
            .collect(),
        roles: key
            .roles
            .iter()
            .map(|role| role.name().to_owned())
            .collect(),
        revoked: false,
    }
}

fn source_entry(row: &SourceRow) -> SourceEntry {
    SourceEntry {
        id: SourceId(row.id),
        name: row.name.as_str().into(),
    }
}

fn key_entry(
    name: &[u8],
    row: &KeyRow,
    sources: &BTreeMap<Uuid, Vec<SourceRow>>,
) -> Result<KeyEntry, Stop> {
    let digest = rows::key_digest(name).ok_or_else(|| corrupt(name, "is no key's row"))?;
    let source = sources
        .get(&row.space)
        .and_then(|sources| sources.iter().find(|source| source.id == row.source))
        .ok_or_else(|| corrupt(name, "belongs to no source"))?;
    let scopes = row.scopes.iter().map(|scope| Scope::from_name(scope));
    let roles = row.roles.iter().map(|role| Role::from_name(role));
    Ok(KeyEntry {
        digest: KeyDigest(digest),
        key_id: row.key_id.as_str().into(),
        space: SpaceId(*row.space.as_bytes()),
        source: source_entry(source),
        test: row.test,
        region: row.region.as_str().into(),
        scopes: scopes
            .collect::<Option<_>>()
            .ok_or_else(|| corrupt(name, "has a scope this version does not know"))?,
        roles: roles
            .collect::<Option<_>>()
            .ok_or_else(|| corrupt(name, "has a role this version does not know"))?,
        revoked: row.revoked,
    })
}

fn encode(row: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(row).expect("rows have text keys and no failing parts")
}

fn decode<R: serde::de::DeserializeOwned>(name: &[u8], value: &[u8]) -> Result<R, Stop> {
    let wrong = |error: serde_json::Error| corrupt(name, &error.to_string());
    // Alone first: a newer row may have members this build cannot read.
    let Format { format } = serde_json::from_slice(value).map_err(wrong)?;
    if format > FORMAT {
        let shown = String::from_utf8_lossy(name);
        let message =
            format!("the row {shown} has format {format}, this version reads up to {FORMAT}");
        return Err(Stop::new(Exit::Format, message));
    }
    serde_json::from_slice(value).map_err(wrong)
}

fn corrupt(name: &[u8], what: &str) -> Stop {
    let shown = String::from_utf8_lossy(name);
    Stop::new(Exit::Corrupt, format!("the row {shown} {what}"))
}
