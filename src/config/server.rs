//! `[server]`: how the node is reached. Read by `serve` and `wiring`.

use super::setting::{address, integer, section, text};

section! {
    /// How the node is reached.
    Server = "server" {
        /// Address and port. Beyond loopback it needs `tls_cert` and `tls_key`, or `--insecure-http`.
        /// Port 0 takes a free one; the ready line says which.
        listen: String = address("127.0.0.1:7440"),
        /// The file of the certificate and those it was signed by, in PEM; empty: HTTP without TLS.
        /// SIGHUP reads it and the key again.
        tls_cert: String = text(""),
        /// The file of its private key, in PEM, not encrypted.
        tls_key: String = text(""),
        /// Threads that answer HTTP. 0 takes one per core.
        http_workers: u64 = integer(0, 0, 256),
        /// Connections that one of these threads holds; further ones wait in the system's queue.
        connections_per_worker_max: u64 = integer(4_096, 16, 65_536),
        /// Connections that the system's queue holds.
        backlog: u64 = integer(1_024, 16, 65_535),
        /// Seconds an idle connection stays open; clients keep theirs for 120.
        keep_alive_s: u64 = integer(130, 1, 3_600),
        /// Seconds after SIGTERM in which requests are still taken while `/readyz` answers 503, so that
        /// a load balancer turns away before the address closes.
        stopping_notice_s: u64 = integer(0, 0, 600),
        /// Seconds that requests in flight get to end after SIGTERM and that notice.
        drain_s: u64 = integer(10, 0, 600),
    }
}
