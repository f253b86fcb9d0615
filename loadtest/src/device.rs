//! The disk under a folder: what it takes in writes that follow one another with a sync each, and how
//! much reached it so far.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::findings::Disk;
use crate::report::Run;

/// One write: what the server's commits hold at most by default.
const CHUNK: usize = 1 << 20;
/// The file begins again here, so that it never takes more room.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// What the system counts in, whatever the device's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// Writes and syncs, over and over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed {
    /// Bytes a second.
    pub(crate) bytes_per_second: f64,
    /// Syncs a second.
    pub(crate) syncs_per_second: f64,
}

impl Speed {
    /// Of the disk that holds a folder, over so long. What was written is removed.
    pub(crate) fn of(folder: &Path, length: Duration) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
        let mut chunk = vec![0x5a_u8; CHUNK];
        let start = Instant::now();
        let mut syncs = 0_u64;
        while start.elapsed() < length || syncs == 0 {
            if (syncs * CHUNK as u64).is_multiple_of(FILE_BYTES_MAX) {
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
            }
            // Different each time, so that no layer below can leave a write out.
            chunk[..8].copy_from_slice(&syncs.to_le_bytes());
            file.write_all(&chunk).map_err(failed)?;
            file.sync_data().map_err(failed)?;
            syncs += 1;
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self {
            bytes_per_second: syncs as f64 * CHUNK as f64 / seconds,
            syncs_per_second: syncs as f64 / seconds,
        })
    }

    /// The middle of two.
    pub(crate) const fn between(self, other: Self) -> Self {
        Self {
            bytes_per_second: f64::midpoint(self.bytes_per_second, other.bytes_per_second),
            syncs_per_second: f64::midpoint(self.syncs_per_second, other.syncs_per_second),
        }
    }

    /// A run beside it; nothing of a run without a rate.
    pub(crate) fn beside(self, run: &Run) -> Option<Disk> {
        let server = run.server.as_ref().filter(|_| run.passed())?;
        let records = server.record_bytes as f64 / run.seconds;
        let device = server.device_bytes_per_second;
        let written = device.unwrap_or(server.written_bytes_per_second);
        Some(Disk {
            chunk_bytes: CHUNK as u64,
            alone_bytes_per_second: self.bytes_per_second,
            alone_syncs_per_second: self.syncs_per_second,
            device_bytes_per_second: device,
            server_bytes_per_second: server.written_bytes_per_second,
            record_bytes_per_second: records,
            amplification: written / records.max(1.0),
            share: written / self.bytes_per_second.max(1.0),
        })
    }
}

/// Bytes that reached the device under a folder since the machine started, whoever wrote them; none
/// where the folder lies on no device of its own.
pub(crate) fn written_bytes(folder: &Path) -> Option<u64> {
    let device = fs::metadata(folder).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let text = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    sectors_written(&text).map(|sectors| sectors * SECTOR_BYTES)
}

/// The seventh figure of a block device's `stat`.
fn sectors_written(stat: &str) -> Option<u64> {
    stat.split_whitespace().nth(6)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_takes_something_and_nothing_is_left_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let speed = Speed::of(folder.path(), Duration::from_millis(1)).expect("written");
        assert!(
            speed.bytes_per_second > 0.0 && speed.syncs_per_second > 0.0,
            "{speed:?}"
        );
        assert_eq!(fs::read_dir(folder.path()).expect("a list").count(), 0);
        let twice = Speed {
            bytes_per_second: 3.0 * speed.bytes_per_second,
            syncs_per_second: 3.0 * speed.syncs_per_second,
        };
        let between = speed.between(twice);
        assert!((between.syncs_per_second - 2.0 * speed.syncs_per_second).abs() < 1e-6);
    }

    #[test]
    fn written_sectors_are_the_seventh_figure() {
        let stat =
            "  103929     8283  5556178   159443   975432    90892 48047904   238941        0\n";
        assert_eq!(sectors_written(stat), Some(48_047_904));
        assert_eq!(sectors_written("1 2 3"), None);
    }
}
