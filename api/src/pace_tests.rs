//! What is read of a stream and when, by hand: nothing waits for a real client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use actix_web::rt::System;

use super::*;

/// A client: what it sends comes at once, and it takes so many bytes.
#[derive(Debug, Default)]
struct Wire {
    /// What it sends again and again, and so many bytes of it in all.
    what: &'static [u8],
    sent: usize,
    sends: usize,
    takes: usize,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.sends.min(buf.remaining());
        if count == 0 {
            return Poll::Pending;
        }
        let sent = self.what.iter().cycle().skip(self.sent % self.what.len());
        let sent: Vec<u8> = sent.take(count).copied().collect();
        buf.put_slice(&sent);
        self.sends -= count;
        self.sent += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = self.takes.min(buf.len());
        if count == 0 {
            return Poll::Pending;
        }
        self.takes -= count;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A paced stream, and how often its task was woken.
struct Stand {
    paced: Paced<Wire>,
    read: Vec<u8>,
    woken: Arc<Woken>,
}

impl Stand {
    fn new(sends: usize) -> Self {
        Self::of(b"x", sends)
    }

    fn of(what: &'static [u8], sends: usize) -> Self {
        let wire = Wire {
            what,
            sends,
            ..Wire::default()
        };
        Self {
            read: Vec::new(),
            paced: Paced::new(wire, Duration::from_secs(60)),
            woken: Arc::default(),
        }
    }

    /// Reads as the server under this does: until nothing more comes, with room for `room` bytes a time.
    fn read(&mut self, room: usize) -> usize {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut cx = Context::from_waker(&waker);
        let (mut bytes, mut all) = (vec![0; room], 0);
        loop {
            let mut buf = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.paced).poll_read(&mut cx, &mut buf) {
                Poll::Ready(read) => {
                    read.unwrap();
                    self.read.extend_from_slice(buf.filled());
                    all += buf.filled().len();
                }
                Poll::Pending => return all,
            }
        }
    }

    /// Writes and flushes as the server does; whether all went.
    fn write(&mut self, count: usize) -> bool {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut cx = Context::from_waker(&waker);
        let mut left = count;
        while left > 0 {
            // No more is offered at once than the server under this holds.
            let some = vec![b'y'; left.min(TURN_BYTES / 2)];
            match Pin::new(&mut self.paced).poll_write(&mut cx, &some) {
                Poll::Ready(written) => left -= written.unwrap(),
                Poll::Pending => return false,
            }
        }
        Pin::new(&mut self.paced).poll_flush(&mut cx).is_ready()
    }

    fn woken(&self) -> usize {
        self.woken.0.swap(0, Ordering::SeqCst)
    }
}

#[test]
fn what_is_not_answered_is_read_by_a_bounded_piece_a_turn() {
    for room in [1, 1_000, 8_192] {
        let mut stand = Stand::new(10_000);
        assert_eq!(stand.read(room), READ_AHEAD_BYTES);
        assert_eq!(stand.woken(), 1, "it has another turn");
        assert_eq!(stand.read(room), READ_AHEAD_BYTES);
        assert_eq!(stand.woken(), 1);
        assert_eq!(stand.read(room), 10_000 - 2 * READ_AHEAD_BYTES);
        assert_eq!(stand.woken(), 0, "nothing more is there");
    }
}

#[test]
fn a_few_requests_are_read_at_once_however_small_they_are() {
    for what in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\n\n", "\n"] {
        for room in [1, 7, 1_000, 8_192] {
            let length = what.len();
            let mut stand = Stand::of(what.as_bytes(), 100 * length);
            let mut turns = 0;
            while stand.read.len() < 100 * length {
                let count = stand.read(room).div_ceil(length);
                // A line is empty only after another.
                assert!(count <= READ_AHEAD_HEADS + 1, "{count}");
                turns += 1;
            }
            assert!(turns >= 100 / (READ_AHEAD_HEADS + 1));
            assert_eq!(stand.read, what.repeat(100).as_bytes(), "all, in order");
        }
    }
}

#[test]
fn a_body_of_empty_lines_is_read_as_it_is_taken() {
    let mut stand = Stand::of(b"\n", 1_000);
    let connection = stand.paced.connection().clone();
    let turn = connection.begin(1_000);
    assert_eq!(stand.read(8_192), READ_AHEAD_HEADS + 1);
    assert_eq!(stand.read(8_192), 0, "what was read is not taken");
    for _ in 0..10 {
        connection.taken(1, true);
        assert_eq!(stand.woken(), 1, "it reads on");
        assert_eq!(stand.read(8_192), 1);
    }
    drop(turn);
}

#[test]
fn a_body_without_a_length_is_read_as_it_is_taken() {
    let mut stand = Stand::new(100_000);
    let connection = stand.paced.connection().clone();
    let turn = connection.begin(0);
    assert_eq!(stand.read(8_192), READ_AHEAD_BYTES);
    assert_eq!(stand.read(8_192), 0);
    connection.taken(1_000, false);
    assert_eq!(stand.read(8_192), 1_000 + CHUNK_BYTES);
    assert_eq!(stand.read(8_192), 0);
    drop(turn);
}

#[test]
fn beside_a_request_a_bounded_piece_is_read_until_it_ends() {
    let mut stand = Stand::new(100_000);
    let turn = stand.paced.connection().begin(0);
    assert_eq!(stand.read(8_192), READ_AHEAD_BYTES);
    for _ in 0..10 {
        assert_eq!(stand.read(8_192), 0);
    }
    assert_eq!(stand.woken(), 0, "it does not turn in circles");
    drop(turn);
    assert_eq!(stand.woken(), 1, "it reads on");
    // What came with it is no reason to read more: each request ends, and nothing is added up.
    for _ in 0..10 {
        drop(stand.paced.connection().begin(0));
    }
    assert_eq!(stand.read(8_192), READ_AHEAD_BYTES);
}

#[test]
fn a_body_is_read_whole_and_what_is_left_of_it_counts_for_nothing() {
    let mut stand = Stand::new(1 << 20);
    assert_eq!(stand.read(8_192), READ_AHEAD_BYTES);
    let turn = stand.paced.connection().begin(100_000);
    assert_eq!(stand.read(8_192), 100_000);
    assert_eq!(stand.read(8_192), 0);
    drop(turn);
    let turn = stand.paced.connection().begin(100_000);
    drop(turn);
    let turn = stand.paced.connection().begin(0);
    assert_eq!(stand.read(8_192), READ_AHEAD_BYTES);
    drop(turn);
}

#[test]
fn nothing_is_read_while_an_answer_waits_for_its_client() {
    let system = System::new();
    system.block_on(async {
        let mut stand = Stand::new(100_000);
        stand.paced.stream.takes = 10;
        assert!(!stand.write(100));
        assert_eq!(stand.read(8_192), 0);
        // Some of it is taken, and still some waits.
        stand.paced.stream.takes = 10;
        assert!(!stand.write(90));
        assert_eq!(stand.read(8_192), 0);
        assert_eq!(stand.woken(), 0);
        stand.paced.stream.takes = 80;
        assert!(stand.write(80));
        assert_eq!(stand.woken(), 1, "it reads on");
        assert_eq!(stand.read(8_192), READ_AHEAD_BYTES);
    });
}

#[test]
fn a_long_answer_lets_others_go_between_and_is_sent_whole() {
    let system = System::new();
    system.block_on(async {
        // Also where the stream is no longer read, as when it is closed after an answer.
        for reads in [true, false] {
            let mut stand = Stand::new(10);
            stand.paced.stream.takes = 10 * TURN_BYTES;
            let mut left = 10 * TURN_BYTES;
            for turn in 1..=10 {
                if reads {
                    assert_eq!(stand.read(8_192), if turn == 1 { 10 } else { 0 });
                }
                let sent = stand.write(left);
                left = stand.paced.stream.takes;
                assert_eq!(left, (10 - turn) * TURN_BYTES);
                assert_eq!(sent, turn == 10);
                let woken = usize::from(turn < 10 || reads);
                assert_eq!(stand.woken(), woken, "it has another turn, or reads on");
                assert!(stand.paced.stalled.is_none());
            }
        }
    });
}

#[test]
fn who_takes_nothing_for_too_long_loses_the_connection() {
    let system = System::new();
    system.block_on(async {
        let mut paced = Paced::new(Wire::default(), Duration::from_millis(1));
        let write = |cx: &mut Context<'_>| Pin::new(&mut paced).poll_write(cx, b"answer");
        let error = std::future::poll_fn(write).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    });
}

#[test]
fn what_is_taken_gives_time_anew() {
    let system = System::new();
    system.block_on(async {
        let mut stand = Stand::new(0);
        assert!(!stand.write(100));
        assert!(stand.paced.stalled.is_some());
        stand.paced.stream.takes = 100;
        assert!(stand.write(100));
        assert!(stand.paced.stalled.is_none());
    });
}

#[test]
fn a_large_body_comes_in_pieces_and_whole() {
    let system = System::new();
    system.block_on(async {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 5 * PIECE_BYTES - 1] {
            let sent: Bytes = (0..length).map(|at| at.to_le_bytes()[0]).collect();
            let mut body = in_pieces(BoxBody::new(sent.clone()));
            assert_eq!(body.size(), sent.size());
            let (mut all, mut pieces) = (Vec::new(), 0);
            while let Some(piece) =
                std::future::poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await
            {
                let piece = piece.unwrap();
                assert!(piece.len() <= PIECE_BYTES);
                all.extend_from_slice(&piece);
                pieces += 1;
            }
            assert_eq!(all, sent);
            assert_eq!(pieces, length.div_ceil(PIECE_BYTES));
        }
    });
}
