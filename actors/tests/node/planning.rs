//! How the commands of one request become transactions.
//!
//! Here: which travel together, in which order. Not here: what a node does with them (`main`).

use std::sync::Arc;

use interlock_actors::Answer;
use interlock_actors::message::{Monotonic, Sink, Transaction};
use interlock_actors::plan::{Numbered, Request, plan};
use interlock_domain::machine::Machine;

use crate::{Boxes, Command, Reply, Rules};

struct Nobody;

impl Sink<Reply> for Nobody {
    fn deliver(&self, _: Vec<(u32, Answer<Reply>)>) {}

    fn gone(&self) -> bool {
        false
    }
}

fn planned(shards: u16, boxes: &[u8]) -> Vec<Transaction<Boxes>> {
    let request = Request {
        sink: Arc::new(Nobody),
        policy: Arc::new(Rules),
        submitted: Monotonic(0),
        deadline: Monotonic(u64::MAX),
        shards,
    };
    let commands = boxes.iter().map(|number| Command::Add(0, Some(*number)));
    let numbered = |(index, command)| Numbered { index, command };
    let numbered: Vec<_> = (0..).zip(commands).map(numbered).collect();
    let planned = plan(&request, numbered.into_iter());
    planned.into_iter().map(|one| *one).collect()
}

fn indices(one: &Transaction<Boxes>) -> Vec<u32> {
    one.items.iter().map(|item| item.index).collect()
}

/// Commands of one request that share an entity are one transaction, in request order, so that a
/// later one sees the earlier; the others run beside it.
#[test]
fn commands_that_share_an_entity_keep_their_order() {
    let planned = planned(3, &[1, 2, 1, 3, 2, 1]);
    let places: Vec<Vec<u32>> = planned.iter().map(indices).collect();
    assert_eq!(places, [vec![0, 2, 5], vec![1, 4], vec![3]]);
}

/// On one shard they go in slices, each with the places of its own commands.
#[test]
fn on_one_shard_a_request_goes_in_slices_in_its_order() {
    let planned = planned(1, &[1, 2, 3, 1, 2, 3, 1].repeat(10));
    for (transaction, expected) in planned.iter().zip([0..32, 32..64, 64..70]) {
        assert!(indices(transaction).into_iter().eq(expected));
        for item in &transaction.items {
            let place = |at: &u16| transaction.places[usize::from(*at)].key;
            let touched = item.places.iter().map(place);
            assert!(touched.eq(Boxes::keys(&item.command)));
        }
    }
    assert_eq!(planned.len(), 3);
}
