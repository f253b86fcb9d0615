//! A fault that is there on purpose is found, its steps become few, and they replay from their text.

use interlock_sim::counters::quiet_deliberate_panics;
use interlock_sim::machine::Violation;
use interlock_sim::planted::Planted;
use interlock_sim::shrink::{same_kind, shrink};
use interlock_sim::swarm::Faults;
use interlock_sim::trace::{Choices, Trace};
use interlock_sim::world::{Failure, Options, follow, run};

fn options(seed: u64) -> Options {
    Options {
        seed,
        steps: 4_000,
        shards: 3,
        faults: Faults::all(),
    }
}

/// The first seeds that come upon the fault.
fn failures(count: usize) -> Vec<(Options, Failure)> {
    let found = (1..40).filter_map(|seed| {
        let failure = run::<Planted>(&options(seed), &mut |_| ()).err()?;
        Some((options(seed), failure))
    });
    found.take(count).collect()
}

#[test]
fn a_planted_fault_shrinks_and_replays() {
    quiet_deliberate_panics();
    let failures = failures(3);
    assert_eq!(failures.len(), 3, "the fault is found in most runs");
    for (options, failure) in failures {
        let choices: Vec<_> = Choices::new(&options).collect();
        let trace = shrink::<Planted>(&options, choices, &failure, &mut || true);
        let length = trace.choices.len();
        assert!(
            length <= 40,
            "{length} steps of seed {}: {trace}",
            options.seed
        );
        let read: Trace = trace.text().parse().expect("a trace reads what it wrote");
        assert_eq!(read, trace);
        let again = follow::<Planted>(&read.options, read.choices, &mut |_| ());
        let again = again.expect_err("it fails again");
        assert!(same_kind(&again.violation, &failure.violation));
        assert_eq!(again.violation.seen, trace.seen, "for the same reason");
        assert_eq!(again.choice + 1, length, "at its last step");
    }
}

#[test]
fn a_trace_that_is_none_is_refused() {
    let (options, failure) = failures(1).pop().expect("one of the seeds fails");
    let choices = Choices::new(&options).take(3).collect();
    let text = Trace::new("planted", &options, choices, &failure.violation).text();
    for broken in [
        text.replacen("trace 1", "trace 2", 1),
        text.replacen("seed ", "seeds ", 1),
        text.replacen("faults all", "faults thunder", 1),
        format!("{text}dance 00\n"),
        format!("{text}turn zz\n"),
    ] {
        assert!(broken.parse::<Trace>().is_err(), "{broken}");
    }
}

/// No time at all: the steps up to the failure are still a trace.
#[test]
fn shrinking_stops_when_there_is_no_time() {
    let (options, failure) = failures(1).pop().expect("one of the seeds fails");
    let choices: Vec<_> = Choices::new(&options).collect();
    let trace = shrink::<Planted>(&options, choices.clone(), &failure, &mut || false);
    assert_eq!(trace.choices, choices[..=failure.choice]);
}

/// What shrinking may not take for what it shrinks: another fault of the same invariant.
#[test]
fn violations_of_one_kind_begin_alike() {
    let violation = |invariant, seen: &str| Violation {
        invariant,
        seen: seen.to_owned(),
    };
    let alike = |invariant, left, right| {
        same_kind(&violation(invariant, left), &violation(invariant, right))
    };
    assert!(alike("model", "-8, not -51 is x", "7, not 12 is x"));
    assert!(!alike("model", "-8, not -51", "Decided(Torn) to Asked"));
    assert!(alike(
        "model",
        "it never was so: Decided(Shown(Some(Customer(Customer { contacts: [1]",
        "it never was so: Decided(Shown(None)) to Asked { since: 3"
    ));
    assert!(!alike("L1", "a b", "a c"));
    assert!(!same_kind(&violation("L1", "a"), &violation("C6", "a")));
}
