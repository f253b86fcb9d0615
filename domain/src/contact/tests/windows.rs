//! Local hours (§12): the vectors, both changes of a year, gaps and folds.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::contact::window::{Cover, InvalidWindow, Window};
use crate::time::Timestamp;

fn at(text: &str) -> Timestamp {
    let instant: jiff::Timestamp = text.parse().expect("an instant");
    Timestamp(instant.as_millisecond())
}

fn covers(from: &str, to: &str, tz: &str, now: &str) -> Option<Timestamp> {
    let window = Window::new(from, to, tz, None).expect("a window");
    match window.cover(at(now)) {
        Cover::Outside => None,
        Cover::Inside(until) => Some(until.expect("the zone is known")),
    }
}

/// Vectors are data of others and not part of this repository.
fn vectors() -> Value {
    let folder = std::env::var_os("INTERLOCK_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/vectors"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("contact-window.v0.json"))
        .expect("the vectors are missing; run `cargo xtask test`, which fetches them");
    serde_json::from_str(&text).expect("the vectors are JSON")
}

#[test]
fn c7_every_vector_of_the_contact_window() {
    let vectors = vectors();
    let cases = vectors["cases"].as_array().expect("cases");
    assert!(cases.len() >= 16, "{} cases", cases.len());
    for case in cases {
        let id = &case["id"];
        let text = |member: &str| case["window"][member].as_str().expect("a text");
        let days: Option<Vec<u8>> = case["window"]["days"].as_array().map(|days| {
            let day = |day: &Value| u8::try_from(day.as_u64().expect("a day")).expect("small");
            days.iter().map(day).collect()
        });
        let window = Window::new(text("from"), text("to"), text("tz"), days.as_deref());
        let expect = &case["expect"];
        if let Some(error) = expect["error"].as_str() {
            assert_eq!((window.is_err(), error), (true, "invalid_window"), "{id}");
            continue;
        }
        let now = at(case["at"].as_str().expect("an instant"));
        let (applies, until) = match window.expect("a window").cover(now) {
            Cover::Outside => (false, None),
            Cover::Inside(until) => (true, until),
        };
        assert_eq!(Some(applies), expect["applies"].as_bool(), "{id}");
        assert_eq!(until, expect["until"].as_str().map(at), "{id}");
    }
}

#[test]
fn pitfall_21_the_end_follows_both_changes_of_the_year() {
    // New York: clocks go forward on 2026-03-08 and back on 2026-11-01.
    let table = [
        ("2026-03-08T02:00:00Z", "2026-03-08T12:00:00Z"), // 21:00 EST to 08:00 EDT
        ("2026-03-07T02:00:00Z", "2026-03-07T13:00:00Z"), // the night before
        ("2026-11-01T01:00:00Z", "2026-11-01T13:00:00Z"), // 21:00 EDT to 08:00 EST
        ("2026-10-31T01:00:00Z", "2026-10-31T12:00:00Z"), // the night before
    ];
    for (now, until) in table {
        let found = covers("21:00", "08:00", "America/New_York", now);
        assert_eq!(found, Some(at(until)), "{now}");
    }
}

#[test]
fn pitfall_21_an_end_that_comes_twice_is_its_first() {
    // 01:30 comes twice on 2026-11-01: 05:30Z and 06:30Z.
    let covered = |now| covers("22:00", "01:30", "America/New_York", now);
    assert_eq!(
        covered("2026-11-01T03:00:00Z"),
        Some(at("2026-11-01T05:30:00Z"))
    );
    assert_eq!(covered("2026-11-01T05:30:00Z"), None);
    // Inside is the wall clock's word alone: 01:15 comes a second time, and is inside again.
    assert_eq!(
        covered("2026-11-01T06:15:00Z"),
        Some(at("2026-11-01T05:30:00Z"))
    );
    assert_eq!(covered("2026-11-01T06:30:00Z"), None);
}

#[test]
fn pitfall_21_a_skipped_end_takes_the_offset_from_before() {
    // 02:30 does not come on 2026-03-08: 07:00Z is 03:00 already.
    let covered = |now| covers("22:00", "02:30", "America/New_York", now);
    assert_eq!(
        covered("2026-03-08T06:59:59Z"),
        Some(at("2026-03-08T07:30:00Z"))
    );
    assert_eq!(
        covered("2026-03-08T07:00:00Z"),
        None,
        "over when the clock jumps past it"
    );
}

#[test]
fn pitfall_21_a_midnight_that_is_skipped() {
    // In Sao Paulo 2018-11-04 began at 01:00.
    let covered = |now| covers("20:00", "00:00", "America/Sao_Paulo", now);
    assert_eq!(
        covered("2018-11-04T02:59:59Z"),
        Some(at("2018-11-04T03:00:00Z"))
    );
    assert_eq!(covered("2018-11-04T03:00:00Z"), None);
}

#[test]
fn pitfall_22_edges_midnight_and_zero_width() {
    let utc = |from, to, now| covers(from, to, "UTC", now).is_some();
    assert!(utc("09:00", "17:00", "2026-03-10T09:00:00Z"));
    assert!(utc("09:00", "17:00", "2026-03-10T16:59:59.999Z"));
    assert!(!utc("09:00", "17:00", "2026-03-10T17:00:00Z"));
    assert!(!utc("09:00", "17:00", "2026-03-10T08:59:59.999Z"));
    assert!(utc("00:01", "00:00", "2026-03-10T23:59:59Z"));
    assert!(!utc("00:01", "00:00", "2026-03-10T00:00:59Z"));
    let empty = Window::new("09:00", "09:00", "UTC", None);
    assert_eq!(empty, Err(InvalidWindow::Empty));
}

#[test]
fn pitfall_23_what_is_not_a_window_is_refused() {
    let window = |from, to, tz| Window::new(from, to, tz, None);
    for time in ["24:00", "9:00", "09:60", "0900", "", "09:00:00", "-1:00"] {
        assert_eq!(
            window(time, "08:00", "UTC"),
            Err(InvalidWindow::Time),
            "{time}"
        );
        assert_eq!(
            window("08:00", time, "UTC"),
            Err(InvalidWindow::Time),
            "{time}"
        );
    }
    for zone in [
        "",
        "Mars/Olympus",
        "GMT-3",
        "america/sao_paulo",
        "+03:00",
        "EST5EDT,M3.2.0",
    ] {
        assert_eq!(
            window("08:00", "09:00", zone),
            Err(InvalidWindow::Zone),
            "{zone}"
        );
    }
    for zone in [
        "UTC",
        "Etc/GMT+3",
        "Brazil/East",
        "America/Argentina/Buenos_Aires",
    ] {
        assert!(window("08:00", "09:00", zone).is_ok(), "{zone}");
    }
    for days in [&[][..], &[0], &[8], &[1, 9]] {
        let found = Window::new("08:00", "09:00", "UTC", Some(days));
        assert_eq!(found, Err(InvalidWindow::Days));
    }
}

#[test]
fn days_follow_the_start_over_a_week() {
    let fridays = Window::new("22:00", "06:00", "UTC", Some(&[5])).expect("a window");
    // 2026-03-13 is a Friday.
    let table = [
        ("2026-03-13T05:00:00Z", false),
        ("2026-03-13T22:00:00Z", true),
        ("2026-03-14T05:59:59Z", true),
        ("2026-03-14T06:00:00Z", false),
        ("2026-03-14T23:00:00Z", false),
    ];
    for (now, inside) in table {
        assert_eq!(fridays.cover(at(now)) != Cover::Outside, inside, "{now}");
    }
    assert_eq!(fridays.days(), Some(vec![5]));
}

#[test]
fn a_window_is_stored_by_its_members_and_comes_back_whole() {
    let window = Window::new("22:00", "06:05", "America/Sao_Paulo", Some(&[1, 7]));
    let window = window.expect("a window");
    let back = super::through_postcard(&window);
    assert_eq!(back, window);
    assert_eq!(
        (back.from(), back.to()),
        ("22:00".to_owned(), "06:05".to_owned())
    );
    assert_eq!(
        (back.tz(), back.days()),
        ("America/Sao_Paulo", Some(vec![1, 7]))
    );
    let now = at("2026-03-10T02:00:00Z");
    assert_eq!(back.cover(now), window.cover(now));
    let every = Window::new("22:00", "06:00", "UTC", Some(&[1, 2, 3, 4, 5, 6, 7]));
    let any = Window::new("22:00", "06:00", "UTC", None);
    assert_eq!(every, any, "every day is no choice of days");
    let elsewhere = Window::new("22:00", "06:00", "Etc/GMT+3", None);
    assert_ne!(elsewhere, any, "the same hours of another zone");
}

#[test]
fn pitfall_24_a_zone_this_build_lost_covers_every_instant() {
    let window = Window::new("22:00", "06:00", "Europe/Lisbon", None).expect("a window");
    let mut bytes = postcard::to_allocvec(&window).expect("it encodes");
    let place = bytes
        .windows(6)
        .position(|part| part == b"Lisbon")
        .expect("the zone is stored by name");
    bytes[place..place + 6].copy_from_slice(b"Nowhen");
    let lost: Window = postcard::from_bytes(&bytes).expect("it decodes");
    assert_eq!(lost.cover(at("2026-03-10T12:00:00Z")), Cover::Inside(None));
}
