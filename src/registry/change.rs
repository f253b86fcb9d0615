//! Changes of what a node knows: checked first, then durable, then in force.
//!
//! Here: each change as the rows it writes and what is loaded once they are durable. Not here: how
//! they become durable (before the node starts `registry` commits them, afterwards `admin` writes
//! them through the node). Between check and [`Registry::put`] nothing else may change the registry;
//! whoever holds it alone sees to that.

mod documents;
mod salt;

use std::fmt;
use std::sync::Arc;

use interlock_api::directory::{Role, Scope, SpaceSecret};
use interlock_domain::contact::policy::Policy;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use interlock_wire::plane::DocumentKind;
use uuid::Uuid;

use super::key_text::KeyText;
use super::new_space::{NewKey, NewSpace, VaultValue, named};
use super::plane::Said;
use super::rows::{self, FORMAT, KeyRow, Sealed, SourceRow, SpaceRow};
use super::versions::Documents;
use super::{Checked, Known, Meta, Registry, encode, plane, policy, signing, space_id};
use crate::exit::{Exit, Stop};
use crate::secret::random_bytes;

/// How often a key id that is taken is drawn anew.
const TRIES: usize = 8;

/// A change that was checked and is not in force yet.
pub(crate) struct Change {
    /// What has to be durable first.
    pub(crate) meta: Meta,
    /// A space, new or changed; a new one brings its secret.
    space: Option<(Known, Option<SpaceSecret>)>,
    /// Keys, new or changed, by the keyed hash of their text.
    keys: Vec<([u8; 32], KeyRow)>,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("rows", &self.meta.len())
            .finish_non_exhaustive()
    }
}

impl Change {
    /// The rules that the shards have to learn before anybody asks under them.
    pub(crate) fn policy(&self) -> Option<(SpaceId, Arc<Policy>)> {
        let (known, _) = self.space.as_ref()?;
        Some((space_id(known.row.id), Arc::clone(&known.policy)))
    }
}

/// A change of one space under construction.
pub(super) struct Draft {
    /// Rows that have to be durable, but for the space's own.
    pub(super) meta: Meta,
    /// What is remembered of its documents.
    pub(super) documents: Documents,
    /// The space's row; written when it is another one.
    pub(super) row: SpaceRow,
    is_row_changed: bool,
    vault: Vec<VaultValue>,
    policy: Arc<Policy>,
}

impl Draft {
    /// The version of a document with the change.
    pub(super) fn version(&self, kind: DocumentKind) -> u32 {
        plane::document(&self.row, kind).0
    }

    /// Remembers that a document has another version.
    fn remember(&mut self, kind: DocumentKind, said: Said, now: Timestamp) {
        let row = plane::version_row(&self.row, kind, said, now.0);
        self.documents.add_version(&mut self.meta, row);
        self.is_row_changed = true;
    }

    /// The change.
    pub(super) fn done(self) -> Change {
        let Self {
            mut meta,
            documents,
            row,
            is_row_changed,
            vault,
            policy,
        } = self;
        if is_row_changed {
            meta.push((rows::space_name(row.id), Some(encode(&row))));
        }
        let known = Known {
            row,
            vault,
            policy,
            documents,
        };
        Change {
            meta,
            space: Some((known, None)),
            keys: Vec::new(),
        }
    }
}

/// A key that is wanted.
#[derive(Debug)]
pub(crate) struct WantedKey<'a> {
    /// The space, by name or id.
    pub(crate) space: &'a str,
    /// The source's name.
    pub(crate) source: &'a str,
    /// Make the source when there is none.
    pub(crate) new_source: bool,
    /// What it may call.
    pub(crate) scopes: Vec<Scope>,
    /// What it may see and change.
    pub(crate) roles: Vec<Role>,
    /// A test key.
    pub(crate) test: bool,
}

/// A key that was made.
#[derive(Debug)]
pub(crate) struct MadeKey {
    /// Its text, to be shown once.
    pub(crate) text: KeyText,
    /// Its space.
    pub(crate) space: String,
    /// Whether its source was made for it.
    pub(crate) source_made: bool,
}

impl Registry {
    /// Checks a space that is to be made.
    pub(crate) fn new_space(&self, new: &NewSpace) -> Checked<Change> {
        new.check()?;
        if self.spaces.contains_key(&new.id) {
            return Err("exists".to_owned());
        }
        let row = space_row(new, self.clock.now());
        let policy = policy::build(&row.coordination, row.policy_version, &new.vault)?;
        let secret = random_bytes().map_err(|stop| stop.message)?;
        let mut meta = vec![(rows::space_name(new.id), Some(encode(&row)))];
        self.seal_into(&mut meta, new.id, Sealed::Space, &secret)?;
        for VaultValue { name, bytes } in &new.vault {
            self.seal_into(&mut meta, new.id, Sealed::Vault(name), bytes)?;
        }
        let mut keys: Vec<([u8; 32], KeyRow)> = Vec::new();
        for (source, row) in new.sources.iter().zip(&row.sources) {
            for key in &source.keys {
                let digest = self.directory.digest(key.text.reveal()).0;
                if self.keys.contains_key(&digest) || keys.iter().any(|(one, _)| *one == digest) {
                    let id = &key.text.key_id;
                    return Err(format!("the key `{id}` belongs to another source"));
                }
                let row = key_row(new.id, row, key);
                meta.push((rows::key_name(&digest), Some(encode(&row))));
                keys.push((digest, row));
            }
        }
        let mut documents = Documents::default();
        for kind in DocumentKind::ALL {
            let said = Said::by_operator("the space is made");
            let version = plane::version_row(&row, *kind, said, self.clock.now().0);
            documents.add_version(&mut meta, version);
        }
        let known = Known {
            row,
            vault: new.vault.clone(),
            policy,
            documents,
        };
        Ok(Change {
            meta,
            space: Some((known, Some(SpaceSecret::new(&secret)))),
            keys,
        })
    }

    /// Checks a name for a space that is to be made: people name spaces by it.
    pub(crate) fn name_is_free(&self, name: &str) -> Checked<()> {
        let mut rows = self.spaces.values().map(|known| &known.row);
        match rows.find(|row| row.name == name) {
            None => Ok(()),
            Some(row) => Err(format!("a space of that name exists, its id is {}", row.id)),
        }
    }

    /// Makes a key.
    pub(crate) fn new_key(&self, wanted: WantedKey<'_>) -> Checked<(Change, MadeKey)> {
        let known = self.find(wanted.space)?;
        let mut row = known.row.clone();
        let source_made = match row.sources.iter().any(|one| one.name == wanted.source) {
            true => false,
            false if wanted.new_source => {
                named("a source", wanted.source)?;
                let last = row.sources.iter().map(|one| one.id).max().unwrap_or(0);
                let id = last
                    .checked_add(1)
                    .ok_or("the space has too many sources")?;
                let name = wanted.source.to_owned();
                row.sources.push(SourceRow::new(id, name));
                true
            }
            false => return Err(no_source(&row)),
        };
        let source = row.sources.iter().find(|one| one.name == wanted.source);
        let source = source.ok_or("the source is not there")?;
        let text = self.free_text(&row, wanted.test)?;
        let digest = self.directory.digest(text.reveal()).0;
        let new = NewKey {
            text,
            scopes: wanted.scopes,
            roles: wanted.roles,
        };
        let key = key_row(row.id, source, &new);
        let mut meta = vec![(rows::key_name(&digest), Some(encode(&key)))];
        let space = row.name.clone();
        let mut change = Change {
            meta: Vec::new(),
            space: None,
            keys: Vec::new(),
        };
        if source_made {
            change = self.with_row(known, row).done();
        }
        change.meta.append(&mut meta);
        change.keys.push((digest, key));
        let made = MadeKey {
            text: new.text,
            space,
            source_made,
        };
        Ok((change, made))
    }

    /// A new key text whose id no key of the space has.
    fn free_text(&self, row: &SpaceRow, test: bool) -> Checked<KeyText> {
        for _ in 0..TRIES {
            let text = KeyText::mint(&row.name, test).map_err(|stop| stop.message)?;
            let mut keys = self.keys.values().filter(|key| key.space == row.id);
            if keys.all(|key| key.key_id != text.key_id) {
                return Ok(text);
            }
        }
        Err("no free key id was found; try again".to_owned())
    }

    /// Turns a key off; `None` when it is off already.
    pub(crate) fn revoked(&self, key_id: &str, space: Option<&str>) -> Checked<Option<Change>> {
        let space = space.map(|space| self.find(space)).transpose()?;
        let of = |row: &KeyRow| space.is_none_or(|known| known.row.id == row.space);
        let mut keys = self.keys.iter();
        let mut keys = keys
            .by_ref()
            .filter(|(_, row)| row.key_id == key_id && of(row));
        let Some((digest, row)) = keys.next() else {
            return Err("there is no key of that id; see interlock keys list".to_owned());
        };
        if keys.next().is_some() {
            return Err("several spaces have a key of that id; name one with --space".to_owned());
        }
        if row.revoked {
            return Ok(None);
        }
        let mut row = row.clone();
        row.revoked = true;
        Ok(Some(Change {
            meta: vec![(rows::key_name(digest), Some(encode(&row)))],
            space: None,
            keys: vec![(*digest, row)],
        }))
    }

    /// A change of a space that changes nothing yet.
    pub(super) fn unchanged(&self, known: &Known) -> Draft {
        Draft {
            meta: Vec::new(),
            documents: known.documents.clone(),
            row: known.row.clone(),
            is_row_changed: false,
            vault: known.vault.clone(),
            policy: Arc::clone(&known.policy),
        }
    }

    /// A change of a space's row alone: neither its rules nor its secrets.
    pub(super) fn with_row(&self, known: &Known, row: SpaceRow) -> Draft {
        Draft {
            row,
            is_row_changed: true,
            ..self.unchanged(known)
        }
    }

    /// Puts a change in force whose rows are durable.
    ///
    /// # Errors
    /// A contradiction between its rows; a bug.
    pub(crate) fn put(&mut self, change: Change) -> Result<(), Stop> {
        if let Some((known, secret)) = change.space {
            let secret = match secret {
                Some(secret) => secret,
                None => {
                    let entry = self.directory.space(space_id(known.row.id));
                    let gone = || Stop::new(Exit::Bug, "a space that changed is not known");
                    entry.ok_or_else(gone)?.secret.clone()
                }
            };
            self.put_space(known, secret);
        }
        for (digest, row) in change.keys {
            self.put_key(digest, row)?;
        }
        Ok(())
    }

    /// The id of a space that somebody names by its name or id.
    pub(crate) fn find_space(&self, named: &str) -> Checked<Uuid> {
        self.find(named).map(|known| known.row.id)
    }

    /// The rows of all spaces.
    pub(crate) fn space_rows(&self) -> impl Iterator<Item = &SpaceRow> {
        self.spaces.values().map(|known| &known.row)
    }

    /// The rows of all keys.
    pub(crate) fn key_rows(&self) -> impl Iterator<Item = &KeyRow> {
        self.keys.values()
    }

    /// A space that somebody names by its name or id.
    pub(crate) fn find(&self, named: &str) -> Checked<&Known> {
        if let Some(known) = Uuid::parse_str(named)
            .ok()
            .and_then(|id| self.spaces.get(&id))
        {
            return Ok(known);
        }
        let mut spaces = self.spaces.values().filter(|known| known.row.name == named);
        match (spaces.next(), spaces.next()) {
            (Some(known), None) => Ok(known),
            (Some(_), Some(_)) => {
                Err("several spaces have that name; use the id (interlock spaces list)".to_owned())
            }
            (None, _) => Err("there is no such space; see interlock spaces list".to_owned()),
        }
    }
}

fn no_source(row: &SpaceRow) -> String {
    let names: Vec<&str> = row.sources.iter().map(|one| one.name.as_str()).collect();
    let known = match names.as_slice() {
        [] => "it has none yet".to_owned(),
        names => format!("it has {}", names.join(", ")),
    };
    format!("the space has no such source ({known}); --new-source makes it")
}

fn space_row(new: &NewSpace, now: Timestamp) -> SpaceRow {
    let sources = (1..)
        .zip(&new.sources)
        .map(|(id, source)| SourceRow::new(id, source.name.clone()));
    SpaceRow {
        format: FORMAT,
        id: new.id,
        name: new.name.clone(),
        features: new.features.clone(),
        sources: sources.collect(),
        vault: new.vault.iter().map(|value| value.name.clone()).collect(),
        features_version: 1,
        policy_version: 1,
        signing: vec![signing::first(now)],
        coordination: new.coordination.clone(),
    }
}

fn key_row(space: Uuid, source: &SourceRow, key: &NewKey) -> KeyRow {
    let scopes = key.scopes.iter().map(|scope| scope.name().to_owned());
    let roles = key.roles.iter().map(|role| role.name().to_owned());
    KeyRow {
        format: FORMAT,
        key_id: key.text.key_id.clone(),
        space,
        source: source.id,
        test: key.text.test,
        region: key.text.region.clone(),
        scopes: scopes.collect(),
        roles: roles.collect(),
        revoked: false,
    }
}

#[cfg(test)]
mod tests;
