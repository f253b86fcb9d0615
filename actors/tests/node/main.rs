//! A whole node with a small machine: ids resolved through their rows, shards, stop and start.
//!
//! Here: what the simulator does not drive, the entrance and the threads. The machine keeps boxes
//! that count; a box is found by a label, whose directory row says which box it is.

#[cfg(test)]
mod planning;
#[cfg(test)]
mod takeover;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::credits::CreditOptions;
use interlock_actors::history::HistoryOptions;
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::recovery::rebuild;
use interlock_actors::scan::NotScanned;
use interlock_actors::verify::verify;
use interlock_actors::{Answer, Node, NodeClock, NodeOptions, NotWritten, Submission};
use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, KeyHash, KeyList, Kind, SpaceId};
use interlock_domain::machine::{
    Broken, Context, Decision, Entities, Machine, Sweep, Undecided, Versioned,
};
use interlock_domain::time::Timestamp;
use interlock_storage::{Append, Commit, Log, MemoryLog, Sequence};
use serde::{Deserialize, Serialize};

const SPACE: SpaceId = SpaceId([9; 16]);

#[derive(Debug)]
struct Boxes;

#[derive(Debug)]
struct Rules;

impl Versioned for Rules {
    fn version(&self) -> u32 {
        1
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Entity {
    Row(u8),
    Count(u64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Event {
    Labelled(u8),
    Added,
}

#[derive(Debug)]
enum Command {
    /// Makes a label's row.
    Label(u8, u8),
    /// Which box has the label?
    Look(u8),
    /// Adds to the box of a label; complete once the box is known.
    Add(u8, Option<u8>),
}

#[derive(Debug, PartialEq)]
enum Reply {
    Labelled,
    Found(Option<u8>),
    Count(u64),
}

fn key(kind: Kind, number: u8) -> EntityKey {
    // Spread over partitions, as a keyed hash would be.
    let hash = KeyHash([number.wrapping_mul(151).wrapping_add(7); 16]);
    EntityKey {
        kind,
        space: SPACE,
        hash,
    }
}

impl Machine for Boxes {
    type Entity = Entity;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Note = ();
    type Notice = ();
    type Policy = Rules;

    const PRODUCT: u8 = 251;
    const FORMAT: u16 = 1;
    const NAME: &'static str = "boxes";

    fn space(_: &Command) -> SpaceId {
        SPACE
    }

    fn keys(command: &Command) -> KeyList {
        let one = match *command {
            Command::Label(label, _) | Command::Look(label) | Command::Add(label, None) => {
                key(Kind::Directory, label)
            }
            Command::Add(_, Some(number)) => key(Kind::Customer, number),
        };
        [one].into_iter().collect()
    }

    fn look_up(command: &Command) -> Option<Command> {
        match *command {
            Command::Add(label, None) => Some(Command::Look(label)),
            Command::Label(..) | Command::Look(_) | Command::Add(_, Some(_)) => None,
        }
    }

    fn looked_up(command: Command, found: Reply) -> Result<Command, Reply> {
        match (command, found) {
            (Command::Add(label, None), Reply::Found(Some(number))) => {
                Ok(Command::Add(label, Some(number)))
            }
            (_, found) => Err(found),
        }
    }

    fn decide(
        entities: &Entities<'_, Entity>,
        command: &Command,
        _: &mut Context<'_, Rules>,
    ) -> Decision<Self> {
        let at = Self::keys(command)[0];
        let entity = entities.get(&at);
        let decision = |event: Event, reply| Decision {
            events: [(at, event)].into_iter().collect(),
            reply,
            note: None,
            notices: Vec::new(),
        };
        match *command {
            Command::Label(_, number) => decision(Event::Labelled(number), Reply::Labelled),
            Command::Look(_) | Command::Add(_, None) => {
                Decision::read(Reply::Found(entity.and_then(|entity| match entity {
                    Entity::Row(number) => Some(*number),
                    Entity::Count(_) => None,
                })))
            }
            Command::Add(_, Some(_)) => {
                let count = match entity {
                    Some(Entity::Count(count)) => *count,
                    Some(Entity::Row(_)) | None => 0,
                };
                decision(Event::Added, Reply::Count(count + 1))
            }
        }
    }

    fn empty(kind: Kind) -> Entity {
        match kind {
            Kind::Directory => Entity::Row(0),
            Kind::Receipt
            | Kind::Handoff
            | Kind::Effect
            | Kind::Customer
            | Kind::Object
            | Kind::SpaceBudget
            | Kind::Feed
            | Kind::Reports
            | Kind::Holds => Entity::Count(0),
        }
    }

    fn apply(entity: &mut Entity, event: &Event) {
        match (entity, event) {
            (Entity::Row(row), Event::Labelled(number)) => *row = *number,
            (Entity::Count(count), Event::Added) => *count += 1,
            (entity, event) => panic!("{event:?} of {entity:?}"),
        }
    }

    fn due(_: &Entity) -> Option<Timestamp> {
        None
    }

    fn sweep(_: &Entity, _: Timestamp) -> Sweep<Event> {
        Sweep::Keep
    }

    fn check(entity: &Entity) -> Result<(), Broken> {
        match entity {
            Entity::Row(255) => Err(Broken {
                invariant: "B1",
                seen: "a row that names no box".to_owned(),
            }),
            Entity::Row(_) | Entity::Count(_) => Ok(()),
        }
    }

    fn rebind(_: &mut Command, _: &Rules) -> Result<(), Reply> {
        Ok(())
    }

    fn undecided(
        _: &Command,
        _: &Rules,
        _: Undecided,
        _: Timestamp,
        _: &mut IdStream,
    ) -> Option<Reply> {
        None
    }

    fn outcome(_: &Reply) -> (&'static str, &'static str) {
        ("allow", "none")
    }
}

fn options(shards: u16) -> NodeOptions {
    NodeOptions {
        shards,
        turn_commands_max: 16,
        queue_per_entity_max: 100,
        slice_entities_max: 10,
        sweep_entities_max: 10,
        entities_per_space_max: 1_000,
        entities_per_part_max: 1_000,
        sweep_interval: Duration::from_millis(20),
        credits: CreditOptions {
            commands_max: 1_000,
            bytes_max: 1_000_000,
            space_commands_max: 1_000,
        },
        commit_bytes_max: 100_000,
        notices_max: 10,
        keeper: KeeperOptions {
            snapshot_interval_ms: 100,
            snapshot_bytes_per_s: 1_000_000,
            journal_bytes_soft: 1_000_000,
            journal_bytes_max: 1_000_000,
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

fn start(log: &Arc<dyn Log>, shards: u16) -> Node<Boxes> {
    let policies = vec![(SPACE, Arc::new(Rules))];
    Node::start(
        Arc::clone(log),
        policies,
        NodeClock::system(),
        None,
        options(shards),
    )
    .expect("the node starts")
}

async fn ask(node: &Node<Boxes>, commands: Vec<Command>) -> Vec<Answer<Reply>> {
    let submission = Submission {
        commands,
        policy: Arc::new(Rules),
        deadline: Duration::from_secs(30),
        bytes: 100,
    };
    node.handle()
        .submit(submission)
        .await
        .expect("there are credits")
}

/// What names only an id is completed through the id's row, wherever row and entity live; the
/// answers stay in the order of the commands, over a stop and another count of shards.
#[test]
fn ids_are_resolved_through_their_rows_on_every_shard() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    actix::System::new().block_on(async {
        let node = start(&log, 3);
        let labels = (0..20)
            .map(|label| Command::Label(label, label + 100))
            .collect();
        let labelled = ask(&node, labels).await;
        assert!(
            labelled
                .iter()
                .all(|answer| *answer == Answer::Decided(Reply::Labelled))
        );
        for round in 1..=5 {
            // The last label has no row, and the one before is asked in full.
            let mut adds: Vec<_> = (0..20).map(|label| Command::Add(label, None)).collect();
            adds.push(Command::Add(0, Some(200)));
            adds.push(Command::Add(77, None));
            let answers = ask(&node, adds).await;
            let counted = |answer: &Answer<Reply>| *answer == Answer::Decided(Reply::Count(round));
            assert!(
                answers[..21].iter().all(counted),
                "round {round}: {answers:?}"
            );
            assert_eq!(answers[21], Answer::Decided(Reply::Found(None)));
        }
        node.stop(Duration::from_secs(10)).await;
        let node = start(&log, 2);
        let answers = ask(
            &node,
            (0..20).map(|label| Command::Add(label, None)).collect(),
        )
        .await;
        let sixth = |answer: &Answer<Reply>| *answer == Answer::Decided(Reply::Count(6));
        assert!(answers.iter().all(sixth), "{answers:?}");
        let report = node.recovered().await.expect("it is rebuilt");
        assert_eq!(report.entities, 41, "20 rows, 21 boxes");
        node.stop(Duration::from_secs(10)).await;
    });
}

/// A scan shows every entity of every shard once, keeps the smallest answers and says how many
/// there were; a value outside the groups is durable when its writer hears so.
#[test]
fn a_scan_meets_every_entity_and_keeps_the_smallest() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    actix::System::new().block_on(async {
        let node = start(&log, 3);
        node.recovered().await.expect("it is rebuilt");
        let labels = (0..50)
            .map(|label| Command::Label(label, 200 - label))
            .collect();
        ask(&node, labels).await;
        let rows = |_: &EntityKey, entity: &Entity, _: Timestamp| match entity {
            Entity::Row(number) => Some(*number),
            Entity::Count(_) => None,
        };
        let handle = node.handle();
        let scanned = handle.scan(3, rows).await.expect("it scans");
        assert_eq!(scanned.found, [151, 152, 153]);
        assert_eq!((scanned.matched, scanned.left_out), (50, 0));
        let count = |seen: &mut u64, entity: &Entity, _: Timestamp| {
            *seen += u64::from(matches!(entity, Entity::Row(_)));
        };
        let folded = handle.fold::<u64, _>(SPACE, count).await.expect("it folds");
        assert_eq!(
            (folded.parts.len(), folded.left_out),
            (3, 0),
            "one for each shard"
        );
        assert_eq!(folded.parts.iter().sum::<u64>(), scanned.matched);
        let other = handle.fold::<u64, _>(SpaceId([1; 16]), count).await;
        assert_eq!(other.expect("it folds").parts.iter().sum::<u64>(), 0);
        let several = [handle.scan(0, rows), handle.scan(60, rows)];
        for (scan, found) in several.into_iter().zip([0, 50]) {
            assert_eq!(scan.await.expect("it scans").found.len(), found);
        }
        let value = vec![(b"a".to_vec(), Some(b"1".to_vec()))];
        assert_eq!(node.meta_writer().write(value).await, Ok(()));
        assert_eq!(log.meta(b"a").expect("it reads"), Some(b"1".to_vec()));
        let writer = node.meta_writer();
        node.stop(Duration::from_secs(10)).await;
        let written = writer.write(vec![(b"b".to_vec(), None)]).await;
        assert_eq!(written, Err(NotWritten::GoingDown));
        let scan = handle.scan(1, rows).await;
        assert_eq!(scan, Err(NotScanned::GivenUp));
    });
}

/// A log is judged as a whole: what a node left is well, and an entity that breaks its invariant is
/// named with its place.
#[test]
fn a_log_is_verified_and_a_broken_entity_is_named() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    // However long it takes, nothing goes from the journal into a snapshot alone.
    let _pinned = log.pin().take(u64::MAX).expect("nobody else pins it");
    actix::System::new().block_on(async {
        let node = start(&log, 2);
        ask(&node, vec![Command::Label(1, 7), Command::Label(2, 8)]).await;
        ask(&node, vec![Command::Add(1, None)]).await;
        node.stop(Duration::from_secs(10)).await;
    });
    let mut parts = Vec::new();
    let verified = verify::<Boxes>(&*log, &mut |part, _| parts.push(part));
    let verified = verified.expect("it is well");
    assert_eq!(parts, [1, 2, 3, 4]);
    assert_eq!(verified.entities[Kind::Directory as usize], 2);
    assert_eq!(verified.entities[Kind::Customer as usize], 1);
    assert!(verified.records >= 3 && verified.entity_bytes_max > 0);
    actix::System::new().block_on(async {
        let node = start(&log, 2);
        // A row may not name the box 255: see `check`.
        ask(&node, vec![Command::Label(3, 255)]).await;
        node.stop(Duration::from_secs(10)).await;
    });
    let broken = verify::<Boxes>(&*log, &mut |_, _| ()).expect_err("it is named");
    let said = broken.to_string();
    assert!(said.contains("directory") && said.contains("B1"), "{said}");
}

/// A journal that lacks a commit is refused, not read with a gap in an entity's versions.
#[test]
fn a_gap_in_an_entitys_versions_is_refused() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    // However long it takes, nothing goes from the journal into a snapshot alone.
    let _pinned = log.pin().take(u64::MAX).expect("nobody else pins it");
    actix::System::new().block_on(async {
        let node = start(&log, 1);
        for count in 1..=3 {
            let answers = ask(&node, vec![Command::Add(0, Some(7))]).await;
            assert_eq!(answers, [Answer::Decided(Reply::Count(count))]);
        }
        node.stop(Duration::from_secs(10)).await;
    });
    let mut written = Vec::new();
    log.replay(&BTreeMap::new(), &mut |replayed| {
        written.push(replayed);
        ControlFlow::Continue(())
    })
    .expect("it is read");
    assert_eq!(written.len(), 3, "each command is a commit");
    let rebuilt = |kept: &[usize]| {
        let log = MemoryLog::new();
        let group = written[0].group;
        let owned = log.acquire(&[group]).expect("it is free")[0];
        for (&place, sequence) in kept.iter().zip(1..) {
            let append = Append {
                group,
                epoch: owned.epoch,
                sequence: Sequence(sequence),
                partitions: written[place].partitions.clone(),
                records: written[place].records.clone(),
            };
            let commit = Commit {
                appends: vec![append],
                ..Commit::default()
            };
            log.commit(&commit).expect("it is taken");
        }
        let rebuilt = rebuild::<Boxes>(&log, &|_| true);
        rebuilt
            .map(|rebuilt| rebuilt.records)
            .map_err(|error| error.to_string())
    };
    assert_eq!(rebuilt(&[0, 1, 2]), Ok(3));
    for kept in [&[0, 2][..], &[1, 2]] {
        let said = rebuilt(kept).expect_err("a version is missing");
        assert!(said.contains("jumps from version"), "{kept:?}: {said}");
    }
}
