//! Whole nodes that stop, crash and start again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::credits::CreditOptions;
use interlock_actors::history::{self, HistoryOptions};
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::{Answer, Node, NodeClock, NodeOptions, Submission};
use interlock_storage::{FaultPlan, FaultyLog, Log, MemoryLog, Positions, Sequence};

use crate::tickets::{DAY_MS, KEEPER, LAST, NOON, REFUSED, Rules, SPACE, Tickets};

fn options() -> NodeOptions {
    NodeOptions {
        shards: 2,
        turn_commands_max: 16,
        queue_per_entity_max: 1_000,
        slice_entities_max: 10,
        sweep_entities_max: 10,
        entities_per_space_max: 1_000,
        entities_per_part_max: 1_000,
        sweep_interval: Duration::from_millis(20),
        credits: CreditOptions {
            commands_max: 2_000,
            bytes_max: 1_000_000,
            space_commands_max: 1_000,
        },
        commit_bytes_max: 100_000,
        notices_max: 10,
        keeper: KeeperOptions {
            snapshot_interval_ms: 1,
            snapshot_bytes_per_s: 100_000_000,
            journal_bytes_soft: 10_000_000,
            journal_bytes_max: 10_000_000,
        },
        history: HistoryOptions {
            keep_days: 3,
            // Less than a commit: the committer waits for history after each.
            queue_bytes_max: 1,
            write_interval: Duration::from_millis(1),
        },
        truncate_keys_max: 100,
        free_bytes_min: 0,
        accept_clock: false,
        recovery_hold: None,
    }
}

fn start(log: &Arc<dyn Log>, clock: &NodeClock) -> Node<Tickets> {
    start_with(log, clock, options())
}

fn start_with(log: &Arc<dyn Log>, clock: &NodeClock, options: NodeOptions) -> Node<Tickets> {
    let policies = vec![(SPACE, Arc::new(Rules))];
    Node::start(Arc::clone(log), policies, clock.clone(), None, options).expect("it starts")
}

/// Asks for tickets and answers those that were acknowledged.
async fn ask(node: &Node<Tickets>, tickets: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let submission = Submission {
        commands: tickets.into_iter().collect(),
        policy: Arc::new(Rules),
        deadline: Duration::from_secs(30),
        bytes: 100,
    };
    let answers = node.handle().submit(submission).await.unwrap_or_default();
    let acknowledged = answers.into_iter().filter_map(|answer| match answer {
        Answer::Decided(ticket) => (ticket != REFUSED).then_some(ticket),
        Answer::NotDecided(_)
        | Answer::Instead(_)
        | Answer::Broken
        | Answer::Busy
        | Answer::Unavailable => None,
    });
    acknowledged.collect()
}

/// Every note there is, and how often.
fn notes(log: &dyn Log) -> BTreeMap<u64, u32> {
    let mut notes = BTreeMap::new();
    let (from, upto) = (NOON.plus_ms(-DAY_MS), NOON.plus_ms(40 * DAY_MS));
    history::between::<Tickets>(log, from, upto, &mut |receipt| {
        assert_eq!((receipt.space, receipt.policy), (SPACE, 7));
        *notes.entry(receipt.note).or_insert(0) += 1;
        ControlFlow::Continue(())
    })
    .expect("the log can be read");
    notes
}

fn each_once(log: &dyn Log, acknowledged: &BTreeSet<u64>, when: &str) {
    let notes = notes(log);
    let lost = acknowledged
        .iter()
        .find(|ticket| !notes.contains_key(ticket));
    assert_eq!(lost, None, "{when}: an acknowledged ticket has no note");
    let twice = notes.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "{when}: a ticket is noted twice");
}

/// Has truncation removed anything?
fn is_truncated(log: &dyn Log) -> bool {
    let mut begins = false;
    log.replay(&Positions::new(), &mut |replayed| {
        begins = replayed.sequence == Sequence(1);
        ControlFlow::Break(())
    })
    .expect("the log can be read");
    !begins
}

/// Stops in good order: everything is in history, and what was truncated is still found. Nights pass
/// while it runs, and the days that are over go.
#[test]
fn what_is_truncated_is_still_found() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let clock = NodeClock::test(NOON);
    actix::System::new().block_on(async {
        let mut acknowledged = BTreeSet::new();
        let mut next = 0;
        for night in 0..3 {
            let node = start(&log, &clock);
            // Truncation comes with the snapshots; each request gives the keeper another turn.
            for _ in 0..10_000 {
                acknowledged.extend(ask(&node, next..next + 20).await);
                next += 20;
                if night > 0 || is_truncated(&*log) {
                    break;
                }
            }
            each_once(&*log, &acknowledged, "while it runs");
            node.stop(Duration::from_secs(10)).await;
            assert!(is_truncated(&*log));
            each_once(&*log, &acknowledged, "after a stop");
            let size = log.history_size().expect("it can be read");
            assert_eq!(size.days.len(), night + 1);
            clock.set(clock.now().plus_ms(DAY_MS)).expect("a day later");
        }
        let one = history::find::<Tickets>(&*log, NOON, &mut |receipt| receipt.note == 7)
            .expect("the log can be read")
            .expect("ticket 7 was acknowledged");
        assert_eq!(one.time, NOON);
        let late = NOON.plus_ms(DAY_MS / 4);
        let none = history::find::<Tickets>(&*log, late, &mut |receipt| receipt.note == 7);
        assert_eq!(none.expect("the log can be read"), None);
        // Three days are kept, and this is the fourth.
        let node = start(&log, &clock);
        node.recovered().await.expect("it is rebuilt");
        for _ in 0..10_000 {
            if !notes(&*log).contains_key(&7) {
                break;
            }
            ask(&node, next..next + 1).await;
            next += 1;
        }
        node.stop(Duration::from_secs(10)).await;
        assert!(!notes(&*log).contains_key(&7), "its day is over");
    });
}

/// While an entity keeps history from going no day goes, whether it was there at the start or came
/// since; afterwards they go.
#[test]
fn no_day_goes_while_an_entity_keeps_history() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let clock = NodeClock::test(NOON);
    actix::System::new().block_on(async {
        let node = start(&log, &clock);
        ask(&node, 0..40).await;
        ask(&node, [KEEPER]).await;
        node.stop(Duration::from_secs(10)).await;
        clock.set(clock.now().plus_ms(10 * DAY_MS)).expect("later");
        // Each commit waits for history, so its writer has looked for days that are over.
        for (first, last) in [(40, KEEPER + 40), (80, KEEPER + 80), (120, 160)] {
            let node = start(&log, &clock);
            node.recovered().await.expect("it is rebuilt");
            for ticket in first..first + 40 {
                ask(
                    &node,
                    [if ticket % 40 == 0 {
                        KEEPER + ticket
                    } else {
                        ticket
                    }],
                )
                .await;
            }
            ask(&node, [last]).await;
            node.stop(Duration::from_secs(10)).await;
            assert!(notes(&*log).contains_key(&7), "its day is held");
        }
        let node = start(&log, &clock);
        node.recovered().await.expect("it is rebuilt");
        ask(&node, 200..240).await;
        node.stop(Duration::from_secs(10)).await;
        assert!(!notes(&*log).contains_key(&7), "its day is over");
    });
}

/// The process dies at any moment, the power with it: no acknowledged note is lost, none comes twice.
#[test]
fn a_crash_loses_no_note() {
    let mut disk = FaultyLog::new(FaultPlan::calm(11));
    let clock = NodeClock::test(NOON);
    actix::System::new().block_on(async {
        let mut acknowledged = BTreeSet::new();
        let mut next = 0;
        for round in 0..12_u64 {
            let log: Arc<dyn Log> = Arc::new(disk.clone());
            let node = start(&log, &clock);
            node.recovered().await.expect("it is rebuilt");
            for _ in 0..=round * 3 {
                acknowledged.extend(ask(&node, next..next + 25).await);
                next += 25;
            }
            clock.set(clock.now().plus_ms(97)).expect("a moment later");
            disk = disk.crash().expect("the log can be opened");
            node.stop(Duration::from_secs(10)).await;
            each_once(&disk, &acknowledged, &format!("round {round}"));
        }
        assert_eq!(acknowledged.len() as u64, next, "no commit failed");
    });
}

/// What counts for a part is counted on creation, after a restart and on a purge.
#[test]
fn a_part_of_a_space_has_a_bound() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let clock = NodeClock::test(NOON);
    let few = NodeOptions {
        entities_per_part_max: 10,
        ..options()
    };
    actix::System::new().block_on(async {
        let node = start_with(&log, &clock, few);
        let kept: BTreeSet<u64> = ask(&node, 0..40).await.into_iter().collect();
        assert_eq!(kept.len(), 10, "five on each of two shards");
        node.stop(Duration::from_secs(10)).await;
        let node = start_with(&log, &clock, few);
        let again: BTreeSet<u64> = ask(&node, 0..40).await.into_iter().collect();
        assert_eq!(again, kept, "what is there goes on, nothing comes");
        let first = *kept.first().expect("ten are kept");
        assert_eq!(ask(&node, [LAST + first]).await, [LAST + first]);
        assert!(node.handle().sweep_all().await);
        let new: Vec<u64> = (0..40).filter(|ticket| !kept.contains(ticket)).collect();
        assert_eq!(
            ask(&node, new).await.len(),
            1,
            "in the place of the purged one"
        );
        node.stop(Duration::from_secs(10)).await;
    });
}
