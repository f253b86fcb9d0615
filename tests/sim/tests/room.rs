//! A disk without room for records: one shard by hand, whose bound is in the test's hands.

use std::sync::Arc;

use interlock_actors::message::{Answer, Monotonic, ShardMessage};
use interlock_actors::shard::{Pressure, Shard};
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::machine::Undecided;
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::{Act, Counters, Reply};
use interlock_sim::sink::Pile;

const SPACE: SpaceId = SpaceId([4; 16]);
const FULL: Answer<Reply> = Answer::NotDecided(Undecided::NoRoom);

struct Hand {
    shard: Shard<Counters>,
    pressure: Arc<Pressure>,
    pile: Pile<(u64, u32, Answer<Reply>)>,
}

impl Hand {
    fn new() -> Self {
        let pressure = Arc::new(Pressure::default());
        Self {
            shard: by_hand::shard_under(0, 1, 50, Arc::clone(&pressure)),
            pressure,
            pile: Pile::default(),
        }
    }

    /// Everything that is to be done at a time; the bytes of the records it made.
    fn turns(&mut self, now: i64) -> usize {
        let mut bytes = 0;
        loop {
            let output = self.shard.turn(Timestamp(now), Monotonic(1));
            if let Some(frame) = output.frame {
                bytes += frame.record_bytes();
                for held in frame.replies {
                    held.sink.deliver(held.answers);
                }
            }
            if !output.more {
                return bytes;
            }
        }
    }

    /// One request of these acts on one pair, and the bytes of its records.
    fn ask(&mut self, acts: Vec<Act>) -> (Vec<Answer<Reply>>, usize) {
        let pair = [Kind::Customer, Kind::Object].map(|kind| EntityKey {
            kind,
            space: SPACE,
            hash: KeyHash([7; 16]),
        });
        let command = |act| by_hand::command(SPACE, 0, pair, act);
        let commands = acts.into_iter().map(command).collect();
        let (_, message) = by_hand::request(1, commands, 1, &self.pile);
        self.shard.receive(message);
        let bytes = self.turns(1);
        let answers = self.pile.take().into_iter();
        (answers.map(|(_, _, answer)| answer).collect(), bytes)
    }

    /// A round of the sweep: entities purged, and the bytes of its records.
    fn sweep(&mut self, now: i64) -> (u64, usize) {
        self.shard.take_stats();
        self.shard.receive(ShardMessage::Sweep);
        let bytes = self.turns(now);
        (self.shard.take_stats().purged.iter().sum(), bytes)
    }
}

fn seen(value: i64) -> Answer<Reply> {
    Answer::Decided(Reply::Seen([value].into_iter().collect()))
}

fn done(value: i64) -> Answer<Reply> {
    Answer::Decided(Reply::Done([value].into_iter().collect()))
}

/// What leaves a record is refused and changes nothing; what leaves none is answered, in the order of
/// the request.
#[test]
fn only_what_leaves_no_record_is_decided() {
    let mut hand = Hand::new();
    assert_eq!(hand.ask(vec![by_hand::add(1)]).0, [done(1)]);
    hand.pressure.room.set_bound(0);
    let acts = vec![by_hand::add(1), Act::Read, Act::Clear, Act::Read];
    let (answers, bytes) = hand.ask(acts);
    assert_eq!(answers, [FULL, seen(1), FULL, seen(1)]);
    assert_eq!(bytes, 0);
    assert_eq!(hand.shard.take_stats().no_room, 2);
    // A bug is told as one.
    assert_eq!(hand.ask(vec![Act::Panic]).0, [Answer::Broken]);
    hand.pressure.room.set_bound(u64::MAX);
    assert_eq!(hand.ask(vec![by_hand::add(1)]).0, [done(2)]);
}

/// However much comes in one turn, the records stay within the bound and one more.
#[test]
fn a_burst_ends_where_the_room_does() {
    let mut hand = Hand::new();
    let (_, record) = hand.ask(vec![by_hand::add(1)]);
    assert!(record > 0);
    let room = u64::try_from(record).expect("it is small");
    hand.pressure.room.set_bound(room * 5);
    let (answers, bytes) = hand.ask(vec![by_hand::add(1); 40]);
    let taken = answers.iter().filter(|answer| **answer != FULL).count();
    assert!((2..=6).contains(&taken), "{taken} of about four");
    assert!(answers[taken..].iter().all(|answer| *answer == FULL));
    assert!(bytes <= record * 5 + record / 2, "{bytes} of {record} each");
}

/// Purges wait too, and are made up for.
#[test]
fn a_sweep_waits_for_room() {
    let mut hand = Hand::new();
    hand.ask(vec![by_hand::add(0)]);
    hand.pressure.room.set_bound(0);
    for round in 0..3 {
        assert_eq!(hand.sweep(60_000 + round), (0, 0));
    }
    hand.pressure.room.set_bound(u64::MAX);
    let (purged, bytes) = hand.sweep(61_000);
    assert!(purged == 2 && bytes > 0, "{purged} {bytes}");
}
