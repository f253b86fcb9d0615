//! How much one connection takes of its worker, whatever its client sends and does not read.
//!
//! Here: the stream under HTTP, [`Paced`], and the [`Turn`] of a request on it. A stream is not read
//! while bytes of an answer wait for the client, nor far ahead of the request that is worked on; what
//! came together is answered one at a time, with the worker's other connections in between; a client
//! that takes nothing of an answer for too long loses its connection. Not here: bounds on one request
//! (`extract`), how many connections there are (`limits`). Called by `listen`, which wraps streams, by
//! `observe`, which begins turns, and by `extract`, which tells of bodies as they come.
//!
//! The server under this decodes all that it is given before it answers anything, into hundreds of times
//! the bytes where requests are small, and it makes answers without a body whether or not the client
//! takes them. Both are bounded by what it is given. Where a head may end is only looked for to give it
//! little: what a request is, it alone says.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::ServiceRequest;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// The most bytes that are read beyond the request that is worked on.
const READ_AHEAD_BYTES: usize = 4 * 1024;
/// The most requests of those bytes: the server under this makes 7 KiB of each, however small.
const READ_AHEAD_HEADS: usize = 8;
/// The most bytes of a body that are copied into what waits to be sent before it is looked at whether
/// the client takes them.
const PIECE_BYTES: usize = 16 * 1024;

/// The most bytes of answers that a connection sends before the worker's others have their turn.
const TURN_BYTES: usize = 64 * 1024;
/// What is read of a chunk beside its bytes: its length and its ends, with room for more than they are.
const CHUNK_BYTES: usize = 32;

/// What a connection's stream and its requests tell each other.
#[derive(Clone)]
pub(crate) struct Connection(Rc<State>);

struct State {
    /// Bytes that may yet be read.
    may_read: Cell<usize>,
    /// Empty lines that may yet be read: each may end the head of a request.
    may_begin: Cell<usize>,
    /// The last line that was read is empty up to now.
    is_blank: Cell<bool>,
    /// Bytes that the body of the request under way may yet have, by its length.
    body_left: Cell<usize>,
    /// A request is worked on.
    under_way: Cell<bool>,
    /// One had its turn since the stream was last looked at.
    had_turn: Cell<bool>,
    /// Bytes of an answer wait for the client.
    unsent: Cell<bool>,
    /// Who reads on once that is over.
    held: Cell<Option<Waker>>,
}

impl State {
    /// How many of these bytes may be read now, and counts them.
    fn admit(&self, bytes: &[u8]) -> usize {
        let (mut may_begin, mut is_blank) = (self.may_begin.get(), self.is_blank.get());
        let mut count = 0;
        for byte in bytes {
            if may_begin == 0 {
                break;
            }
            count += 1;
            match byte {
                b'\n' if is_blank => may_begin -= 1,
                b'\n' => is_blank = true,
                b'\r' => {}
                _ => is_blank = false,
            }
        }
        self.may_begin.set(may_begin);
        self.is_blank.set(is_blank);
        self.may_read.set(self.may_read.get() - count);
        self.body_left
            .set(self.body_left.get().saturating_sub(count));
        count
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("may_read", &self.0.may_read)
            .field("under_way", &self.0.under_way)
            .field("unsent", &self.0.unsent)
            .finish_non_exhaustive()
    }
}

impl Connection {
    fn new() -> Self {
        Self(Rc::new(State {
            may_read: Cell::new(READ_AHEAD_BYTES),
            may_begin: Cell::new(READ_AHEAD_HEADS),
            is_blank: Cell::new(false),
            body_left: Cell::new(0),
            under_way: Cell::new(false),
            had_turn: Cell::new(false),
            unsent: Cell::new(false),
            held: Cell::new(None),
        }))
    }

    /// Whoever was held reads on.
    fn go_on(&self) {
        if let Some(waker) = self.0.held.take() {
            waker.wake();
        }
    }

    /// A request begins whose body has so many bytes.
    fn begin(&self, body_bytes: usize) -> Turn {
        self.0.under_way.set(true);
        let may_read = self.0.may_read.get().saturating_add(body_bytes);
        self.0.may_read.set(may_read);
        self.0.body_left.set(body_bytes);
        if body_bytes > 0 {
            self.go_on();
        }
        Turn(Some(self.clone()))
    }

    fn taken(&self, bytes: usize, announced: bool) {
        let State {
            may_read,
            may_begin,
            ..
        } = &*self.0;
        may_begin.set(may_begin.get().max(1));
        if !announced {
            may_read.set(may_read.get().saturating_add(bytes + CHUNK_BYTES));
        }
        self.go_on();
    }
}

/// A request that is worked on; its end lets the connection read on.
#[derive(Debug)]
pub(crate) struct Turn(Option<Connection>);

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            let state = &connection.0;
            state.under_way.set(false);
            state.body_left.set(0);
            // What was allowed for a body that nobody took is no allowance for requests.
            state
                .may_read
                .set(state.may_read.get().min(READ_AHEAD_BYTES));
            connection.go_on();
        }
    }
}

/// Waits for the request's turn: the first that a connection has is its at once, those that came with
/// it let the worker's other connections go between.
pub(crate) async fn turn(request: &ServiceRequest) -> Turn {
    let Some(connection) = request.conn_data::<Connection>().cloned() else {
        return Turn(None);
    };
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let turn = connection.begin(length.unwrap_or(0));
    if connection.0.had_turn.replace(true) {
        tokio::task::yield_now().await;
        connection.0.had_turn.set(true);
    }
    turn
}

/// So many bytes of the request's body were taken. As many may come of one whose length nobody
/// announced, with what stands around a chunk; an empty line in any goes on.
pub(crate) fn taken(request: &HttpRequest, bytes: usize, announced: bool) {
    if let Some(connection) = request.conn_data::<Connection>() {
        connection.taken(bytes, announced);
    }
}

/// A stream that is read as its client takes answers.
#[derive(Debug)]
pub(crate) struct Paced<T> {
    stream: T,
    connection: Connection,
    /// The last look at the stream gave bytes, so the next is of the same turn.
    reading: bool,
    /// Bytes that came with those that may be read, [`READ_AHEAD_BYTES`] at most.
    ahead: Vec<u8>,
    /// Bytes that were written in this turn.
    written: usize,
    /// How long a client may take nothing.
    stalled_max: Duration,
    /// When it has.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<T> Paced<T> {
    /// A stream whose client may take nothing of an answer for so long.
    pub(crate) fn new(stream: T, stalled_max: Duration) -> Self {
        Self {
            stream,
            connection: Connection::new(),
            reading: false,
            ahead: Vec::new(),
            written: 0,
            stalled_max,
            stalled: None,
        }
    }

    /// What the requests of the stream are given.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The client takes nothing now: nothing more is read from it, and its time runs.
    fn wait<R>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<R>> {
        self.connection.0.unsent.set(true);
        let stalled_max = self.stalled_max;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(stalled_max)));
        stalled.as_mut().poll(cx).map(|()| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client takes nothing of its answer",
            ))
        })
    }
}

impl<T: AsyncRead + Unpin> Paced<T> {
    /// Reads what is allowed, which is not nothing.
    fn read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let state = &self.connection.0;
        let body = state.body_left.get();
        if self.ahead.is_empty() && body >= buf.remaining() + READ_AHEAD_BYTES {
            // All of it is the body's, however much of that came with the head.
            let before = buf.filled().len();
            return Pin::new(&mut self.stream).poll_read(cx, buf).map_ok(|()| {
                let count = buf.filled().len() - before;
                state.body_left.set(body - count);
                state.may_read.set(state.may_read.get() - count);
            });
        }
        let most = state.may_read.get().min(buf.remaining());
        if self.ahead.is_empty() {
            let mut some = [const { MaybeUninit::uninit() }; READ_AHEAD_BYTES];
            let mut some = ReadBuf::uninit(&mut some[..most.min(READ_AHEAD_BYTES)]);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut some))?;
            let count = state.admit(some.filled());
            let (now, ahead) = some.filled().split_at(count);
            buf.put_slice(now);
            self.ahead.extend_from_slice(ahead);
        } else {
            let some = &self.ahead[..most.min(self.ahead.len())];
            let count = state.admit(some);
            buf.put_slice(&some[..count]);
            self.ahead.drain(..count);
            if self.ahead.is_empty() {
                self.ahead = Vec::new();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Paced<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let state = &this.connection.0;
        state.had_turn.set(false);
        this.written = 0;
        let is_first = !std::mem::take(&mut this.reading);
        if state.unsent.get() {
            state.held.set(Some(cx.waker().clone()));
            return Poll::Pending;
        }
        // Whatever was read before is answered, or a request would be under way or bytes unsent.
        if is_first && !state.under_way.get() {
            state.may_read.set(READ_AHEAD_BYTES);
            state.may_begin.set(READ_AHEAD_HEADS);
        }
        if state.may_read.get() == 0 || state.may_begin.get() == 0 {
            if state.under_way.get() {
                state.held.set(Some(cx.waker().clone()));
            } else {
                // What was read has its turn before more is.
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let read = this.read(cx, buf);
        this.reading = buf.filled().len() > before;
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Paced<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.written >= TURN_BYTES {
            // The next write is of another turn, also where the stream is no longer read.
            this.written = 0;
            this.connection.0.unsent.set(true);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match Pin::new(&mut this.stream).poll_write(cx, buf) {
            Poll::Ready(written) => {
                this.stalled = None;
                Poll::Ready(written.inspect(|count| this.written += count))
            }
            Poll::Pending => this.wait(cx),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_flush(cx) {
            Poll::Ready(flushed) => {
                this.stalled = None;
                if this.connection.0.unsent.replace(false) {
                    this.connection.go_on();
                }
                Poll::Ready(flushed)
            }
            Poll::Pending => this.wait(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// The body, in pieces where it is large.
pub(crate) fn in_pieces(body: BoxBody) -> BoxBody {
    match body.try_into_bytes() {
        Ok(bytes) if bytes.len() > PIECE_BYTES => BoxBody::new(Pieces(bytes)),
        Ok(bytes) => BoxBody::new(bytes),
        Err(body) => body,
    }
}

/// What is left of a body.
struct Pieces(Bytes);

impl MessageBody for Pieces {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        self.0.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let count = self.0.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(self.0.split_to(count))))
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
