//! The operator's entrance of a running server: a Unix socket in the data directory.
//!
//! Here: what the verbs reach on the server's side, and the one way a change of the registry takes:
//! checked, durable, in force. In `admin/`: the protocol, the socket, the client's end. Not here:
//! any verb (`verbs`). Whoever reaches the socket is the user the server runs as, or root; nothing
//! that comes over it is logged but the verb's name and how it ended.

pub(crate) mod client;
pub(crate) mod listen;
pub(crate) mod path;
pub(crate) mod plane;
pub(crate) mod protocol;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::{Answer as Decided, MetaWriter, Node, NodeHandle, NotWritten, Submission};
use interlock_api::directory::{Directory, SpaceEntry};
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::{Body, Command, Route};
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::reply::Reply;
use interlock_domain::machine::Undecided;
use interlock_storage::Log;
use tokio::sync::{Mutex, MutexGuard};
use uuid::Uuid;

use self::protocol::No;
use crate::config::Config;
use crate::export::Exports;
use crate::registry::change::Change;
use crate::registry::signing::{Rotated, Rotation};
use crate::registry::{Registry, space_id};

/// The source that the operator's verbs act as. Sources of a space are numbered from 1.
pub(crate) const OPERATOR: SourceId = SourceId::PEOPLE;
/// What the operator's source is called where a name is shown.
pub(crate) const OPERATOR_NAME: &str = "operator";

/// What a verb is told while the disk has no room.
const NO_ROOM: &str = "the disk is full but for its last part, and nothing is recorded any more; make \
    room on it, then ask again";
/// How long a verb waits for a decision.
const DECISION_MAX: Duration = Duration::from_secs(10);

/// What the verbs reach.
pub(crate) struct Admin {
    registry: Mutex<Registry>,
    directory: Arc<Directory>,
    node: NodeHandle<Contact>,
    meta: MetaWriter<Contact>,
    log: Arc<dyn Log>,
    /// How long a next signing key is published before it signs, in seconds.
    publish_s: u32,
    exports: Exports,
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Admin")
    }
}

impl Admin {
    /// Over a node that was started with what the registry knows.
    pub(crate) fn new(registry: Registry, node: &Node<Contact>, config: &Config) -> Self {
        Self {
            publish_s: u32::try_from(config.signing.publish_s).unwrap_or(u32::MAX),
            directory: registry.directory(),
            log: registry.log(),
            exports: Exports::new(config.journal.journal_bytes_max),
            registry: Mutex::new(registry),
            node: node.handle(),
            meta: node.meta_writer(),
        }
    }

    /// The registry, alone: a check holds it until its change is in force.
    pub(crate) async fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().await
    }

    /// Lets another key follow the one that signs a space's tokens.
    ///
    /// # Errors
    /// It is refused, or the node goes down.
    pub(crate) async fn rotate_signing(&self, space: Uuid, at_once: bool) -> Result<Rotated, No> {
        let how = match at_once {
            true => Rotation::AtOnce,
            false => Rotation::Announced {
                publish_s: self.publish_s,
            },
        };
        let mut registry = self.registry().await;
        let (change, rotated) = registry.rotated(space, how).map_err(No::Refused)?;
        self.write(&mut registry, change).await?;
        Ok(rotated)
    }

    /// The node.
    pub(crate) const fn node(&self) -> &NodeHandle<Contact> {
        &self.node
    }

    /// The exports of this server.
    pub(crate) const fn exports(&self) -> &Exports {
        &self.exports
    }

    /// The log, to read what decisions left in it; files are read outside the event loop.
    pub(crate) fn log(&self) -> Arc<dyn Log> {
        Arc::clone(&self.log)
    }

    /// Makes a change durable and puts it in force, on every shard before the entrance: whoever
    /// asks under new rules finds them wherever it is decided.
    pub(crate) async fn write(
        &self,
        registry: &mut MutexGuard<'_, Registry>,
        change: Change,
    ) -> Result<(), No> {
        let written = self.meta.write(change.meta.clone()).await;
        self.in_force(registry, change, written)
    }

    /// The same also while the disk has no room: for a change that only takes rights away.
    pub(crate) async fn write_always(
        &self,
        registry: &mut MutexGuard<'_, Registry>,
        change: Change,
    ) -> Result<(), No> {
        let written = self.meta.write_always(change.meta.clone()).await;
        self.in_force(registry, change, written)
    }

    fn in_force(
        &self,
        registry: &mut MutexGuard<'_, Registry>,
        change: Change,
        written: Result<(), NotWritten>,
    ) -> Result<(), No> {
        match written {
            Ok(()) => {}
            Err(NotWritten::NoRoom) => return Err(No::Refused(NO_ROOM.to_owned())),
            Err(NotWritten::GoingDown) => {
                return Err(No::Failed(
                    "the node is going down; whether the change is kept shows after the next start"
                        .to_owned(),
                ));
            }
        }
        if let Some((space, policy)) = change.policy() {
            self.node.set_policy(space, &policy);
        }
        registry
            .put(change)
            .map_err(|stop| No::Failed(stop.message))
    }

    /// What the edge knows of a space, named by its name or id.
    pub(crate) async fn space(&self, named: &str) -> Result<Arc<SpaceEntry>, No> {
        let id = self
            .registry()
            .await
            .find_space(named)
            .map_err(No::Refused)?;
        let entry = self.directory.space(space_id(id));
        entry.ok_or_else(|| No::Failed("the space is not loaded".to_owned()))
    }

    /// Spaces and keys as requests see them.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The same, to keep.
    pub(crate) fn shared_directory(&self) -> Arc<Directory> {
        Arc::clone(&self.directory)
    }

    /// Has one command decided as a request would; what it changed is durable then.
    pub(crate) async fn decide(&self, space: &SpaceEntry, body: Body) -> Result<Reply, No> {
        let command = Command {
            space: space.id,
            source: OPERATOR,
            route: Route::Operator,
            receipt: None,
            body,
        };
        let submission = Submission {
            commands: vec![command],
            policy: Arc::clone(&space.policy),
            deadline: DECISION_MAX,
            bytes: protocol::REQUEST_BYTES_MAX,
        };
        let busy = || No::Failed("the node takes no more at the moment; try again".to_owned());
        let answers = self.node.submit(submission).await.map_err(|_| busy())?;
        match answers.into_iter().next() {
            Some(Decided::Decided(reply) | Decided::Instead(reply)) => Ok(reply),
            Some(Decided::NotDecided(Undecided::NoRoom)) => Err(No::Refused(NO_ROOM.to_owned())),
            Some(
                Decided::NotDecided(Undecided::Rebuilding | Undecided::Deadline) | Decided::Busy,
            ) => Err(busy()),
            Some(Decided::Broken) => Err(No::Failed(
                "deciding it met a bug; the server's log names the place".to_owned(),
            )),
            Some(Decided::Unavailable) | None => Err(No::Failed(
                "the node is going down; whether it was done shows after the next start".to_owned(),
            )),
        }
    }
}

/// The name of a source in a space, as people know it.
pub(crate) fn source_name(space: &SpaceEntry, id: SourceId) -> String {
    if id == OPERATOR {
        return OPERATOR_NAME.to_owned();
    }
    let found = space.sources.iter().find(|source| source.id == id);
    found.map_or_else(|| format!("source {}", id.0), |one| one.name.to_string())
}
