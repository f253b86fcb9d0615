//! Purges go in bounded steps, and decisions go on between them: one shard, step by step.

use interlock_actors::message::{Monotonic, ShardMessage};
use interlock_actors::shard::Shard;
use interlock_actors::stats::Stats;
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::Counters;

const SPACE: SpaceId = SpaceId([3; 16]);
/// Entities that one step looks at.
const STEP: u64 = 10;

fn shard() -> Shard<Counters> {
    by_hand::shard(0, 1, 50)
}

/// One command on a pair of its own; a pair at zero is purged three seconds later.
fn add(number: u8, amount: i64) -> ShardMessage<Counters> {
    let pair = [Kind::Customer, Kind::Object].map(|kind| EntityKey {
        kind,
        space: SPACE,
        hash: KeyHash([number; 16]),
    });
    let command = by_hand::command(SPACE, usize::from(number), pair, by_hand::add(amount));
    by_hand::work(command, 1).1
}

/// One turn: what it counted, and whether another is to follow.
fn turn(shard: &mut Shard<Counters>, now: i64) -> (Stats, bool) {
    let more = shard.turn(Timestamp(now), Monotonic(1)).more;
    (shard.take_stats(), more)
}

fn purged(stats: &Stats) -> u64 {
    stats.purged.iter().sum()
}

/// Pitfall 28.
#[test]
fn many_purges_take_many_turns_and_decisions_go_on_in_each() {
    let mut shard = shard();
    for number in 0..200 {
        shard.receive(add(number, 0));
    }
    while turn(&mut shard, 1).1 {}
    shard.receive(ShardMessage::Sweep);
    let (mut gone, mut turns) = ([0; Kind::ALL.len()], 0);
    loop {
        shard.receive(add(250, 2));
        let (stats, more) = turn(&mut shard, 60_000 + turns);
        assert_eq!(stats.decided, 1, "a decision waits for no purge");
        assert!(purged(&stats) <= STEP, "{stats:?}");
        let late = stats.purge_late_ms.expect("the sweep looked");
        if purged(&stats) > 0 {
            assert!(
                late >= 56_999,
                "due three seconds after it was made: {late}"
            );
        }
        for (sum, count) in gone.iter_mut().zip(stats.purged) {
            *sum += count;
        }
        turns += 1;
        if !more {
            break;
        }
        assert!(turns < 1_000, "one request to sweep comes to an end");
    }
    assert!(turns >= 40, "{turns} turns for 400 entities");
    let of = |kind: Kind| gone[kind as usize];
    assert_eq!((of(Kind::Customer), of(Kind::Object)), (200, 200));
    assert_eq!(gone.iter().sum::<u64>(), 400);
    // Two rounds with nothing to do, and nothing is late any more.
    for _ in 0..2 {
        shard.receive(ShardMessage::Sweep);
        let (stats, more) = turn(&mut shard, 61_500);
        assert_eq!((purged(&stats), more), (0, false));
    }
    shard.receive(ShardMessage::Sweep);
    assert_eq!(turn(&mut shard, 61_600).0.purge_late_ms, Some(0));
}

/// Where little is due the next step waits until it is asked for.
#[test]
fn a_step_that_finds_nothing_is_the_only_one() {
    let mut shard = shard();
    for number in 0..200 {
        shard.receive(add(number, 2));
    }
    while turn(&mut shard, 1).1 {}
    shard.receive(ShardMessage::Sweep);
    let (stats, more) = turn(&mut shard, 2);
    assert_eq!((purged(&stats), more), (0, false));
    assert_eq!(stats.purge_late_ms, Some(0));
}
