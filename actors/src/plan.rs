//! From the commands of one request to transactions.
//!
//! Here: which commands share an entity and are therefore decided together, in request order, and
//! the order in which each transaction acquires. Not here: credits and readiness (`handle`).

use std::collections::HashMap;
use std::sync::Arc;

use interlock_domain::key::{EntityKey, KeyList};
use interlock_domain::machine::Machine;
use smallvec::SmallVec;

use crate::message::{Item, Monotonic, ReplyTo, Sink, Transaction};
use crate::placement::{KeyHasher, MapKey, Place};

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

/// Makes transactions: commands that share any entity, directly or over others, become one that
/// decides them in request order; the rest run in parallel. (Chaining them one behind the other
/// would cost a trip over all shards for each.)
#[must_use]
pub fn plan<M: Machine>(
    request: &Request<M>,
    commands: Vec<Numbered<M::Command>>,
) -> Vec<Box<Transaction<M>>> {
    let keys: Vec<KeyList> = commands.iter().map(|one| M::keys(&one.command)).collect();
    if commands.len() == 1 {
        return vec![transaction(request, commands, keys)];
    }
    let roots = components(&keys);
    let mut members: HashMap<usize, Component<M>> = HashMap::new();
    let mut order = Vec::new();
    for ((root, command), keys) in roots.into_iter().zip(commands).zip(keys) {
        let (commands, key_lists) = members.entry(root).or_insert_with(|| {
            order.push(root);
            (Vec::with_capacity(1), Vec::with_capacity(1))
        });
        commands.push(command);
        key_lists.push(keys);
    }
    order
        .into_iter()
        .filter_map(|root| members.remove(&root))
        .map(|(commands, keys)| transaction(request, commands, keys))
        .collect()
}

/// Commands that share entities, with the keys of each.
type Component<M> = (Vec<Numbered<<M as Machine>::Command>>, Vec<KeyList>);

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

fn transaction<M: Machine>(
    request: &Request<M>,
    commands: Vec<Numbered<M::Command>>,
    keys: Vec<KeyList>,
) -> Box<Transaction<M>> {
    let place = |key: &EntityKey| Place::of(*key, request.shards);
    let mut places: SmallVec<[Place; 4]> = keys.iter().flatten().map(place).collect();
    places.sort_unstable_by_key(Place::order);
    places.dedup();
    let space = M::space(&commands[0].command);
    let find = |key: &EntityKey| {
        // A look at each of few is cheaper than placing the key again.
        let at = if places.len() <= FEW {
            places.iter().position(|place| place.key == *key)
        } else {
            let order = Place::of(*key, request.shards).order();
            places.binary_search_by_key(&order, Place::order).ok()
        };
        u16::try_from(at.expect("every key of an item is among the places"))
            .expect("a request has below 65,536 keys")
    };
    let items = commands
        .into_iter()
        .zip(&keys)
        .map(|(Numbered { index, command }, keys)| {
            debug_assert_eq!(M::space(&command), space, "a request is of one space");
            let places = keys.iter().map(find).collect();
            Item {
                command,
                places,
                reply_to: ReplyTo {
                    sink: Arc::clone(&request.sink),
                    index,
                },
            }
        })
        .collect();
    Box::new(Transaction {
        items,
        places,
        held: SmallVec::new(),
        space,
        policy: Arc::clone(&request.policy),
        submitted: request.submitted,
        deadline: request.deadline,
        waits: 0,
    })
}
