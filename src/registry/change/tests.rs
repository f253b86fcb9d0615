//! Changes over a log in memory.

use interlock_storage::{Commit, Log, MemoryLog};

use interlock_actors::NodeClock;

use super::*;
use crate::registry::new_space::COORDINATION;
use crate::secret;

struct Home {
    log: Arc<MemoryLog>,
    registry: Registry,
    secret: secret::Secret,
}

fn space(name: &str) -> NewSpace {
    NewSpace {
        id: Uuid::from_u128(u128::from(name.len() as u64)),
        name: name.to_owned(),
        features: vec![COORDINATION.to_owned()],
        sources: Vec::new(),
        vault: Vec::new(),
        coordination: policy::default_document(),
    }
}

fn clock() -> NodeClock {
    NodeClock::test(Timestamp(1_796_040_000_000))
}

impl Home {
    fn new() -> Self {
        let log = Arc::new(MemoryLog::new());
        let secret = secret::for_memory(&*log).unwrap();
        let registry = Registry::open(log.clone(), &secret, clock()).unwrap();
        let mut home = Self {
            log,
            registry,
            secret,
        };
        home.registry.create(&space("one"), Exit::Bug).unwrap();
        home
    }

    fn write(&mut self, change: Change) {
        let commit = Commit {
            meta: change.meta.clone(),
            ..Commit::default()
        };
        self.log.commit(&commit).unwrap();
        self.registry.put(change).unwrap();
    }

    /// As the next start would find it.
    fn again(&self) -> Registry {
        Registry::open(self.log.clone(), &self.secret, clock()).unwrap()
    }
}

fn wanted(new_source: bool) -> WantedKey<'static> {
    WantedKey {
        space: "one",
        source: "agents",
        new_source,
        scopes: vec![Scope::Coordinate],
        roles: Vec::new(),
        test: false,
    }
}

#[test]
fn a_key_is_in_force_once_it_is_put_and_found_by_the_next_start() {
    let mut home = Home::new();
    let what = home.registry.new_key(wanted(false)).unwrap_err();
    assert!(what.contains("--new-source"), "{what}");
    let (change, made) = home.registry.new_key(wanted(true)).unwrap();
    assert!(made.source_made);
    let directory = home.registry.directory();
    let text = made.text.reveal();
    assert!(directory.authenticate(text).is_none(), "not durable yet");
    home.write(change);
    let caller = directory.authenticate(text).unwrap();
    assert_eq!(&*caller.key.source.name, "agents");
    assert_eq!(caller.space.sources.len(), 1);
    let (change, second) = home.registry.new_key(wanted(true)).unwrap();
    assert!(!second.source_made);
    home.write(change);
    let found = home.again().directory();
    assert!(found.authenticate(text).is_some());
    assert!(found.authenticate(second.text.reveal()).is_some());
}

#[test]
fn a_revoked_key_stays_off() {
    let mut home = Home::new();
    let (change, made) = home.registry.new_key(wanted(true)).unwrap();
    home.write(change);
    let id = &made.text.key_id;
    let change = home.registry.revoked(id, Some("one")).unwrap().unwrap();
    home.write(change);
    let text = made.text.reveal();
    assert!(home.registry.directory().authenticate(text).is_none());
    assert!(home.again().directory().authenticate(text).is_none());
    assert!(home.registry.revoked(id, None).unwrap().is_none());
    assert!(home.registry.revoked("nobody", None).is_err());
}

#[test]
fn rules_are_judged_whole_and_get_a_version() {
    let mut home = Home::new();
    let same = home.registry.new_rules("one", "{}", "a test").unwrap();
    assert!(same.change.is_none() && same.from_version == 1);
    let bad = r#"{"effects": {"effect_lease_s": 0}}"#;
    let what = home.registry.new_rules("one", bad, "a test").unwrap_err();
    assert!(what.contains("effects.effect_lease_s"), "{what}");
    let twice = r#"{"effects": {"effect_lease_s": 1, "effect_lease_s": 2}}"#;
    assert!(home.registry.new_rules("one", twice, "a test").is_err());
    let good = r#"{"effects": {"effect_lease_s": 5}}"#;
    let rules = home.registry.new_rules("one", good, "a test").unwrap();
    assert_eq!(rules.differences[0].member, "effects");
    home.write(rules.change.unwrap());
    for registry in [&home.registry, &home.again()] {
        let id = space_id(registry.find_space("one").unwrap());
        let entry = registry.directory().space(id).unwrap();
        assert_eq!(entry.policy.effect_lease_s, 5);
        let row = registry.space_rows().next().unwrap();
        assert_eq!(row.policy_version, 2);
    }
}

#[test]
fn a_space_is_found_by_name_and_by_id() {
    let mut home = Home::new();
    let id = home.registry.find_space("one").unwrap();
    assert_eq!(home.registry.find_space(&id.to_string()), Ok(id));
    assert!(home.registry.find_space("none").is_err());
    assert!(home.registry.name_is_free("one").is_err());
    let change = home.registry.new_space(&space("three")).unwrap();
    assert!(change.policy().is_some());
    home.write(change);
    assert!(home.again().find_space("three").is_ok());
}
