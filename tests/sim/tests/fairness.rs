//! What one space has queued at a shard is not waited for by another: one shard, step by step, counted
//! in commands and never in time.

use interlock_actors::message::{Monotonic, ShardMessage};
use interlock_actors::shard::{SLICE_COMMANDS, Shard};
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::{Counters, Reply};
use interlock_sim::sink::{self, Pile};

const FLOOD: u8 = 1;
const QUIET: u8 = 2;
/// Commands of one batch of the flood.
const BATCH: u32 = 500;
/// The request of the quiet space; those of the flood count from 0.
const SINGLE: u64 = 1_000;

fn shard() -> Shard<Counters> {
    by_hand::shard(0, 1, 128)
}

/// A request of `commands` commands, each on a pair of its own, or all on one.
fn request(
    space: u8,
    request: u64,
    commands: u32,
    on_one: bool,
    pile: &Pile<Left>,
) -> ShardMessage<Counters> {
    let space = SpaceId([space; 16]);
    let command = |index: u32| {
        let number = if on_one { 0 } else { index };
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&request.to_le_bytes());
        hash[8..12].copy_from_slice(&number.to_le_bytes());
        let pair = [Kind::Customer, Kind::Object].map(|kind| EntityKey {
            kind,
            space,
            hash: KeyHash(hash),
        });
        by_hand::command(space, 0, pair, by_hand::add(1))
    };
    by_hand::request(request, (0..commands).map(command).collect(), 1, pile).1
}

type Left = sink::Left<Reply>;

/// One turn; the requests and places that it answered, in the order of deciding.
fn turn(shard: &mut Shard<Counters>, pile: &Pile<Left>) -> (Vec<(u64, u32)>, bool) {
    let output = shard.turn(Timestamp(1), Monotonic(1));
    for held in output.frame.into_iter().flat_map(|frame| frame.replies) {
        held.sink.deliver(held.answers);
    }
    let left = pile.take().into_iter();
    let order = left.map(|(request, index, _)| (request, index)).collect();
    (order, output.more)
}

/// All that is queued, turn by turn.
fn all(shard: &mut Shard<Counters>, pile: &Pile<Left>) -> Vec<(u64, u32)> {
    let mut order = Vec::new();
    loop {
        let (some, more) = turn(shard, pile);
        order.extend(some);
        if !more {
            return order;
        }
    }
}

/// Pitfall 29.
#[test]
fn a_single_command_waits_for_one_slice_of_what_another_space_has_queued() {
    for turns_before in 0..4 {
        let (mut shard, pile) = (shard(), Pile::default());
        for number in 0..16 {
            shard.receive(request(FLOOD, number, BATCH, false, &pile));
        }
        for _ in 0..turns_before {
            turn(&mut shard, &pile);
        }
        shard.receive(request(QUIET, SINGLE, 1, false, &pile));
        let (order, _) = turn(&mut shard, &pile);
        let before = order.iter().position(|&(request, _)| request == SINGLE);
        let before = before.expect("it is decided in its first turn");
        assert!(before <= SLICE_COMMANDS, "{before} commands went before it");
        let rest = all(&mut shard, &pile).len() + order.len() + turns_before * 128;
        assert_eq!(rest, 16 * 500 + 1, "nothing is lost");
    }
}

#[test]
fn within_a_space_the_order_of_arrival_holds() {
    let (mut shard, pile) = (shard(), Pile::default());
    for number in 0..8 {
        shard.receive(request(FLOOD, number, 100, false, &pile));
        shard.receive(request(QUIET, SINGLE + number, 70, false, &pile));
    }
    let order = all(&mut shard, &pile);
    for (first, commands) in [(0, 100), (SINGLE, 70)] {
        let own = |request: &u64| (first..first + 8).contains(request);
        let own = order.iter().filter(|(request, _)| own(request));
        let due = (first..first + 8).flat_map(|number| (0..commands).map(move |at| (number, at)));
        assert!(own.copied().eq(due), "{order:?}");
    }
}

/// Commands that share an entity are decided together, so a space may go beyond its slice. The others
/// get as much before it goes on.
#[test]
fn what_goes_beyond_a_slice_is_paid_for() {
    let (mut shard, pile) = (shard(), Pile::default());
    for number in 0..4 {
        shard.receive(request(FLOOD, number, BATCH, true, &pile));
    }
    for number in 0..600 {
        shard.receive(request(QUIET, SINGLE + number, 1, false, &pile));
    }
    let order = all(&mut shard, &pile);
    let batches: Vec<usize> = (0..4)
        .map(|number| {
            let at = order.iter().position(|&(request, _)| request == number);
            at.expect("it is decided")
        })
        .collect();
    let between = batches[1] - batches[0] - 500;
    assert!((450..=550).contains(&between), "{between} went between");
    assert_eq!(order.len(), 4 * 500 + 600);
}
