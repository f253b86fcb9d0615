//! Past decisions, as the edge reads them.

use std::fmt;
use std::sync::Arc;

use interlock_actors::history;
use interlock_api::analysis::{History, Visit};
use interlock_domain::contact::Contact;
use interlock_domain::time::Timestamp;
use interlock_storage::Log;

/// The notes of a log: of its history and of what only its journal has yet.
pub(crate) struct Notes {
    log: Arc<dyn Log>,
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notes")
    }
}

impl Notes {
    /// Of a log that is open.
    pub(crate) const fn new(log: Arc<dyn Log>) -> Self {
        Self { log }
    }
}

impl History for Notes {
    fn between(&self, from: Timestamp, upto: Timestamp, visit: Visit<'_>) -> Result<(), String> {
        let read = history::between::<Contact>(&*self.log, from, upto, visit);
        read.map_err(|error| error.to_string())
    }
}
