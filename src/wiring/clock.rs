//! The clock of a test, as the edge moves it.

use std::future::Future;
use std::pin::Pin;

use interlock_actors::NodeHandle;
use interlock_api::state::{BackInTime, TestClock};
use interlock_domain::contact::Contact;
use interlock_domain::time::Timestamp;

/// Moves the node's clock and waits until every shard has swept at the new time, so that what was
/// due by then has happened when the answer leaves.
#[derive(Debug)]
pub(crate) struct MovedClock {
    node: NodeHandle<Contact>,
}

impl MovedClock {
    /// Of a node that was started with a test clock.
    pub(crate) const fn new(node: NodeHandle<Contact>) -> Self {
        Self { node }
    }
}

impl TestClock for MovedClock {
    fn now(&self) -> Timestamp {
        self.node.clock().now()
    }

    fn set(
        &self,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<(), BackInTime>> + Send + '_>> {
        Box::pin(async move {
            self.node.clock().set(now).map_err(|_| BackInTime)?;
            // A node that goes down while it sweeps says so to whoever asks next.
            self.node.sweep_all().await;
            Ok(())
        })
    }
}
