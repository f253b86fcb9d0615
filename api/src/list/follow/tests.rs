//! A real node over a log in memory: what the list has when the bus is too short for what happens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::credits::CreditOptions;
use interlock_actors::history::HistoryOptions;
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::{Answer, Node, NodeClock, NodeOptions, Submission};
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::Command;
use interlock_domain::contact::fixture::{self, SPACE, hash, lift, suppress};
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::KeyHash;
use interlock_storage::{Log, MemoryLog};

use super::follow;
use crate::list::{Position, SuppressionList};

/// Only so that a bug fails the test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Changes of one submission: far more than the bus keeps.
const BURST: u64 = 200;

fn options(shards: u16) -> NodeOptions {
    NodeOptions {
        shards,
        turn_commands_max: 64,
        queue_per_entity_max: 1_000,
        slice_entities_max: 100,
        sweep_entities_max: 100,
        entities_per_space_max: 100_000,
        entities_per_part_max: 100_000,
        sweep_interval: Duration::from_millis(20),
        credits: CreditOptions {
            commands_max: 10_000,
            bytes_max: 10_000_000,
            space_commands_max: 10_000,
        },
        commit_bytes_max: 10_000_000,
        notices_max: 2,
        keeper: KeeperOptions {
            snapshot_interval_ms: 1_000,
            snapshot_bytes_per_s: 1_000_000,
            journal_bytes_soft: 100_000_000,
            journal_bytes_max: 100_000_000,
        },
        history: HistoryOptions {
            keep_days: 90,
            queue_bytes_max: 1_000_000,
            write_interval: Duration::from_millis(20),
        },
        truncate_keys_max: 100,
        free_bytes_min: 0,
        accept_clock: false,
        recovery_hold: None,
    }
}

fn start(log: &Arc<dyn Log>, shards: u16) -> Node<Contact> {
    let policies = vec![(SPACE, Arc::new(fixture::policy()))];
    let (clock, options) = (NodeClock::system(), options(shards));
    Node::start(Arc::clone(log), policies, clock, None, options).expect("the node starts")
}

/// A list that follows the node.
fn followed(node: &Node<Contact>) -> Arc<SuppressionList> {
    let list = Arc::new(SuppressionList::new());
    let (notices, readiness) = (node.notices(), node.readiness());
    let task = follow(Arc::clone(&list), node.handle(), notices, readiness);
    drop(actix_web::rt::spawn(task));
    list
}

async fn ask(node: &Node<Contact>, commands: Vec<Command>) -> Vec<Reply> {
    let submission = Submission {
        commands,
        policy: Arc::new(fixture::policy()),
        deadline: PATIENCE,
        bytes: 1_000,
    };
    let answers = node.handle().submit(submission).await;
    let answers = answers.expect("there are credits").into_iter();
    let decided = answers.map(|answer| {
        let Answer::Decided(reply) = answer else {
            panic!("not decided: {answer:?}");
        };
        reply
    });
    decided.collect()
}

/// Everything in force, as a reader that begins sees it.
async fn read(node: &Node<Contact>, list: &SuppressionList) -> BTreeSet<KeyHash> {
    let read = ask(node, vec![fixture::read_feed()]).await;
    let Some(&Reply::Feed(began)) = read.first() else {
        panic!("the feed was answered with {read:?}");
    };
    let waited = tokio::time::timeout(PATIENCE, list.wait_for(SPACE, began)).await;
    waited.expect("the list gets there");
    let now = node.handle().clock().now();
    let page = list.page(SPACE, Position { after: 0, began }, usize::MAX, now);
    assert!(page.ended && page.after >= began);
    page.rows.iter().map(|row| row.customer).collect()
}

fn who(number: u64) -> String {
    format!("p{number}")
}

fn wanted(numbers: impl Iterator<Item = u64>) -> BTreeSet<KeyHash> {
    numbers.map(|number| hash(&who(number))).collect()
}

fn added(numbers: impl Iterator<Item = u64>) -> Vec<Command> {
    let adds = numbers.map(|number| suppress(&who(number), "marketing").command());
    adds.collect()
}

#[test]
fn a_list_that_missed_changes_is_read_again() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    actix_web::rt::System::new().block_on(async {
        let node = start(&log, 3);
        let list = followed(&node);
        assert_eq!(read(&node, &list).await, BTreeSet::new());
        ask(&node, added(0..BURST)).await;
        assert_eq!(read(&node, &list).await, wanted(0..BURST));
        // Changes go on while it is read again.
        let lifts = (0..BURST).step_by(2);
        let lifts = lifts.map(|number| lift(&who(number), "marketing", None));
        ask(&node, lifts.chain(added(BURST..2 * BURST)).collect()).await;
        let left = (0..2 * BURST).filter(|number| *number >= BURST || number % 2 == 1);
        let left = wanted(left);
        assert_eq!(read(&node, &list).await, left);
        node.stop(Duration::from_secs(10)).await;
        // Another start, and a reader of the bus that comes after all of it.
        let node = start(&log, 1);
        let list = followed(&node);
        node.recovered().await.expect("it recovers");
        assert_eq!(read(&node, &list).await, left);
        node.stop(Duration::from_secs(10)).await;
    });
}
