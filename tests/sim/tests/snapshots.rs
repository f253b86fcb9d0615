//! What the simulator found about snapshots, step by step: two shards, one loan, one snapshot.

use interlock_actors::message::{Frame, Monotonic, ShardMessage};
use interlock_actors::partition::SnapshotHead;
use interlock_actors::placement::{partition_of, shard_of};
use interlock_actors::shard::{Shard, TurnOutput};
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::{Act, Counters};
use interlock_storage::{Partition, Sequence};

const SPACE: SpaceId = SpaceId([3; 16]);
const SHARDS: u16 = 2;

fn shard(index: u16) -> Shard<Counters> {
    by_hand::shard(index, SHARDS, 10)
}

/// A key that lives where `fits` says.
fn key(kind: Kind, fits: impl Fn(Partition) -> bool) -> EntityKey {
    let keys = (0_u128..).map(|number| EntityKey {
        kind,
        space: SPACE,
        hash: KeyHash(number.to_le_bytes()),
    });
    let mut fitting = keys.filter(|key| fits(partition_of(key)));
    fitting.next().expect("every partition has keys")
}

/// One command on its way to the shard of its first key.
fn work(left: EntityKey, right: EntityKey, act: Act) -> ShardMessage<Counters> {
    let command = by_hand::command(SPACE, 0, [left, right], act);
    by_hand::work(command, SHARDS).1
}

fn turn(shard: &mut Shard<Counters>, now: i64) -> TurnOutput<Counters> {
    shard.turn(Timestamp(now), Monotonic(1))
}

/// The only message of a turn.
fn message(output: TurnOutput<Counters>) -> ShardMessage<Counters> {
    let mut messages = output.messages;
    assert_eq!(messages.len(), 1, "one message leaves");
    messages.remove(0).1
}

/// The head of the snapshot that a frame completes.
fn sealed(frame: Option<Frame<Counters>>) -> SnapshotHead {
    let frame = frame.expect("there is a frame");
    assert_eq!(frame.seals.len(), 1, "one snapshot is complete");
    let (head, _) = postcard::take_from_bytes(&frame.seals[0].header).expect("it is a head");
    head
}

fn begin(partition: Partition) -> ShardMessage<Counters> {
    ShardMessage::SnapshotBegin {
        partition,
        snapshot: 1,
        position: Sequence(0),
    }
}

fn add() -> Act {
    by_hand::add(2)
}

/// A listed key was lent as absent and came home absent: a slice finds nothing at its place, and
/// nobody is away whose return would ask for the next one.
#[test]
fn a_snapshot_goes_on_past_keys_that_are_gone() {
    let (mut home, mut other) = (shard(0), shard(1));
    let left = key(Kind::Customer, |at| shard_of(at, SHARDS) == 0);
    let right = key(Kind::Object, |at| shard_of(at, SHARDS) == 1);
    let partition = partition_of(&left);
    let beside = key(Kind::Object, |at| at == partition);
    let with = key(Kind::Customer, |at| {
        shard_of(at, SHARDS) == 0 && at != partition
    });
    home.receive(work(with, beside, add()));
    turn(&mut home, 1);

    home.receive(work(left, right, Act::Read));
    let lent = message(turn(&mut home, 2));
    home.receive(begin(partition));
    other.receive(lent);
    home.receive(message(turn(&mut other, 3)));
    sealed(turn(&mut home, 4).frame);
}

/// An entity was away when its snapshot began and comes home changed: the snapshot covers the
/// change, so its time must too.
#[test]
fn a_snapshot_is_no_earlier_than_what_it_holds() {
    let (mut home, mut other) = (shard(0), shard(1));
    let left = key(Kind::Customer, |at| shard_of(at, SHARDS) == 0);
    let right = key(Kind::Object, |at| shard_of(at, SHARDS) == 1);
    home.receive(work(left, right, add()));
    let lent = message(turn(&mut home, 10));
    other.receive(lent);
    let changed = message(turn(&mut other, 5_000));
    home.receive(begin(partition_of(&left)));
    home.receive(changed);
    let head = sealed(turn(&mut home, 20).frame);
    assert!(head.time >= Timestamp(5_000), "{head:?}");
}
