//! From the commands of one request to transactions.
//!
//! Here: which commands travel together and are therefore decided in request order, and the order in
//! which each transaction acquires. Not here: credits and readiness (`handle`).

use std::collections::HashMap;
use std::sync::Arc;

use interlock_domain::key::{EntityKey, KeyList, SpaceId};
use interlock_domain::machine::Machine;
use smallvec::{SmallVec, smallvec};

use crate::message::{Item, Monotonic, ReplyTo, Sink, Transaction};
use crate::placement::{KeyHasher, MapKey, Place, Placing};
use crate::shard::SLICE_COMMANDS;

/// One command of a request with its place in it.
#[derive(Debug)]
pub struct Numbered<C> {
    /// Its place in the request.
    pub index: u32,
    /// What is wanted.
    pub command: C,
}

/// What the transactions of one request have in common.
pub struct Request<M: Machine> {
    /// Takes the answers.
    pub sink: Arc<dyn Sink<M::Reply>>,
    /// The rules the commands were parsed with.
    pub policy: Arc<M::Policy>,
    /// When they came in.
    pub submitted: Monotonic,
    /// When deciding them stops being of use.
    pub deadline: Monotonic,
    /// How many shards there are.
    pub shards: u16,
}

impl<M: Machine> std::fmt::Debug for Request<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Makes transactions. Over several shards commands that share any entity, directly or over others,
/// become one that decides them in request order; the rest run in parallel. (Chaining them one behind
/// the other would cost a trip over all shards for each.) On one shard they go in slices.
#[must_use]
pub fn plan<M: Machine>(
    request: &Request<M>,
    commands: impl ExactSizeIterator<Item = Numbered<M::Command>>,
) -> Vec<Box<Transaction<M>>> {
    if request.shards == 1 {
        return slices(request, commands);
    }
    let commands: Vec<_> = commands.collect();
    let keys: Vec<KeyList> = commands.iter().map(|one| M::keys(&one.command)).collect();
    let roots = components(&keys);
    let mut together: Vec<Component<M>> = Vec::with_capacity(commands.len());
    // Where the component of a command is, by the number of its first command.
    let mut found = vec![0; commands.len()];
    for (at, ((root, command), keys)) in roots.into_iter().zip(commands).zip(keys).enumerate() {
        if root == at {
            found[at] = together.len();
            together.push((smallvec![command], smallvec![keys]));
        } else {
            let (commands, key_lists) = &mut together[found[root]];
            commands.push(command);
            key_lists.push(keys);
        }
    }
    together
        .into_iter()
        .map(|(commands, keys)| shared(request, commands, &keys))
        .collect()
}

/// Makes transactions for a node of one shard. All entities are at home there and none is ever lent,
/// so no transaction waits for another, and what is sent first is decided first: request order needs
/// no look at who shares what. As many commands travel together as the shard decides of one space
/// before another's turn comes, for a transaction is not cut.
fn slices<M: Machine>(
    request: &Request<M>,
    commands: impl ExactSizeIterator<Item = Numbered<M::Command>>,
) -> Vec<Box<Transaction<M>>> {
    let mut transactions = Vec::with_capacity(commands.len().div_ceil(SLICE_COMMANDS));
    let mut commands = commands.peekable();
    while let Some(first) = commands.peek() {
        let space = M::space(&first.command);
        let placing = Placing::new(space, request.shards);
        let slice = commands.by_ref().take(SLICE_COMMANDS);
        let mut items = SmallVec::with_capacity(slice.len());
        let mut places = SmallVec::with_capacity(slice.len() * KEYS_USUAL);
        for one in slice {
            let from = places.len();
            places.extend(M::keys(&one.command).into_iter().map(|key| placing.of(key)));
            let places = (from..places.len()).map(index).collect();
            items.push(item::<M>(space, one, places));
        }
        transactions.push(Box::new(transaction(request, space, items, places)));
    }
    transactions
}

/// Keys a command usually has at most.
const KEYS_USUAL: usize = 4;

/// Commands that share entities, with the keys of each: mostly one.
type Component<M> = (
    SmallVec<[Numbered<<M as Machine>::Command>; 1]>,
    SmallVec<[KeyList; 1]>,
);

/// For each command the number of the first command of its component.
fn components(keys: &[KeyList]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..keys.len()).collect();
    let mut first: HashMap<MapKey, usize, KeyHasher> = HashMap::default();
    first.reserve(keys.len() * 3);
    for (at, list) in keys.iter().enumerate() {
        for key in list {
            let other = *first.entry(MapKey(*key)).or_insert(at);
            let (a, b) = (root(&mut parents, other), root(&mut parents, at));
            // The earlier one leads, so that a component is named by its first command.
            parents[a.max(b)] = a.min(b);
        }
    }
    (0..keys.len()).map(|at| root(&mut parents, at)).collect()
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// So many places are searched one by one.
const FEW: usize = 8;

fn shared<M: Machine>(
    request: &Request<M>,
    commands: SmallVec<[Numbered<M::Command>; 1]>,
    keys: &[KeyList],
) -> Box<Transaction<M>> {
    let space = M::space(&commands[0].command);
    let placing = Placing::new(space, request.shards);
    let place = |key: &EntityKey| placing.of(*key);
    let mut places: SmallVec<[Place; 4]> = keys.iter().flatten().map(place).collect();
    places.sort_unstable_by_key(Place::order);
    places.dedup();
    let find = |key: &EntityKey| {
        // A look at each of few is cheaper than placing the key again.
        let at = if places.len() <= FEW {
            places.iter().position(|place| place.key == *key)
        } else {
            let order = place(key).order();
            places.binary_search_by_key(&order, Place::order).ok()
        };
        index(at.expect("every key of an item is among the places"))
    };
    let items = commands
        .into_iter()
        .zip(keys)
        .map(|(one, keys)| item(space, one, keys.iter().map(find).collect()))
        .collect();
    Box::new(transaction(request, space, items, places))
}

/// Where one of a transaction's places is among them.
fn index(at: usize) -> u16 {
    u16::try_from(at).expect("a request has below 65,536 keys")
}

fn item<M: Machine>(
    space: SpaceId,
    Numbered { index, command }: Numbered<M::Command>,
    places: SmallVec<[u16; 4]>,
) -> Item<M> {
    debug_assert_eq!(M::space(&command), space, "a request is of one space");
    Item {
        command,
        places,
        index,
    }
}

fn transaction<M: Machine>(
    request: &Request<M>,
    space: SpaceId,
    items: SmallVec<[Item<M>; 1]>,
    places: SmallVec<[Place; 4]>,
) -> Transaction<M> {
    Transaction {
        items,
        reply_to: ReplyTo(Arc::clone(&request.sink)),
        places,
        held: SmallVec::new(),
        space,
        policy: Arc::clone(&request.policy),
        submitted: request.submitted,
        deadline: request.deadline,
        waits: 0,
    }
}
