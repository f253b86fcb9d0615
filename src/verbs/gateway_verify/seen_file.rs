//! Used tokens in a file, for shells that share one.
//!
//! Here: a line for each token, under the file's lock and synced before a token is accepted. Not
//! here: a memory for many messages a second; a gateway that sends so many embeds the library.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result as Done, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use interlock_token::{Seen, SeenError};

/// Tokens at once; a further one is not accepted until one is over, at most 130 s later.
const LINES_MAX: usize = 100_000;
/// A line is a time and an id of 36 characters: what is read at most.
const BYTES_MAX: u64 = 64 * LINES_MAX as u64;

/// The file.
#[derive(Debug)]
pub(super) struct SeenFile<'p>(&'p Path);

impl<'p> SeenFile<'p> {
    /// At this place; it is made when it is not there, and a lock file beside it.
    pub(super) const fn new(path: &'p Path) -> Self {
        Self(path)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(self.0);
        name.push(ending);
        name.into()
    }

    /// What it says; `None`: it is not there.
    fn text(&self) -> Done<Option<String>> {
        let mut text = String::new();
        match File::open(self.0) {
            Ok(file) => file.take(BYTES_MAX).read_to_string(&mut text)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(text))
    }

    fn append(&self, line: &str) -> Done<()> {
        let mut file = OpenOptions::new().append(true).open(self.0)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    }

    /// Puts other lines in its place, all or none.
    fn replace(&self, lines: &str) -> Done<()> {
        let fresh = self.beside(".new");
        let mut file = ours().truncate(true).open(&fresh)?;
        file.write_all(lines.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, self.0)?;
        let parent = self.0.parent().filter(|path| !path.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn look(&self, jti: &str, until: i64, now: i64) -> Done<bool> {
        let lock = ours().truncate(false).open(self.beside(".lock"))?;
        lock.lock()?;
        let known = self.text()?;
        let text = known.as_deref().unwrap_or_default();
        // A last line without its end was not synced, so its token was not accepted.
        let complete = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut live = String::new();
        let mut count = 0;
        for line in complete.lines() {
            let (end, id) = line
                .split_once(' ')
                .and_then(|(end, id)| Some((end.parse::<i64>().ok()?, id)))
                .ok_or_else(|| Error::other("it is not a file of used tokens"))?;
            if end <= now {
                continue;
            }
            if id == jti {
                return Ok(false);
            }
            count += 1;
            live.push_str(line);
            live.push('\n');
        }
        if count >= LINES_MAX || text.len() as u64 >= BYTES_MAX {
            return Err(Error::other("it is full"));
        }
        let added = format!("{until} {jti}\n");
        match known.is_some() && live.len() == text.len() {
            true => self.append(&added)?,
            false => self.replace(&(live + &added))?,
        }
        Ok(true)
    }
}

fn ours() -> OpenOptions {
    let mut how = OpenOptions::new();
    how.write(true).create(true).mode(0o600);
    how
}

impl Seen for SeenFile<'_> {
    fn first_time(&mut self, jti: &str, until: i64, now: i64) -> Result<bool, SeenError> {
        let looked = self.look(jti, until, now);
        looked.map_err(|error| SeenError(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0199a3b2-5c00-7a1e-8f3d-2b6c0e4a9d01";
    const B: &str = "0199a3b2-5c00-7a1e-8f3d-2b6c0e4a9d02";

    #[test]
    fn a_token_is_new_once_and_room_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let first = |jti: &str, now: i64| SeenFile::new(&path).first_time(jti, 130, now);
        assert!(first(A, 0).unwrap());
        assert!(!first(A, 129).unwrap());
        assert!(first(B, 129).unwrap());
        // What is over makes room.
        assert!(first(A, 130).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("130 {A}\n"));
    }

    #[test]
    fn half_a_line_was_no_token_and_another_file_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let first = |jti: &str| SeenFile::new(&path).first_time(jti, 130, 0);
        fs::write(&path, format!("130 {B}\n130 0199a3b2")).unwrap();
        assert!(first(A).unwrap());
        assert!(!first(B).unwrap());
        let whole = format!("130 {B}\n130 {A}\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        fs::write(&path, "a poem\n").unwrap();
        assert!(first(A).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a poem\n");
    }

    #[test]
    fn a_full_file_accepts_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let line = |number: usize| format!("130 0199a3b2-5c00-7a1e-8f3d-{number:012}\n");
        fs::write(&path, (0..LINES_MAX).map(line).collect::<String>()).unwrap();
        let first = |now: i64| SeenFile::new(&path).first_time(A, 260, now);
        assert!(first(0).unwrap_err().to_string().contains("full"));
        assert!(first(130).unwrap());
    }
}
