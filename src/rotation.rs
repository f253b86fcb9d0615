//! The schedule by which signing keys change.
//!
//! Here: looking from time to time, and asking for what is due. Not here: what a rotation is
//! (`registry::signing`) and how it becomes durable (`admin`). Called by `running`.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::task::JoinHandle;

use crate::admin::Admin;
use crate::admin::protocol::No;
use crate::config::Signing;

/// How often it is looked. A look compares a number per space; days are what is waited for.
const LOOK: Duration = Duration::from_secs(2);

/// A schedule that runs; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Schedule(Option<JoinHandle<()>>);

impl Schedule {
    /// Runs by the settings. Call it within an actix system.
    pub(crate) fn start(admin: &Arc<Admin>, signing: &Signing) -> Self {
        let days = u32::try_from(signing.rotate_days).unwrap_or(u32::MAX);
        let run = |admin| rt::spawn(run(admin, days));
        Self((days > 0).then(|| run(Arc::clone(admin))))
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        if let Some(running) = &self.0 {
            running.abort();
        }
    }
}

async fn run(admin: Arc<Admin>, days: u32) {
    loop {
        rt::time::sleep(LOOK).await;
        // What is due stays due until the disk has room.
        if !admin.node().has_room() {
            continue;
        }
        let due = admin.registry().await.rotations_due(days);
        for space in due {
            match admin.rotate_signing(space, false).await {
                Ok(rotated) => {
                    tracing::info!(space = %rotated.space, "the next signing key is published");
                }
                // Too many keys, for an hour: the next look is soon enough.
                Err(No::Refused(why)) => tracing::warn!(%space, "no next signing key: {why}"),
                // The node goes down; the next start finds it due again.
                Err(No::Failed(why)) => {
                    tracing::warn!(%space, "no next signing key: {why}");
                    return;
                }
            }
        }
    }
}
