//! What a server writes: read on a thread of its own, so that a full pipe never stops it.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The lines of one pipe so far.
#[derive(Debug)]
pub(crate) struct Output {
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Output {
    /// Reads a pipe to its end.
    pub(crate) fn of(pipe: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                let Ok(line) = line else { return };
                sink.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(line);
            }
        });
        Self {
            lines,
            reader: Some(reader),
        }
    }

    /// What was written so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The first line that starts so.
    pub(crate) fn line(&self, start: &str) -> Option<String> {
        self.lines()
            .into_iter()
            .find(|line| line.starts_with(start))
    }

    /// Everything, once the writer is gone.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader of a pipe does not panic");
        }
        self.lines()
    }
}
