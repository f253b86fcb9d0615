//! `[storage]`: where and with what the log is kept. Read by `wiring`.

use super::setting::{choice, integer, section, text};

section! {
    /// Where and with what the log is kept.
    Storage = "storage" {
        /// "sled" keeps everything; "memory" forgets everything at the end and is for trying out.
        engine: String = choice("sled", &["sled", "memory"]),
        /// The data directory, from the directory the server is started in.
        data_dir: String = text("./data"),
        /// "on" asks the file system to write in order between two syncs, so that a power cut in the
        /// middle of a commit leaves a log that opens. "off" is faster; after such a cut the log may
        /// refuse to open. What was answered is synced either way.
        ordered_writes: String = choice("on", &["on", "off"]),
        /// Free bytes on the disk below which nothing new is reserved. Settles, releases and reads go
        /// on. Below a quarter of it, at least 8 MiB, nothing that writes is taken, only reads go on. The
        /// engine cannot open a full disk, so this also keeps room for the next start.
        free_bytes_min: u64 = integer(268_435_456, 16_777_216, 1_099_511_627_776),
    }
}
