//! What the edge knows of spaces and keys.
//!
//! Here: the maps a request is authenticated against, filled and changed by the root package. Not
//! here: where their rows are stored, and the text of any key: a key is known by its keyed hash.
//! Nothing here prints a secret.

use std::fmt;
use std::sync::Arc;

use dashmap::DashMap;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;

use crate::hashing::PreparedKey;
use crate::signing::SigningKeys;

/// Spaces by id and keys by keyed hash. Shared by all workers; changes are seen by the next
/// request.
#[derive(Debug)]
pub struct Directory {
    credentials: PreparedKey,
    spaces: DashMap<SpaceId, Arc<SpaceEntry>>,
    keys: DashMap<KeyDigest, Arc<KeyEntry>>,
}

impl Directory {
    /// An empty directory. `server_secret` keys the hashes of key texts, so that a stolen table of
    /// keys cannot be tested against guesses.
    #[must_use]
    pub fn new(server_secret: &[u8; 32]) -> Self {
        Self {
            credentials: PreparedKey::new(server_secret),
            spaces: DashMap::new(),
            keys: DashMap::new(),
        }
    }

    /// What a key's text is stored and found by.
    #[must_use]
    pub fn digest(&self, key_text: &str) -> KeyDigest {
        KeyDigest(self.credentials.text(key_text))
    }

    /// Adds a space or replaces what was known of it: its name, features, policy, sources.
    pub fn put_space(&self, space: SpaceEntry) {
        self.spaces.insert(space.id, Arc::new(space));
    }

    /// Adds a key or replaces what was known of it.
    pub fn put_key(&self, key: KeyEntry) {
        self.keys.insert(key.digest, Arc::new(key));
    }

    /// Turns a key off; requests under way finish.
    ///
    /// Returns whether there was such a key.
    pub fn revoke(&self, key_id: &str) -> bool {
        let mut found = false;
        for mut key in self.keys.iter_mut() {
            if *key.key_id == *key_id {
                Arc::make_mut(key.value_mut()).revoked = true;
                found = true;
            }
        }
        found
    }

    /// Gives a space other rules. Requests parsed under the old ones finish with them.
    ///
    /// Returns whether there was such a space.
    pub fn set_policy(&self, space: SpaceId, policy: Arc<Policy>) -> bool {
        let Some(mut entry) = self.spaces.get_mut(&space) else {
            return false;
        };
        Arc::make_mut(entry.value_mut()).policy = policy;
        true
    }

    /// All spaces.
    #[must_use]
    pub fn spaces(&self) -> Vec<Arc<SpaceEntry>> {
        let all = self.spaces.iter();
        all.map(|entry| Arc::clone(entry.value())).collect()
    }

    /// What is known of a space.
    #[must_use]
    pub fn space(&self, id: SpaceId) -> Option<Arc<SpaceEntry>> {
        self.spaces.get(&id).map(|entry| Arc::clone(entry.value()))
    }

    /// Who sends a request with this bearer text; `None` when the key is unknown, revoked or of a
    /// space that is gone. The three look alike from outside.
    #[must_use]
    pub fn authenticate(&self, bearer: &str) -> Option<Caller> {
        let digest = self.digest(bearer);
        let key = Arc::clone(self.keys.get(&digest)?.value());
        if key.revoked {
            return None;
        }
        let space = self.space(key.space)?;
        Some(Caller { key, space })
    }
}

/// HMAC-SHA256 of a key's text under the server's secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest(pub [u8; 32]);

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(…)")
    }
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The key it came with.
    pub key: Arc<KeyEntry>,
    /// The key's space.
    pub space: Arc<SpaceEntry>,
}

impl Caller {
    /// The source that the key speaks for, as it is now.
    #[must_use]
    pub fn source(&self) -> &SourceEntry {
        let known = &self.key.source;
        let mut sources = self.space.sources.iter();
        sources.find(|one| one.id == known.id).unwrap_or(known)
    }
}

/// A tenant, as the edge knows it.
#[derive(Clone, Debug)]
pub struct SpaceEntry {
    /// The space's UUID.
    pub id: SpaceId,
    /// For people: the console, the logs of the operator.
    pub name: Box<str>,
    /// What the space has turned on.
    pub features: Features,
    /// The rules in force.
    pub policy: Arc<Policy>,
    /// The secret under which handles, keys and ids are hashed.
    pub secret: SpaceSecret,
    /// The keys its tokens are signed with, each at its time.
    pub signing: SigningKeys,
    /// The sources of the space.
    pub sources: Arc<[SourceEntry]>,
}

/// What a space has turned on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The coordination routes answer; without it they are 404.
    pub coordination: bool,
}

/// A space's secret, already prepared for hashing. Never printed.
#[derive(Clone)]
pub struct SpaceSecret {
    prepared: PreparedKey,
}

impl SpaceSecret {
    /// Takes the 32 bytes; they are kept only in prepared form.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self {
            prepared: PreparedKey::new(secret),
        }
    }

    /// The key to hash with.
    #[must_use]
    pub fn prepared(&self) -> &PreparedKey {
        &self.prepared
    }
}

impl fmt::Debug for SpaceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpaceSecret(…)")
    }
}

/// An integration of a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    /// Its number inside the space; stored, never reused.
    pub id: SourceId,
    /// Its name.
    pub name: Box<str>,
    /// The salt of its copy of the suppression list.
    pub salt: SaltOf,
}

/// Which salt a source's copy of the suppression list is keyed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaltOf {
    /// The salt's number: 0 at first, one more with each rotation.
    pub generation: u32,
    /// Since when it holds.
    pub since: Timestamp,
}

/// A key, without its text.
#[derive(Clone, Debug)]
pub struct KeyEntry {
    /// What it is found by.
    pub digest: KeyDigest,
    /// Its public id, for logs and for turning it off.
    pub key_id: Box<str>,
    /// Whose it is.
    pub space: SpaceId,
    /// The source it speaks for.
    pub source: SourceEntry,
    /// Whether it is a test key (`nia_sk_test_…`).
    pub test: bool,
    /// The region in its text.
    pub region: Box<str>,
    /// What it may call.
    pub scopes: Vec<Scope>,
    /// Whose work it may see.
    pub roles: Vec<Role>,
    /// Turned off for good.
    pub revoked: bool,
}

impl KeyEntry {
    /// Whether the key has a scope.
    #[must_use]
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether the key has a role.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether the key may act as a role: it has it, or has `admin`, which stands for every role.
    #[must_use]
    pub fn acts_as(&self, role: Role) -> bool {
        self.has_role(role) || self.has_role(Role::Admin)
    }
}

/// Declares an enum of words with both directions of its spelling.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$of])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// How it is spelled.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The one spelled so.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words! {
    /// What a key may call.
    Scope {
        /// Messages and events.
        Track = "track",
        /// The advice block.
        Context = "context",
        /// Everything that is decided or declared.
        Coordinate = "coordinate",
        /// Typed state.
        StatePush = "state:push",
        /// Handles of one customer.
        IdentityLink = "identity:link",
        /// Administration.
        Admin = "admin",
    }
}

words! {
    /// Whose work a key may see.
    Role {
        /// Turns features on; agrees to sensitive rules.
        Security = "security",
        /// Writes the rules.
        Integration = "integration",
        /// Reads counts and reports.
        Analysis = "analysis",
        /// Everything.
        Admin = "admin",
    }
}
