//! How a node's list is rebuilt and kept.
//!
//! Here: one task a node. It hears every change from before the scan on, scans all customers once
//! everything is rebuilt, and follows. When the node's bus dropped changes because this task was too
//! slow, it scans again; until then nobody is answered. Not here: the bus and the scan (`actors`).
//!
//! Why nothing is missed: a change's notice is told before anything that saw the change is answered.
//! So when the scan's answer is here, every change that it saw has been told, and what it did not
//! see is told after the bus was joined. The changes of a space are told in the order of their
//! numbers, because one shard gives them all.

use std::cmp::Ordering;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::NodeHandle;
use interlock_actors::bus::NoticeReader;
use interlock_actors::readiness::Readiness;
use interlock_domain::contact::Contact;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::notice::{ListChanged, Notice};
use interlock_domain::key::EntityKey;
use interlock_domain::time::Timestamp;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::SuppressionList;

/// How long to wait before a scan that could not see everything is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps the list of a node until the node ends. `notices` was subscribed before any command was
/// taken; the scan waits until every partition is rebuilt.
pub async fn follow(
    list: Arc<SuppressionList>,
    node: NodeHandle<Contact>,
    mut notices: NoticeReader<Notice>,
    readiness: Readiness,
) {
    let mut rebuilt = readiness.watch();
    while !readiness.all() {
        if rebuilt.changed().await.is_err() {
            return;
        }
    }
    loop {
        match scan(&list, &node, &mut notices).await {
            Seen::Everything => {}
            Seen::NotAll => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Seen::Ended => return,
        }
        list.set_complete(true);
        loop {
            match notices.recv().await {
                Ok(told) => list.told(&told.notice),
                Err(RecvError::Lagged(missed)) => {
                    list.set_complete(false);
                    tracing::warn!(
                        "the suppression list missed {missed} changes and is read again"
                    );
                    break;
                }
                Err(RecvError::Closed) => return,
            }
        }
    }
}

/// What a scan came to.
enum Seen {
    /// The list holds all there is.
    Everything,
    /// Entities were away, or changes were missed meanwhile.
    NotAll,
    /// The node has ended.
    Ended,
}

/// Reads every customer's entries into the list, and what is told meanwhile.
async fn scan(
    list: &SuppressionList,
    node: &NodeHandle<Contact>,
    notices: &mut NoticeReader<Notice>,
) -> Seen {
    let mut missed = false;
    let scanned = {
        let mut scan = pin!(node.scan(usize::MAX, found));
        loop {
            tokio::select! {
                biased;
                scanned = &mut scan => break scanned,
                told = notices.recv() => match told {
                    Ok(told) => list.told(&told.notice),
                    Err(RecvError::Lagged(_)) => missed = true,
                    Err(RecvError::Closed) => return Seen::Ended,
                },
            }
        }
    };
    let Ok(scanned) = scanned else {
        return Seen::NotAll;
    };
    for Found { key, what } in scanned.found {
        match what {
            What::Entries(rows) => rows.into_iter().for_each(|row| list.put(Arc::new(row))),
            What::Feed(last) => list.reached(key.space, last),
        }
    }
    loop {
        match notices.try_recv() {
            Ok(told) => list.told(&told.notice),
            Err(TryRecvError::Empty) => break,
            Err(TryRecvError::Lagged(_)) => missed = true,
            Err(TryRecvError::Closed) => return Seen::Ended,
        }
    }
    if missed || scanned.left_out > 0 {
        return Seen::NotAll;
    }
    Seen::Everything
}

/// What the scan finds of one entity.
struct Found {
    key: EntityKey,
    what: What,
}

enum What {
    /// A customer's entries.
    Entries(Vec<ListChanged>),
    /// How far a space's list is.
    Feed(u64),
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Found {}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// What the list takes of an entity. Runs on a shard's thread.
fn found(key: &EntityKey, entity: &ContactEntity, now: Timestamp) -> Option<Found> {
    let what = match (entity.as_customer(), entity.as_feed()) {
        (Some(customer), _) if !customer.rare.suppressions.is_empty() => {
            let kept = customer.rare.suppressions.iter();
            let kept = kept.filter(|entry| entry.is_kept(now));
            let rows = kept.map(|entry| ListChanged {
                space: key.space,
                customer: key.hash,
                entry: entry.clone(),
            });
            What::Entries(rows.collect())
        }
        (_, Some(feed)) => What::Feed(feed.last),
        _ => return None,
    };
    Some(Found { key: *key, what })
}

#[cfg(test)]
mod tests;
