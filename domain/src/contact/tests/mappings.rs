//! Mapped events (§9): what begins, what ends, and in which order it happened.

use proptest::prelude::*;

use super::{HOUR_S, NOON, World};
use crate::contact::Contact;
use crate::contact::claim::{Claim, ClaimVia};
use crate::contact::command::{Body, Command, ObserveOwner};
use crate::contact::directory::{KEPT_S, RENEWED_S, Target};
use crate::contact::fixture::{check, claim_on, hash, release, seen_over};
use crate::contact::note::{Mark, Noted};
use crate::contact::policy::{Policy, Vault};
use crate::contact::reply::Reply;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::machine::Machine;
use crate::time::Timestamp;

fn begins(holder: &str, at: Timestamp) -> Command {
    let mut command = claim_on("p", holder)
        .lease_s(1_800)
        .seen_by("panel", Some(at));
    if let Body::ObserveOwner(ObserveOwner { via, .. }) = &mut command.body {
        *via = ClaimVia::Mapping;
    }
    command.route = crate::contact::command::Route::Batch;
    command
}

fn ends(at: Timestamp) -> Command {
    seen_over(Target::Customer(hash("p")), "panel", Some(at))
}

fn holder(world: &mut World) -> Option<String> {
    let reply = world.check(check().to("p").by("somebody"));
    reply.owner.map(|owner| owner.holder.to_string())
}

#[test]
fn a_mapped_event_holds_and_another_ends_it() {
    let mut world = World::new();
    assert_eq!(world.run(&begins("maria", NOON)), Reply::Observed);
    let reply = world.check(check().to("p"));
    assert_eq!(
        reply.owner.as_ref().map(|owner| owner.via),
        Some(ClaimVia::Mapping)
    );
    world.pass_s(60);
    assert_eq!(world.run(&ends(world.now)), Reply::Observed);
    assert_eq!(holder(&mut world), None);
    world.pass_s(60);
    world.run(&begins("joao", world.now));
    assert_eq!(holder(&mut world).as_deref(), Some("joao"));
}

#[test]
fn an_older_event_changes_nothing_whichever_came_first() {
    let mut world = World::new();
    // The end comes before its begin: the begin is over already.
    world.run(&ends(NOON.plus_s(-60)));
    world.run(&begins("maria", NOON.plus_s(-120)));
    assert_eq!(holder(&mut world), None);
    // A begin after the end holds, and an end from before it ends nothing.
    world.run(&begins("maria", NOON.plus_s(-30)));
    world.run(&ends(NOON.plus_s(-40)));
    assert_eq!(holder(&mut world).as_deref(), Some("maria"));
}

#[test]
fn an_end_leaves_other_sources_and_declarations_alone() {
    let mut world = World::new();
    world.run(&claim_on("p", "closing").command());
    world.run(&claim_on("p", "router").seen_by("middleware", Some(NOON)));
    world.run(&ends(NOON));
    let live: Vec<&Claim> = world.customer("p").rare.claims.iter().collect();
    assert_eq!(live.iter().filter(|claim| claim.is_live(NOON)).count(), 2);
}

#[test]
fn an_end_of_nothing_takes_no_room_where_there_is_none() {
    let mut world = World::new();
    world.full = true;
    assert_eq!(world.run(&ends(NOON)), Reply::Observed);
    assert!(world.entities.is_empty());
    assert_eq!(decisions(&world), [Noted::NothingToChange]);
}

fn decisions(world: &World) -> Vec<Noted> {
    world.notes.iter().map(|note| note.decision).collect()
}

/// §9: what is older than the source's last word is ignored, and noted. The same instant is not.
#[test]
fn an_end_of_the_same_instant_counts_and_an_older_one_is_noted() {
    for (at_ms, noted, still) in [
        (-1, Noted::NothingToChange, Some("maria")),
        (0, Noted::Accepted, None),
        (1, Noted::Accepted, None),
    ] {
        let mut world = World::new();
        world.run(&begins("maria", NOON));
        world.pass_s(1);
        assert_eq!(world.run(&ends(NOON.plus_ms(at_ms))), Reply::Observed);
        assert_eq!(decisions(&world), [Noted::Accepted, noted], "{at_ms}");
        assert_eq!(holder(&mut world).as_deref(), still, "{at_ms}");
    }
}

#[test]
fn an_end_leaves_of_a_claim_all_but_its_times_and_its_epoch() {
    let mut world = World::new();
    world.run(&begins("maria", NOON));
    let before = world.customer("p").rare.claims[0].clone();
    world.pass_s(60);
    world.run(&ends(NOON.plus_s(30)));
    let ended = Claim {
        accepted_at: world.now,
        until: world.now,
        epoch: before.epoch + 1,
        observed_at: NOON.plus_s(30),
        ..before
    };
    assert_eq!(world.customer("p").rare.claims, [ended]);
}

/// A name leads to its claim for 92 days, so what ends after 90 ends under a new one.
#[test]
fn an_end_keeps_the_name_for_90_days_and_then_hands_out_a_new_one() {
    let mut world = World::new();
    world.run(&begins("maria", NOON));
    for day in 1..90 {
        world.now = NOON.plus_s(day * 24 * HOUR_S);
        world.run(&ends(world.now));
    }
    world.now = NOON.plus_s(RENEWED_S).plus_ms(-1);
    world.run(&ends(world.now));
    let before = world.customer("p").rare.claims.clone();
    assert_eq!((before.len(), before[0].named_at), (1, NOON));
    world.now = NOON.plus_s(RENEWED_S);
    let named_at = world.now;
    world.run(&ends(named_at));
    let id = Id(hash("panel ends").0);
    let claims = &world.customer("p").rare.claims;
    assert_eq!(claims.len(), 2, "the old name has ended as it had");
    assert_eq!(claims[0], before[0]);
    assert_eq!((claims[1].id, claims[1].named_at), (id, named_at));
    let find = Contact::look_up(&release(id, 1)).expect("a look-up");
    let found = Reply::Found(Target::Customer(hash("p")));
    for (passed_ms, reply) in [(-1, found), (0, Reply::NotFound)] {
        world.now = named_at.plus_s(KEPT_S).plus_ms(passed_ms);
        assert_eq!(world.decide(&find).reply, reply);
    }
}

/// An ownership source may have the name of a source that declares.
#[test]
fn an_observation_takes_the_place_of_what_its_source_observed_and_of_nothing_else() {
    let mut world = World::new();
    let mut declared = claim_on("p", "closing");
    declared.source = Text::from("panel");
    world.run(&declared.command());
    world.run(&claim_on("p", "router").seen_by("middleware", Some(NOON)));
    world.run(&begins("maria", NOON.plus_s(-10)));
    let live = |world: &World| {
        let claims = world.customer("p").rare.claims.iter();
        let live = claims.filter(|claim| claim.is_live(world.now));
        live.map(|claim| claim.holder.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(live(&world), ["closing", "router", "maria"]);
    // Later than the source's last word is enough, however late it comes.
    world.run(&begins("joao", NOON.plus_s(-5)));
    assert_eq!(live(&world), ["closing", "router", "joao"]);
    world.run(&ends(NOON));
    assert_eq!(live(&world), ["closing", "router"]);
}

/// How many claims came beside a live one of another holder.
fn marks(world: &World) -> usize {
    let notes = world.notes.iter();
    notes
        .filter(|note| note.mark == Some(Mark::OwnershipOverlap))
        .count()
}

#[test]
fn a_claim_beside_ones_own_or_an_ended_one_is_not_marked() {
    let mut world = World::new();
    for customer in ["p", "q", "r"] {
        world.run(&claim_on(customer, "bot").lease_s(60).command());
    }
    world.run(&claim_on("p", "bot").case().named("case").command());
    world.run(&claim_on("p", "bot").seen_by("panel", None));
    assert_eq!(marks(&world), 0, "the same holder");
    world.run(&claim_on("p", "maria").level("human_active").command());
    assert_eq!(marks(&world), 1);
    world.pass_s(60);
    world.run(&claim_on("q", "maria").command());
    world.run(&claim_on("r", "maria").seen_by("panel", None));
    assert_eq!(marks(&world), 1, "the other had ended");
}

#[test]
fn a_claim_beside_another_holders_is_marked_once() {
    let mut world = World::new();
    world.run(&claim_on("p", "closing").command());
    assert_eq!(marks(&world), 0);
    world.run(&begins("maria", NOON));
    assert_eq!(marks(&world), 1);
    world.run(&begins("maria", NOON.plus_s(1)));
    assert_eq!(marks(&world), 1, "it goes on");
    world.run(&claim_on("p", "closing").command());
    assert_eq!(marks(&world), 1, "a renewal is no new claim");
    world.run(&begins("joao", NOON.plus_s(2)));
    assert_eq!(marks(&world), 2);
}

#[test]
fn a_mapping_names_a_level_and_a_source_there_are() {
    let refused = |mapping: &str| {
        let document = format!(
            r#"{{"ownership": {{"sources": {{"panel": {{"max_validity_s": 60,
                "holder_kind": "human"}}}}, "mappings": [{mapping}]}}}}"#
        );
        Policy::load(1, &document, &Vault::new())
            .err()
            .map(|error| error.field)
    };
    let begins = r#"{"canonical_type": "a", "source": "panel", "holder_field": "who",
        "level": "closed", "lease_s": 60}"#;
    assert_eq!(refused(begins), None);
    assert_eq!(
        refused(r#"{"canonical_type": "a", "source": "panel", "ends": true}"#),
        None
    );
    let field = |text: &str| Some(format!("ownership.mappings[0]{text}"));
    assert_eq!(refused(&begins.replace("closed", "open")), field(".level"));
    assert_eq!(
        refused(&begins.replace("\"panel\"", "\"crm\"")),
        field(".source")
    );
    assert_eq!(refused(&begins.replace("60", "0")), field(".lease_s"));
    assert!(refused(&begins.replace("lease_s", "ends")).is_some());
    let both = r#"{"canonical_type": "a", "source": "panel", "ends": true, "lease_s": 5}"#;
    assert_eq!(refused(both), field(""));
    let nothing = r#"{"canonical_type": "", "source": "panel", "ends": true}"#;
    assert_eq!(refused(nothing), field(".canonical_type"));
}

proptest! {
    /// Whatever order the events of one source arrive in, the latest says who holds; epochs grow.
    #[test]
    fn the_latest_event_counts_in_any_order(
        order in Just((0_i64..6).collect::<Vec<_>>()).prop_shuffle(),
        kinds in proptest::collection::vec(any::<bool>(), 6),
    ) {
        let mut world = World::new();
        let mut epoch = 0;
        for step in &order {
            let at = NOON.plus_s(step - HOUR_S / 60);
            let begin = kinds[usize::try_from(*step).unwrap()];
            let command = if begin { begins(&format!("h{step}"), at) } else { ends(at) };
            world.run(&command);
            let newest = world.customer("p").rare.claims.iter().map(|claim| claim.epoch).max();
            prop_assert!(newest >= Some(epoch), "C4");
            epoch = newest.unwrap_or_default();
        }
        let wanted = kinds[5].then(|| "h5".to_owned());
        prop_assert_eq!(holder(&mut world), wanted);
    }
}
