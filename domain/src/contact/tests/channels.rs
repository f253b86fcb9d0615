//! Channels (§12): the free-form window and quiet hours.

use super::{ALLOWED, HOUR_S, NOON, World, decided, deferred};
use crate::contact::command::Direction;
use crate::contact::fixture::{CONFORMANCE, check, message, vault};
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{ChannelView, CheckReply, Reply};
use crate::time::Timestamp;

const DAY_S: i64 = 24 * HOUR_S;

fn channel(reply: &CheckReply) -> ChannelView {
    reply.channel.expect("a channel was asked about")
}

/// An instant by its RFC 3339 text.
fn at(text: &str) -> Timestamp {
    let instant: jiff::Timestamp = text.parse().expect("an instant");
    Timestamp(instant.as_millisecond())
}

#[test]
fn c1_with_no_message_known_a_template_is_asked_for() {
    let mut world = World::new();
    let reply = world.check(check().to("p").on("whatsapp"));
    assert_eq!(
        decided(&reply),
        (Verdict::Allow, Some(Reason::TemplateRequired))
    );
    let view = channel(&reply);
    assert!(view.template_required && view.free_form_until.is_none());
    let voice = world.check(check().to("p").on("voice"));
    assert_eq!(decided(&voice), ALLOWED);
    assert!(!channel(&voice).template_required);
}

#[test]
fn c2_a_message_opens_the_window() {
    let mut world = World::new();
    let wrote = NOON.plus_s(-HOUR_S);
    assert_eq!(world.run(&message("p", "whatsapp", wrote)), Reply::Observed);
    let reply = world.check(check().to("p").on("whatsapp"));
    assert_eq!(decided(&reply), ALLOWED);
    assert_eq!(channel(&reply).free_form_until, Some(wrote.plus_s(DAY_S)));
    assert!(!channel(&reply).template_required);
    let other = world.check(check().to("q").on("whatsapp"));
    assert!(channel(&other).template_required, "another customer");
}

#[test]
fn c3_the_window_closes_at_its_end() {
    let mut world = World::new();
    world.run(&message("p", "whatsapp", NOON));
    world.now = NOON.plus_s(DAY_S).plus_ms(-1);
    let open = world.check(check().to("p").on("whatsapp"));
    assert!(!channel(&open).template_required);
    world.now = NOON.plus_s(DAY_S);
    let closed = world.check(check().to("p").on("whatsapp"));
    assert_eq!(channel(&closed).free_form_until, None);
    assert_eq!(
        decided(&closed),
        (Verdict::Allow, Some(Reason::TemplateRequired))
    );
}

#[test]
fn c4_an_older_message_that_arrives_late_changes_nothing() {
    let mut world = World::new();
    world.run(&message("p", "whatsapp", NOON.plus_s(-60)));
    world.run(&message("p", "whatsapp", NOON.plus_s(-HOUR_S)));
    let reply = world.check(check().to("p").on("whatsapp"));
    assert_eq!(
        channel(&reply).free_form_until,
        Some(NOON.plus_s(DAY_S - 60))
    );
}

#[test]
fn pitfall_3_a_message_from_the_future_opens_no_longer_window() {
    let mut world = World::new();
    world.run(&message("p", "whatsapp", NOON.plus_s(900 * DAY_S)));
    let reply = world.check(check().to("p").on("whatsapp"));
    assert_eq!(channel(&reply).free_form_until, Some(NOON.plus_s(DAY_S)));
}

#[test]
fn a_message_too_old_to_matter_or_on_a_channel_without_a_window_leaves_nothing() {
    let mut world = World::new();
    world.run(&message("p", "whatsapp", NOON.plus_s(-DAY_S)));
    world.run(&message("p", "voice", NOON));
    assert!(world.log.is_empty());
}

#[test]
fn inbound_shows_the_channel_and_asks_for_no_template() {
    let mut world = World::new();
    let reply = world.check(check().to("p").on("whatsapp").inbound());
    assert_eq!(decided(&reply), ALLOWED);
    assert!(channel(&reply).template_required);
}

#[test]
fn c5_inside_quiet_hours_outbound_waits_and_inbound_goes() {
    let mut world = World::new();
    let quiet = || check().to("p").on("always_quiet");
    let reply = world.check(quiet());
    assert_eq!(decided(&reply), deferred(Reason::QuietHours));
    assert_eq!(
        channel(&reply).quiet_until,
        Some(at("2026-03-11T00:00:00Z"))
    );
    assert_eq!(decided(&world.check(quiet().inbound())), ALLOWED);
}

#[test]
fn c6_sms_at_the_edges_of_its_quiet_hours() {
    // Sao Paulo is three hours behind UTC all year.
    let table = [
        ("2026-03-10T23:59:59Z", None),
        ("2026-03-11T00:00:00Z", Some("2026-03-11T11:00:00Z")),
        ("2026-03-11T10:59:59Z", Some("2026-03-11T11:00:00Z")),
        ("2026-03-11T11:00:00Z", None),
    ];
    for (now, until) in table {
        let mut world = World::new();
        world.now = at(now);
        let reply = world.check(check().to("p").on("sms"));
        assert_eq!(channel(&reply).quiet_until, until.map(at), "{now}");
        let wanted = until.map_or(ALLOWED, |_| deferred(Reason::QuietHours));
        assert_eq!(decided(&reply), wanted, "{now}");
    }
}

#[test]
fn quiet_hours_need_no_subject_and_spare_an_exempt_purpose() {
    let mut world = World::new();
    let reply = world.check(check().on("always_quiet").effect("k"));
    assert_eq!(decided(&reply), deferred(Reason::QuietHours));
    let old = r#""transactional": {"fails": "open", "token": false}"#;
    let new = r#""transactional": {"fails": "open", "quiet_exempt": true}"#;
    let document = CONFORMANCE.replace(old, new);
    assert_ne!(document, CONFORMANCE);
    world.policy = Policy::load(2, &document, &vault()).expect("a policy");
    let exempt = world.check(check().purpose("transactional").on("always_quiet"));
    assert_eq!(decided(&exempt), ALLOWED);
    assert_eq!(channel(&exempt).quiet_until, None);
}

/// Two channels whose hours leave no common minute: each is judged by its own, for the same customer
/// and purpose at the same instant, and a check without a channel by none.
#[test]
fn pitfall_24_channels_that_contradict_each_other_are_each_judged_by_their_own() {
    let opposite = r#""voice": {"quiet_hours": {"from": "08:00", "to": "21:00",
        "tz": "America/Sao_Paulo"}}"#;
    let document = CONFORMANCE.replace(r#""voice": {}"#, opposite);
    assert_ne!(document, CONFORMANCE);
    let policy = || Policy::load(2, &document, &vault()).expect("a policy");
    // Sao Paulo is three hours behind. Each instant is one channel's quiet hours and never both.
    let table = [
        ("2026-03-10T12:00:00Z", "voice", "2026-03-11T00:00:00Z"),
        ("2026-03-10T23:59:59Z", "voice", "2026-03-11T00:00:00Z"),
        ("2026-03-11T00:00:00Z", "sms", "2026-03-11T11:00:00Z"),
        ("2026-03-11T10:59:59Z", "sms", "2026-03-11T11:00:00Z"),
        ("2026-03-11T11:00:00Z", "voice", "2026-03-12T00:00:00Z"),
    ];
    for (now, quiet, until) in table {
        let mut world = World::with(policy());
        world.now = at(now);
        for name in ["sms", "voice"] {
            let reply = world.check(check().to("p").on(name));
            let wanted = (name == quiet).then(|| at(until));
            assert_eq!(channel(&reply).quiet_until, wanted, "{now} on {name}");
            let verdict = wanted.map_or(ALLOWED, |_| deferred(Reason::QuietHours));
            assert_eq!(decided(&reply), verdict, "{now} on {name}");
        }
        assert_eq!(decided(&world.check(check().to("p"))), ALLOWED, "{now}");
    }
}

/// There is one place for the hours of a channel: a second one is refused, and not the later taken.
#[test]
fn pitfall_24_hours_given_twice_are_refused() {
    let hours = r#""quiet_hours": {"from": "01:00", "to": "02:00", "tz": "UTC"}"#;
    let twice = [
        (
            r#""voice": {}"#.to_owned(),
            format!(r#""sms": {{{hours}}}"#),
        ),
        (
            r#""sms": {"quiet_hours""#.to_owned(),
            format!(r#""sms": {{{hours}, "quiet_hours""#),
        ),
        (
            r#""from": "21:00","#.to_owned(),
            r#""from": "21:00", "from": "22:00","#.to_owned(),
        ),
    ];
    for (old, new) in twice {
        let document = CONFORMANCE.replacen(&old, &new, 1);
        assert_ne!(document, CONFORMANCE, "{old}");
        let refused = Policy::load(2, &document, &vault()).expect_err(&new);
        assert!(refused.to_string().contains("channels"), "{refused}");
    }
}

/// A message opens the window from when it was written, whenever it is told.
#[test]
fn a_message_is_kept_while_its_window_is_open_and_once() {
    for (passed_ms, events) in [(DAY_S * 1_000 - 1, 1), (DAY_S * 1_000, 0)] {
        let mut world = World::new();
        let told = message("p", "whatsapp", NOON);
        world.now = NOON.plus_ms(passed_ms);
        for _ in 0..2 {
            assert_eq!(world.run(&told), Reply::Observed);
            assert_eq!(world.log.len(), events, "{passed_ms} ms later");
        }
        let ways = world.notes.iter().map(|note| note.direction);
        assert!(ways.eq([Some(Direction::Inbound); 2]), "each is noted");
    }
}
