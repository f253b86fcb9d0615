//! Effects (§8): the acceptance rows, and the whole table of transitions.

use super::{ALLOWED, World, decided, denied};
use crate::contact::command::{
    Body, Command, EffectKind, EffectRef, ReserveEffect, Route, SettledBy, Settlement,
};
use crate::contact::effect::{self, NotSettled, SettleRequest, Standing};
use crate::contact::entity::ContactEntity;
use crate::contact::fixture::{
    AGENTS, CRM, check, command, declare_effect, hash, policy, reserve, settle, settle_by,
};
use crate::contact::reason::{Reason, Refusal};
use crate::contact::reply::{EffectState, EffectView, EffectViewState, Reply};
use crate::time::Timestamp;

use Settlement::{Done, Failed, UnknownOutcome};

const DAY_S: i64 = 86_400;

fn none(attempt: u32) -> Option<EffectView> {
    Some(EffectView {
        state: EffectViewState::None,
        attempt,
    })
}

fn held(state: EffectViewState, attempt: u32) -> Option<EffectView> {
    Some(EffectView { state, attempt })
}

#[test]
fn e1_reserve_settle_done_and_never_again() {
    let mut world = World::new();
    let first = world.check(check().to("p").effect("k"));
    assert_eq!((decided(&first), first.effect), (ALLOWED, none(1)));
    assert!(world.declare(&declare_effect("k", 1, Done)).accepted);
    let again = world.check(check().to("p").effect("k"));
    assert_eq!(decided(&again), denied(Reason::EffectDone));
    assert_eq!(again.effect, held(EffectViewState::Done, 1));
}

#[test]
fn e2_the_second_check_of_a_key_is_denied() {
    let mut world = World::new();
    world.check(check().effect("k"));
    let second = world.check(check().effect("k"));
    assert_eq!(decided(&second), denied(Reason::EffectInFlight));
    assert_eq!(second.effect, held(EffectViewState::InFlight, 1));
}

#[test]
fn e3_of_sixteen_agents_one_gets_the_effect() {
    let mut world = World::new();
    let agents = (0..16).map(|agent| format!("agent_{agent}"));
    let replies: Vec<_> = agents
        .map(|agent| world.check(check().by(&agent).effect("k")))
        .collect();
    let allowed = replies.iter().filter(|reply| decided(reply) == ALLOWED);
    assert_eq!(allowed.count(), 1);
    let reserved = replies.iter().filter(|reply| reply.effect == none(1));
    assert_eq!(reserved.count(), 1);
}

#[test]
fn e4_e5_pitfall_13_an_unknown_outcome_is_opened_only_by_failed() {
    let mut world = World::new();
    world.check(check().effect("k"));
    assert!(
        world
            .declare(&declare_effect("k", 1, UnknownOutcome))
            .accepted
    );
    for _ in 0..2 {
        let stuck = world.check(check().effect("k"));
        assert_eq!(decided(&stuck), denied(Reason::EffectUnknownOutcome));
        assert_eq!(stuck.effect, held(EffectViewState::UnknownOutcome, 1));
        world.pass_s(4_000 * DAY_S);
        assert_eq!(world.sweep(), 0, "unknown is never released by time");
    }
    assert!(world.declare(&declare_effect("k", 1, Failed)).accepted);
    let next = world.check(check().effect("k"));
    assert_eq!((decided(&next), next.effect), (ALLOWED, none(2)));
}

#[test]
fn e6_e7_pitfall_10_a_lapsed_lease_is_unknown_and_its_holder_may_still_settle() {
    let mut world = World::new();
    world.check(check().effect("k"));
    world.pass_s(59);
    let live = world.check(check().effect("k"));
    assert_eq!(decided(&live), denied(Reason::EffectInFlight));
    world.pass_s(1);
    let lapsed = world.check(check().effect("k"));
    assert_eq!(decided(&lapsed), denied(Reason::EffectUnknownOutcome));
    world.pass_s(1);
    assert!(world.declare(&declare_effect("k", 1, Done)).accepted);
    let done = world.check(check().effect("k"));
    assert_eq!(decided(&done), denied(Reason::EffectDone));
}

#[test]
fn e8_e9_the_route_reserves_once() {
    let mut world = World::new();
    let created = world.effect(&reserve("k"));
    assert!(created.created);
    assert_eq!((created.state, created.attempt), (EffectState::Reserved, 1));
    assert_eq!((created.reserved_at, created.done_at), (world.now, None));
    let again = world.run(&reserve("k"));
    assert_eq!(again, Reply::Refused(Refusal::EffectInFlight));
}

#[test]
fn e10_the_route_answers_a_held_key_with_its_state() {
    let mut world = World::new();
    world.effect(&reserve("k"));
    let unknown = world.effect(&settle("k", 1, UnknownOutcome));
    assert_eq!(unknown.state, EffectState::UnknownOutcome);
    let answer = world.effect(&reserve("k"));
    assert!(!answer.created);
    assert_eq!(
        (answer.state, answer.attempt),
        (EffectState::UnknownOutcome, 1)
    );
    world.effect(&reserve("lapsed"));
    world.pass_s(60);
    let lapsed = world.effect(&reserve("lapsed"));
    assert!(!lapsed.created);
    assert_eq!(lapsed.state, EffectState::UnknownOutcome);
}

#[test]
fn e11_failed_opens_the_next_attempt_and_keeps_the_kind() {
    let mut world = World::new();
    let of_kind = |kind| {
        let effect = EffectRef {
            hash: hash("k"),
            rest: [0; 16],
            kind,
        };
        let body = Body::ReserveEffect(ReserveEffect {
            effect,
            cost_units: 0,
            draws_on: None,
            fact: None,
        });
        command(AGENTS, Route::Effects, body)
    };
    world.effect(&of_kind(EffectKind::Filing));
    world.effect(&settle("k", 1, Failed));
    let next = world.effect(&of_kind(EffectKind::Notice));
    assert!(next.created);
    assert_eq!(next.attempt, 2);
    let kind = world.effect_row("k").map(|row| row.kind);
    assert_eq!(
        kind,
        Some(EffectKind::Filing),
        "fixed by the first reservation"
    );
}

/// A lease that ends under its holder opens the effect to nobody. When a person has found that it failed,
/// the next attempt is another worker's, and the first one's word on its own changes nothing of it.
#[test]
fn pitfall_15_an_effect_whose_lease_ended_is_done_once() {
    let mut world = World::new();
    assert_eq!(world.effect(&reserve("k")).attempt, 1);
    world.pass_s(60);
    for _ in 0..3 {
        let lapsed = world.check(check().effect("k").by("other"));
        assert_eq!(decided(&lapsed), denied(Reason::EffectUnknownOutcome));
        assert!(!world.effect(&reserve("k")).created, "nobody gets it");
        world.pass_s(DAY_S);
    }
    world.effect(&settle("k", 1, Failed));
    let next = world.effect(&reserve("k"));
    assert_eq!((next.created, next.attempt), (true, 2));
    for late in [Done, Failed, UnknownOutcome] {
        let stale = world.run(&settle("k", 1, late));
        assert_eq!(stale, Reply::Refused(Refusal::StaleAttempt));
    }
    let state = world.effect_row("k").map(|row| (row.state, row.attempt));
    assert_eq!(state, Some((EffectState::Reserved, 2)));
}

/// Pitfall 15.
#[test]
fn e12_e16_a_stale_attempt_changes_nothing() {
    let mut world = World::new();
    world.effect(&reserve("k"));
    world.effect(&settle("k", 1, Failed));
    world.effect(&reserve("k"));
    let before = world.effect_row("k").copied();
    let stale = Reply::Refused(Refusal::StaleAttempt);
    assert_eq!(world.run(&settle("k", 1, Done)), stale);
    assert_eq!(world.run(&settle("k", 3, Done)), stale);
    assert_eq!(
        world.run(&settle("k", 2, Done).sent_by(CRM)),
        stale,
        "another source"
    );
    assert!(!world.declare(&declare_effect("k", 1, Done)).accepted);
    assert!(
        !world
            .declare(&declare_effect("k", 2, Done).sent_by(CRM))
            .accepted
    );
    assert!(!world.declare(&declare_effect("nobody", 1, Done)).accepted);
    assert_eq!(world.effect_row("k").copied(), before);
}

#[test]
fn e13_done_twice_has_one_done_at() {
    let mut world = World::new();
    world.effect(&reserve("k"));
    world.pass_s(5);
    let first = world.effect(&settle("k", 1, Done));
    assert_eq!(first.done_at, Some(world.now));
    world.pass_s(5);
    let second = world.effect(&settle("k", 1, Done));
    assert_eq!(second, first);
}

#[test]
fn e14_nothing_follows_done() {
    let mut world = World::new();
    world.effect(&reserve("k"));
    world.effect(&settle("k", 1, Done));
    let refused = Reply::Refused(Refusal::InvalidTransition);
    assert_eq!(world.run(&settle("k", 1, Failed)), refused);
    assert_eq!(world.run(&settle("k", 1, UnknownOutcome)), refused);
    assert!(!world.declare(&declare_effect("k", 1, Failed)).accepted);
    assert_eq!(
        world.effect_row("k").map(|row| row.state),
        Some(EffectState::Done)
    );
}

#[test]
fn e15_an_unknown_effect_is_not_found() {
    let mut world = World::new();
    assert_eq!(world.run(&settle("k", 1, Done)), Reply::NotFound);
}

/// Pitfall 14.
#[test]
fn e17_a_key_past_its_days_is_free_again_with_attempt_1() {
    for swept in [false, true] {
        for settlement in [Done, Failed] {
            let mut world = World::new();
            world.effect(&reserve("k"));
            world.effect(&settle("k", 1, settlement));
            world.pass_s(30 * DAY_S - 1);
            assert_eq!(world.sweep(), 0);
            let standing = effect::standing(world.effect_row("k"), world.now);
            assert_ne!(standing, Standing::Free { attempt: 1 }, "{settlement:?}");
            world.pass_s(1);
            if swept {
                assert_eq!(world.sweep(), 1);
            }
            assert_eq!(world.run(&settle("k", 1, settlement)), Reply::NotFound);
            let again = world.effect(&reserve("k"));
            assert_eq!((again.created, again.attempt), (true, 1), "{settlement:?}");
        }
    }
}

#[test]
fn e17_a_forgotten_key_begins_with_a_kind_of_its_own() {
    let mut world = World::new();
    world.effect(&reserve("k"));
    world.effect(&settle("k", 1, Failed));
    world.pass_s(30 * DAY_S);
    let mut asked = check();
    asked.effect = Some(EffectRef {
        hash: hash("k"),
        rest: [0; 16],
        kind: EffectKind::Filing,
    });
    assert_eq!(world.check(asked).effect, none(1));
    let kind = world.effect_row("k").map(|row| row.kind);
    assert_eq!(kind, Some(EffectKind::Filing));
}

#[test]
fn e17_each_kind_has_its_days() {
    let policy = policy();
    let days = EffectKind::ALL.map(|kind| policy.effect_key_days(kind));
    assert_eq!(days, [30, 365, 365, 3_650, 7, 90]);
}

#[test]
fn an_effect_is_32_bytes_and_so_is_its_entity() {
    assert_eq!(size_of::<effect::Effect>(), 32);
    // Every other kind is boxed: a second one of 32 bytes in line would cost every effect eight.
    assert_eq!(size_of::<ContactEntity>(), 32);
}

/// From, settlement, by: whether it moves. Everything else is refused or already so.
const MOVES: [(EffectState, Settlement, SettledBy); 15] = [
    (EffectState::Reserved, Done, SettledBy::Holder),
    (EffectState::Reserved, Failed, SettledBy::Holder),
    (EffectState::Reserved, UnknownOutcome, SettledBy::Holder),
    (EffectState::Reserved, Done, SettledBy::Observation),
    (EffectState::Reserved, Failed, SettledBy::Observation),
    (EffectState::UnknownOutcome, Done, SettledBy::Holder),
    (EffectState::UnknownOutcome, Failed, SettledBy::Holder),
    (EffectState::UnknownOutcome, Done, SettledBy::Observation),
    (EffectState::UnknownOutcome, Failed, SettledBy::Observation),
    (EffectState::UnknownOutcome, Done, SettledBy::Person),
    (EffectState::UnknownOutcome, Failed, SettledBy::Person),
    (EffectState::Failed, Done, SettledBy::Observation),
    // The same state again: taken, and nothing changes.
    (EffectState::Done, Done, SettledBy::Holder),
    (EffectState::Failed, Failed, SettledBy::Holder),
    (
        EffectState::UnknownOutcome,
        UnknownOutcome,
        SettledBy::Holder,
    ),
];

fn in_state(state: EffectState) -> World {
    let mut world = World::new();
    world.effect(&reserve("k"));
    match state {
        EffectState::Reserved => {}
        EffectState::Done => drop(world.effect(&settle("k", 1, Done))),
        EffectState::Failed => drop(world.effect(&settle("k", 1, Failed))),
        EffectState::UnknownOutcome => drop(world.effect(&settle("k", 1, UnknownOutcome))),
    }
    world
}

#[test]
fn the_whole_table_of_transitions() {
    let states = [
        EffectState::Reserved,
        EffectState::Done,
        EffectState::Failed,
        EffectState::UnknownOutcome,
    ];
    let parties = [SettledBy::Holder, SettledBy::Observation, SettledBy::Person];
    for from in states {
        for to in [Done, Failed, UnknownOutcome] {
            for by in parties {
                let mut world = in_state(from);
                let same = matches!(
                    (from, to),
                    (EffectState::Done, Done)
                        | (EffectState::Failed, Failed)
                        | (EffectState::UnknownOutcome, UnknownOutcome)
                );
                let reply = world.run(&settle_by("k", 1, to, by));
                let taken = matches!(reply, Reply::Effect(_));
                let expected = same || MOVES.contains(&(from, to, by));
                assert_eq!(taken, expected, "{from:?} to {to:?} by {by:?}");
                if !taken {
                    assert_eq!(reply, Reply::Refused(Refusal::InvalidTransition));
                }
            }
        }
    }
}

#[test]
fn others_than_the_holder_need_not_name_the_attempt_but_name_no_other() {
    for (by, from) in [
        (SettledBy::Observation, EffectState::Reserved),
        (SettledBy::Person, EffectState::UnknownOutcome),
    ] {
        let mut world = in_state(from);
        let mut command = settle_by("k", 9, Done, by).sent_by(CRM);
        assert_eq!(
            world.run(&command),
            Reply::Refused(Refusal::StaleAttempt),
            "{by:?} means an attempt that is over"
        );
        if let Body::SettleEffect(settle) = &mut command.body {
            settle.attempt = None;
        }
        assert_eq!(world.effect(&command).state, EffectState::Done, "{by:?}");
    }
}

#[test]
fn a_holder_that_names_no_attempt_settles_none() {
    let mut world = in_state(EffectState::Reserved);
    let mut command = settle("k", 1, Done);
    if let Body::SettleEffect(settle) = &mut command.body {
        settle.attempt = None;
    }
    let refused = world.run(&command);
    assert_eq!(refused, Reply::Refused(Refusal::StaleAttempt));
}

#[test]
fn a_settlement_of_nothing_is_unknown_before_it_is_stale() {
    let request = SettleRequest {
        attempt: Some(7),
        source: AGENTS,
        settlement: Done,
        by: SettledBy::Holder,
    };
    let settled = effect::settlement(None, request, &policy(), Timestamp(0));
    assert_eq!(settled, Err(NotSettled::Unknown));
}

#[test]
fn a_check_of_another_kind_keeps_the_first_kind_through_attempts() {
    let mut world = in_state(EffectState::Failed);
    let mut asked = check();
    asked.effect = Some(EffectRef {
        hash: hash("k"),
        rest: [0; 16],
        kind: EffectKind::PaidCall,
    });
    assert_eq!(world.check(asked).effect, none(2));
    let kind = world.effect_row("k").map(|row| row.kind);
    assert_eq!(kind, Some(EffectKind::Delivery));
}

#[test]
fn pitfall_17_a_holder_of_an_older_attempt_writes_nothing() {
    let mut world = in_state(EffectState::Failed);
    world.effect(&reserve("k"));
    let late: Command = settle("k", 1, Done);
    assert_eq!(world.run(&late), Reply::Refused(Refusal::StaleAttempt));
    assert_eq!(world.effect(&settle("k", 2, Done)).attempt, 2);
}
