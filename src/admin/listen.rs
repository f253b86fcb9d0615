//! The server's end of the socket.
//!
//! Here: making the socket, who may use it, its bounds, and its end. Not here: what is asked
//! (`verbs`). One request a connection; a few connections at once; whoever says nothing is let go.
//! Called by `running`, after the data directory is locked.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Admin;
use super::path::SocketDir;
use super::protocol::{self, Answered, No, REQUEST_BYTES_MAX, Request};
use crate::exit::{Exit, Stop};
use crate::verbs;

/// Connections at once; a further one is told to come back.
const CONNECTIONS_MAX: u32 = 64;
/// How long a request line may take to come, and an answer to be taken.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// How long nobody is taken after the system had no room for a connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// A socket that is listened on. Dropped, it takes no more and is removed.
#[derive(Debug)]
pub(crate) struct Listening {
    dir: SocketDir,
    slots: Arc<Semaphore>,
    accepting: JoinHandle<()>,
}

impl Listening {
    /// Makes the socket in a directory that nobody else uses; one that a killed server left is
    /// replaced. Call it within an actix system.
    ///
    /// # Errors
    /// When another server listens there, or the system refuses.
    pub(crate) fn start(data: &Path, admin: Arc<Admin>) -> Result<Self, Stop> {
        let refuse = |error: io::Error| {
            let message = format!("the verbs' socket in {}: {error}", data.display());
            Stop::new(Exit::Data, message)
        };
        let dir = SocketDir::open(data).map_err(refuse)?;
        clear(&dir, data)?;
        let listener = UnixListener::bind(dir.short()).map_err(refuse)?;
        fs::set_permissions(dir.short(), Permissions::from_mode(0o600)).map_err(refuse)?;
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
        let accepting = rt::spawn(accept(listener, admin, Arc::clone(&slots)));
        Ok(Self {
            dir,
            slots,
            accepting,
        })
    }

    /// Takes no more and waits for the verbs under way.
    pub(crate) async fn close(self, patience: Duration) {
        self.accepting.abort();
        let idle = self.slots.acquire_many(CONNECTIONS_MAX);
        rt::time::timeout(patience, idle).await.ok();
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
        // It may be gone already; the next start would replace it.
        fs::remove_file(self.dir.socket()).ok();
    }
}

/// Removes what a killed server left. The data directory is locked by its log; where there is none
/// (engine memory), an answer tells that somebody is there.
fn clear(dir: &SocketDir, data: &Path) -> Result<(), Stop> {
    let short = dir.short();
    let refuse = |what: &str| {
        let message = format!("{} {what}", dir.socket().display());
        Stop::new(Exit::Data, message)
    };
    match fs::symlink_metadata(&short) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refuse(&format!("cannot be looked at: {error}"))),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(refuse("is no socket; move it away"));
        }
        Ok(_) => {}
    }
    if std::os::unix::net::UnixStream::connect(&short).is_ok() {
        let message = format!(
            "the data directory {} is in use by another process",
            data.display()
        );
        return Err(Stop::new(Exit::Locked, message));
    }
    fs::remove_file(&short).map_err(|error| refuse(&format!("cannot be replaced: {error}")))
}

async fn accept(listener: UnixListener, admin: Arc<Admin>, slots: Arc<Semaphore>) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            rt::time::sleep(NO_ROOM).await;
            continue;
        };
        if !is_ours(&stream) {
            tracing::warn!("a process of another user came to the verbs' socket");
            continue;
        }
        match Arc::clone(&slots).try_acquire_owned() {
            Ok(slot) => drop(rt::spawn(serve(stream, Arc::clone(&admin), slot))),
            Err(_) => {
                let busy = "too many verbs are under way; try again".to_owned();
                let line = protocol::lines(Err(No::Failed(busy)));
                // A new connection has room for a line.
                rt::time::timeout(NO_ROOM, stream.write_all(&line))
                    .await
                    .ok();
            }
        }
    }
}

/// Is it the user the server runs as, or root?
fn is_ours(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    let peer = stream.peer_cred().map(|cred| cred.uid());
    peer.is_ok_and(|uid| uid == ours || uid == 0)
}

async fn serve(stream: UnixStream, admin: Arc<Admin>, slot: OwnedSemaphorePermit) {
    let mut stream = BufReader::new(stream);
    let answered = match read_line(&mut stream).await {
        Ok(line) => answer(&admin, &line).await,
        Err(what) => Err(No::Refused(what)),
    };
    let lines = protocol::lines(answered);
    let written = async {
        stream.write_all(&lines).await?;
        stream.shutdown().await
    };
    // Whoever went away knows what it missed.
    rt::time::timeout(IDLE_MAX, written).await.ok();
    drop(slot);
}

async fn read_line(stream: &mut BufReader<UnixStream>) -> Result<Vec<u8>, String> {
    let mut line = Vec::new();
    let mut bounded = stream.take(REQUEST_BYTES_MAX as u64);
    let read = rt::time::timeout(IDLE_MAX, bounded.read_until(b'\n', &mut line)).await;
    match read {
        Ok(Ok(_)) if line.ends_with(b"\n") => Ok(line),
        Ok(Ok(bytes)) if bytes >= REQUEST_BYTES_MAX => Err(format!(
            "a request has at most {} bytes",
            REQUEST_BYTES_MAX - 1
        )),
        Ok(Ok(_)) => Err("the request has no end of line".to_owned()),
        Ok(Err(error)) => Err(format!("the request cannot be read: {error}")),
        Err(_) => Err("no request came".to_owned()),
    }
}

async fn answer(admin: &Admin, line: &[u8]) -> Answered {
    let request = Request::read(line).map_err(No::Refused)?;
    let answered = verbs::serve(admin, &request).await;
    // Only names of our own verbs: what else was sent could be anything.
    let verb = verbs::known(&request.verb).unwrap_or("an unknown verb");
    match &answered {
        Ok(_) => tracing::info!(verb, "done"),
        Err(No::Refused(_)) => tracing::info!(verb, "refused"),
        Err(No::Failed(_)) => tracing::warn!(verb, "failed"),
    }
    answered
}
