//! What a decision leaves is one record: one shard, step by step, and the bytes it hands to the disk.

use interlock_actors::message::Monotonic;
use interlock_actors::record::visit;
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_sim::by_hand;
use interlock_sim::counters::{Act, Counters, Event};

const SPACE: SpaceId = SpaceId([3; 16]);

/// The change of both halves of a pair and the answer that is given again lie in one record, so a crash
/// keeps all of it or nothing.
#[test]
fn pitfall_11_what_was_done_and_its_answer_are_one_record() {
    let key = |kind, number| EntityKey {
        kind,
        space: SPACE,
        hash: KeyHash([number; 16]),
    };
    let mut shard = by_hand::shard(0, 1, 50);
    for (number, value) in [(1, 7), (2, 9)] {
        let pair = [Kind::Customer, Kind::Object].map(|kind| key(kind, number));
        let receipt = key(Kind::Receipt, number);
        let act = Act::Add {
            amount: value,
            receipt: Some(receipt),
        };
        let command = by_hand::command(SPACE, usize::from(number), pair, act);
        shard.receive(by_hand::work(command, 1).1);
    }
    let frame = shard.turn(Timestamp(1), Monotonic(1)).frame;
    let frame = frame.expect("two decisions");
    let [records] = &frame.groups[..] else {
        panic!("one space lies in one group");
    };
    let mut found = Vec::new();
    let mut each = |record: interlock_actors::record::RecordView<'_>| {
        let (mut kinds, mut kept) = (Vec::new(), Vec::new());
        record.entries(&mut |entry| {
            kinds.push(entry.key.kind);
            if let Event::Kept(receipt) = entry.event::<Counters>()? {
                kept.push(receipt.values.to_vec());
            }
            Ok(())
        })?;
        kinds.sort_unstable();
        // A new entity has its creation and its change.
        kinds.dedup();
        found.push((kinds, kept));
        Ok(())
    };
    visit::<Counters>(&records.bytes, &mut each).expect("records");
    let mut kinds = vec![Kind::Receipt, Kind::Customer, Kind::Object];
    kinds.sort_unstable();
    let wanted = [7, 9].map(|value| (kinds.clone(), vec![vec![value]]));
    assert_eq!(found, wanted, "a record each, with the answer in it");
}
