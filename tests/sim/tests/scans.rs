//! A look at all entities meets one that is away: two shards, step by step.

use std::sync::Arc;

use interlock_actors::message::{Done, Monotonic, ShardMessage, Waiter};
use interlock_actors::placement::Place;
use interlock_actors::scan::{Scan, Scanning};
use interlock_actors::shard::Shard;
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::Counters;
use interlock_sim::sink::Pile;

const SPACE: SpaceId = SpaceId([3; 16]);
const SHARDS: u16 = 2;
const SECOND: u64 = 1_000_000_000;

type Message = (u16, ShardMessage<Counters>);

fn shard(index: u16) -> Shard<Counters> {
    by_hand::shard(index, SHARDS, 50)
}

fn key(kind: Kind, number: u8) -> EntityKey {
    EntityKey {
        kind,
        space: SPACE,
        hash: KeyHash([number; 16]),
    }
}

/// A command on a pair whose halves live on different shards, for the shard that begins with it.
fn add([left, right]: [u8; 2]) -> Message {
    let pair = [key(Kind::Customer, left), key(Kind::Object, right)];
    by_hand::work(by_hand::command(SPACE, 0, pair, by_hand::add(1)), SHARDS)
}

/// Two numbers whose entities are on different shards.
fn apart() -> [u8; 2] {
    let home = |number| Place::of(key(Kind::Customer, number), SHARDS).shard;
    let other = (1..=u8::MAX).find(|number| home(*number) != home(0));
    [0, other.expect("some are on the other shard")]
}

/// Counts what it is shown, and tells how much it missed.
struct Look {
    seen: u64,
    ended: Pile<(u64, u64)>,
}

impl Scan<Counters> for Look {
    fn entity(&mut self, _: &EntityKey, _: &<Counters as Machine>::Entity, _: Timestamp) {
        self.seen += 1;
    }

    fn end(self: Box<Self>, left_out: u64) -> Waiter {
        self.ended.push((self.seen, left_out));
        Waiter(Arc::new(Nobody))
    }
}

struct Nobody;

impl Done for Nobody {
    fn done(&self, _: bool) {}
}

/// Two shards, and a pair that both know; a second command has lent the half of the first shard to the
/// other. Answers the message that carries it, and the shard it came from.
fn lent(shards: &mut [Shard<Counters>; 2]) -> (u16, Message) {
    let numbers = apart();
    let mut waiting = vec![add(numbers)];
    while let Some((to, message)) = waiting.pop() {
        let shard = &mut shards[usize::from(to)];
        shard.receive(message);
        waiting.extend(shard.turn(Timestamp(1), Monotonic(1)).messages);
    }
    let (first, message) = add(numbers);
    let shard = &mut shards[usize::from(first)];
    shard.receive(message);
    let mut sent = shard.turn(Timestamp(1), Monotonic(1)).messages;
    assert_eq!(sent.len(), 1, "the other shard decides");
    (first, sent.remove(0))
}

#[test]
fn who_is_away_is_waited_for_without_turning_in_circles() {
    let mut shards = [shard(0), shard(1)];
    let (first, (second, carried)) = lent(&mut shards);
    let ended = Pile::default();
    let look = Look {
        seen: 0,
        ended: ended.clone(),
    };
    let home = &mut shards[usize::from(first)];
    home.receive(ShardMessage::Scan(Scanning(Box::new(look))));
    let mut turns = 0;
    while home.turn(Timestamp(1), Monotonic(1)).more {
        turns += 1;
        assert!(turns < 50, "it waits for a message and not by turning");
    }
    assert!(!home.has_work());
    // Other work goes on, for longer than any number of turns that was bearable before.
    for turn in 0..5_000 {
        home.turn(Timestamp(1), Monotonic(turn));
    }
    assert_eq!(ended.take(), [], "it still waits");
    let decides = &mut shards[usize::from(second)];
    decides.receive(carried);
    for (to, message) in decides.turn(Timestamp(1), Monotonic(2)).messages {
        shards[usize::from(to)].receive(message);
    }
    shards[usize::from(first)].turn(Timestamp(1), Monotonic(3));
    assert_eq!(ended.take(), [(1, 0)], "it was shown, and nothing left out");
}

#[test]
fn who_stays_away_is_told_as_left_out_after_a_while() {
    let mut shards = [shard(0), shard(1)];
    let (first, _carried) = lent(&mut shards);
    let ended = Pile::default();
    let look = Look {
        seen: 0,
        ended: ended.clone(),
    };
    let home = &mut shards[usize::from(first)];
    home.receive(ShardMessage::Scan(Scanning(Box::new(look))));
    while home.turn(Timestamp(1), Monotonic(SECOND)).more {}
    home.turn(Timestamp(1), Monotonic(3 * SECOND - 1));
    assert_eq!(ended.take(), []);
    home.turn(Timestamp(1), Monotonic(3 * SECOND));
    assert_eq!(ended.take(), [(0, 1)]);
    assert!(!home.has_work() || !home.turn(Timestamp(1), Monotonic(3 * SECOND)).more);
}
