//! Which commands are on their way, and what is owed to each of them.
//!
//! Here: exactly one answer for each command whose client stayed, decisions in the order of
//! arrival, and no decision earlier than its entities. Not here: what an answer says (the model).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_actors::message::Monotonic;
use interlock_domain::key::{EntityKey, KeyList};

use crate::machine::{Ticket, Violation, violated};
use crate::random::Random;
use crate::sink::Client;

/// One request.
#[derive(Debug)]
struct Request<R> {
    client: Arc<Client<R>>,
    deadline: Monotonic,
    tickets: Vec<Ticket>,
    answered: Vec<bool>,
}

/// One command.
#[derive(Debug)]
struct Command {
    keys: KeyList,
    /// The entity its transaction acquires first.
    leads: Option<EntityKey>,
    written: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Tracker<R> {
    requests: BTreeMap<u64, Request<R>>,
    commands: BTreeMap<Ticket, Command>,
    /// The last decided command of those that acquire an entity first.
    decided: BTreeMap<EntityKey, Ticket>,
    open: usize,
}

impl<R> Default for Tracker<R> {
    fn default() -> Self {
        Self {
            requests: BTreeMap::new(),
            commands: BTreeMap::new(),
            decided: BTreeMap::new(),
            open: 0,
        }
    }
}

impl<R> Tracker<R> {
    /// Commands without an answer.
    #[must_use]
    pub const fn open(&self) -> usize {
        self.open
    }

    /// The client of a request that is under way.
    #[must_use]
    pub fn client(&self, request: u64) -> Option<&Arc<Client<R>>> {
        self.requests.get(&request).map(|asked| &asked.client)
    }

    /// A request sets out with these commands and their keys, and is of use until its deadline.
    pub fn asked(
        &mut self,
        client: Arc<Client<R>>,
        deadline: Monotonic,
        commands: Vec<(Ticket, KeyList)>,
    ) {
        self.open += commands.len();
        let request = Request {
            answered: vec![false; commands.len()],
            tickets: commands.iter().map(|(ticket, _)| *ticket).collect(),
            client,
            deadline,
        };
        self.requests.insert(request.client.request, request);
        for (ticket, keys) in commands {
            let command = Command {
                keys,
                leads: None,
                written: false,
            };
            self.commands.insert(ticket, command);
        }
    }

    /// A command goes to the queue of this entity first. All commands of an entity arrive in the
    /// order of their tickets, because they take one way.
    pub fn leads(&mut self, ticket: Ticket, key: EntityKey) {
        if let Some(command) = self.commands.get_mut(&ticket) {
            command.leads = Some(key);
        }
    }

    /// A record says that a command was decided; answers its keys.
    ///
    /// # Errors
    /// When it was decided before, never asked, or out of turn.
    pub fn written(&mut self, ticket: Ticket) -> Result<&KeyList, Violation> {
        let Some(command) = self.commands.get_mut(&ticket) else {
            return violated(
                "C6",
                format!("a record of command {ticket}, which is not under way"),
            );
        };
        if std::mem::replace(&mut command.written, true) {
            return violated("C6", format!("command {ticket} was decided twice"));
        }
        if let Some(key) = command.leads {
            let before = self.decided.insert(key, ticket).unwrap_or(0);
            if before > ticket {
                return violated(
                    "order",
                    format!(
                        "command {ticket} arrived at {key:?} before {before}, decided after it"
                    ),
                );
            }
        }
        Ok(&command.keys)
    }

    /// An answer came; says to which command, and its deadline.
    ///
    /// # Errors
    /// When nobody asked, or there was an answer already.
    pub fn answered(&mut self, request: u64, index: u32) -> Result<(Ticket, Monotonic), Violation> {
        let Some(asked) = self.requests.get_mut(&request) else {
            return violated("answers", format!("request {request} is not under way"));
        };
        match asked.answered.get_mut(index as usize) {
            Some(answered) if !*answered => *answered = true,
            Some(_) => {
                return violated("answers", format!("command {index} of {request} has two"));
            }
            None => return violated("answers", format!("{request} has no command {index}")),
        }
        self.open -= 1;
        let known = (asked.tickets[index as usize], asked.deadline);
        if asked.answered.iter().all(|&answered| answered) {
            self.requests.remove(&request);
        }
        Ok(known)
    }

    /// One of the clients goes away.
    pub fn leave(&mut self, random: &mut Random) {
        if self.requests.is_empty() {
            return;
        }
        let at = random.index(self.requests.len());
        if let Some(request) = self.requests.values().nth(at) {
            request.client.gone.store(true, Ordering::Relaxed);
        }
    }

    /// Everything under way is lost.
    pub fn crashed(&mut self) {
        self.requests.clear();
        self.commands.clear();
        self.open = 0;
    }

    /// Nothing is under way any more.
    ///
    /// # Errors
    /// When a client still waits.
    pub fn rest(&mut self) -> Result<(), Violation> {
        for (number, request) in &self.requests {
            if !request.client.gone.load(Ordering::Relaxed) {
                let open = request
                    .answered
                    .iter()
                    .filter(|answered| !**answered)
                    .count();
                return violated(
                    "answers",
                    format!("{open} commands of request {number} wait"),
                );
            }
        }
        self.requests.clear();
        self.commands.clear();
        self.decided.clear();
        self.open = 0;
        Ok(())
    }
}
