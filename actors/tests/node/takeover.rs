//! Another node takes the log over while the first still runs.
//!
//! Here: that the first answers nothing any more. Not here: that two processes never open one directory
//! (`tests/it/refusals.rs`), and the log's own refusals (the storage suite).

use std::sync::Arc;
use std::time::Duration;

use interlock_actors::{Answer, Node, NodeClock};
use interlock_storage::{Log, MemoryLog};

use crate::{Boxes, Command, Reply, Rules, SPACE, ask, options};

/// Pitfall 31: a node whose log another one has taken over is no owner any more. What it decides over the
/// state it still holds is refused by the log, nobody hears of it, and it goes down.
#[test]
fn pitfall_31_a_node_that_another_took_over_from_answers_nothing() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let start = |shards| {
        let mut options = options(shards);
        // What is refused is the decision, not a snapshot that comes before it.
        options.keeper.snapshot_interval_ms = 3_600_000;
        let policies = vec![(SPACE, Arc::new(Rules))];
        Node::<Boxes>::start(
            Arc::clone(&log),
            policies,
            NodeClock::system(),
            None,
            options,
        )
        .expect("the node starts")
    };
    let add = || vec![Command::Add(0, Some(7))];
    let counted = |count| [Answer::Decided(Reply::Count(count))];
    actix::System::new().block_on(async {
        let old = start(1);
        assert_eq!(ask(&old, add()).await, counted(1));
        let owner = start(2);
        assert_eq!(ask(&owner, add()).await, counted(2));
        assert_eq!(ask(&old, add()).await, [Answer::Unavailable]);
        let failure = old.failed().await;
        assert!(failure.text().contains("another owner"), "{failure:?}");
        assert_eq!(ask(&owner, add()).await, counted(3), "its own two and one");
        old.stop(Duration::from_secs(10)).await;
        owner.stop(Duration::from_secs(10)).await;
    });
}
