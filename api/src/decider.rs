//! The seam to whoever decides.
//!
//! Here: what a handler hands over and gets back. Not here: any queue or actor; in production the
//! node's handle fulfils [`Decider`], in tests a map that decides one command after the other.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use interlock_actors::handle::{Answer, Refused};
use interlock_actors::handle::{NodeHandle, Submission};
pub use interlock_actors::scan::{NotScanned, Scanned};
use interlock_domain::contact::command::Command;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::holdings::Holdings;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;

/// Commands that came in one request.
#[derive(Debug)]
pub struct Asked {
    /// The commands, all of one space, at least one.
    pub commands: Vec<Command>,
    /// The rules they were parsed with.
    pub policy: Arc<Policy>,
    /// How long the caller waits, from now.
    pub deadline: Duration,
    /// What they take of the bound on bytes in flight.
    pub bytes: usize,
}

/// Decides the commands of the contact product.
pub trait Decider: Clone + Send + Sync + 'static {
    /// Decides the commands, in order where they share an entity, and answers each, in order, once
    /// what it changed is durable. Dropping the future drops what is not decided yet.
    fn submit(
        &self,
        asked: Asked,
    ) -> impl Future<Output = Result<Vec<Answer<Reply>>, Refused>> + Send;

    /// What a space holds now, and what came to stand as it does since a time, in counts.
    ///
    /// # Errors
    /// The entities cannot be looked at now.
    fn holdings(
        &self,
        space: SpaceId,
        policy: Arc<Policy>,
        since: Timestamp,
    ) -> impl Future<Output = Result<Holdings, NotScanned>> + Send;

    /// Looks at every entity and keeps the `limit` smallest of what `pick` makes of them: for a
    /// person's question, never for a decision.
    fn scan<T, F>(
        &self,
        limit: usize,
        pick: F,
    ) -> impl Future<Output = Result<Scanned<T>, NotScanned>> + Send
    where
        T: Ord + Send + 'static,
        F: Fn(&EntityKey, &ContactEntity, Timestamp) -> Option<T> + Send + Sync + 'static;
}

impl<M> Decider for NodeHandle<M>
where
    M: Machine<Entity = ContactEntity, Command = Command, Reply = Reply, Policy = Policy>,
{
    async fn submit(&self, asked: Asked) -> Result<Vec<Answer<Reply>>, Refused> {
        let submission = Submission {
            commands: asked.commands,
            policy: asked.policy,
            deadline: asked.deadline,
            bytes: asked.bytes,
        };
        Self::submit(self, submission).await
    }

    async fn holdings(
        &self,
        space: SpaceId,
        policy: Arc<Policy>,
        since: Timestamp,
    ) -> Result<Holdings, NotScanned> {
        let see = move |seen: &mut Holdings, entity: &ContactEntity, now| {
            seen.see(entity, &policy, since, now);
        };
        let folded = self.fold::<Holdings, _>(space, see).await?;
        let mut all = Holdings::default();
        for part in folded.parts {
            all.merge(part);
        }
        Ok(all)
    }

    async fn scan<T, F>(&self, limit: usize, pick: F) -> Result<Scanned<T>, NotScanned>
    where
        T: Ord + Send + 'static,
        F: Fn(&EntityKey, &ContactEntity, Timestamp) -> Option<T> + Send + Sync + 'static,
    {
        Self::scan(self, limit, pick).await
    }
}
