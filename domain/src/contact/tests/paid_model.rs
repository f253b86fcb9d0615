//! C7 by random sequences against a model that is written another way: it keeps every admission that
//! ever was and works each answer out from all of them.

use proptest::prelude::*;

use super::World;
use super::paid::{admit, rules, settle_admission, whole};
use super::privacy::forget;
use crate::contact::command::AdmissionSettlement;
use crate::contact::directory::Target;
use crate::contact::fixture::hash;
use crate::contact::reason::Refusal;
use crate::contact::reply::Reply;

const HOUR_MS: i64 = 3_600_000;

#[derive(Clone, Copy, Debug)]
struct Rules {
    limit: u32,
    ceiling: u32,
    per_hours: i64,
}

/// One admission, for ever.
#[derive(Clone, Copy, Debug)]
struct Spent {
    at: i64,
    target: usize,
    reserved: u32,
    counts: u32,
    settled: Option<AdmissionSettlement>,
    /// An erasure took it: whatever it is settled with counts for nobody.
    gone: bool,
}

#[derive(Default)]
struct Model {
    spent: Vec<Spent>,
    measured: Option<u32>,
}

impl Model {
    fn used(&self, target: usize, rules: Rules, now: i64) -> u64 {
        let counts = |one: &&Spent| {
            one.target == target && !one.gone && now < one.at + rules.per_hours * HOUR_MS
        };
        let counted = self.spent.iter().filter(counts);
        counted.map(|one| u64::from(one.counts)).sum()
    }

    /// What an admission must come to; taken, it is remembered.
    fn admit(&mut self, target: usize, units: Option<u32>, rules: Rules, now: i64) -> Expected {
        let units = units.unwrap_or(self.measured.unwrap_or(rules.ceiling));
        if units > rules.ceiling {
            return Expected::OverCeiling;
        }
        let fits = |at| {
            let used = self.used(target, rules, at);
            used + u64::from(units) <= u64::from(rules.limit) || units == 0
        };
        if !fits(now) {
            let counted = self.spent.iter().filter(|one| !one.gone);
            let leaves = counted.map(|one| one.at + rules.per_hours * HOUR_MS);
            let free = leaves.filter(|at| *at > now && fits(*at)).min();
            return Expected::Exhausted(free.expect("everything leaves"));
        }
        // No call counts from a moment of one that was erased, or a settlement could mean either.
        let gone = self
            .spent
            .iter()
            .filter(|one| one.gone && one.target == target);
        let at = gone.map(|one| one.at + 1).max().unwrap_or(now).max(now);
        self.spent.push(Spent {
            at,
            target,
            reserved: units,
            counts: units,
            settled: None,
            gone: false,
        });
        let left = u64::from(rules.limit).saturating_sub(self.used(target, rules, now));
        Expected::Admitted(units, u32::try_from(left).expect("a limit"))
    }
}

#[derive(Debug, PartialEq)]
enum Expected {
    Admitted(u32, u32),
    OverCeiling,
    Exhausted(i64),
}

#[derive(Clone, Debug)]
enum Act {
    Pass(i64),
    Admit(usize, Option<u32>),
    Settle(prop::sample::Index, u8, u32),
    Limit(u32),
    Erase(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        2 => (0_i64..90 * 60_000).prop_map(Act::Pass),
        6 => (0_usize..2, proptest::option::weighted(0.8, 0_u32..7))
            .prop_map(|(target, units)| Act::Admit(target, units)),
        4 => (any::<prop::sample::Index>(), 0_u8..3, 0_u32..9)
            .prop_map(|(which, how, cost)| Act::Settle(which, how, cost)),
        1 => (5_u32..20).prop_map(Act::Limit),
        1 => (0_usize..2).prop_map(Act::Erase),
    ];
    prop::collection::vec(act, 1..80)
}

fn document(rules: Rules, scope: &str) -> String {
    format!(
        r#"{{"paid": {{"op": {{"scope": "{scope}", "limit_units": {}, "per_hours": {},
            "call_ceiling": {}}}}}}}"#,
        rules.limit, rules.per_hours, rules.ceiling
    )
}

fn run(scope: &str, acts: &[Act]) {
    let mut policy = Rules {
        limit: 12,
        ceiling: 5,
        per_hours: 3,
    };
    let mut world = World::with(rules(&document(policy, scope)));
    let target = |which: usize| match scope {
        "subject" => Target::Customer(hash(&format!("p{which}"))),
        "object" => Target::Object(hash(&format!("o{which}"))),
        _ => whole("op"),
    };
    let mut model = Model::default();
    for act in acts {
        let now = world.now.0;
        match *act {
            Act::Pass(ms) => world.now = world.now.plus_ms(ms),
            Act::Limit(limit) => {
                policy.limit = limit;
                world.policy = rules(&document(policy, scope));
            }
            Act::Admit(which, units) => {
                let which = if scope == "space" { 0 } else { which };
                let id = u8::try_from(model.spent.len()).expect("few");
                let expected = model.admit(which, units, policy, now);
                let reply = world.run(&admit("op", target(which), units, id));
                assert_eq!(seen(&reply), expected);
            }
            Act::Erase(which) if scope == "subject" => erase(&mut world, &mut model, which, policy),
            Act::Erase(_) => {}
            Act::Settle(which, how, cost) => {
                if model.spent.is_empty() {
                    continue;
                }
                let place = which.index(model.spent.len());
                settle(&mut world, &mut model, place, (how, cost), policy);
            }
        }
    }
}

fn erase(world: &mut World, model: &mut Model, which: usize, policy: Rules) {
    let Reply::Erased(took) = world.run(&forget(&format!("p{which}"), 250, &[])) else {
        panic!("the customer is not held");
    };
    let counted = model.used(which, policy, world.now.0);
    assert!(counted <= u64::from(took.erased.paid_units), "{took:?}");
    let mine = model.spent.iter_mut().filter(|one| one.target == which);
    mine.for_each(|one| one.gone = true);
    world.sweep();
}

/// What an answer comes to.
fn seen(reply: &Reply) -> Expected {
    if let Reply::Admission(admission) = reply {
        let remaining = admission.remaining.expect("it is declared");
        Expected::Admitted(admission.units, remaining)
    } else if let Reply::Exhausted { next_allowed_at } = reply {
        Expected::Exhausted(next_allowed_at.0)
    } else {
        assert_eq!(*reply, Reply::Refused(Refusal::OverCallCeiling));
        Expected::OverCeiling
    }
}

fn settle(
    world: &mut World,
    model: &mut Model,
    place: usize,
    (how, cost): (u8, u32),
    policy: Rules,
) {
    let now = world.now.0;
    let settlement = match how {
        0 => AdmissionSettlement::Done { cost },
        1 => AdmissionSettlement::Failed,
        _ => AdmissionSettlement::Skipped,
    };
    let id = u8::try_from(place).expect("few");
    let reply = world.run(&settle_admission(id, settlement));
    let one = &mut model.spent[place];
    if now >= one.at + (60 + 86_400) * 1_000 {
        assert_eq!(reply, Reply::NotFound);
        return;
    }
    match one.settled {
        Some(known) if known == settlement => {}
        Some(_) => {
            assert_eq!(reply, Reply::Refused(Refusal::InvalidTransition));
            return;
        }
        None => {
            one.settled = Some(settlement);
            one.counts = match settlement {
                AdmissionSettlement::Done { cost } => cost,
                AdmissionSettlement::Failed => one.reserved,
                AdmissionSettlement::Skipped => 0,
            };
            if let AdmissionSettlement::Done { cost } = settlement {
                model.measured = model.measured.max(Some(cost));
            }
        }
    }
    let (target, counts) = (model.spent[place].target, model.spent[place].counts);
    let left = u64::from(policy.limit).saturating_sub(model.used(target, policy, now));
    let Reply::Admission(found) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(found.units, counts);
    assert_eq!(found.remaining.map(u64::from), Some(left));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn law_c7_units_of_a_customer_are_those_of_a_plain_list(acts in acts()) {
        run("subject", &acts);
    }

    #[test]
    fn law_c7_units_of_an_object_are_those_of_a_plain_list(acts in acts()) {
        run("object", &acts);
    }

    #[test]
    fn law_c7_units_of_the_space_are_those_of_a_plain_list(acts in acts()) {
        run("space", &acts);
    }
}
