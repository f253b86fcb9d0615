//! Long work in slices.
//!
//! A worker does one thing at a time, so what takes milliseconds makes way for the other requests of
//! its worker every few items. Called by the handlers of batches.

/// Items that are worked on before others get their turn.
const SLICE_ITEMS: usize = 32;

/// To be awaited after each item; makes way after every slice.
pub(crate) async fn make_way(items_done: usize) {
    if items_done.is_multiple_of(SLICE_ITEMS) {
        tokio::task::yield_now().await;
    }
}
