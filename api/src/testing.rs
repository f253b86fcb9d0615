//! Bodies and cursors without a server around them, for tests of other crates.
//!
//! Here: a body taken as far as its route takes it before anything is asked, and a cursor's text. Not
//! here: any rule of either. Only under the feature `testing`.

use interlock_domain::contact::command::Body;
use interlock_domain::contact::name::SourceId;
use interlock_domain::ids::Id;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::check::{CheckBatchRequest, CheckRequest};
use interlock_wire::contact::declare::DeclareRequest;
use interlock_wire::read;
use serde::Serialize;

use crate::contact::identity::Keyed;
use crate::contact::{batch, check, command, declare};
use crate::directory::Caller;
use crate::hashing::PreparedKey;
use crate::list::Position;
use crate::list::cursor::Cursor;
use crate::problem::Failure;

/// What a route makes of a body.
#[derive(Debug)]
pub struct Heard {
    /// What it hashes to tell a repeat from another request, written out.
    pub canonical: Vec<u8>,
    /// That hash.
    pub fingerprint: [u8; 16],
    /// The commands. What they seal differs from time to time.
    pub commands: Vec<Body>,
}

impl Heard {
    fn new(
        caller: &Caller,
        route: &'static str,
        request: &impl Serialize,
        commands: Vec<Body>,
    ) -> Self {
        let secret = caller.space.secret.prepared();
        let key = "key";
        Self {
            canonical: serde_json::to_vec(request).expect("a request serialises"),
            fingerprint: Keyed { route, key }.fingerprint(secret, &[], request),
            commands,
        }
    }
}

/// `POST /v1/coordination/check`.
///
/// # Errors
/// What the client is told.
pub fn check(caller: &Caller, body: &[u8], now: Timestamp) -> Result<Heard, Failure> {
    let request: CheckRequest<'_> = read::body(body)?;
    let commands = vec![command::check(caller, &request, now)?];
    Ok(Heard::new(caller, check::ROUTE, &request, commands))
}

/// `POST /v1/coordination/check/batch`.
///
/// # Errors
/// What the client is told.
pub fn batch(caller: &Caller, body: &[u8], now: Timestamp) -> Result<Heard, Failure> {
    let request: CheckBatchRequest<'_> = read::body(body)?;
    let maker = batch::Maker::new(caller, None, &request, now);
    let mut commands = Vec::with_capacity(request.checks.0.len());
    for (place, check) in (0..).zip(&request.checks.0) {
        commands.push(maker.command(place, check)?.body);
    }
    Ok(Heard::new(caller, batch::ROUTE, &request, commands))
}

/// `POST /v1/coordination/declare`; `id` is for a claim that may be made.
///
/// # Errors
/// What the client is told.
pub fn declare(caller: &Caller, body: &[u8], id: Id) -> Result<Heard, Failure> {
    let request: DeclareRequest<'_> = read::body(body)?;
    let (detail, command) = declare::detail(caller, &request, id)?;
    let canonical = declare::canonical(&request, &detail);
    Ok(Heard::new(
        caller,
        declare::ROUTE,
        &canonical,
        vec![command],
    ))
}

/// Where a reader of the suppression list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The generation of the salt of the reader's copy.
    pub generation: u32,
    /// The number of the last change that was read.
    pub after: u64,
    /// The list's number when the reader began with nothing.
    pub began: u64,
    /// When the reader last knew every change.
    pub current_at: Timestamp,
}

/// The text of a source's cursor.
#[must_use]
pub fn cursor_text(secret: &PreparedKey, source: SourceId, place: Place) -> String {
    let Place {
        generation,
        after,
        began,
        current_at,
    } = place;
    let position = Position { after, began };
    let cursor = Cursor {
        generation,
        position,
        current_at,
    };
    cursor.text(secret, source)
}

/// What a cursor says; `None` when it was not given to this source of this space.
#[must_use]
pub fn cursor(secret: &PreparedKey, source: SourceId, text: &str) -> Option<Place> {
    let read = Cursor::read(secret, source, text)?;
    Some(Place {
        generation: read.generation,
        after: read.position.after,
        began: read.position.began,
        current_at: read.current_at,
    })
}
