//! The only place where load is refused.
//!
//! Here: bounds on commands and bytes in flight, for the node and for each group of spaces. Queues
//! inside the node are sized for all credits, so nothing behind the entrance can be full. A credit
//! goes back when its command was answered or dropped, also when the client has gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_storage::{GROUPS, Group};

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub struct CreditOptions {
    /// Commands in flight.
    pub commands_max: usize,
    /// Their bytes.
    pub bytes_max: usize,
    /// Commands in flight of the spaces of one group.
    pub group_commands_max: usize,
}

/// Commands and bytes in flight.
#[derive(Debug)]
pub struct Credits {
    options: CreditOptions,
    commands: AtomicUsize,
    bytes: AtomicUsize,
    groups: Vec<AtomicUsize>,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfCredits {
    /// The space's share.
    Group,
    /// The node's.
    Node,
}

/// Credits of one request; they go back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    credits: Arc<Credits>,
    group: Group,
    commands: usize,
    bytes: usize,
}

impl Credits {
    /// All credits free.
    #[must_use]
    pub fn new(options: CreditOptions) -> Arc<Self> {
        let groups = (0..GROUPS).map(|_| AtomicUsize::new(0)).collect();
        Arc::new(Self {
            options,
            commands: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            groups,
        })
    }

    /// Takes credits for a request.
    ///
    /// # Errors
    /// The bound that was reached; nothing is taken then.
    pub fn take(
        self: &Arc<Self>,
        group: Group,
        commands: usize,
        bytes: usize,
    ) -> Result<Permit, OutOfCredits> {
        let CreditOptions {
            commands_max,
            bytes_max,
            group_commands_max,
        } = self.options;
        let of_group = &self.groups[usize::from(group.0)];
        if !add(of_group, commands, group_commands_max) {
            return Err(OutOfCredits::Group);
        }
        if !add(&self.commands, commands, commands_max) {
            of_group.fetch_sub(commands, Ordering::AcqRel);
            return Err(OutOfCredits::Node);
        }
        if !add(&self.bytes, bytes, bytes_max) {
            of_group.fetch_sub(commands, Ordering::AcqRel);
            self.commands.fetch_sub(commands, Ordering::AcqRel);
            return Err(OutOfCredits::Node);
        }
        Ok(Permit {
            credits: Arc::clone(self),
            group,
            commands,
            bytes,
        })
    }

    /// Commands in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.load(Ordering::Acquire)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Self {
            credits,
            group,
            commands,
            bytes,
        } = self;
        credits.groups[usize::from(group.0)].fetch_sub(*commands, Ordering::AcqRel);
        credits.bytes.fetch_sub(*bytes, Ordering::AcqRel);
        credits.commands.fetch_sub(*commands, Ordering::AcqRel);
    }
}

/// Adds unless the bound would be passed.
fn add(counter: &AtomicUsize, by: usize, bound: usize) -> bool {
    let taken = counter.fetch_add(by, Ordering::AcqRel);
    if taken.saturating_add(by) > bound {
        counter.fetch_sub(by, Ordering::AcqRel);
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_request_takes_nothing() {
        let options = CreditOptions {
            commands_max: 10,
            bytes_max: 100,
            group_commands_max: 6,
        };
        let credits = Credits::new(options);
        let first = credits.take(Group(1), 6, 10).expect("room");
        assert_eq!(
            credits.take(Group(1), 1, 1).err(),
            Some(OutOfCredits::Group)
        );
        let second = credits.take(Group(2), 4, 10).expect("room");
        assert_eq!(credits.take(Group(3), 1, 1).err(), Some(OutOfCredits::Node));
        drop(first);
        assert_eq!(
            credits.take(Group(3), 1, 91).err(),
            Some(OutOfCredits::Node)
        );
        assert_eq!(credits.in_flight(), 4);
        drop(second);
        assert!(credits.take(Group(3), 6, 100).is_ok());
        assert_eq!(credits.in_flight(), 0);
    }
}
