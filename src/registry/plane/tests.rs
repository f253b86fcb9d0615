//! Who may do what to a space's documents, over a log in memory.

use interlock_actors::NodeClock;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use interlock_storage::{Commit, Log, MemoryLog};
use serde_json::json;

use super::*;
use crate::exit::Exit;
use crate::registry::new_space::{NewSpace, VaultValue};
use crate::secret::{self, Secret};

mod kept;

const SPACE: u128 = 7;

struct Home {
    log: Arc<MemoryLog>,
    secret: Secret,
    clock: NodeClock,
    registry: Registry,
}

/// The rules that every test begins with: one purpose that fails closed, one that fails open.
fn rules() -> Value {
    json!({
        "purposes": {
            "service": {"fails": "open", "token": false},
            "marketing": {"fails": "closed", "token": true, "budget": {"limit": 3, "per_hours": 24}},
        },
        "channels": {"sms": {}},
        "gateways": {"one": {"key_ref": "vault:one"}},
    })
}

/// An edit that only the role `integration` decides.
fn plain(hours: u32) -> Value {
    let mut rules = rules();
    rules["channels"]["sms"] = json!({ "free_form_hours": hours });
    rules
}

/// An edit that `security` has to agree to.
fn touchy(limit: u32) -> Value {
    let mut rules = rules();
    rules["purposes"]["marketing"]["budget"]["limit"] = json!(limit);
    rules
}

impl Home {
    fn new() -> Self {
        let log = Arc::new(MemoryLog::new());
        let secret = secret::for_memory(&*log).unwrap();
        let clock = NodeClock::test(Timestamp(1_796_040_000_000));
        let registry = Registry::open(log.clone(), &secret, clock.clone()).unwrap();
        let mut home = Self {
            log,
            secret,
            clock,
            registry,
        };
        let space = NewSpace {
            id: Uuid::from_u128(SPACE),
            name: "one".to_owned(),
            features: vec![COORDINATION.to_owned()],
            sources: Vec::new(),
            vault: vec![VaultValue {
                name: "one".to_owned(),
                bytes: [1; 32],
            }],
            coordination: rules(),
        };
        home.registry.create(&space, Exit::Bug).unwrap();
        home
    }

    /// Takes a step as the server does: durable, then in force.
    fn step(&mut self, stepped: Stepped) -> Result<Arc<DiffRow>, Refused> {
        let (change, row) = stepped?;
        if let Some(change) = change {
            self.write(change);
        }
        Ok(row)
    }

    fn write(&mut self, change: Change) {
        let commit = Commit {
            meta: change.meta.clone(),
            ..Commit::default()
        };
        self.log.commit(&commit).unwrap();
        self.registry.put(change).unwrap();
    }

    fn propose(
        &mut self,
        who: &Who,
        kind: DocumentKind,
        document: &Value,
    ) -> Result<Arc<DiffRow>, Refused> {
        let wanted = Proposal {
            kind,
            document: document.to_string(),
            reason: "a test".to_owned(),
        };
        let stepped = self.registry.propose(who, &wanted);
        self.step(stepped)
    }

    fn approve(&mut self, who: &Who, diff: Uuid) -> Result<Arc<DiffRow>, Refused> {
        let stepped = self.registry.approve(who, diff);
        self.step(stepped)
    }

    fn reject(&mut self, who: &Who, diff: Uuid) -> Result<Arc<DiffRow>, Refused> {
        let stepped = self.registry.reject(who, diff);
        self.step(stepped)
    }

    fn versions(&self) -> (u32, u32) {
        let row = &self.known().row;
        (row.features_version, row.policy_version)
    }

    fn known(&self) -> &Known {
        let space = SpaceId(*Uuid::from_u128(SPACE).as_bytes());
        self.registry.known(space).unwrap()
    }

    /// As the next start would find it.
    fn again(&mut self) {
        self.registry = Registry::open(self.log.clone(), &self.secret, self.clock.clone()).unwrap();
    }
}

fn who(key_id: &str, roles: &[Role]) -> Who {
    Who {
        space: SpaceId(*Uuid::from_u128(SPACE).as_bytes()),
        key_id: key_id.into(),
        roles: roles.to_vec(),
    }
}

fn state(row: &DiffRow) -> Option<Ended> {
    row.ended.as_ref().map(|ended| ended.state)
}

/// What a step comes to, in one word.
fn word(stepped: &Result<Arc<DiffRow>, Refused>) -> &'static str {
    match stepped {
        Ok(row) => match state(row) {
            None => "open",
            Some(Ended::Applied) => "applied",
            Some(Ended::Rejected) => "rejected",
            Some(Ended::Superseded) => "superseded",
        },
        Err(Refused::Invalid(_)) => "invalid",
        Err(Refused::Forbidden(_)) => "forbidden",
        Err(Refused::NotFound) => "not found",
        Err(Refused::Stale) => "stale",
        Err(Refused::Closed) => "closed",
        Err(Refused::Full) => "full",
        Err(Refused::NoRoom) => "no_room",
        Err(Refused::Unavailable) => "unavailable",
    }
}

/// Every set of roles a row of the table is about.
const KEYS: [(&str, &[Role]); 7] = [
    ("nobody", &[]),
    ("analysis", &[Role::Analysis]),
    ("security", &[Role::Security]),
    ("integration", &[Role::Integration]),
    ("both", &[Role::Security, Role::Integration]),
    ("admin", &[Role::Admin]),
    (
        "all",
        &[
            Role::Security,
            Role::Integration,
            Role::Analysis,
            Role::Admin,
        ],
    ),
];

/// A row of the tables: of the key in front, may it propose; what its agreement makes of another key's
/// edit; what its own edit comes to when it agrees to it, once and again; may it turn another key's
/// edit down.
type Row = (&'static str, [&'static str; 5]);

/// Edits of `features`.
const FEATURES: [Row; 7] = [
    ("nobody", ["forbidden", "forbidden", "-", "-", "forbidden"]),
    (
        "analysis",
        ["forbidden", "forbidden", "-", "-", "forbidden"],
    ),
    (
        "security",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    (
        "integration",
        ["forbidden", "forbidden", "-", "-", "forbidden"],
    ),
    (
        "both",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    (
        "admin",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    ("all", ["open", "applied", "applied", "applied", "rejected"]),
];

/// Edits of `coordination` that only the role `integration` decides.
const PLAIN: [Row; 7] = [
    ("nobody", ["forbidden", "forbidden", "-", "-", "forbidden"]),
    (
        "analysis",
        ["forbidden", "forbidden", "-", "-", "forbidden"],
    ),
    (
        "security",
        ["forbidden", "forbidden", "-", "-", "forbidden"],
    ),
    (
        "integration",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    (
        "both",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    (
        "admin",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    ("all", ["open", "applied", "applied", "applied", "rejected"]),
];

/// Edits of `coordination` that `security` has to agree to too.
const TOUCHY: [Row; 7] = [
    ("nobody", ["forbidden", "forbidden", "-", "-", "forbidden"]),
    (
        "analysis",
        ["forbidden", "forbidden", "-", "-", "forbidden"],
    ),
    ("security", ["forbidden", "open", "-", "-", "rejected"]),
    ("integration", ["open", "open", "open", "open", "rejected"]),
    ("both", ["open", "open", "open", "forbidden", "rejected"]),
    (
        "admin",
        ["open", "applied", "applied", "applied", "rejected"],
    ),
    ("all", ["open", "applied", "applied", "applied", "rejected"]),
];

#[test]
fn the_table_of_who_proposes_agrees_and_turns_down() {
    let off = json!({ "enabled": [] });
    let tables = [
        (DocumentKind::Features, off, FEATURES),
        (DocumentKind::Coordination, plain(24), PLAIN),
        (DocumentKind::Coordination, touchy(2), TOUCHY),
    ];
    for (kind, document, table) in tables {
        for ((name, roles), (row, expected)) in KEYS.iter().zip(table) {
            assert_eq!(*name, row);
            let key = who(name, roles);
            let author = who("author", &[Role::Admin]);
            let mut home = Home::new();
            let others = home.propose(&author, kind, &document).unwrap();
            let mut said = Vec::new();
            let own = home.propose(&key, kind, &document);
            said.push(word(&own));
            let agreed = home.approve(&key, others.id);
            said.push(word(&agreed));
            let mut home = Home::new();
            let others = home.propose(&author, kind, &document).unwrap();
            match home.propose(&key, kind, &document) {
                Ok(own) => {
                    said.push(word(&home.approve(&key, own.id)));
                    said.push(word(&home.approve(&key, own.id)));
                }
                Err(_) => said.extend(["-", "-"]),
            }
            let mut fresh = Home::new();
            let turned = fresh.propose(&author, kind, &document).unwrap();
            said.push(word(&fresh.reject(&key, turned.id)));
            assert_eq!(said, expected, "{name} {kind:?} {document}");
            drop(others);
        }
    }
}

#[test]
fn two_roles_are_two_keys_and_either_may_come_first() {
    let integration = who("i", &[Role::Integration]);
    let security = who("s", &[Role::Security]);
    for order in [[&integration, &security], [&security, &integration]] {
        let mut home = Home::new();
        let diff = home
            .propose(&integration, DocumentKind::Coordination, &touchy(9))
            .unwrap();
        assert_eq!(diff.needs, ["integration", "security"]);
        assert_eq!(diff.sensitive, ["a purpose that fails closed"]);
        assert_eq!(word(&home.approve(order[0], diff.id)), "open");
        assert_eq!(home.versions(), (1, 1));
        // A kill in between forgets nothing.
        home.again();
        assert_eq!(word(&home.approve(order[0], diff.id)), "open", "a repeat");
        let applied = home.approve(order[1], diff.id).unwrap();
        assert_eq!(state(&applied), Some(Ended::Applied));
        assert_eq!(home.versions(), (1, 2));
        assert_eq!(
            home.known().policy.purposes()[0]
                .budget
                .as_ref()
                .unwrap()
                .limit,
            9
        );
        home.again();
        assert_eq!(home.versions(), (1, 2));
        let documents = &home.known().documents;
        let last = documents.versions().next_back().unwrap();
        assert_eq!((last.version, last.by.as_deref()), (2, Some("i")));
        assert_eq!(last.reason, "a test");
        assert_eq!(last.diff, Some(diff.id));
        let agreed: Vec<&str> = last.approvals.iter().map(|one| &*one.key_id).collect();
        assert_eq!(agreed, [&*order[0].key_id, &*order[1].key_id]);
        assert!(documents.diffs().all(|row| row.document.is_none()));
        // The space of somebody else has no such edit.
        let mut other = who("i", &[Role::Admin]);
        other.space = SpaceId([9; 16]);
        assert_eq!(word(&home.approve(&other, diff.id)), "not found");
    }
}

#[test]
fn a_key_with_both_roles_needs_a_second_key() {
    let mut home = Home::new();
    let both = who("both", &[Role::Security, Role::Integration]);
    let diff = home
        .propose(&both, DocumentKind::Coordination, &touchy(1))
        .unwrap();
    assert_eq!(word(&home.approve(&both, diff.id)), "open");
    let Err(Refused::Forbidden(what)) = home.approve(&both, diff.id) else {
        panic!("one key agreed as two roles")
    };
    assert!(
        what.contains("another key with the role `security`"),
        "{what}"
    );
    let second = who("second", &[Role::Security, Role::Integration]);
    assert_eq!(word(&home.approve(&second, diff.id)), "applied");
}

#[test]
fn an_edit_is_of_one_version() {
    let mut home = Home::new();
    let key = who("i", &[Role::Integration]);
    let kind = DocumentKind::Coordination;
    let first = home.propose(&key, kind, &plain(1)).unwrap();
    let second = home.propose(&key, kind, &plain(2)).unwrap();
    assert_eq!((first.from_version, second.from_version), (1, 1));
    assert_eq!(word(&home.approve(&key, first.id)), "applied");
    assert_eq!(word(&home.approve(&key, second.id)), "stale");
    assert_eq!(word(&home.reject(&key, second.id)), "stale");
    assert_eq!(word(&home.reject(&key, first.id)), "closed");
    // An applied edit keeps its document on disk, a superseded one nowhere.
    let on_disk = |id: Uuid| {
        let row = home.known().diff(id).unwrap();
        let name = crate::registry::rows::diff_name(row.space, row.number);
        let value = home.log.meta(&name).unwrap().unwrap();
        serde_json::from_slice::<DiffRow>(&value).unwrap().document
    };
    assert_eq!(on_disk(first.id), Some(plain(1)));
    assert_eq!(on_disk(second.id), None);
    // What a verb does ends them too, whatever it is.
    let third = home.propose(&key, kind, &plain(3)).unwrap();
    assert_eq!(third.from_version, 2);
    let rules = home
        .registry
        .new_rules("one", &plain(4).to_string(), "by hand");
    home.write(rules.unwrap().change.unwrap());
    assert_eq!(word(&home.approve(&key, third.id)), "stale");
    let fourth = home.propose(&key, kind, &plain(5)).unwrap();
    let value = VaultValue {
        name: "one".to_owned(),
        bytes: [2; 32],
    };
    let unused = VaultValue {
        name: "two".to_owned(),
        bytes: [3; 32],
    };
    let change = home.registry.new_vault_value("one", unused).unwrap();
    home.write(change);
    assert_eq!(home.versions(), (1, 3), "no rule uses it, so no edit ends");
    assert!(state(home.known().diff(fourth.id).unwrap()).is_none());
    let change = home.registry.new_vault_value("one", value).unwrap();
    home.write(change);
    assert_eq!(word(&home.approve(&key, fourth.id)), "stale");
    assert_eq!(home.known().policy.gateways()[0].key, [2; 32]);
    home.again();
    assert_eq!(home.known().policy.gateways()[0].key, [2; 32]);
    let names: Vec<&str> = home.known().vault.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["one", "two"], "a start finds both");
    let reasons: Vec<String> = home
        .known()
        .documents
        .versions()
        .map(|row| format!("{} {} {}", row.kind, row.version, row.reason))
        .collect();
    assert_eq!(
        reasons,
        [
            "coordination 1 the space is made",
            "features 1 the space is made",
            "coordination 2 a test",
            "coordination 3 by hand",
            "coordination 4 the vault value `one` is set",
        ]
    );
    // Features have versions of their own, so an edit of them is not touched by all that.
    assert_eq!(home.versions(), (1, 4));
}

#[test]
fn a_document_that_breaks_a_rule_is_refused_with_its_member() {
    let mut home = Home::new();
    let key = who("a", &[Role::Admin]);
    let mut refused = |kind: DocumentKind, document: Value| {
        let Err(Refused::Invalid(what)) = home.propose(&key, kind, &document) else {
            panic!("{document}")
        };
        what
    };
    let features = DocumentKind::Features;
    let long = json!({ "enabled": ["x".repeat(DOCUMENT_BYTES_MAX)] });
    let what = refused(features, long);
    assert_eq!(what, "document: has more than 65536 bytes");
    let what = refused(
        features,
        json!({"enabled": ["coordination", "+5511987654321"]}),
    );
    assert_eq!(
        what,
        "document.enabled[1]: there is no such feature; there is `coordination`"
    );
    let twice = json!({"enabled": ["coordination", "coordination"]});
    assert_eq!(
        refused(features, twice),
        "document.enabled[1]: is given twice"
    );
    let what = refused(features, json!({"enabled": "coordination"}));
    assert!(what.starts_with("document: must be"), "{what}");
    let mut document = rules();
    document["purposes"]["marketing"]["budget"]["limit"] = json!("+5511987654321");
    let what = refused(DocumentKind::Coordination, document);
    assert!(
        what.starts_with("document.purposes.marketing.budget.limit: "),
        "{what}"
    );
    assert!(!what.contains("5511"), "{what}");
    let mut document = rules();
    document["purposes"]["marketing"]["budget"]["slices"] = json!([
        {"intent": "a", "limit": 2}, {"intent": "b", "limit": 2}]);
    let what = refused(DocumentKind::Coordination, document);
    assert!(
        what.starts_with("document.purposes.marketing.budget"),
        "{what}"
    );
}
