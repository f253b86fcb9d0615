//! Receipts of `Idempotency-Key` (§2, §20).

use std::collections::BTreeSet;

use super::privacy::{forget, hold};
use super::{HOUR_S, World, decided, facts, is_check, paid, through_postcard};
use crate::contact::Contact;
use crate::contact::command::{AdmissionSettlement, Command, Route, Settlement};
use crate::contact::directory::Target;
use crate::contact::event::Event;
use crate::contact::fixture::{
    CONFORMANCE, accept, check, claim_on, close, contact_made, declare_effect, hand_over, hash,
    lift, lock, message, promise, release, reserve, settle, suppress, vault,
};
use crate::contact::legal_hold::HoldTarget;
use crate::contact::policy::Policy;
use crate::contact::promise::PromiseState;
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::receipt::{Receipt, Stored};
use crate::contact::reply::Reply;
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::Machine;

/// Four of the ten units of customer `p`.
fn registry_search(id: u8) -> Command {
    let customer = Target::Customer(hash("p"));
    paid::admit("registry_search", customer, Some(4), id)
}

/// One command of each kind that is answered with 2xx or 409, in an order that allows each.
fn kept() -> Vec<Command> {
    vec![
        check()
            .to("p")
            .purpose("marketing")
            .on("whatsapp")
            .effect("checked")
            .command(),
        reserve("k"),
        reserve("k"),
        settle("k", 2, Settlement::Done),
        settle("k", 1, Settlement::Done),
        settle("k", 1, Settlement::Failed),
        declare_effect("k", 1, Settlement::Done),
        declare_effect("k", 9, Settlement::Done),
        contact_made("p", "marketing", None),
        suppress("p", "any").command(),
        lift("p", "any", None),
        lift("p", "any", None),
        message("p", "whatsapp", super::NOON),
        check().to("p").about("o").purpose("retention").command(),
        claim_on("q", "a").command(),
        claim_on("q", "b").command(),
        claim_on("q", "b").declared(),
        claim_on("q", "a").declared(),
        lock("o", "t", "a").command(),
        lock("o", "t", "b").command(),
        forget("p", 1, &[]),
        hold(HoldTarget::Conversation(hash("talk")), 2),
        registry_search(1),
        registry_search(2),
        registry_search(3),
        paid::settle_admission(1, AdmissionSettlement::Skipped),
        hand_over("p", "h", "desk").command(),
        accept(Route::HandoffAccept, "h"),
        close(Route::HandoffOutcome, "h", Some("opt_out")),
        close(Route::HandoffOutcome, "h", Some("resolved")),
        promise("p", "call back", None, PromiseState::Open),
        facts::end("o"),
    ]
}

#[test]
fn w17_k4_a_repeat_gets_the_same_answer_and_does_nothing() {
    let mut world = World::new();
    for (number, command) in kept().into_iter().enumerate() {
        let command = command.keyed(&format!("key {number}"), "request");
        let first = world.run(&command);
        let (events, notes) = (world.log.len(), world.notes.len());
        world.pass_s(100);
        for _ in 0..2 {
            let again = world.run(&command);
            assert_eq!(
                without_names(again),
                without_names(first.clone()),
                "{number}"
            );
        }
        assert_eq!(
            (world.log.len(), world.notes.len()),
            (events, notes),
            "{number}"
        );
    }
}

/// A repeated check carries the texts of its purposes, and a repeated item of a batch is a
/// duplicate; everything else is the same.
fn without_names(mut reply: Reply) -> Reply {
    if let Reply::Check(check) = &mut reply {
        check.names.clear();
    }
    if reply == Reply::ObservedAgain {
        return Reply::Observed;
    }
    // The edge reads what never changes of a handoff from the handoff.
    if let Reply::Handoff(handoff) = &mut reply {
        handoff.handoff = None;
    }
    reply
}

#[test]
fn w18_pitfall_7_8_another_request_under_the_key_is_a_conflict_before_anything_else() {
    let mut world = World::new();
    world.run(&reserve("k").keyed("key", "first"));
    // What the other request would have come to does not matter.
    let others = [
        reserve("k"),
        reserve("new"),
        settle("nobody", 1, Settlement::Done),
    ];
    for other in others {
        let reply = world.run(&other.keyed("key", "second"));
        assert_eq!(reply, Reply::Conflict);
    }
    world.full = true;
    let reply = world.run(&reserve("newer").keyed("key", "second"));
    assert_eq!(reply, Reply::Conflict);
    assert_eq!(
        world.run(&reserve("k").keyed("key", "first")).outcome().0,
        "reserved"
    );
}

/// Whatever was kept under a key, and whatever the other request would have come to in any state of the
/// node: the only answer is the conflict, and nothing changes.
#[test]
fn pitfall_8_every_pair_of_requests_under_one_key_is_a_conflict_in_every_state() {
    let others = || {
        let stale = claim_on("q", "c").level("closed").command();
        let mut all = kept();
        all.extend([
            stale,
            release(Id([9; 16]), 1),
            settle("nobody", 1, Settlement::Done),
            paid::settle_admission(99, AdmissionSettlement::Skipped),
            accept(Route::HandoffAccept, "nowhere"),
            close(Route::HandoffOutcome, "nowhere", None),
        ]);
        all
    };
    let mut pairs = 0;
    let mut world = World::new();
    for (number, first) in kept().into_iter().enumerate() {
        let key = format!("key {number}");
        world.run(&first.keyed(&key, "first"));
        let (events, notes) = (world.log.len(), world.notes.len());
        for (other, command) in others().into_iter().enumerate() {
            let command = command.keyed(&key, "second");
            let states = [false, true].into_iter().flat_map(|full| {
                [false, true].map(|part_full| [(full, part_full, false), (full, part_full, true)])
            });
            for (full, part_full, suspect) in states.flatten() {
                (world.full, world.part_full, world.clock_suspect) = (full, part_full, suspect);
                let reply = world.run(&command);
                assert_eq!(reply, Reply::Conflict, "{number} then {other}");
                pairs += 1;
            }
        }
        (world.full, world.part_full, world.clock_suspect) = (false, false, false);
        assert_eq!((world.log.len(), world.notes.len()), (events, notes));
    }
    assert_eq!(pairs, kept().len() * others().len() * 8);
}

/// One decision has what was done and the answer that is given again; the answer alone, read from its
/// bytes, is the first one whatever became of the rest.
#[test]
fn pitfall_11_the_outcome_is_an_event_of_its_decision() {
    for (number, command) in kept().into_iter().enumerate() {
        let mut before = World::new();
        for earlier in kept().into_iter().take(number) {
            before.run(&earlier);
        }
        let command = command.keyed("key", "request");
        let command = match Contact::look_up(&command) {
            Some(look_up) => {
                let found = before.run(&look_up);
                Contact::looked_up(command, found).expect("it is decided")
            }
            None => command,
        };
        let decision = before.decide(&command);
        let receipts = decision.events.iter().filter_map(|(key, event)| {
            let Event::ReceiptKept(receipt) = event else {
                return None;
            };
            assert_eq!(key.kind, Kind::Receipt);
            Some((*key, receipt.clone()))
        });
        let [(key, receipt)] = &receipts.collect::<Vec<_>>()[..] else {
            panic!("{number}: one outcome for a decision, not {decision:?}");
        };
        let Stored::Effect(_) = receipt.stored else {
            // Of the kinds, an effect is looked at whole below.
            assert_eq!(through_postcard(&receipt.stored), receipt.stored);
            continue;
        };
        // A node that has the outcome and nothing else of it.
        let mut after = World::new();
        after.record(*key, &Event::ReceiptKept(receipt.clone()));
        assert_eq!(after.run(&command), decision.reply, "{number}");
        assert!(after.effect_row("k").is_none());
    }
}

#[test]
fn pitfall_11_what_was_done_and_its_answer_are_one_decision() {
    let world = &mut World::new();
    let decision = world.decide(&reserve("k").keyed("key", "request"));
    let kinds: Vec<Kind> = decision.events.iter().map(|(key, _)| key.kind).collect();
    assert_eq!(kinds, [Kind::Effect, Kind::Receipt]);
}

#[test]
fn what_a_client_may_mend_is_not_kept() {
    let mut world = World::new();
    let missing = settle("k", 1, Settlement::Done).keyed("key", "request");
    assert_eq!(world.run(&missing), Reply::NotFound);
    world.full = true;
    let refused = reserve("k").keyed("other", "request");
    assert_eq!(world.run(&refused), Reply::Capacity);
    assert!(world.log.is_empty());
    world.full = false;
    assert_eq!(world.run(&refused).outcome().0, "reserved");
    assert!(
        matches!(world.run(&missing), Reply::Effect(_)),
        "the effect is there now"
    );
}

/// At the bound of a source nothing new is kept for it; what it has is answered, and what frees
/// something goes on.
#[test]
fn a_source_with_too_many_keys_still_repeats_and_settles() {
    let mut world = World::new();
    let known = reserve("k").keyed("known", "request");
    let first = world.run(&known);
    world.part_full = true;
    assert_eq!(world.run(&known), first);
    let refused = reserve("other").keyed("new", "request");
    assert_eq!(world.run(&refused), Reply::TooManyKeys);
    assert_eq!(world.run(&reserve("other")).outcome().0, "reserved");
    let done = settle("k", 1, Settlement::Done).keyed("end", "request");
    assert!(matches!(world.run(&done), Reply::Effect(_)));
    let receipts = world.entities.values().map(|(_, entity)| entity);
    let parts: Vec<_> = receipts.filter_map(Contact::part).collect();
    assert_eq!(
        parts, [known.source.0; 2],
        "receipts count for their source"
    );
    assert_eq!(Contact::adds_to(&known), Some(known.source.0));
    assert_eq!(Contact::adds_to(&reserve("k")), None);
    world.part_full = false;
    assert!(matches!(world.run(&refused), Reply::Refused(_)));
}

#[test]
fn at_that_bound_a_handoffs_outcome_goes_on_and_no_other_word_of_it() {
    let mut world = World::new();
    world.run(&hand_over("p", "h", "desk").command());
    world.part_full = true;
    for refused in [
        hand_over("q", "other", "desk").command(),
        accept(Route::HandoffAccept, "h"),
        accept(Route::Declare, "h"),
    ] {
        let refused = refused.keyed("new", "request");
        assert_eq!(world.run(&refused), Reply::TooManyKeys);
    }
    let outcome = close(Route::HandoffOutcome, "h", Some("resolved")).keyed("end", "request");
    assert!(matches!(world.run(&outcome), Reply::Handoff(_)));
}

#[test]
fn pitfall_14_a_receipt_lasts_24_hours_and_a_checks_ten_minutes() {
    let asked = check().to("p").purpose("retention").command();
    for (command, kept_s) in [(reserve("k"), 24 * HOUR_S), (asked, 600)] {
        for swept in [false, true] {
            let mut world = World::new();
            let command = command.clone().keyed("key", "request");
            let first = without_names(world.run(&command));
            world.pass_s(kept_s - 1);
            world.sweep();
            assert_eq!(without_names(world.run(&command)), first);
            world.pass_s(1);
            if swept {
                assert_eq!(world.sweep(), 1);
            }
            assert_ne!(without_names(world.run(&command)), first, "decided anew");
            if is_check(&command) {
                continue;
            }
            let refused = world.run(&command);
            assert_eq!(
                refused.outcome(),
                ("unknown_outcome", "none"),
                "and kept anew"
            );
        }
    }
}

#[test]
fn a_receipt_takes_64_bytes_of_memory() {
    assert!(size_of::<Receipt>() <= 64, "{}", size_of::<Receipt>());
}

/// Only a check, a claim and the word of who has it carry texts.
#[test]
fn an_outcome_is_at_most_64_bytes_and_a_checks_at_most_4_kib() {
    let mut world = World::new();
    for (number, command) in kept().into_iter().enumerate() {
        world.run(&command.keyed(&format!("key {number}"), "request"));
    }
    let mut seen = BTreeSet::new();
    for (_, event) in &world.log {
        let Event::ReceiptKept(receipt) = event else {
            continue;
        };
        let bytes = postcard::to_allocvec(receipt).expect("it encodes").len();
        let (kind, most) = match receipt.stored {
            Stored::Check(_) => ("check", 4_096),
            Stored::Effect(_) => ("effect", 64),
            Stored::Declared { .. } => ("declared", 64),
            Stored::Observed => ("observed", 64),
            Stored::Refused(_) => ("refused", 64),
            Stored::Contact(_) => ("contact", 64),
            Stored::Claimed(_) => ("claimed", 64),
            Stored::Claim(_) => ("claim", 1_200),
            Stored::Held(_) => ("held", 1_100),
            Stored::Erased(_) => ("erased", 96),
            Stored::Hold(_) => ("hold", 96),
            Stored::Admission(_) => ("admission", 128),
            Stored::Exhausted(_) => ("exhausted", 64),
            Stored::Handoff(_) => ("handoff", 96),
            Stored::FactEnded(_) => ("fact_ended", 64),
        };
        assert!(bytes <= most, "{kind}: {bytes}");
        seen.insert(kind);
    }
    assert_eq!(seen.len(), 15, "{seen:?}");
}

#[test]
fn a_repeated_check_reads_the_same_under_a_policy_without_its_purposes() {
    let mut world = World::new();
    world.run(&suppress("p", "retention").command());
    let command = check().to("p").command().keyed("key", "request");
    let first = world.run(&command);
    let Reply::Check(first) = first else {
        panic!("a check is answered as one");
    };
    let texts = |reply: &crate::contact::reply::CheckReply, policy: &Policy| -> Vec<String> {
        let budgets = reply.budgets.iter().map(|view| view.purpose);
        let named = budgets.chain(reply.suppressions.iter().copied());
        named
            .map(|id| reply.name(id, policy).expect("a name").to_owned())
            .collect()
    };
    let wanted = texts(&first, &world.policy);
    let document = r#"{"purposes": {"service": {"fails": "open"}}}"#;
    world.policy = Policy::load(2, document, &vault()).expect("a policy");
    let Reply::Check(again) = world.run(&command) else {
        panic!("a check is answered as one");
    };
    assert_eq!(texts(&again, &world.policy), wanted);
    assert_eq!(through_postcard(&*again), *again);
    assert!(CONFORMANCE.contains("retention"));
}

#[test]
fn pitfall_12_a_repeat_after_the_state_moved_on_gets_the_first_answer() {
    let mut world = World::new();
    let reserve = reserve("k").keyed("key", "request");
    let Reply::Effect(first) = world.run(&reserve) else {
        panic!("a reservation is answered with the effect");
    };
    assert!(first.created);
    world.run(&settle("k", 1, Settlement::Done));
    assert_eq!(world.run(&reserve), Reply::Effect(first));
}

#[test]
fn a_refusal_is_kept_too() {
    let mut world = World::new();
    world.run(&reserve("k"));
    let second = reserve("k").keyed("key", "request");
    let refused = Reply::Refused(Refusal::EffectInFlight);
    assert_eq!(world.run(&second), refused);
    world.run(&settle("k", 1, Settlement::Failed));
    assert_eq!(world.run(&second), refused, "pitfall 12: not decided anew");
}

#[test]
fn a_denied_check_under_a_key_is_kept_and_reserves_nothing() {
    let mut world = World::new();
    world.run(&suppress("p", "any").command());
    let command = check()
        .to("p")
        .effect("k")
        .command()
        .keyed("key", "request");
    let Reply::Check(reply) = world.run(&command) else {
        panic!("a check is answered as one");
    };
    assert_eq!(decided(&reply), (Verdict::Deny, Some(Reason::Suppressed)));
    assert!(world.effect_row("k").is_none());
}
