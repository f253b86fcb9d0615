//! Spaces, sources, keys, rules and vault values: what a node knows beside its decisions.
//!
//! Here: they are kept in the log's meta values and loaded into the edge's directory at a start.
//! Keys are kept as keyed hashes, secrets sealed; a space is written whole or not at all. Not here:
//! which changes there are (`change`), and who may ask for one. Called by `serve`, `seed` and
//! `first_start` before the node starts to write, and by the verbs of a running server (`admin`).

pub(crate) mod change;
pub(crate) mod diff;
pub(crate) mod key_text;
pub(crate) mod new_space;
pub(crate) mod plane;
pub(crate) mod policy;
pub(crate) mod rows;
pub(crate) mod seal;
pub(crate) mod signing;
pub(crate) mod versions;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use interlock_actors::NodeClock;
use interlock_api::directory::{
    Directory, Features, KeyDigest, KeyEntry, Role, SaltOf, Scope, SourceEntry, SpaceEntry,
    SpaceSecret,
};
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use interlock_storage::{Commit, Log};
use uuid::Uuid;

use self::new_space::{COORDINATION, NewSpace, VaultValue};
use self::rows::{DiffRow, FORMAT, Format, KeyRow, Sealed, SourceRow, SpaceRow, VersionRow};
use self::seal::Sealer;
use self::versions::Documents;
use crate::exit::{Exit, Stop};
use crate::log_stop;
use crate::secret::{Secret, Use};

/// Meta values as a commit takes them.
pub(crate) type Meta = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// The node's spaces.
pub(crate) struct Registry {
    log: Arc<dyn Log>,
    sealer: Sealer,
    directory: Arc<Directory>,
    /// When something was made or changed.
    clock: NodeClock,
    spaces: BTreeMap<Uuid, Known>,
    /// By the keyed hash of their text.
    keys: BTreeMap<[u8; 32], KeyRow>,
}

/// A space that is loaded.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its row.
    pub(crate) row: SpaceRow,
    vault: Vec<VaultValue>,
    policy: Arc<Policy>,
    /// The versions its documents had, and the edits of them.
    pub(crate) documents: Documents,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("spaces", &self.spaces.len())
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Loads everything into a new directory.
    ///
    /// # Errors
    /// When a row cannot be read, is of a newer format or contradicts another.
    pub(crate) fn open(log: Arc<dyn Log>, secret: &Secret, clock: NodeClock) -> Result<Self, Stop> {
        let mut registry = Self {
            log,
            sealer: Sealer::new(&secret.derive(Use::Seal)),
            directory: Arc::new(Directory::new(&secret.derive(Use::Keys))),
            clock,
            spaces: BTreeMap::new(),
            keys: BTreeMap::new(),
        };
        let spaces = registry.log.meta_scan(rows::SPACES);
        for (name, value) in spaces.map_err(log_stop::read)? {
            registry.load_space(decode(&name, &value)?)?;
        }
        registry.load_documents()?;
        let keys = registry.log.meta_scan(rows::KEYS);
        for (name, value) in keys.map_err(log_stop::read)? {
            let digest =
                rows::key_digest(&name).ok_or_else(|| corrupt(&name, "is no key's row"))?;
            registry.put_key(digest, decode(&name, &value)?)?;
        }
        Ok(registry)
    }

    /// What requests are authenticated against.
    pub(crate) fn directory(&self) -> Arc<Directory> {
        Arc::clone(&self.directory)
    }

    /// The log that the rows are in, to read.
    pub(crate) fn log(&self) -> Arc<dyn Log> {
        Arc::clone(&self.log)
    }

    /// The rules of every space.
    pub(crate) fn policies(&self) -> Vec<(SpaceId, Arc<Policy>)> {
        self.spaces
            .iter()
            .map(|(id, known)| (space_id(*id), Arc::clone(&known.policy)))
            .collect()
    }

    /// How many spaces there are.
    pub(crate) fn spaces(&self) -> usize {
        self.spaces.len()
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The name of a space that exists.
    pub(crate) fn space_name(&self, id: Uuid) -> Option<&str> {
        self.spaces.get(&id).map(|known| known.row.name.as_str())
    }

    /// Makes a space with everything in it, durably, and loads it. Only before the node starts to
    /// write: a running node writes the [`Change`] of [`Self::new_space`] in its own order.
    ///
    /// # Errors
    /// What is wrong with it, with the code of whoever asked; or the log's refusal.
    pub(crate) fn create(&mut self, new: &NewSpace, asked: Exit) -> Result<(), Stop> {
        let change = self
            .new_space(new)
            .map_err(|what| Stop::new(asked, format!("space `{}`: {what}", new.name)))?;
        let commit = Commit {
            meta: change.meta.clone(),
            ..Commit::default()
        };
        self.log.commit(&commit).map_err(log_stop::write)?;
        self.put(change)
    }

    fn load_space(&mut self, row: SpaceRow) -> Result<(), Stop> {
        let secret = self.open_sealed(row.id, Sealed::Space)?;
        let mut vault = Vec::new();
        for name in &row.vault {
            let bytes = self.open_sealed(row.id, Sealed::Vault(name))?;
            let name = name.clone();
            vault.push(VaultValue { name, bytes });
        }
        if row.signing.is_empty() {
            return Err(corrupt(&rows::space_name(row.id), "has no key that signs"));
        }
        let policy = policy::build(&row.coordination, row.policy_version, &vault)
            .map_err(|what| corrupt(&rows::space_name(row.id), &what))?;
        let known = Known {
            row,
            vault,
            policy,
            documents: Documents::default(),
        };
        self.put_space(known, SpaceSecret::new(&secret));
        Ok(())
    }

    /// Loads the versions of documents and the edits of them.
    fn load_documents(&mut self) -> Result<(), Stop> {
        let nobody = "belongs to no space";
        let versions = self.log.meta_scan(rows::VERSIONS);
        for (name, value) in versions.map_err(log_stop::read)? {
            let row: VersionRow = decode(&name, &value)?;
            let space = self.spaces.get_mut(&row.space);
            let space = space.ok_or_else(|| corrupt(&name, nobody))?;
            space.documents.load_version(row);
        }
        let diffs = self.log.meta_scan(rows::DIFFS);
        for (name, value) in diffs.map_err(log_stop::read)? {
            let row: DiffRow = decode(&name, &value)?;
            let space = self.spaces.get_mut(&row.space);
            let space = space.ok_or_else(|| corrupt(&name, nobody))?;
            space.documents.load_diff(row);
        }
        for space in self.spaces.values_mut() {
            space.documents.loaded();
        }
        Ok(())
    }

    fn put_space(&mut self, known: Known, secret: SpaceSecret) {
        let Known { row, policy, .. } = &known;
        self.directory.put_space(SpaceEntry {
            id: space_id(row.id),
            name: row.name.as_str().into(),
            features: Features {
                coordination: row.features.iter().any(|name| name == COORDINATION),
            },
            policy: Arc::clone(policy),
            signing: signing::keys(secret.prepared(), &row.signing),
            secret,
            sources: row.sources.iter().map(source_entry).collect(),
        });
        self.spaces.insert(row.id, known);
    }

    fn put_key(&mut self, digest: [u8; 32], row: KeyRow) -> Result<(), Stop> {
        let name = rows::key_name(&digest);
        let space = self.spaces.get(&row.space);
        let sources = space.map_or(&[][..], |space| &space.row.sources);
        self.directory
            .put_key(key_entry(&name, digest, &row, sources)?);
        self.keys.insert(digest, row);
        Ok(())
    }

    fn seal_into(
        &self,
        meta: &mut Meta,
        id: Uuid,
        what: Sealed<'_>,
        bytes: &[u8; 32],
    ) -> Checked<()> {
        let name = rows::sealed_name(id, what);
        let sealed = self.sealer.seal(&name, bytes).ok_or("no random bytes")?;
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

/// What is checked, or why it is refused: in words, without any key or secret.
pub(crate) type Checked<T> = Result<T, String>;

/// A space as the core names it.
pub(crate) fn space_id(id: Uuid) -> SpaceId {
    SpaceId(*id.as_bytes())
}

fn source_entry(row: &SourceRow) -> SourceEntry {
    SourceEntry {
        id: SourceId(row.id),
        name: row.name.as_str().into(),
        salt: SaltOf {
            generation: row.salt,
            since: Timestamp(row.salt_since),
        },
    }
}

fn key_entry(
    name: &[u8],
    digest: [u8; 32],
    row: &KeyRow,
    sources: &[SourceRow],
) -> Result<KeyEntry, Stop> {
    let source = sources
        .iter()
        .find(|source| source.id == row.source)
        .ok_or_else(|| corrupt(name, "belongs to no source"))?;
    let scopes = row.scopes.iter().map(|scope| Scope::from_name(scope));
    let roles = row.roles.iter().map(|role| Role::from_name(role));
    Ok(KeyEntry {
        digest: KeyDigest(digest),
        key_id: row.key_id.as_str().into(),
        space: space_id(row.space),
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

/// A row of the log.
///
/// # Errors
/// When it cannot be read, or is of a newer format.
pub(crate) fn decode<R: serde::de::DeserializeOwned>(name: &[u8], value: &[u8]) -> Result<R, Stop> {
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
