//! The disk stands still: what may wait for it is bounded, and what is late is dropped before any work.
//!
//! Here: one or two shards step by step, whose frames nobody writes; and a whole node over a log whose
//! commits do not come back. Not here: a disk that fails (`tests/it/recovery.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::credits::CreditOptions;
use interlock_actors::history::HistoryOptions;
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::message::{Answer, Monotonic, ShardMessage};
use interlock_actors::placement::Place;
use interlock_actors::shard::Shard;
use interlock_actors::{Node, NodeClock, NodeHandle, NodeOptions, Refused, Submission};
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::machine::Undecided;
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::{Act, Command, Counters, Policy, Reply};
use interlock_sim::sink::{Left, Pile};
use interlock_sim::tap::Tap;
use interlock_storage::{Log, MemoryLog};

const SPACE: SpaceId = SpaceId([3; 16]);

fn key(space: SpaceId, kind: Kind, number: u16) -> EntityKey {
    let mut hash = [0; 16];
    hash[..2].copy_from_slice(&number.to_le_bytes());
    EntityKey {
        kind,
        space,
        hash: KeyHash(hash),
    }
}

/// A command on a pair of its own.
fn command(space: SpaceId, number: u16, act: Act) -> Command {
    let pair = [Kind::Customer, Kind::Object].map(|kind| key(space, kind, number));
    by_hand::command(space, usize::from(number), pair, act)
}

/// What the answers on the pile say, by request.
fn told(pile: &Pile<Left<Reply>>) -> BTreeMap<u64, Answer<Reply>> {
    let left = pile.take().into_iter();
    left.map(|(request, _, answer)| (request, answer)).collect()
}

/// Nobody takes a credit for a purge. While nothing is written a shard goes on deciding, and stops to
/// purge before its frames are without bound.
#[test]
fn pitfall_30_purges_stop_while_nothing_is_written() {
    const PAIRS: u16 = 3_000;
    let mut shard = by_hand::shard(0, 1, 50);
    for number in 0..PAIRS {
        shard.receive(by_hand::work(command(SPACE, number, by_hand::add(0)), 1).1);
    }
    while shard.turn(Timestamp(1), Monotonic(1)).more {}
    shard.take_stats();
    let purged = |shard: &mut Shard<Counters>| shard.take_stats().purged.iter().sum::<u64>();
    // A minute later all of them are due; frames wait for a disk that stands still.
    let (mut waiting, mut gone) = (Vec::new(), 0);
    for round in 0..10 {
        shard.receive(ShardMessage::Sweep);
        loop {
            let output = shard.turn(Timestamp(60_000), Monotonic(1));
            waiting.extend(output.frame);
            gone += purged(&mut shard);
            if !output.more {
                break;
            }
        }
        assert!(waiting.len() <= 256, "round {round}: {}", waiting.len());
    }
    assert!(gone < 2 * u64::from(PAIRS), "{gone}: it went to the end");
    assert!(!shard.has_work(), "it does not turn in circles");
    let busy = command(SPACE, PAIRS, by_hand::add(1));
    shard.receive(by_hand::work(busy, 1).1);
    let output = shard.turn(Timestamp(60_000), Monotonic(1));
    assert_eq!(shard.take_stats().decided, 1, "it goes on deciding");
    waiting.extend(output.frame);
    // Written, they go, and the rest is purged.
    for turn in 0..100 {
        waiting.clear();
        shard.receive(ShardMessage::Sweep);
        while shard.turn(Timestamp(60_001 + turn), Monotonic(1)).more {}
        gone += purged(&mut shard);
    }
    assert_eq!(gone, 2 * u64::from(PAIRS), "both halves of each pair");
}

/// What waited longer than its deadline is answered undecided: nothing of it is recorded, and an entity
/// it had acquired elsewhere goes home as it was.
#[test]
fn pitfall_30_what_is_late_is_dropped_before_it_is_decided() {
    let (mut shard, pile) = (by_hand::shard(0, 1, 50), Pile::default());
    for (number, deadline) in [(1, 99), (2, 100), (3, 101), (4, 0)] {
        let late = command(SPACE, u16::try_from(number).expect("few"), by_hand::add(1));
        let sent = by_hand::request_until(number, vec![late], 1, &pile, Monotonic(deadline));
        shard.receive(sent.1);
    }
    let frame = shard.turn(Timestamp(1), Monotonic(100)).frame;
    let frame = frame.expect("there are answers");
    let records: usize = frame.groups.iter().map(|group| group.bytes.len()).sum();
    for held in frame.replies {
        held.sink.deliver(held.answers);
    }
    let late = || Answer::NotDecided(Undecided::Deadline);
    let done = || Answer::Decided(Reply::Done([1].into_iter().collect()));
    let wanted = [(1, late()), (2, done()), (3, done()), (4, late())];
    assert_eq!(told(&pile), BTreeMap::from(wanted));
    let stats = shard.take_stats();
    assert_eq!((stats.decided, stats.late), (2, 2));
    assert!(records > 0);
    // Only late ones: an answer and no record.
    let only = command(SPACE, 9, by_hand::add(1));
    shard.receive(by_hand::request_until(9, vec![only], 1, &pile, Monotonic(99)).1);
    let frame = shard.turn(Timestamp(1), Monotonic(100)).frame;
    assert!(frame.expect("an answer").writes_nothing());
}

#[test]
fn what_becomes_late_on_its_way_gives_back_what_it_holds() {
    let mut shards = [by_hand::shard(0, 2, 50), by_hand::shard(1, 2, 50)];
    let pile = Pile::default();
    // A pair whose halves live apart.
    let home = |kind, number| Place::of(key(SPACE, kind, number), 2).shard;
    let other = (0..100).find(|number| home(Kind::Object, *number) != home(Kind::Customer, 0));
    let other = other.expect("some are on the other shard");
    let pair = [
        key(SPACE, Kind::Customer, 0),
        key(SPACE, Kind::Object, other),
    ];
    let ask = |act, number, deadline| {
        let command = by_hand::command(SPACE, 0, pair, act);
        by_hand::request_until(number, vec![command], 2, &pile, Monotonic(deadline))
    };
    let run = |shards: &mut [Shard<Counters>; 2], first: (u16, ShardMessage<Counters>), mono| {
        let mut waiting = vec![first];
        for step in 0_u64.. {
            let Some((to, message)) = waiting.pop() else {
                break;
            };
            let shard = &mut shards[usize::from(to)];
            shard.receive(message);
            // The first shard is in time, the second is not.
            let output = shard.turn(Timestamp(1), Monotonic(mono + step));
            waiting.extend(output.messages);
            for held in output.frame.into_iter().flat_map(|frame| frame.replies) {
                held.sink.deliver(held.answers);
            }
        }
    };
    run(&mut shards, ask(by_hand::add(5), 1, u64::MAX), 1);
    run(&mut shards, ask(by_hand::add(7), 2, 100), 100);
    run(&mut shards, ask(Act::Read, 3, u64::MAX), 200);
    let values = |value| [value].into_iter().collect();
    let wanted = [
        (1, Answer::Decided(Reply::Done(values(5)))),
        (2, Answer::NotDecided(Undecided::Deadline)),
        (3, Answer::Decided(Reply::Seen(values(5)))),
    ];
    assert_eq!(told(&pile), BTreeMap::from(wanted));
}

const CREDITS: CreditOptions = CreditOptions {
    commands_max: 6_000,
    bytes_max: 1_000_000,
    space_commands_max: 4_000,
};

fn options() -> NodeOptions {
    NodeOptions {
        shards: 1,
        turn_commands_max: 16,
        queue_per_entity_max: 100,
        slice_entities_max: 10,
        sweep_entities_max: 10,
        entities_per_space_max: 100_000,
        entities_per_part_max: 100_000,
        sweep_interval: Duration::from_millis(5),
        credits: CREDITS,
        commit_bytes_max: 100_000,
        notices_max: 10,
        keeper: KeeperOptions {
            snapshot_interval_ms: 60_000,
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

/// Every space adds to one pair, which so tells how much was decided.
fn submission(space: u8, commands: usize, bytes: usize) -> Submission<Counters> {
    let one = command(SpaceId([space; 16]), 0, by_hand::add(1));
    Submission {
        commands: vec![one; commands],
        policy: Arc::new(by_hand::policy()),
        deadline: Duration::from_secs(60),
        bytes,
    }
}

type Asked = tokio::task::JoinHandle<Result<Vec<Answer<Reply>>, Refused>>;

/// Asks, and gives back the request that waits; or why it was refused.
async fn ask(
    handle: &NodeHandle<Counters>,
    submission: Submission<Counters>,
) -> Result<Asked, Refused> {
    let handle = handle.clone();
    let asked = actix::spawn(async move { handle.submit(submission).await });
    // It is refused, or has been sent on, within a few turns of this thread.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    if !asked.is_finished() {
        return Ok(asked);
    }
    match asked.await.expect("it does not panic") {
        Err(refused) => Err(refused),
        Ok(answers) => panic!("{} were answered without a disk", answers.len()),
    }
}

/// Requests of a space until one is refused.
async fn fill(
    handle: &NodeHandle<Counters>,
    (space, commands, bytes): (u8, usize, usize),
) -> (Vec<Asked>, Refused) {
    let mut waiting = Vec::new();
    loop {
        match ask(handle, submission(space, commands, bytes)).await {
            Ok(asked) => waiting.push(asked),
            Err(refused) => return (waiting, refused),
        }
        assert!(waiting.len() < 10_000, "nothing is refused");
    }
}

/// Asks until there are credits, as there are once the disk works again.
async fn taken(
    handle: &NodeHandle<Counters>,
    asked: impl Fn() -> Submission<Counters>,
) -> Vec<Answer<Reply>> {
    for _ in 0..100_000_000 {
        if let Ok(answers) = handle.submit(asked()).await {
            return answers;
        }
        tokio::task::yield_now().await;
    }
    panic!("there are no credits though the disk works");
}

async fn value(handle: &NodeHandle<Counters>, space: u8) -> i64 {
    let read = || {
        let mut asked = submission(space, 1, 1);
        asked.commands = vec![command(SpaceId([space; 16]), 0, Act::Read)];
        asked
    };
    let answers = taken(handle, read).await;
    match &answers[..] {
        [Answer::Decided(Reply::Seen(values))] => values[0],
        other => panic!("{other:?}"),
    }
}

async fn stalled(log: &Arc<Tap>) -> Node<Counters> {
    let shared: Arc<dyn Log> = Arc::clone(log) as Arc<dyn Log>;
    let rules: Arc<Policy> = Arc::new(by_hand::policy());
    let policies = (0..20).map(|space| (SpaceId([space; 16]), Arc::clone(&rules)));
    let node = Node::start(
        shared,
        policies.collect(),
        NodeClock::system(),
        None,
        options(),
    )
    .expect("it starts");
    node.recovered().await.expect("it is rebuilt");
    log.stall(true);
    node
}

/// While commits do not come back, no more than the credits is inside, by number and by bytes; the rest
/// is refused at once and told when to come back. Those who give up and ask again get no more in. With
/// the disk, everything that was taken is answered, and there is room again.
#[test]
fn pitfall_30_a_stalled_disk_refuses_at_the_entrance_and_loses_nothing() {
    let log = Arc::new(Tap::new(Arc::new(MemoryLog::new()), Pile::<()>::default()));
    actix::System::new().block_on(async {
        let node = stalled(&log).await;
        let handle = node.handle();
        let (mut waiting, refused) = fill(&handle, (1, 100, 10)).await;
        assert_eq!(waiting.len(), 40, "one space alone");
        assert_eq!(refused, Refused::Busy { retry_after_s: 1 });
        for space in 2..6 {
            let asked = ask(&handle, submission(space, 500, 10)).await;
            waiting.push(asked.expect("others have their part"));
        }
        let refused = ask(&handle, submission(7, 1, 10)).await.expect_err("full");
        assert_eq!(refused, Refused::Overloaded { retry_after_s: 1 });
        log.stall(false);
        let mut answered = 0;
        for asked in waiting {
            let answers = asked.await.expect("no panic").expect("it was taken");
            let done = |answer: &&Answer<Reply>| matches!(answer, Answer::Decided(Reply::Done(_)));
            assert!(answers.iter().all(|answer| done(&answer)));
            answered += answers.len();
        }
        assert_eq!(answered, 6_000);
        assert_eq!(value(&handle, 1).await, 4_000);
        node.stop(Duration::from_secs(10)).await;
    });
}

#[test]
fn pitfall_30_a_stalled_disk_holds_a_bounded_number_of_bytes() {
    let log = Arc::new(Tap::new(Arc::new(MemoryLog::new()), Pile::<()>::default()));
    actix::System::new().block_on(async {
        let node = stalled(&log).await;
        let handle = node.handle();
        let mut held = Vec::new();
        for space in 0..20 {
            let (waiting, _) = fill(&handle, (space, 1, 20_000)).await;
            held.extend(waiting);
        }
        let bytes = held.len() * 20_000;
        assert!((400_000..=1_000_000).contains(&bytes), "{bytes}");
        log.stall(false);
        for asked in held {
            asked.await.expect("no panic").expect("it was taken");
        }
        node.stop(Duration::from_secs(10)).await;
    });
}

#[test]
fn pitfall_30_who_gives_up_before_a_stalled_disk_and_asks_again_gets_no_more_in() {
    let log = Arc::new(Tap::new(Arc::new(MemoryLog::new()), Pile::<()>::default()));
    actix::System::new().block_on(async {
        let node = stalled(&log).await;
        let handle = node.handle();
        let mut asked = 0;
        // What is not decided yet is dropped with its client; what is stays until the disk has it.
        for _ in 0..400 {
            if let Ok(waiting) = ask(&handle, submission(1, 100, 10)).await {
                asked += 100;
                std::thread::park_timeout(Duration::from_millis(1));
                waiting.abort();
            }
        }
        assert!(asked >= 4_000, "{asked}");
        log.stall(false);
        // Everything decided was inside at once.
        taken(&handle, || submission(1, 4_000, 10)).await;
        let decided = value(&handle, 1).await - 4_000;
        assert!((1..=4_000).contains(&decided), "{decided} of {asked}");
        node.stop(Duration::from_secs(10)).await;
    });
}
