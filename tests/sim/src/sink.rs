//! Clients of the simulation: sinks that put their answers on one pile, and may go away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use interlock_actors::message::{Answer, Done, Sink};

/// Where everything that leaves the node ends up, in order.
pub struct Pile<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Pile<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Pile<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> std::fmt::Debug for Pile<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pile")
    }
}

impl<T> Pile<T> {
    /// Puts something on it.
    pub fn push(&self, one: T) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(one);
    }

    /// How many lie on it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Nothing lies on it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes everything from it.
    #[must_use]
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An answer as it left: the request, the place in it, and what was said.
pub type Left<R> = (u64, u32, Answer<R>);

/// The client of one request.
#[derive(Debug)]
pub struct Client<R> {
    /// The request's number.
    pub request: u64,
    /// Where its answers go.
    pub pile: Pile<Left<R>>,
    /// It went away.
    pub gone: AtomicBool,
}

impl<R: Send> Sink<R> for Client<R> {
    fn deliver(&self, answers: Vec<(u32, Answer<R>)>) {
        for (index, answer) in answers {
            self.pile.push((self.request, index, answer));
        }
    }

    fn gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// Who waits for a sweep of everything.
#[derive(Debug, Default)]
pub struct Told {
    /// It was done.
    pub done: AtomicBool,
    /// It was told more than once.
    pub again: AtomicBool,
}

impl Done for Told {
    fn done(&self, durable: bool) {
        if self.done.swap(durable, Ordering::Relaxed) {
            self.again.store(true, Ordering::Relaxed);
        }
    }
}
