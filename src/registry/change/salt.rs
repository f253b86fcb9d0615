//! The salts of the suppression list.
//!
//! Here: the change that gives a source another one. Not here: what a salt is made of (`api`).

use interlock_domain::time::Timestamp;

use super::{Change, Checked, Registry};

impl Registry {
    /// Gives a source the next salt for its copy of the suppression list. Answers how often its salt
    /// was rotated with it.
    pub(crate) fn salt_rotated(
        &self,
        space: &str,
        source: &str,
        now: Timestamp,
    ) -> Checked<(Change, u32)> {
        let known = self.find(space)?;
        let mut row = known.row.clone();
        let found = row.sources.iter_mut().find(|one| one.name == source);
        let found = found.ok_or("the space has no such source; see interlock spaces list")?;
        let next = found.salt.checked_add(1);
        found.salt = next.ok_or("the source's salt has no further number")?;
        found.salt_since = now.0;
        let rotations = found.salt;
        Ok((self.with_row(known, row).done(), rotations))
    }
}
