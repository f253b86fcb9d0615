//! The configuration plane as the edge asks for it.
//!
//! Here: each step checked, durable and in force by the one way of [`Admin::write`], and the rows as
//! the edge shows them. A step runs to its end, also when its client leaves meanwhile. Not here: who
//! may take a step (`registry::plane`). Called by the routes.

use std::future::Future;
use std::sync::Arc;

use interlock_api::directory::Role;
use interlock_api::plane::{self, Approval, Asking, Diff, Document, Plane, Proposal, Refused, Who};
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use interlock_storage::Log;
use interlock_wire::plane::{DiffState, DocumentKind};
use serde_json::Value;
use tokio::sync::MutexGuard;
use tokio::task;
use uuid::Uuid;

use super::Admin;
use super::protocol::No;
use crate::registry::diff::Difference;
use crate::registry::plane::{Stepped, document, kind_of};
use crate::registry::rows::{self, ApprovalRow, DiffRow, Ended};
use crate::registry::{Known, Registry, decode};

impl Admin {
    /// Makes a step durable and puts it in force.
    async fn step(
        &self,
        mut registry: MutexGuard<'_, Registry>,
        stepped: Stepped,
    ) -> Result<Diff, Refused> {
        let (change, row) = stepped?;
        if let Some(change) = change {
            let written = self.write(&mut registry, change).await;
            // A change that was checked is refused for want of room alone.
            written.map_err(|no| match no {
                No::Refused(_) => Refused::NoRoom,
                No::Failed(_) => Refused::Unavailable,
            })?;
        }
        drop(registry);
        self.whole(row).await
    }

    /// An edit with its document; that of a closed one is in its row alone.
    async fn whole(&self, row: Arc<DiffRow>) -> Result<Diff, Refused> {
        if row.document.is_some() {
            return show(&row);
        }
        let log = self.log();
        let read = task::spawn_blocking(move || stored(&*log, &row));
        show(&read.await.map_err(|_| Refused::Unavailable)??)
    }
}

/// The plane of a node.
#[derive(Debug)]
pub(crate) struct ConfigPlane(Arc<Admin>);

impl ConfigPlane {
    /// Over what the verbs use too.
    pub(crate) const fn new(admin: Arc<Admin>) -> Self {
        Self(admin)
    }
}

/// Runs a step that may change something. The server drops an answer that nobody waits for any more;
/// a step that ended between its durable rows and the registry would leave the two apart.
fn whole<T: Send + 'static>(
    step: impl Future<Output = Result<T, Refused>> + Send + 'static,
) -> Asking<'static, T> {
    let running = task::spawn(step);
    Box::pin(async move { running.await.unwrap_or(Err(Refused::Unavailable)) })
}

impl Plane for ConfigPlane {
    fn document(&self, space: SpaceId, kind: DocumentKind) -> Asking<'_, Document> {
        Box::pin(async move {
            let registry = self.0.registry().await;
            let known = known(&registry, space)?;
            let (version, value) = document(&known.row, kind);
            let mut versions = known.documents.versions().rev();
            let row = versions.find(|row| row.kind == kind.word() && row.version == version);
            Ok(Document {
                version,
                text: value.to_string(),
                since: row.map(|row| Timestamp(row.at)),
            })
        })
    }

    fn propose(&self, who: Who, wanted: Proposal) -> Asking<'_, Diff> {
        let admin = Arc::clone(&self.0);
        whole(async move {
            let registry = admin.registry().await;
            let stepped = registry.propose(&who, &wanted);
            admin.step(registry, stepped).await
        })
    }

    fn approve(&self, who: Who, diff: [u8; 16]) -> Asking<'_, Diff> {
        let admin = Arc::clone(&self.0);
        whole(async move {
            let registry = admin.registry().await;
            let stepped = registry.approve(&who, Uuid::from_bytes(diff));
            admin.step(registry, stepped).await
        })
    }

    fn reject(&self, who: Who, diff: [u8; 16]) -> Asking<'_, Diff> {
        let admin = Arc::clone(&self.0);
        whole(async move {
            let registry = admin.registry().await;
            let stepped = registry.reject(&who, Uuid::from_bytes(diff));
            admin.step(registry, stepped).await
        })
    }

    fn diffs(&self, space: SpaceId) -> Asking<'_, Vec<Diff>> {
        Box::pin(async move {
            let registry = self.0.registry().await;
            let diffs = known(&registry, space)?.documents.diffs().rev();
            diffs.map(|row| listed(row)).collect()
        })
    }

    fn diff(&self, space: SpaceId, diff: [u8; 16]) -> Asking<'_, Diff> {
        Box::pin(async move {
            let row = {
                let registry = self.0.registry().await;
                let known = known(&registry, space)?;
                Arc::clone(known.diff(Uuid::from_bytes(diff))?)
            };
            self.0.whole(row).await
        })
    }
}

fn known(registry: &Registry, space: SpaceId) -> Result<&Known, Refused> {
    registry.known(space).ok_or(Refused::NotFound)
}

/// An edit as its row has it. One whose row is gone meanwhile is shown as memory has it.
fn stored(log: &dyn Log, row: &DiffRow) -> Result<DiffRow, Refused> {
    let name = rows::diff_name(row.space, row.number);
    let value = log.meta(&name).map_err(|_| Refused::Unavailable)?;
    let Some(value) = value else {
        return Ok(row.clone());
    };
    decode(&name, &value).map_err(|_| Refused::Unavailable)
}

/// An edit as the edge shows it alone.
fn show(row: &DiffRow) -> Result<Diff, Refused> {
    let document = row.document.as_ref().map(Value::to_string);
    shown(row, document, Difference::clone)
}

/// An edit as the edge lists it among others.
fn listed(row: &DiffRow) -> Result<Diff, Refused> {
    shown(row, None, Difference::cut)
}

fn shown(
    row: &DiffRow,
    document: Option<String>,
    difference: fn(&Difference) -> Difference,
) -> Result<Diff, Refused> {
    let ended = row.ended.as_ref();
    let role = |name: &String| Role::from_name(name).ok_or(Refused::NotFound);
    let approval = |one: &ApprovalRow| {
        Ok(Approval {
            role: role(&one.role)?,
            key_id: one.key_id.clone(),
            at: Timestamp(one.at),
        })
    };
    let differences = row.differences.iter().map(|one| {
        let Difference {
            member,
            from,
            to,
            note,
        } = difference(one);
        plane::Difference {
            member,
            from,
            to,
            note,
        }
    });
    Ok(Diff {
        id: *row.id.as_bytes(),
        kind: kind_of(row)?,
        state: match ended.map(|ended| ended.state) {
            None => DiffState::Open,
            Some(Ended::Applied) => DiffState::Applied,
            Some(Ended::Rejected) => DiffState::Rejected,
            Some(Ended::Superseded) => DiffState::Superseded,
        },
        from_version: row.from_version,
        version: ended.and_then(|ended| ended.version),
        reason: row.reason.clone(),
        proposed_by: row.proposed_by.clone(),
        proposed_at: Timestamp(row.proposed_at),
        document,
        differences: differences.collect(),
        differences_count: row.differences_count,
        sensitive: row.sensitive.clone(),
        needs: row.needs.iter().map(role).collect::<Result<_, _>>()?,
        approvals: row
            .approvals
            .iter()
            .map(approval)
            .collect::<Result<_, _>>()?,
        closed_at: ended.map(|ended| Timestamp(ended.at)),
        closed_by: ended.and_then(|ended| ended.by.clone()),
    })
}

#[cfg(test)]
mod tests;
