//! Suppressions (§15) and what they do to checks.

use super::{ALLOWED, HOUR_S, NOON, World, decided, deferred, denied};
use crate::contact::Contact;
use crate::contact::command::{AddSuppression, Check, Command};
use crate::contact::fixture::{self, CRM, check, lift, policy, suppress};
use crate::contact::name::{ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::notice::Notice;
use crate::contact::policy::{Policy, Vault};
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{DeclareReply, Member, Reply};
use crate::contact::suppression::CHANGES_KEPT_DAYS;
use crate::contact::window::Window;
use crate::machine::Machine;
use crate::time::Timestamp;

/// How long the last change of an entry is remembered.
const KEPT_S: i64 = CHANGES_KEPT_DAYS * 24 * HOUR_S;

fn marketing() -> Check {
    check().purpose("marketing").to("p")
}

fn on(mut added: AddSuppression, channel: &str) -> AddSuppression {
    added.channel = Some(ChannelId::of(channel));
    added
}

fn within(mut added: AddSuppression, from: &str, to: &str) -> AddSuppression {
    added.window = Some(Window::new(from, to, "UTC", None).expect("a window"));
    added
}

#[test]
fn s1_s2_a_suppressed_purpose_is_denied_and_no_other() {
    let mut world = World::new();
    assert!(
        world
            .declare(&suppress("p", "marketing").command())
            .accepted
    );
    let reply = world.check(marketing());
    assert_eq!(decided(&reply), denied(Reason::Suppressed));
    assert_eq!(reply.suppressions.to_vec(), [PurposeId::of("marketing")]);
    assert_eq!(
        reply.name(reply.suppressions[0], &world.policy),
        Some("marketing")
    );
    assert_eq!(decided(&world.check(check().to("p"))), ALLOWED);
    assert_eq!(decided(&world.check(marketing().to("q"))), ALLOWED);
}

#[test]
fn s2_any_is_every_purpose() {
    let mut world = World::new();
    world.declare(&suppress("p", "any").command());
    for purpose in [
        "transactional",
        "service",
        "marketing",
        "retention",
        "collection",
    ] {
        let reply = world.check(check().to("p").purpose(purpose));
        assert_eq!(decided(&reply), denied(Reason::Suppressed), "{purpose}");
        assert_eq!(
            reply.name(reply.suppressions[0], &world.policy),
            Some("any")
        );
    }
}

#[test]
fn s3_a_channel_of_its_own() {
    let mut world = World::new();
    world.declare(&on(suppress("p", "marketing"), "whatsapp").command());
    let here = world.check(marketing().on("whatsapp"));
    assert_eq!(decided(&here), denied(Reason::Suppressed));
    let there = world.check(marketing().on("voice"));
    assert_eq!(decided(&there), ALLOWED);
    assert!(there.suppressions.is_empty(), "not on this channel");
    // Without a channel nothing says the contact goes there; the entry is still shown.
    let nowhere = world.check(marketing());
    assert_eq!(decided(&nowhere), ALLOWED);
    assert_eq!(nowhere.suppressions.to_vec(), [PurposeId::of("marketing")]);
}

#[test]
fn s4_s5_only_the_source_that_added_lifts() {
    let mut world = World::new();
    world.declare(&suppress("p", "marketing").command());
    let by_other = lift("p", "marketing", None).sent_by(CRM);
    assert!(!world.declare(&by_other).accepted);
    assert_eq!(
        decided(&world.check(marketing())),
        denied(Reason::Suppressed)
    );
    assert!(world.declare(&lift("p", "marketing", None)).accepted);
    assert_eq!(decided(&world.check(marketing())), ALLOWED);
    assert!(
        !world.declare(&lift("p", "marketing", None)).accepted,
        "nothing left to lift"
    );
    assert_eq!(world.sweep(), 0, "contacts are still counted");
}

#[test]
fn a_lift_leaves_the_entries_of_others() {
    let mut world = World::new();
    world.declare(&suppress("p", "marketing").command());
    world.declare(&suppress("p", "marketing").command().sent_by(CRM));
    assert!(world.declare(&lift("p", "marketing", None)).accepted);
    assert_eq!(
        decided(&world.check(marketing())),
        denied(Reason::Suppressed)
    );
}

#[test]
fn a_lift_names_purpose_and_channel_exactly() {
    let mut world = World::new();
    world.declare(&on(suppress("p", "marketing"), "voice").command());
    world.declare(&suppress("p", "any").command());
    assert!(!world.declare(&lift("p", "marketing", None)).accepted);
    assert!(!world.declare(&lift("p", "any", Some("voice"))).accepted);
    assert!(
        world
            .declare(&lift("p", "marketing", Some("voice")))
            .accepted
    );
    assert!(world.declare(&lift("p", "any", None)).accepted);
    assert_eq!(decided(&world.check(marketing().on("voice"))), ALLOWED);
}

#[test]
fn a_lift_takes_every_window_of_the_source() {
    let mut world = World::new();
    world.declare(&within(suppress("p", "any"), "11:00", "13:00").command());
    world.declare(&within(suppress("p", "any"), "11:30", "14:00").command());
    assert_eq!(
        world.customer("p").rare.suppressions.len(),
        2,
        "a window is part of the identity"
    );
    assert!(world.declare(&lift("p", "any", None)).accepted);
    let entries = &world.customer("p").rare.suppressions;
    assert!(entries.iter().all(|entry| entry.lifted == Some(NOON)));
    assert_eq!(world.feed(), 4, "each entry's lift is a change of its own");
}

#[test]
fn s6_inside_a_contact_window_the_contact_waits() {
    let mut world = World::new();
    world.declare(&within(on(suppress("p", "any"), "voice"), "10:00", "14:00").command());
    let voice = world.check(check().to("p").on("voice"));
    assert_eq!(decided(&voice), deferred(Reason::ContactWindow));
    assert_eq!(voice.contact_window_until, Some(NOON.plus_s(2 * HOUR_S)));
    assert!(
        voice.suppressions.is_empty(),
        "only entries for all hours are listed"
    );
    let whatsapp = world.check(check().to("p").on("whatsapp"));
    assert_eq!(whatsapp.verdict, Verdict::Allow);
    assert_eq!(whatsapp.contact_window_until, None);
    world.pass_s(2 * HOUR_S);
    assert_eq!(decided(&world.check(check().to("p").on("voice"))), ALLOWED);
}

#[test]
fn of_two_windows_the_later_end_counts_and_none_outlasts_its_entry() {
    let first = within(suppress("p", "any"), "11:00", "13:00");
    let mut other = within(suppress("p", "marketing"), "11:00", "20:00");
    other.until = Some(NOON.plus_s(2 * HOUR_S));
    for order in [[&first, &other], [&other, &first]] {
        let mut world = World::new();
        for added in order {
            world.declare(&added.clone().command());
        }
        let reply = world.check(marketing());
        assert_eq!(decided(&reply), deferred(Reason::ContactWindow));
        assert_eq!(reply.contact_window_until, Some(NOON.plus_s(2 * HOUR_S)));
    }
}

#[test]
fn s13_an_entry_ends_at_its_until() {
    let mut world = World::new();
    let mut added = suppress("p", "marketing");
    added.until = Some(NOON.plus_s(10));
    world.declare(&added.command());
    world.now = NOON.plus_s(10).plus_ms(-1);
    assert_eq!(
        decided(&world.check(marketing())),
        denied(Reason::Suppressed)
    );
    world.now = NOON.plus_s(10);
    let reply = world.check(marketing());
    assert_eq!(decided(&reply), ALLOWED);
    assert!(reply.suppressions.is_empty());
    assert!(
        !world.declare(&lift("p", "marketing", None)).accepted,
        "nothing in force"
    );
}

#[test]
fn s14_a_reason_ends_what_names_no_end() {
    let mut world = World::new();
    let mut added = suppress("p", "marketing");
    added.reason = ReasonId::of("cooling_off");
    world.declare(&added.command());
    let entry = &world.customer("p").rare.suppressions[0];
    assert_eq!(entry.since, NOON);
    assert_eq!(entry.until, Some(NOON.plus_s(30 * 24 * HOUR_S)));
    let mut own_end = suppress("q", "marketing");
    own_end.reason = ReasonId::of("cooling_off");
    own_end.until = Some(NOON.plus_s(5));
    world.declare(&own_end.command());
    let entry = &world.customer("q").rare.suppressions[0];
    assert_eq!(entry.until, Some(NOON.plus_s(5)));
    world.declare(&suppress("r", "marketing").command());
    assert_eq!(world.customer("r").rare.suppressions[0].until, None);
}

#[test]
fn s15_an_undeclared_reason_is_refused() {
    assert_eq!(policy().suppression_reason("whim"), None);
    let mut world = World::new();
    let mut added = suppress("p", "marketing");
    added.reason = ReasonId::of("whim");
    let reply = world.run(&added.command());
    assert!(matches!(reply, Reply::Undeclared(_)), "{reply:?}");
}

#[test]
fn an_entry_under_a_name_that_is_gone_can_be_lifted() {
    let mut world = World::new();
    let added = on(suppress("p", "marketing"), "whatsapp");
    world.declare(&added.command());
    let narrow = r#"{"purposes": {"service": {"fails": "open"}}, "channels": {"voice": {}}}"#;
    world.policy = Policy::load(2, narrow, &fixture::vault()).expect("a policy");
    let whatsapp = Some("whatsapp");
    for (customer, purpose, channel, member) in [
        ("p", "marketing", None, Member::Purpose),
        ("q", "marketing", whatsapp, Member::Purpose),
        ("p", "service", whatsapp, Member::Channel),
        ("p", "any", whatsapp, Member::Channel),
    ] {
        let reply = world.run(&lift(customer, purpose, channel));
        assert_eq!(reply, Reply::Undeclared(member), "{customer} {purpose}");
    }
    let lifted = lift("p", "marketing", whatsapp);
    assert_eq!(Contact::rebind(&mut lifted.clone(), &world.policy), Ok(()));
    assert!(world.declare(&lifted).accepted);
    assert_eq!(world.customer("p").rare.suppressions[0].lifted, Some(NOON));
    assert!(!world.declare(&lifted).accepted, "it is lifted already");
}

#[test]
fn adding_again_renews_the_entry_under_its_id() {
    let mut world = World::new();
    world.declare(&suppress("p", "marketing").command());
    let first = world.customer("p").rare.suppressions[0].clone();
    world.pass_s(60);
    let mut again = suppress("p", "marketing");
    again.until = Some(NOON.plus_s(HOUR_S));
    world.declare(&again.command());
    let entries = &world.customer("p").rare.suppressions;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].entry, first.entry);
    assert_eq!(entries[0].since, NOON.plus_s(60));
    assert_eq!(entries[0].until, Some(NOON.plus_s(HOUR_S)));
}

#[test]
fn each_part_of_the_identity_makes_an_entry_of_its_own() {
    let mut world = World::new();
    world.declare(&suppress("p", "marketing").command());
    world.declare(&suppress("p", "retention").command());
    world.declare(&on(suppress("p", "marketing"), "voice").command());
    world.declare(&within(suppress("p", "marketing"), "11:00", "13:00").command());
    world.declare(&suppress("p", "marketing").command().sent_by(CRM));
    assert_eq!(world.customer("p").rare.suppressions.len(), 5);
}

#[test]
fn suppressions_survive_a_sweep_and_contacts_do_not_keep_them() {
    let mut world = World::new();
    world.declare(&suppress("p", "marketing").command());
    world.pass_s(10_000 * 24 * HOUR_S);
    assert_eq!(world.sweep(), 0, "no end, never forgotten");
    let mut ends = suppress("q", "marketing");
    ends.until = Some(world.now.plus_s(5));
    world.declare(&ends.command());
    world.pass_s(KEPT_S - 1);
    assert_eq!(world.sweep(), 0, "readers may not have heard of it");
    world.pass_s(1);
    assert_eq!(world.sweep(), 1);
}

#[test]
fn a_change_takes_the_next_number_and_nothing_else_does() {
    let mut world = World::new();
    let mut numbers = Vec::new();
    for who in ["p", "q", "p"] {
        world.declare(&suppress(who, "marketing").command());
        numbers.push(world.customer(who).rare.suppressions[0].number);
    }
    assert_eq!(numbers, [1, 2, 3], "added, added, renewed");
    assert!(!world.declare(&lift("p", "service", None)).accepted);
    world.check(marketing());
    assert_eq!(world.feed(), 3);
    assert!(world.declare(&lift("p", "marketing", None)).accepted);
    assert_eq!(world.customer("p").rare.suppressions[0].number, 4);
    let told: Vec<_> = world.notices.iter().map(listed).collect();
    assert_eq!(told, [1, 2, 3, 4]);
    let lifted = world.notices.iter().map(|notice| {
        let Notice::ListChanged(changed) = notice;
        changed.entry.lifted
    });
    assert!(
        lifted.eq([None, None, None, Some(NOON)]),
        "readers hear of it"
    );
    assert_eq!(world.run(&fixture::read_feed()), Reply::Feed(4));
}

fn listed(notice: &Notice) -> u64 {
    let Notice::ListChanged(changed) = notice;
    changed.entry.number
}

#[test]
fn a_repeat_of_a_keyed_addition_takes_no_number() {
    let mut world = World::new();
    let keyed = suppress("p", "marketing").command().keyed("k", "r");
    world.declare(&keyed);
    world.declare(&keyed);
    assert_eq!((world.feed(), world.notices.len()), (1, 1));
}

#[test]
fn a_lifted_entry_comes_back_under_its_id_and_is_forgotten_after_a_month() {
    let mut world = World::new();
    world.declare(&suppress("p", "marketing").command());
    let id = world.customer("p").rare.suppressions[0].entry;
    world.declare(&lift("p", "marketing", None));
    world.pass_s(KEPT_S - 1);
    world.declare(&suppress("p", "marketing").command());
    let entry = &world.customer("p").rare.suppressions[0];
    assert_eq!((entry.entry, entry.lifted), (id, None));
    assert_eq!(
        decided(&world.check(marketing())),
        denied(Reason::Suppressed)
    );
    world.declare(&lift("p", "marketing", None));
    world.pass_s(KEPT_S);
    world.declare(&suppress("p", "service").command());
    let entries = &world.customer("p").rare.suppressions;
    assert_eq!(entries.len(), 1, "the lifted one went with the event");
    assert_ne!(entries[0].entry, id);
}

#[test]
fn people_and_sources_do_not_lift_each_others_entries() {
    let mut world = World::new();
    let by_people = suppress("p", "marketing")
        .command()
        .sent_by(SourceId::PEOPLE);
    world.declare(&by_people);
    assert!(!world.declare(&lift("p", "marketing", None)).accepted);
    world.declare(&suppress("p", "marketing").command());
    assert_eq!(world.customer("p").rare.suppressions.len(), 2);
    let lifted = lift("p", "marketing", None).sent_by(SourceId::PEOPLE);
    assert!(world.declare(&lifted).accepted);
    assert_eq!(
        decided(&world.check(marketing())),
        denied(Reason::Suppressed)
    );
}

#[test]
fn a_document_keeps_changes_for_at_most_a_month() {
    let document = |days: u32| format!(r#"{{"suppression":{{"keep_changes_days":{days}}}}}"#);
    let load = |days| Policy::load(1, &document(days), &Vault::new());
    assert_eq!(load(30).expect("a month").keep_changes_days, 30);
    let refused = load(31).expect_err("longer than lifted entries are kept");
    assert!(
        refused.to_string().contains("keep_changes_days"),
        "{refused}"
    );
}

#[test]
fn law_c5_what_is_suppressed_is_never_allowed() {
    let mut world = World::new();
    world.declare(&suppress("p", "any").command());
    for channel in ["whatsapp", "voice", "sms", "always_quiet"] {
        for agent in ["closing", "specialist"] {
            let asked = marketing().on(channel).by(agent).effect("k");
            assert_eq!(world.check(asked).verdict, Verdict::Deny);
        }
    }
}

const FULL: Reply = Reply::Declared(DeclareReply::TURNED_DOWN);

/// An entry with the window of a number.
fn windowed(source: u32, number: u32, until: Option<Timestamp>) -> Command {
    let from = format!("{:02}:{:02}", number / 60, number % 60);
    let mut added = within(suppress("p", "any"), &from, "23:59");
    added.until = until;
    let mut command = added.command();
    command.source = SourceId(source);
    command
}

#[test]
fn pitfall_27_a_customer_keeps_a_bounded_number_of_windows() {
    let mut world = World::new();
    for number in 0..64 {
        let added = world.declare(&windowed(1, number, Some(NOON.plus_s(60))));
        assert!(added.accepted);
    }
    let one_more = windowed(1, 64, None);
    assert_eq!(world.run(&one_more), FULL);
    let renewed = windowed(1, 0, Some(NOON.plus_s(60)));
    assert!(world.declare(&renewed).accepted, "a renewal takes no room");
    for source in 2..5 {
        for number in 0..64 {
            assert!(world.declare(&windowed(source, number, None)).accepted);
        }
    }
    assert_eq!(
        world.run(&windowed(5, 0, None)),
        FULL,
        "all sources' have a bound"
    );
    world.pass_s(60);
    assert_eq!(world.run(&one_more), FULL, "readers are not told");
    world.pass_s(KEPT_S);
    assert!(
        world.declare(&one_more).accepted,
        "what is forgotten takes none"
    );
    assert!(
        world
            .declare(&suppress("p", "marketing").command())
            .accepted
    );
}

/// Whatever is there, an opt-out is taken: of what is lifted the oldest gives way to it.
#[test]
fn an_opt_out_is_taken_however_many_were_lifted() {
    let mut world = World::new();
    for source in 1..=1_000 {
        let mut added = suppress("p", "marketing").command();
        added.source = SourceId(source);
        world.run_unchecked(&added);
        if source > 500 {
            let mut lifted = lift("p", "marketing", None);
            lifted.source = SourceId(source);
            world.run_unchecked(&lifted);
        }
    }
    let mut opt_out = suppress("p", "marketing").command();
    for source in 1_001..=1_500 {
        opt_out.source = SourceId(source);
        world.run_unchecked(&opt_out);
    }
    let entries = &world.customer("p").rare.suppressions;
    assert_eq!(entries.len(), 1_000);
    assert!(entries.iter().all(|entry| entry.in_force(world.now)));
    opt_out.source = SourceId(2_000);
    assert_eq!(world.run(&opt_out), FULL);
}
