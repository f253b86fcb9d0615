//! Every bound the edge keeps, with its unit and default.

use std::net::SocketAddr;
use std::sync::Arc;

/// Bounds on requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiLimits {
    /// How long one check may take, in milliseconds; the SDK waits 200.
    pub check_deadline_ms: u64,
    /// How long a batch of checks may take, in milliseconds.
    pub batch_deadline_ms: u64,
    /// How long any other request may take, in milliseconds.
    pub request_deadline_ms: u64,
    /// How long the body of a request may take to arrive, in milliseconds.
    pub body_read_ms_max: u64,
    /// Largest body of any request but a batch, in bytes, also after inflation.
    pub body_bytes_max: usize,
    /// Largest body of a batch of checks, in bytes, also after inflation.
    pub batch_bytes_max: usize,
    /// Bodies held at once by all requests together, in bytes.
    pub bodies_bytes_max: usize,
    /// Bytes of batches that are worked on at once. A space may have all of them while no other asks.
    pub batches_bytes_max: usize,
    /// Bytes of one space's batches that are worked on at once while another space asks too. A batch
    /// that is larger takes all of them.
    pub batches_bytes_per_space_max: usize,
    /// Batches of one space that may wait for that.
    pub batches_waiting_per_space_max: usize,
    /// How long after a request its space counts as one that asks, in milliseconds.
    pub space_asks_ms: u64,
    /// What a client is told to wait after a 503, in seconds.
    pub retry_after_s: u32,
    /// Commands a key may send a second on average; 0: as many as it likes.
    pub commands_per_key_per_s: u32,
    /// How many seconds of that rate a key may send at once after a pause.
    pub burst_per_key_s: u32,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            check_deadline_ms: 150,
            batch_deadline_ms: 2_000,
            request_deadline_ms: 5_000,
            body_read_ms_max: 5_000,
            body_bytes_max: 64 * 1024,
            batch_bytes_max: 4 * 1024 * 1024,
            bodies_bytes_max: 256 * 1024 * 1024,
            batches_bytes_max: 2 * 1024 * 1024,
            batches_bytes_per_space_max: 160 * 1024,
            batches_waiting_per_space_max: 64,
            space_asks_ms: 1_000,
            retry_after_s: 1,
            commands_per_key_per_s: 0,
            burst_per_key_s: 1,
        }
    }
}

/// Where and how the server listens.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Addresses to bind; port 0 takes a free one.
    pub addresses: Vec<SocketAddr>,
    /// HTTP worker threads.
    pub workers: usize,
    /// Connections the kernel may hold before they are accepted.
    pub backlog: u32,
    /// Connections one worker holds at once; more wait in the backlog.
    pub connections_per_worker_max: usize,
    /// How long an idle connection is kept, in seconds; the SDK reuses its own for 120.
    pub keep_alive_s: u64,
    /// How long the head of a request may take to arrive, in milliseconds.
    pub head_read_ms_max: u64,
    /// How long a closing connection may take, in milliseconds.
    pub disconnect_ms_max: u64,
    /// How long a client may take nothing of an answer that waits for it, in milliseconds.
    pub answer_stalled_ms_max: u64,
    /// How long requests under way may take once the server stops, in seconds.
    pub shutdown_s_max: u64,
    /// Whether a line at `info` tells of every request.
    pub access_log: bool,
    /// TLS with certificate and key; without it HTTP goes in the clear.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            addresses: vec![SocketAddr::from(([127, 0, 0, 1], 8080))],
            workers: 2,
            backlog: 1_024,
            connections_per_worker_max: 4_096,
            keep_alive_s: 130,
            head_read_ms_max: 5_000,
            disconnect_ms_max: 1_000,
            answer_stalled_ms_max: 60_000,
            shutdown_s_max: 10,
            access_log: false,
            tls: None,
        }
    }
}
