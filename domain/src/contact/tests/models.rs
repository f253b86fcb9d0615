//! Random sequences against small models that are written another way: they remember everything
//! that ever happened and work each answer out from all of it.

use proptest::prelude::*;

use super::{World, budget_of, decided, deferred, denied};
use crate::contact::command::Settlement;
use crate::contact::fixture::{
    CRM, check, contact_made, declare_effect, policy, reserve, settle, vault,
};
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::reply::{EffectState, EffectViewState, Reply};
use crate::time::Timestamp;

const HOUR_MS: i64 = 3_600_000;
const INTENTS: [&str; 3] = ["a", "b", "free"];

#[derive(Clone, Debug)]
struct Rules {
    limit: u32,
    per_hours: u32,
    /// For intents `a` and `b`: limit and, when spread, days.
    slices: Vec<(u32, Option<u32>)>,
}

impl Rules {
    fn policy(&self) -> Policy {
        let slices: Vec<String> = self
            .slices
            .iter()
            .zip(INTENTS)
            .map(|((limit, spread), intent)| {
                let spread = spread.map_or_else(String::new, |days| {
                    format!(r#", "spread": true, "spread_days": {days}"#)
                });
                format!(r#"{{"intent": "{intent}", "limit": {limit}{spread}}}"#)
            })
            .collect();
        let budget = format!(
            r#"{{"limit": {}, "per_hours": {}, "slices": [{}]}}"#,
            self.limit,
            self.per_hours,
            slices.join(",")
        );
        let document = format!(
            r#"{{"purposes": {{"marketing": {{"fails": "closed", "budget": {budget}}}}}}}"#
        );
        Policy::load(1, &document, &vault()).expect("a policy")
    }

    fn slice_of(&self, intent: Option<&str>) -> Option<usize> {
        let place = INTENTS.iter().position(|known| Some(*known) == intent)?;
        (place < self.slices.len()).then_some(place)
    }
}

/// All contacts ever, with the slice each drew from.
#[derive(Default)]
struct BudgetModel {
    contacts: Vec<(i64, Option<usize>)>,
}

#[derive(Debug, PartialEq)]
enum Expected {
    Allow,
    Exhausted(Option<i64>),
    Paced(i64),
}

impl BudgetModel {
    fn fits(&self, rules: &Rules, slice: Option<usize>, at: i64) -> bool {
        let window = i64::from(rules.per_hours) * HOUR_MS;
        let counted = || self.contacts.iter().filter(|(time, _)| time + window > at);
        let whole = counted().count();
        let own = counted().filter(|(_, drawn)| *drawn == slice).count();
        let own_limit = match slice {
            Some(place) => rules.slices[place].0,
            None => rules.limit - rules.slices.iter().map(|(limit, _)| limit).sum::<u32>(),
        };
        whole < rules.limit as usize && own < own_limit as usize
    }

    fn expect(&self, rules: &Rules, slice: Option<usize>, now: i64) -> Expected {
        if !self.fits(rules, slice, now) {
            // The count only changes when a contact leaves: try each such moment.
            let window = i64::from(rules.per_hours) * HOUR_MS;
            let mut moments: Vec<i64> = self
                .contacts
                .iter()
                .map(|(time, _)| time + window)
                .collect();
            moments.sort_unstable();
            let later = moments.into_iter().filter(|moment| *moment > now);
            let mut free = later.filter(|moment| self.fits(rules, slice, *moment));
            return Expected::Exhausted(free.next());
        }
        let spread = slice.and_then(|place| {
            let (limit, days) = rules.slices[place];
            days.map(|days| i64::from(days) * 24 * HOUR_MS / i64::from(limit))
        });
        let last = self.contacts.iter().filter(|(_, drawn)| *drawn == slice);
        match (spread, last.map(|(time, _)| *time).max()) {
            (Some(interval), Some(last)) if now < last + interval => {
                Expected::Paced(last + interval)
            }
            _ => Expected::Allow,
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Pass(i64),
    Ask(usize),
    Declare(usize),
}

fn rules() -> impl Strategy<Value = Rules> {
    let slice = (1_u32..4, proptest::option::of(1_u32..4));
    (1_u32..4, 1_u32..60, proptest::collection::vec(slice, 0..3)).prop_map(
        |(extra, per_hours, slices)| {
            let sliced: u32 = slices.iter().map(|(limit, _)| limit).sum();
            Rules {
                limit: (sliced + extra - 1).max(1),
                per_hours,
                slices,
            }
        },
    )
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    // Whole hours often, so that the edges of windows are met exactly.
    let act = prop_oneof![
        2 => (0_i64..30).prop_map(|hours| Act::Pass(hours * HOUR_MS)),
        1 => (0_i64..200_000_000).prop_map(Act::Pass),
        5 => (0_usize..3).prop_map(Act::Ask),
        1 => prop_oneof![5 => 1_usize..4, 1 => Just(40)].prop_map(Act::Declare),
    ];
    proptest::collection::vec(act, 1..40)
}

fn ask(world: &mut World, model: &mut BudgetModel, rules: &Rules, intent: &str) {
    let slice = rules.slice_of(Some(intent));
    let expected = model.expect(rules, slice, world.now.0);
    let reply = world.check(check().purpose("marketing").to("p").intent(intent));
    let shown = budget_of(&reply, "marketing");
    match expected {
        Expected::Allow => {
            assert_eq!(reply.verdict, Verdict::Allow);
            model.contacts.push((world.now.0, slice));
        }
        Expected::Exhausted(free_at) => {
            assert_eq!(decided(&reply), denied(Reason::BudgetExhausted));
            assert_eq!(shown.next_allowed_at, free_at.map(Timestamp));
            assert_eq!(shown.remaining, 0);
        }
        Expected::Paced(free_at) => {
            assert_eq!(decided(&reply), deferred(Reason::BudgetPaced));
            assert_eq!(shown.next_allowed_at, Some(Timestamp(free_at)));
            assert!(shown.remaining > 0);
        }
    }
    // What is shown after an answer is what the next one will be decided by.
    match model.expect(rules, slice, world.now.0) {
        Expected::Allow => assert!(shown.remaining > 0 && shown.next_allowed_at.is_none()),
        Expected::Exhausted(free_at) => {
            assert_eq!(
                (shown.remaining, shown.next_allowed_at),
                (0, free_at.map(Timestamp))
            );
        }
        Expected::Paced(free_at) => {
            assert_eq!(shown.next_allowed_at, Some(Timestamp(free_at)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn law_c1_a_budget_answers_as_one_that_remembers_everything(
        rules in rules(),
        acts in acts(),
    ) {
        let mut world = World::with(rules.policy());
        let mut model = BudgetModel::default();
        for act in acts {
            match act {
                Act::Pass(milliseconds) => {
                    world.now = world.now.plus_ms(milliseconds);
                    world.sweep();
                }
                Act::Ask(intent) => ask(&mut world, &mut model, &rules, INTENTS[intent]),
                Act::Declare(times) => {
                    for _ in 0..times {
                        let made = contact_made("p", "marketing", None);
                        prop_assert!(world.declare(&made).accepted);
                        model.contacts.push((world.now.0, None));
                    }
                }
            }
        }
    }
}

/// An effect key as a list of everything that was accepted.
#[derive(Default)]
struct EffectModel {
    attempts: Vec<AttemptModel>,
}

struct AttemptModel {
    reserved_at: i64,
    by_crm: bool,
    outcomes: Vec<(i64, Settlement)>,
}

const LEASE_MS: i64 = 60_000;
const DELIVERY_MS: i64 = 30 * 24 * HOUR_MS;

impl EffectModel {
    /// Forgets a key whose days have passed.
    fn age(&mut self, now: i64) {
        let last = self
            .attempts
            .last()
            .and_then(|attempt| attempt.outcomes.last());
        if let Some((at, outcome)) = last
            && *outcome != Settlement::UnknownOutcome
            && now >= at + DELIVERY_MS
        {
            self.attempts.clear();
        }
    }

    fn state(&self, now: i64) -> Option<EffectState> {
        let attempt = self.attempts.last()?;
        Some(match attempt.outcomes.last() {
            None if now >= attempt.reserved_at + LEASE_MS => EffectState::UnknownOutcome,
            None => EffectState::Reserved,
            Some((_, Settlement::Done)) => EffectState::Done,
            Some((_, Settlement::Failed)) => EffectState::Failed,
            Some((_, Settlement::UnknownOutcome)) => EffectState::UnknownOutcome,
        })
    }

    fn is_free(&self, now: i64) -> bool {
        matches!(self.state(now), None | Some(EffectState::Failed))
    }

    fn open(&mut self, now: i64, by_crm: bool) -> u32 {
        self.attempts.push(AttemptModel {
            reserved_at: now,
            by_crm,
            outcomes: Vec::new(),
        });
        u32::try_from(self.attempts.len()).unwrap_or(u32::MAX)
    }

    /// `None`: no such effect.
    fn settle(
        &mut self,
        now: i64,
        attempt: u32,
        by_crm: bool,
        to: Settlement,
    ) -> Option<Result<(), Refusal>> {
        let state = self.state(now)?;
        let current = self.attempts.len();
        let last = self.attempts.last_mut()?;
        if attempt as usize != current || by_crm != last.by_crm {
            return Some(Err(Refusal::StaleAttempt));
        }
        let allowed: &[Settlement] = match state {
            EffectState::Reserved => &[
                Settlement::Done,
                Settlement::Failed,
                Settlement::UnknownOutcome,
            ],
            EffectState::UnknownOutcome => &[
                Settlement::UnknownOutcome,
                Settlement::Done,
                Settlement::Failed,
            ],
            EffectState::Done => &[Settlement::Done],
            EffectState::Failed => &[Settlement::Failed],
        };
        if !allowed.contains(&to) {
            return Some(Err(Refusal::InvalidTransition));
        }
        let same = matches!(
            (state, to),
            (EffectState::UnknownOutcome, Settlement::UnknownOutcome)
                | (EffectState::Done | EffectState::Failed, _)
        );
        if !same {
            last.outcomes.push((now, to));
        }
        Some(Ok(()))
    }
}

#[derive(Clone, Debug)]
enum EffectAct {
    Pass(i64),
    Check(bool),
    Reserve(bool),
    Settle(u32, bool, Settlement),
    Declare(u32, bool, Settlement),
}

fn effect_acts() -> impl Strategy<Value = Vec<EffectAct>> {
    let settlement = || {
        prop_oneof![
            2 => Just(Settlement::Failed),
            1 => Just(Settlement::Done),
            1 => Just(Settlement::UnknownOutcome),
        ]
    };
    let pass = prop_oneof![
        4 => 0_i64..30_000,
        2 => Just(LEASE_MS),
        1 => Just(DELIVERY_MS),
        1 => Just(DELIVERY_MS - 1),
    ];
    let crm = || prop::bool::weighted(0.2);
    let act = prop_oneof![
        3 => pass.prop_map(EffectAct::Pass),
        3 => crm().prop_map(EffectAct::Check),
        3 => crm().prop_map(EffectAct::Reserve),
        4 => (1_u32..4, crm(), settlement()).prop_map(|(n, b, s)| EffectAct::Settle(n, b, s)),
        4 => (1_u32..4, crm(), settlement()).prop_map(|(n, b, s)| EffectAct::Declare(n, b, s)),
    ];
    proptest::collection::vec(act, 1..50)
}

fn step(world: &mut World, model: &mut EffectModel, act: &EffectAct) {
    let from = |command: crate::contact::command::Command, by_crm: bool| {
        if by_crm {
            command.sent_by(CRM)
        } else {
            command
        }
    };
    let now = world.now.0;
    match act {
        EffectAct::Pass(milliseconds) => {
            world.now = world.now.plus_ms(*milliseconds);
            model.age(world.now.0);
            world.sweep();
        }
        EffectAct::Check(by_crm) => {
            let Reply::Check(reply) = world.run(&from(check().effect("k").command(), *by_crm))
            else {
                panic!("a check is answered as one");
            };
            let shown = reply.effect.expect("the effect is shown");
            if model.is_free(now) {
                assert_eq!(shown.state, EffectViewState::None);
                assert_eq!(shown.attempt, model.open(now, *by_crm));
            } else {
                assert_eq!(reply.verdict, Verdict::Deny);
                assert_eq!(shown.attempt as usize, model.attempts.len());
            }
        }
        EffectAct::Reserve(by_crm) => {
            let reply = world.run(&from(reserve("k"), *by_crm));
            if let Reply::Effect(effect) = &reply {
                assert_eq!(effect.created, model.is_free(now));
                if effect.created {
                    assert_eq!(effect.attempt, model.open(now, *by_crm));
                } else {
                    assert_eq!(Some(effect.state), model.state(now));
                }
            } else {
                assert_eq!(reply, Reply::Refused(Refusal::EffectInFlight));
                assert_eq!(model.state(now), Some(EffectState::Reserved));
            }
        }
        EffectAct::Settle(attempt, by_crm, to) => {
            let reply = world.run(&from(settle("k", *attempt, *to), *by_crm));
            match model.settle(now, *attempt, *by_crm, *to) {
                None => assert_eq!(reply, Reply::NotFound),
                Some(Err(refusal)) => assert_eq!(reply, Reply::Refused(refusal)),
                Some(Ok(())) => assert!(matches!(reply, Reply::Effect(_))),
            }
        }
        EffectAct::Declare(attempt, by_crm, to) => {
            let declared = world.declare(&from(declare_effect("k", *attempt, *to), *by_crm));
            let expected = model.settle(now, *attempt, *by_crm, *to);
            assert_eq!(declared.accepted, expected == Some(Ok(())));
        }
    }
    let row = world.effect_row("k").map(|row| row.state_at(world.now));
    if let Some(state) = model.state(world.now.0) {
        assert_eq!(row, Some(state));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn law_c2_an_effect_answers_as_one_that_remembers_everything(acts in effect_acts()) {
        let mut world = World::with(policy());
        let mut model = EffectModel::default();
        for act in acts {
            step(&mut world, &mut model, &act);
        }
    }

    #[test]
    fn pitfall_2_any_pair_of_instants_is_answered(first in any::<i64>(), second in any::<i64>()) {
        let mut world = World::new();
        world.now = Timestamp(first.min(second));
        world.check(check().purpose("collection").intent("reminder").to("p").on("sms"));
        world.now = Timestamp(first.max(second));
        world.check(check().purpose("collection").intent("reminder").to("p").on("sms"));
        world.sweep();
    }
}
