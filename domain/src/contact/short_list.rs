//! Lists that have one or two entries for most entities.
//!
//! Here: how they grow, so that millions of short ones take no more memory than they fill. Not here:
//! their bounds, which are their owners' (`customer`, `paid`).

use smallvec::{Array, SmallVec};

/// Up to so many entries a list grows by one; the usual first growth is to as many.
const SHORT: usize = 4;

/// Puts an entry behind the others.
pub(super) fn push<T>(list: &mut Vec<T>, entry: T) {
    if list.len() < SHORT {
        list.reserve_exact(1);
    }
    list.push(entry);
}

/// The same for a list whose first entries stand in line.
pub(super) fn push_inline<A: Array>(list: &mut SmallVec<A>, entry: A::Item) {
    if list.len() < SHORT {
        list.reserve_exact(1);
    }
    list.push(entry);
}
