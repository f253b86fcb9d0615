//! A partition's entities by name, in few bytes and few cache lines each.
//!
//! Here: the map of a partition. Values stand one behind another in chunks, so a map that grows
//! neither moves them nor keeps half of its room empty, and `index` finds them. A name takes 21
//! bytes here, for the space of nearly every name of a partition is the same: a number stands for
//! it. Not here: what the values are (`partition`).

use std::collections::HashMap;

use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};

use super::index::Index;
use crate::placement::index_bits;

/// Values of a chunk. Small, for each partition has one that is not full; only the first grows.
const CHUNK: usize = 256;

/// Spaces by the numbers they have in one partition. A number lasts as long as the table.
#[derive(Debug, Default)]
struct Spaces {
    known: Vec<SpaceId>,
    /// The numbers of all but the first: most partitions have entities of one space.
    others: HashMap<SpaceId, u32>,
}

impl Spaces {
    fn number(&self, space: SpaceId) -> Option<u32> {
        match self.known.first() {
            Some(first) if *first == space => Some(0),
            Some(_) => self.others.get(&space).copied(),
            None => None,
        }
    }

    fn number_or_new(&mut self, space: SpaceId) -> u32 {
        if let Some(number) = self.number(space) {
            return number;
        }
        let number = u32::try_from(self.known.len()).expect("a node has few spaces");
        if number > 0 {
            self.others.insert(space, number);
        }
        self.known.push(space);
        number
    }
}

/// A value with its name.
#[derive(Debug)]
struct Named<T> {
    /// `None`: the place is free.
    value: Option<T>,
    hash: KeyHash,
    space: u32,
    kind: Kind,
}

/// The values of a partition by name.
#[derive(Debug)]
pub(super) struct Table<T> {
    index: Index,
    /// All full but the last.
    chunks: Vec<Vec<Named<T>>>,
    /// Places in full chunks whose values are gone; they are taken first.
    free: Vec<u32>,
    spaces: Spaces,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            index: Index::default(),
            chunks: Vec::new(),
            free: Vec::new(),
            spaces: Spaces::default(),
        }
    }
}

const fn chunk_of(place: u32) -> (usize, usize) {
    (place as usize / CHUNK, place as usize % CHUNK)
}

impl<T> Table<T> {
    pub(super) const fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn get(&self, key: &EntityKey) -> Option<&T> {
        let (chunk, at) = chunk_of(self.find(key)?);
        self.chunks[chunk][at].value.as_ref()
    }

    pub(super) fn get_mut(&mut self, key: &EntityKey) -> Option<&mut T> {
        let (chunk, at) = chunk_of(self.find(key)?);
        self.chunks[chunk][at].value.as_mut()
    }

    /// The value of a name, made when there is none; answers whether it was made.
    pub(super) fn get_or_insert(
        &mut self,
        key: &EntityKey,
        make: impl FnOnce() -> T,
    ) -> (&mut T, bool) {
        let found = self.find(key);
        let place = found.unwrap_or_else(|| self.add(key, make()));
        let (chunk, at) = chunk_of(place);
        match &mut self.chunks[chunk][at].value {
            Some(value) => (value, found.is_none()),
            None => unreachable!("what is found or was just added is there"),
        }
    }

    pub(super) fn insert(&mut self, key: &EntityKey, value: T) {
        match self.get_mut(key) {
            Some(known) => *known = value,
            None => {
                self.add(key, value);
            }
        }
    }

    pub(super) fn remove(&mut self, key: &EntityKey) {
        let Some(place) = self.find(key) else {
            return;
        };
        let (chunk, at) = chunk_of(place);
        self.chunks[chunk][at].value = None;
        self.index.remove(index_bits(key), place);
        self.free.push(place);
    }

    /// All names and values, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (EntityKey, &T)> {
        self.chunks.iter().flatten().filter_map(|named| {
            let key = EntityKey {
                kind: named.kind,
                space: self.spaces.known[named.space as usize],
                hash: named.hash,
            };
            named.value.as_ref().map(|value| (key, value))
        })
    }

    fn find(&self, key: &EntityKey) -> Option<u32> {
        let space = self.spaces.number(key.space)?;
        self.index.find(index_bits(key), |place| {
            let (chunk, at) = chunk_of(place);
            let named = &self.chunks[chunk][at];
            named.hash == key.hash && named.kind == key.kind && named.space == space
        })
    }

    /// Adds a name that is not there; answers its place.
    fn add(&mut self, key: &EntityKey, value: T) -> u32 {
        let named = Named {
            value: Some(value),
            hash: key.hash,
            space: self.spaces.number_or_new(key.space),
            kind: key.kind,
        };
        let place = match self.free.pop() {
            Some(place) => {
                let (chunk, at) = chunk_of(place);
                self.chunks[chunk][at] = named;
                place
            }
            None => self.push(named),
        };
        self.index.add(index_bits(key), place);
        place
    }

    /// Puts a value behind the last one.
    fn push(&mut self, named: Named<T>) -> u32 {
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            let whole = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(whole));
        }
        let before = (self.chunks.len() - 1) * CHUNK;
        let Some(last) = self.chunks.last_mut() else {
            unreachable!("there is a chunk with room");
        };
        let place = before + last.len();
        last.push(named);
        u32::try_from(place).expect("a partition has fewer entities than that")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    /// Few names, so that they come and go; some differ in their kind or in their space alone.
    fn key(draw: u64) -> EntityKey {
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&xxh3_64(&(draw % 900).to_le_bytes()).to_le_bytes());
        EntityKey {
            kind: Kind::ALL[(draw >> 16) as usize % 3],
            space: SpaceId([(draw >> 24) as u8 % 3; 16]),
            hash: KeyHash(hash),
        }
    }

    /// Against a plain map, over several chunks.
    #[test]
    fn a_table_is_a_map() {
        let (mut table, mut model) = (Table::<u64>::default(), BTreeMap::new());
        for step in 0_u64..60_000 {
            let draw = xxh3_64(&step.to_le_bytes());
            let name = key(draw);
            // At first more come than go.
            match (draw >> 48) % if step < 30_000 { 4 } else { 3 } {
                0 => {
                    table.remove(&name);
                    model.remove(&name);
                }
                1 => {
                    table.insert(&name, step);
                    model.insert(name, step);
                }
                _ => {
                    let (value, is_new) = table.get_or_insert(&name, || step);
                    let known = model.insert(name, step);
                    assert_eq!((*value, is_new), (known.unwrap_or(step), known.is_none()));
                    *value = step;
                }
            }
            assert_eq!(table.get(&name), model.get(&name));
            assert_eq!(table.len(), model.len());
        }
        assert!(model.len() > 4 * CHUNK, "several chunks: {}", model.len());
        let all: BTreeMap<EntityKey, u64> = table.iter().map(|(key, at)| (key, *at)).collect();
        assert_eq!(all, model);
        for name in model.keys() {
            assert_eq!(table.get_mut(name).copied(), model.get(name).copied());
            table.remove(name);
        }
        assert!(table.is_empty());
        let places = table.chunks.iter().map(Vec::len).sum::<usize>();
        assert_eq!(table.free.len(), places, "every place can be had again");
    }
}
