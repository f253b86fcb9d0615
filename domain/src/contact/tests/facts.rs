//! Keys that live as long as a fact (§8): how they are tied, what the end frees, and what stays.

use proptest::prelude::*;

use super::World;
use crate::contact::Contact;
use crate::contact::command::{Body, Command, EffectKind, EndFact, Route, SettledBy, Settlement};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::fixture::{
    AGENTS, CONFORMANCE, CRM, SPACE, check, command, hash, reserve, settle, settle_by, vault,
};
use crate::contact::object::Object;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{EffectState, Reply};
use crate::contact::ties::{TIED_MAX, Ties, Untied};
use crate::key::{EntityKey, Kind};
use crate::machine::Machine;

use Settlement::{Done, Failed, UnknownOutcome};

const DAY_S: i64 = 86_400;
const KEY_DAYS: i64 = 30;

/// The conformance rules, with the keys of these kinds tied to facts.
fn rules(kinds: &str) -> Policy {
    let lease = r#""effect_lease_s": 60"#;
    let document = CONFORMANCE.replace(
        lease,
        &format!(r#"{lease}, "effect_key_of_fact": [{kinds}]"#),
    );
    Policy::load(1, &document, &vault()).expect("the rules are valid")
}

fn world() -> World {
    World::with(rules(r#""delivery", "paid_call""#))
}

/// Reserves a delivery that lives as long as an object.
fn reserve_for(key: &str, fact: &str) -> Command {
    let mut command = reserve(key);
    if let Body::ReserveEffect(reserve) = &mut command.body {
        reserve.fact = Some(hash(fact));
    }
    command
}

pub(super) fn end(fact: &str) -> Command {
    let body = Body::EndFact(EndFact {
        object: hash(fact),
        keys: None,
    });
    command(CRM, Route::EndFact, body)
}

const fn untied(freed: u32, kept: u32) -> Reply {
    Reply::FactEnded(Untied { freed, kept })
}

fn object(fact: &str) -> EntityKey {
    crate::contact::key(SPACE, Kind::Object, hash(fact))
}

fn tied(world: &World, fact: &str) -> usize {
    let found = world.entities.get(&object(fact));
    let found = found.and_then(|(_, entity)| entity.as_object());
    found.map_or(0, |known| known.tied().len())
}

#[test]
fn a_settled_key_outlives_its_days_and_is_free_at_the_end_of_its_fact() {
    for (settlement, next) in [(Done, 0), (Failed, 2)] {
        for swept in [false, true] {
            let mut world = world();
            world.effect(&reserve_for("k", "matter"));
            world.effect(&settle("k", 1, settlement));
            world.pass_s(4_000 * DAY_S);
            assert_eq!(world.sweep(), 0, "neither the key nor its object");
            let before = world.effect(&reserve_for("k", "matter"));
            assert_eq!(before.created, next == 2, "a failed one opens the next");
            if before.created {
                assert_eq!(before.attempt, next);
                world.effect(&settle("k", next, Failed));
            }
            assert_eq!(world.run(&end("matter")), untied(1, 0));
            if swept {
                assert_eq!(world.sweep(), 2, "the key and its object");
            }
            let after = world.effect(&reserve("k"));
            assert_eq!((after.created, after.attempt), (true, 1));
            assert_eq!(world.effect_row("k").map(|row| row.tied), Some(false));
        }
    }
}

#[test]
fn what_is_not_settled_stays_at_the_end_and_lives_by_days_from_its_settlement() {
    let mut world = world();
    for key in ["reserved", "unknown"] {
        world.effect(&reserve_for(key, "matter"));
    }
    world.effect(&settle("unknown", 1, UnknownOutcome));
    assert_eq!(world.run(&end("matter")), untied(0, 2));
    assert_eq!(world.run(&end("matter")), untied(0, 0), "it is over");
    world.pass_s(4_000 * DAY_S);
    assert_eq!(world.sweep(), 1, "the object, and no key");
    for key in ["reserved", "unknown"] {
        let stuck = world.effect(&reserve(key));
        assert!(!stuck.created);
        assert_eq!(stuck.state, EffectState::UnknownOutcome, "never by time");
        world.effect(&settle_by(key, 1, Done, SettledBy::Person));
        world.pass_s(KEY_DAYS * DAY_S - 1);
        assert!(!world.effect(&reserve(key)).created);
        world.pass_s(1);
        assert!(world.effect(&reserve(key)).created, "{key}");
    }
}

#[test]
fn only_a_first_reservation_that_names_a_fact_ties_and_only_a_kind_of_the_list() {
    let mut world = world();
    let mut filing = reserve_for("filing", "matter");
    if let Body::ReserveEffect(reserve) = &mut filing.body {
        reserve.effect.kind = EffectKind::Filing;
    }
    world.effect(&filing);
    world.effect(&reserve("without"));
    world.check(check().about("matter").effect("checked"));
    // The later attempt of a key that lives by days.
    world.effect(&reserve("later"));
    world.effect(&settle("later", 1, Failed));
    world.effect(&reserve_for("later", "matter"));
    for key in ["filing", "without", "checked", "later"] {
        assert_eq!(
            world.effect_row(key).map(|row| row.tied),
            Some(false),
            "{key}"
        );
    }
    assert!(!world.entities.contains_key(&object("matter")));
    // The later attempt of one that does not, whoever opens it and whatever it names.
    world.effect(&reserve_for("tied", "matter"));
    world.effect(&settle("tied", 1, Failed));
    world.check(check().effect("tied"));
    world.effect(&settle("tied", 2, Failed));
    world.effect(&reserve_for("tied", "another"));
    assert_eq!((tied(&world, "matter"), tied(&world, "another")), (1, 0));
    assert_eq!(world.run(&end("another")), untied(0, 0));
    assert_eq!(world.run(&end("matter")), untied(0, 1));
}

#[test]
fn a_kind_that_leaves_the_list_keeps_the_ties_it_has() {
    let mut world = world();
    world.effect(&reserve_for("k", "matter"));
    world.policy = rules("");
    world.effect(&settle("k", 1, Done));
    world.effect(&reserve_for("new", "matter"));
    assert_eq!(tied(&world, "matter"), 1, "no new one");
    world.pass_s(KEY_DAYS * DAY_S);
    assert!(!world.effect(&reserve("k")).created);
    assert_eq!(world.run(&end("matter")), untied(1, 0));
    assert!(world.effect(&reserve("k")).created);
}

#[test]
fn an_object_has_so_many_keys_and_one_more_reserves_nothing() {
    let mut world = world();
    for number in 0..TIED_MAX {
        world.run_unchecked(&reserve_for(&format!("k{number}"), "matter"));
    }
    assert_eq!(tied(&world, "matter"), TIED_MAX);
    let count = world.entities.len();
    let refused = Reply::Refused(Refusal::TargetFull);
    assert_eq!(world.run(&reserve_for("more", "matter")), refused);
    assert_eq!(world.entities.len(), count);
    assert!(world.effect(&reserve_for("more", "another")).created);
    // An attempt of a key that is tied already takes no room.
    world.effect(&settle("k7", 1, Failed));
    assert_eq!(world.effect(&reserve_for("k7", "matter")).attempt, 2);
    world.effect(&settle("k8", 1, Done));
    let most = u32::try_from(TIED_MAX).expect("few");
    assert_eq!(world.run(&end("matter")), untied(1, most - 1));
    assert!(world.effect(&reserve_for("again", "matter")).created);
}

#[test]
fn a_refused_tie_draws_no_units() {
    let mut world = world();
    for number in 0..TIED_MAX {
        world.run_unchecked(&reserve_for(&format!("k{number}"), "matter"));
    }
    let mut call = reserve_for("call", "matter");
    if let Body::ReserveEffect(reserve) = &mut call.body {
        reserve.effect.kind = EffectKind::PaidCall;
        reserve.cost_units = 1;
    }
    let decision = world.decide(&call);
    assert_eq!(decision.reply, Reply::Refused(Refusal::TargetFull));
    assert!(decision.events.is_empty());
}

#[test]
fn a_legal_hold_on_the_object_keeps_its_keys() {
    let mut world = world();
    world.effect(&reserve_for("k", "matter"));
    world.effect(&settle("k", 1, Done));
    world.object("matter", |known| known.legal_holds = 1);
    let refused = Reply::Refused(Refusal::UnderLegalHold);
    let decision = world.decide(&end("matter"));
    assert_eq!(decision.reply, refused);
    assert!(decision.events.is_empty());
    world.object("matter", |known| known.legal_holds = 0);
    assert_eq!(
        world.decide(&end("matter")).reply,
        untied(0, 0),
        "not looked up"
    );
    let complete = Contact::look_up(&end("matter")).expect("a look-up");
    let found = world.decide(&complete).reply;
    let complete = Contact::looked_up(end("matter"), found).expect("complete");
    assert_eq!(world.decide(&complete).reply, untied(1, 0));
}

#[test]
fn a_key_tied_after_the_look_up_stays_tied() {
    let mut world = world();
    world.effect(&reserve_for("first", "matter"));
    let look_up = Contact::look_up(&end("matter")).expect("a look-up");
    let found = world.run(&look_up);
    let late = Contact::looked_up(end("matter"), found).expect("complete");
    world.effect(&reserve_for("second", "matter"));
    assert_eq!(world.run(&late), untied(0, 1));
    assert_eq!(tied(&world, "matter"), 1);
    assert_eq!(world.effect_row("second").map(|row| row.tied), Some(true));
    assert_eq!(world.run(&late), untied(0, 0), "it names none that is tied");
}

#[test]
fn the_end_is_answered_again_and_goes_on_when_nothing_new_is_taken() {
    let mut world = world();
    world.effect(&reserve_for("k", "matter"));
    world.effect(&settle("k", 1, Done));
    (world.full, world.part_full) = (true, true);
    assert_eq!(world.run(&reserve_for("new", "matter")), Reply::Capacity);
    let keyed = end("matter").keyed("once", "matter");
    assert_eq!(world.run(&keyed), untied(1, 0));
    assert_eq!(world.run(&keyed), untied(1, 0));
    let another = end("another").keyed("once", "another");
    assert_eq!(world.run(&another), Reply::Conflict);
    assert_eq!(world.run(&end("nobody")), untied(0, 0));
}

#[test]
fn law_ties_are_some_and_different() {
    let of = |effects: Vec<_>| {
        let ties = Some(Box::new(Ties { effects }));
        let entity = ContactEntity::Object(Box::new(Object {
            ties,
            ..Object::default()
        }));
        Contact::check(&entity).err().map(|broken| broken.invariant)
    };
    assert_eq!(of(vec![hash("a"), hash("b")]), None);
    assert_eq!(of(Vec::new()), Some("ties"));
    assert_eq!(of(vec![hash("a"), hash("a")]), Some("ties"));
    let many = (0..=TIED_MAX).map(|number| hash(&number.to_string()));
    assert_eq!(of(many.collect()), Some("ties"));
}

/// How a key of the model stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stands {
    Reserved { until: i64 },
    Unknown,
    Settled { done: bool, at: i64 },
}

/// A key of the model; one that is free is not in its list.
#[derive(Clone, Copy, Debug)]
struct Known {
    key: usize,
    attempt: u32,
    stands: Stands,
    fact: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Pass(i64),
    Reserve(usize, Option<usize>),
    Settle(usize, Settlement),
    End(usize),
    Sweep,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let settlement = prop_oneof![3 => Just(Done), 2 => Just(Failed), 1 => Just(UnknownOutcome)];
    let act = prop_oneof![
        2 => (0_i64..90).prop_map(Act::Pass),
        2 => (0_i64..40 * DAY_S).prop_map(Act::Pass),
        6 => (0_usize..4, proptest::option::weighted(0.7, 0_usize..2))
            .prop_map(|(key, fact)| Act::Reserve(key, fact)),
        5 => (0_usize..4, settlement).prop_map(|(key, how)| Act::Settle(key, how)),
        2 => (0_usize..2).prop_map(Act::End),
        1 => Just(Act::Sweep),
    ];
    prop::collection::vec(act, 1..60)
}

/// Drops what is free by its days, and lets leases lapse.
fn age(list: &mut Vec<Known>, now: i64) {
    list.retain(|known| match known.stands {
        Stands::Settled { at, .. } => known.fact.is_some() || now < at + KEY_DAYS * DAY_S * 1_000,
        Stands::Reserved { .. } | Stands::Unknown => true,
    });
    for known in list {
        if matches!(known.stands, Stands::Reserved { until } if until <= now) {
            known.stands = Stands::Unknown;
        }
    }
}

/// The attempt a reservation opens, if it opens one.
fn reserved(list: &mut Vec<Known>, key: usize, fact: Option<usize>, now: i64) -> Option<u32> {
    let until = now + 60_000;
    let stands = Stands::Reserved { until };
    let Some(known) = list.iter_mut().find(|known| known.key == key) else {
        list.push(Known {
            key,
            attempt: 1,
            stands,
            fact,
        });
        return Some(1);
    };
    if !matches!(known.stands, Stands::Settled { done: false, .. }) {
        return None;
    }
    known.attempt += 1;
    known.stands = stands;
    Some(known.attempt)
}

/// Settles the current attempt where the table of §8 lets its holder.
fn settled(list: &mut [Known], key: usize, how: Settlement, now: i64) {
    let found = list.iter_mut().find(|known| known.key == key);
    let Some(known) = found else {
        return;
    };
    let is_open = match known.stands {
        Stands::Reserved { .. } => true,
        Stands::Unknown => how != UnknownOutcome,
        Stands::Settled { .. } => false,
    };
    if is_open {
        known.stands = match how {
            Done => Stands::Settled {
                done: true,
                at: now,
            },
            Failed => Stands::Settled {
                done: false,
                at: now,
            },
            UnknownOutcome => Stands::Unknown,
        };
    }
}

fn ended(list: &mut Vec<Known>, fact: usize) -> Reply {
    let is_of = |known: &Known| known.fact == Some(fact);
    let is_settled = |known: &Known| matches!(known.stands, Stands::Settled { .. });
    let all = list.iter().filter(|known| is_of(known)).count();
    let before = list.len();
    list.retain(|known| !(is_of(known) && is_settled(known)));
    let freed = before - list.len();
    for known in list.iter_mut().filter(|known| is_of(known)) {
        known.fact = None;
    }
    let count = |number: usize| u32::try_from(number).expect("few");
    untied(count(freed), count(all - freed))
}

fn run(acts: &[Act]) {
    let mut world = world();
    let mut list: Vec<Known> = Vec::new();
    let names = ["k0", "k1", "k2", "k3"];
    let facts = ["f0", "f1"];
    for act in acts {
        let now = world.now.0;
        age(&mut list, now);
        match *act {
            Act::Pass(seconds) => world.pass_s(seconds),
            Act::Sweep => drop(world.sweep()),
            Act::Reserve(key, fact) => {
                let reservation = match fact {
                    Some(fact) => reserve_for(names[key], facts[fact]),
                    None => reserve(names[key]),
                };
                let reply = world.run(&reservation);
                let opened = if let Reply::Effect(effect) = reply {
                    effect.created.then_some(effect.attempt)
                } else {
                    assert_eq!(reply, Reply::Refused(Refusal::EffectInFlight));
                    None
                };
                assert_eq!(opened, reserved(&mut list, key, fact, now));
            }
            Act::Settle(key, how) => {
                let attempt = list.iter().find(|known| known.key == key);
                let attempt = attempt.map_or(1, |known| known.attempt);
                let found = world.run(&settle(names[key], attempt, how));
                let is_known = list.iter().any(|known| known.key == key);
                assert_eq!(found == Reply::NotFound, !is_known);
                settled(&mut list, key, how, now);
            }
            Act::End(fact) => {
                assert_eq!(world.run(&end(facts[fact])), ended(&mut list, fact));
            }
        }
        for (number, fact) in facts.iter().enumerate() {
            let of = list.iter().filter(|known| known.fact == Some(number));
            assert_eq!(tied(&world, fact), of.count());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn keys_of_facts_are_those_of_a_plain_list(acts in acts()) {
        run(&acts);
    }
}

#[test]
fn a_tie_and_its_key_are_one_decision() {
    let mut world = world();
    let decision = world.decide(&reserve_for("k", "matter"));
    let kinds: Vec<Kind> = decision.events.iter().map(|(key, _)| key.kind).collect();
    assert_eq!(kinds, [Kind::Effect, Kind::Object]);
    let [_, (_, Event::KeyTied(tie))] = &decision.events[..] else {
        panic!("{:?}", decision.events);
    };
    assert_eq!(tie.effect, hash("k"), "the hash and nothing else");
    assert_eq!(decision.note.map(|note| note.source), Some(AGENTS));
}
