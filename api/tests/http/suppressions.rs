//! The suppression list as its readers follow it: rows S1 to S18, salts and cursors. In
//! `suppressions/`: who may, and what is refused.

mod refused;

use std::collections::BTreeMap;
use std::sync::Arc;

use interlock_api::directory::{SaltOf, SourceEntry, SpaceEntry};
use interlock_domain::contact::fixture;
use interlock_domain::contact::name::SourceId;
use interlock_domain::time::Timestamp;
use interlock_token::{canonical, decode_32, keyed_hash};
use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{DECLARE, KEY_A, KEY_ADMIN, KEY_B, KEY_OTHER, Node, check_with, phone};

const LIST: &str = "/v1/suppressions";
const SALT: &str = "/v1/suppressions/salt";
const DAY_S: i64 = 86_400;

/// What a client keeps: the rules of §15 and §4.5 as a reader's code has them.
struct Copy {
    key: &'static str,
    salt: Value,
    cursor: Option<String>,
    entries: BTreeMap<String, Value>,
    resets: usize,
}

impl Copy {
    /// A new client's.
    fn of(node: &Node, key: &'static str) -> Self {
        let mut copy = Self {
            key,
            salt: node.get(SALT, Some(key)).ok(),
            cursor: None,
            entries: BTreeMap::new(),
            resets: 0,
        };
        copy.read(node);
        copy
    }

    /// Reads pages to the end of the list.
    fn read(&mut self, node: &Node) {
        loop {
            let page = page(node, self.key, self.cursor.as_deref(), 200).ok();
            if page["reset"] == true {
                self.entries.clear();
                self.resets += 1;
            }
            if page["salt_id"] != self.salt["salt_id"] {
                self.salt = node.get(SALT, Some(self.key)).ok();
            }
            let items = page["items"].as_array().unwrap();
            for item in items {
                let id = item["id"].as_str().unwrap().to_owned();
                if item["removed"] == true {
                    self.entries.remove(&id);
                } else {
                    self.entries.insert(id, item.clone());
                }
            }
            self.cursor = Some(next(&page));
            if items.len() < 200 {
                return;
            }
        }
    }

    fn may_contact(&self, value: &str, purpose: &str, channel: &str, now: Timestamp) -> bool {
        let key = keyed(&self.salt, "phone_e164", value);
        !self.entries.values().any(|entry| {
            let of = |member: &str| entry[member].as_str();
            let instant = |text: &str| interlock_wire::time::parse(text).unwrap();
            of("key") == Some(&key)
                && matches!(of("purpose"), Some(named) if named == purpose || named == "any")
                && of("channel").is_none_or(|named| named == channel)
                && instant(of("since").unwrap()) <= now.0
                && of("until").is_none_or(|until| now.0 < instant(until))
        })
    }
}

/// The key of a destination under a salt.
fn keyed(salt: &Value, handle_type: &str, value: &str) -> String {
    let salt = decode_32(salt["salt"].as_str().unwrap()).unwrap();
    keyed_hash(&salt, &canonical(handle_type, value).unwrap())
}

fn page(node: &Node, key: &str, cursor: Option<&str>, limit: usize) -> Answered {
    let cursor = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
    node.get(&format!("{LIST}?limit={limit}{cursor}"), Some(key))
}

fn next(page: &Value) -> String {
    page["next_cursor"].as_str().unwrap().to_owned()
}

fn items(page: &Value) -> &Vec<Value> {
    page["items"].as_array().unwrap()
}

fn add(node: &Node, value: &str, detail: &Value) {
    let mut detail = detail.clone();
    if detail["reason"].is_null() {
        detail["reason"] = json!("opt_out");
    }
    let answer = node.declare_for(value, "suppression.added", &detail).ok();
    assert_eq!(answer["accepted"], true);
}

fn lift_as(node: &Node, key: &str, value: &str, purpose: &str) -> bool {
    let body = json!({"kind": "suppression.lifted", "agent": "crm", "subject": phone(value),
        "detail": {"purpose": purpose}});
    node.post_as(key, DECLARE, &body).ok()["accepted"] == true
}

fn asked(node: &Node, value: &str, purpose: &str, channel: &str) -> Value {
    let members = json!({"subject": phone(value), "purpose": purpose, "channel": channel});
    node.check(&check_with(&members))
}

/// Gives source A's salt another generation, as the operator's verb does.
fn rotate(node: &Node) {
    let known = node.directory.space(fixture::SPACE).unwrap();
    let source = SourceEntry {
        id: SourceId(1),
        name: "agents".into(),
        salt: SaltOf {
            generation: 1,
            since: node.world.now(),
        },
    };
    node.directory.put_space(SpaceEntry {
        sources: Arc::new([source]),
        ..SpaceEntry::clone(&known)
    });
}

#[test]
fn s1_s2_a_purpose_is_refused_to_one_customer() {
    let node = Node::start();
    let (value, other) = ("+5511944440001", "+5511944440002");
    add(&node, value, &json!({"purpose": "marketing"}));
    let fresh = Copy::of(&node, KEY_A);
    let may = |value, purpose| fresh.may_contact(value, purpose, "whatsapp", node.world.now());
    assert!(!may(value, "marketing"));
    assert!(may(value, "service"));
    assert!(may(other, "marketing"));
    let answer = asked(&node, value, "marketing", "whatsapp");
    assert_eq!(
        (
            &answer["decision"],
            &answer["reasons"],
            &answer["suppressions"]
        ),
        (
            &json!("deny"),
            &json!(["suppressed"]),
            &json!(["marketing"])
        )
    );
}

#[test]
fn s3_a_channel_is_refused_in_the_copy_and_in_the_check() {
    let node = Node::start();
    let value = "+5511944440003";
    let detail = json!({"purpose": "marketing", "channel": "whatsapp"});
    add(&node, value, &detail);
    let fresh = Copy::of(&node, KEY_A);
    for (channel, may, decision) in [("whatsapp", false, "deny"), ("voice", true, "allow")] {
        let copied = fresh.may_contact(value, "marketing", channel, node.world.now());
        assert_eq!(copied, may, "{channel}");
        let answer = asked(&node, value, "marketing", channel);
        assert_eq!(answer["decision"], decision, "{channel}");
    }
}

#[test]
fn s4_s5_a_lift_by_its_own_source_alone_leaves_the_list() {
    let node = Node::start();
    let value = "+5511944440004";
    add(&node, value, &json!({"purpose": "marketing"}));
    let mut copy = Copy::of(&node, KEY_A);
    let id = copy.entries.keys().next().unwrap().clone();
    assert!(!lift_as(&node, KEY_B, value, "marketing"));
    copy.read(&node);
    assert!(!copy.may_contact(value, "marketing", "voice", node.world.now()));
    let cursor = copy.cursor.clone();
    assert!(lift_as(&node, KEY_A, value, "marketing"));
    let lifted = page(&node, KEY_A, cursor.as_deref(), 200).ok();
    assert_eq!(items(&lifted).len(), 1);
    let item = &items(&lifted)[0];
    assert_eq!((&item["id"], &item["removed"]), (&json!(id), &json!(true)));
    copy.read(&node);
    assert!(copy.may_contact(value, "marketing", "voice", node.world.now()));
    assert_eq!(
        asked(&node, value, "marketing", "voice")["decision"],
        "allow"
    );
    assert_eq!(copy.resets, 0);
}

#[test]
fn s6_contact_hours_defer_the_check_and_are_in_the_list() {
    let node = Node::start();
    let value = "+5511944440005";
    // The clock shows noon.
    let window = json!({"from": "10:00", "to": "14:00", "tz": "UTC"});
    let detail = json!({"purpose": "any", "channel": "voice", "window": window});
    add(&node, value, &detail);
    let answer = asked(&node, value, "service", "voice");
    assert_eq!(
        (
            &answer["decision"],
            &answer["reasons"],
            &answer["contact_window_until"]
        ),
        (
            &json!("defer"),
            &json!(["contact_window"]),
            &json!("2026-11-30T14:00:00Z")
        )
    );
    assert_eq!(
        asked(&node, value, "service", "whatsapp")["decision"],
        "allow"
    );
    let listed = page(&node, KEY_A, None, 200).ok();
    let sent = &items(&listed)[0]["window"];
    for member in ["from", "to", "tz"] {
        assert_eq!(sent[member], window[member], "{member}");
    }
}

#[test]
fn s7_a_page_from_a_cursor_has_the_change_alone_and_no_number() {
    let node = Node::start();
    add(&node, "+5511944440006", &json!({"purpose": "any"}));
    let copy = Copy::of(&node, KEY_A);
    let value = "+5511944440007";
    let detail = json!({"purpose": "collection", "channel": "voice"});
    add(&node, value, &detail);
    let answer = page(&node, KEY_A, copy.cursor.as_deref(), 200);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let changes = answer.ok();
    assert_eq!(changes["salt_id"], copy.salt["salt_id"]);
    assert_eq!(items(&changes).len(), 1);
    let item = &items(&changes)[0];
    assert_eq!(item["key"], json!(keyed(&copy.salt, "phone_e164", value)));
    assert_eq!(item["removed"], false);
    assert!(
        !text.contains("11944440007") && !text.contains("opt_out"),
        "{text}"
    );
}

#[test]
fn s8_each_source_has_its_own_salt() {
    let node = Node::start();
    let of = |key| node.get(SALT, Some(key)).ok();
    let (a, b) = (of(KEY_A), of(KEY_B));
    assert_ne!(a["salt"], b["salt"]);
    assert_ne!(a["salt_id"], b["salt_id"]);
    assert_eq!(a, of(KEY_A), "read twice it is the same");
    assert_ne!(a["salt"], of(KEY_OTHER)["salt"], "another space");
    let value = "+5511944440008";
    add(&node, value, &json!({"purpose": "any"}));
    for (key, salt) in [(KEY_A, a), (KEY_B, b)] {
        let listed = page(&node, key, None, 200).ok();
        let wanted = json!(keyed(&salt, "phone_e164", value));
        assert_eq!(items(&listed)[0]["key"], wanted);
    }
    assert!(items(&page(&node, KEY_OTHER, None, 200).ok()).is_empty());
}

#[test]
fn s9_s10_a_walk_ends_with_a_short_page_and_goes_on_from_there() {
    let node = Node::start();
    for number in 0..450 {
        let value = format!("+55119{:08}", 50_000_000 + number);
        add(&node, &value, &json!({"purpose": "any"}));
    }
    let mut cursor: Option<String> = None;
    let mut seen = Vec::new();
    for wanted in [200, 200, 50, 0, 0] {
        let answer = page(&node, KEY_A, cursor.as_deref(), 200).ok();
        assert_eq!(items(&answer).len(), wanted);
        assert_eq!(answer["reset"], false);
        seen.extend(items(&answer).iter().map(|item| item["id"].to_string()));
        cursor = Some(next(&answer));
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 450);
    let unasked = node.get(LIST, Some(KEY_A)).ok();
    assert_eq!(items(&unasked).len(), 200, "the default is the most");
}

#[test]
fn s11_one_customer_has_one_key_however_it_is_spelled() {
    let node = Node::start();
    let spelled = [
        json!({"type": "phone_e164", "value": "+5511987654321"}),
        json!({"type": "wa_id", "value": "5511987654321"}),
    ];
    for subject in &spelled {
        let body = json!({"kind": "suppression.added", "agent": "crm", "subject": subject,
            "detail": {"purpose": "marketing", "reason": "opt_out"}});
        assert_eq!(node.post(DECLARE, &body).ok()["accepted"], true);
    }
    let listed = page(&node, KEY_A, None, 200).ok();
    assert_eq!(items(&listed).len(), 1, "the second renewed the first");
    for subject in spelled {
        let check = check_with(&json!({"subject": subject, "purpose": "marketing"}));
        assert_eq!(node.check(&check)["reasons"], json!(["suppressed"]));
    }
}

#[test]
fn s13_an_entry_that_is_over_holds_nobody() {
    let node = Node::start();
    let value = "+5511944440009";
    let until = interlock_wire::time::text(node.world.now().plus_s(10).0);
    add(&node, value, &json!({"purpose": "service", "until": until}));
    let mut copy = Copy::of(&node, KEY_A);
    let may = |copy: &Copy| copy.may_contact(value, "service", "voice", node.world.now());
    assert!(!may(&copy));
    assert_eq!(asked(&node, value, "service", "voice")["decision"], "deny");
    node.world.advance_s(11);
    assert!(may(&copy), "readers compare the time themselves");
    copy.read(&node);
    assert!(may(&copy));
    assert_eq!(asked(&node, value, "service", "voice")["decision"], "allow");
    assert!(items(&page(&node, KEY_A, None, 200).ok()).is_empty());
}

#[test]
fn s14_a_reason_gives_the_end_that_is_not_named() {
    let node = Node::start();
    let detail = json!({"purpose": "any", "reason": "cooling_off"});
    add(&node, "+5511944440010", &detail);
    let listed = page(&node, KEY_A, None, 200).ok();
    let item = &items(&listed)[0];
    let instant = |member: &str| interlock_wire::time::parse(item[member].as_str().unwrap());
    let (since, until) = (instant("since").unwrap(), instant("until").unwrap());
    assert_eq!(until - since, 30 * DAY_S * 1_000);
    assert_eq!(since, node.world.now().0);
}

#[test]
fn s17_a_rotated_salt_starts_the_list_anew() {
    let node = Node::start();
    let value = "+5511944440011";
    add(&node, value, &json!({"purpose": "marketing"}));
    let mut copy = Copy::of(&node, KEY_A);
    let old = copy.salt.clone();
    node.world.advance_s(60);
    rotate(&node);
    let may = |copy: &Copy| copy.may_contact(value, "marketing", "voice", node.world.now());
    assert!(!may(&copy), "the old copy still says no");
    let first = page(&node, KEY_A, copy.cursor.as_deref(), 200).ok();
    let salt = node.get(SALT, Some(KEY_A)).ok();
    assert_eq!(first["reset"], true);
    assert_ne!(first["salt_id"], old["salt_id"]);
    assert_eq!(first["salt_id"], salt["salt_id"]);
    assert_ne!(salt["salt"], old["salt"]);
    assert_eq!(salt["valid_from"], "2026-11-30T12:01:00Z");
    copy.read(&node);
    assert!(!may(&copy), "and so does the new one");
    let after = page(&node, KEY_A, copy.cursor.as_deref(), 200).ok();
    assert_eq!((&after["reset"], copy.resets), (&json!(false), 1));
}

#[test]
fn s18_a_cursor_older_than_the_list_keeps_starts_anew() {
    let node = Node::start();
    let (value, lifted) = ("+5511944440012", "+5511944440013");
    add(&node, value, &json!({"purpose": "marketing"}));
    add(&node, lifted, &json!({"purpose": "marketing"}));
    let mut copy = Copy::of(&node, KEY_A);
    lift_as(&node, KEY_A, lifted, "marketing");
    node.world.advance_s(30 * DAY_S - 1);
    let still = page(&node, KEY_A, copy.cursor.as_deref(), 200).ok();
    assert_eq!((&still["reset"], items(&still).len()), (&json!(false), 1));
    node.world.advance_s(1);
    let anew = page(&node, KEY_A, copy.cursor.as_deref(), 200).ok();
    assert_eq!((&anew["reset"], items(&anew).len()), (&json!(true), 1));
    copy.read(&node);
    let may = |value| copy.may_contact(value, "marketing", "voice", node.world.now());
    assert!(!may(value));
    assert!(
        may(lifted),
        "a copy that is emptied forgets what was lifted"
    );
}

#[test]
fn a_reset_walk_goes_on_without_another_reset() {
    let node = Node::start();
    for number in 0..5 {
        let value = format!("+551194445000{number}");
        add(&node, &value, &json!({"purpose": "any"}));
    }
    let old = next(&page(&node, KEY_A, None, 200).ok());
    rotate(&node);
    let mut cursor = old;
    for (reset, wanted) in [(true, 2), (false, 2), (false, 1), (false, 0)] {
        let answer = page(&node, KEY_A, Some(&cursor), 2).ok();
        assert_eq!(
            (&answer["reset"], items(&answer).len()),
            (&json!(reset), wanted)
        );
        cursor = next(&answer);
    }
}

#[test]
fn a_renewal_that_is_over_reaches_who_knows_the_entry_without_end() {
    let node = Node::start();
    let value = "+5511944440015";
    add(&node, value, &json!({"purpose": "any"}));
    let mut copy = Copy::of(&node, KEY_A);
    let until = interlock_wire::time::text(node.world.now().plus_s(10).0);
    add(&node, value, &json!({"purpose": "any", "until": until}));
    node.world.advance_s(DAY_S);
    copy.read(&node);
    assert!(copy.may_contact(value, "service", "voice", node.world.now()));
}

#[test]
fn s19_an_erased_customer_stays_in_the_list() {
    let node = Node::start();
    let value = "+5511944440018";
    add(&node, value, &json!({"purpose": "marketing"}));
    let known = Copy::of(&node, KEY_A);
    let erased = node.post_as(
        KEY_ADMIN,
        "/v1/forget",
        &json!({"target": "handle", "handle": phone(value)}),
    );
    assert_eq!(erased.ok()["suppressions_kept"], 1);
    for copy in [Copy::of(&node, KEY_A), known] {
        assert!(!copy.may_contact(value, "marketing", "voice", node.world.now()));
    }
    // It is whole: a salt of another source still applies to it, and its own source still lifts it.
    let other = Copy::of(&node, KEY_B);
    assert!(!other.may_contact(value, "marketing", "voice", node.world.now()));
    assert!(lift_as(&node, KEY_A, value, "marketing"));
    assert!(items(&page(&node, KEY_A, None, 200).ok()).is_empty());
}
