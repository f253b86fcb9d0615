//! What is remembered of edits and versions, and what is not.

use super::*;
use crate::registry::versions::{CLOSED_MAX, VERSIONS_MAX};

#[test]
fn an_edit_that_changes_nothing_is_refused_and_makes_no_version() {
    let mut home = Home::new();
    let key = who("a", &[Role::Admin]);
    let in_force = features_document(&[COORDINATION.to_owned()]);
    for (kind, document) in [
        (DocumentKind::Features, in_force),
        (DocumentKind::Coordination, rules()),
    ] {
        let refused = home.propose(&key, kind, &document);
        let what = "document: changes nothing; it is the one in force (version 1)";
        assert_eq!(
            refused.map(|row| row.id),
            Err(Refused::Invalid(what.to_owned()))
        );
    }
    assert_eq!(home.known().documents.diffs().count(), 0);
    assert_eq!(home.versions(), (1, 1));
}

#[test]
fn what_is_remembered_is_bounded_on_disk_too() {
    let mut home = Home::new();
    let key = who("i", &[Role::Integration]);
    let kind = DocumentKind::Coordination;
    for round in 0..OPEN_MAX {
        home.propose(&key, kind, &plain(1 + round as u32)).unwrap();
    }
    assert_eq!(word(&home.propose(&key, kind, &plain(1))), "full");
    // One comes into force, which ends the others; then many more come and go.
    let first = home.known().documents.diffs().next().unwrap().id;
    home.approve(&key, first).unwrap();
    assert_eq!(home.known().documents.open(), 0);
    for round in 0..VERSIONS_MAX + 5 {
        let diff = home
            .propose(&key, kind, &plain(2 + (round % 9) as u32))
            .unwrap();
        home.approve(&key, diff.id).unwrap();
        let diff = home.propose(&key, kind, &plain(99)).unwrap();
        home.reject(&key, diff.id).unwrap();
    }
    for again in [false, true] {
        if again {
            home.again();
        }
        let documents = &home.known().documents;
        let kept = documents
            .versions()
            .filter(|row| row.kind == "coordination");
        assert_eq!(kept.count(), VERSIONS_MAX);
        assert_eq!(documents.diffs().count(), CLOSED_MAX);
    }
    let rows = |prefix: &[u8]| home.log.meta_scan(prefix).unwrap().len();
    assert_eq!(rows(b"version/"), VERSIONS_MAX + 1);
    assert_eq!(rows(b"diff/"), CLOSED_MAX);
}
