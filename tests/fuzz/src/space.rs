//! Who sends: a key of the conformance space.

use std::sync::{Arc, LazyLock};

use interlock_api::directory::{
    Caller, Features, KeyDigest, KeyEntry, SaltOf, Scope, SourceEntry, SpaceEntry, SpaceSecret,
};
use interlock_api::signing::SigningKeys;
use interlock_domain::contact::fixture;
use interlock_domain::time::Timestamp;

/// 2026-03-10, noon UTC.
pub(crate) const NOW: Timestamp = Timestamp(1_773_144_000_000);

/// The secret of the space.
pub(crate) static SECRET: LazyLock<SpaceSecret> = LazyLock::new(|| SpaceSecret::new(&[7; 32]));

/// The caller, the same for every input.
pub(crate) static CALLER: LazyLock<Caller> = LazyLock::new(|| {
    let source = SourceEntry {
        id: fixture::AGENTS,
        name: "agents".into(),
        salt: SaltOf::default(),
    };
    let space = SpaceEntry {
        id: fixture::SPACE,
        name: "conformance".into(),
        features: Features { coordination: true },
        policy: Arc::new(fixture::policy()),
        signing: SigningKeys::first(SECRET.prepared(), Timestamp(0)),
        secret: SECRET.clone(),
        sources: Arc::from([source.clone()]),
    };
    let key = KeyEntry {
        digest: KeyDigest([0; 32]),
        key_id: "key".into(),
        space: space.id,
        source,
        test: true,
        region: "test".into(),
        scopes: vec![Scope::Coordinate],
        roles: Vec::new(),
        revoked: false,
    };
    Caller {
        key: Arc::new(key),
        space: Arc::new(space),
    }
});
