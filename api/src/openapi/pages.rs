//! What operations that answer page by page have in common.

use interlock_wire::shape::{self, Components, Shape};
use interlock_wire::value::{Cursor, Limit};

use super::operation::Operation;

/// Where a page starts and how long it may be.
pub(super) fn paged(operation: Operation, limit: u32, into: &mut Components) -> Operation {
    let cursor = Cursor::shape(into);
    let limits = shape::with_default(Limit::shape(into), limit.into());
    operation
        .in_query(
            "cursor",
            "The `next_cursor` of the page before.",
            false,
            cursor,
        )
        .in_query("limit", "Most items of the page.", false, limits)
}
