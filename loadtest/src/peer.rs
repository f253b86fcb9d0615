//! Interlock beside other servers, in the same run and on the same machine: Redis and PostgreSQL, each
//! started here with every answer on disk before it is given, with our rules written for it as far as
//! its model can hold them (`check.lua`, `check.sql`). Each round drives Interlock, then each peer, at
//! each number of connections: A B A B, so that a slow minute of the machine falls on all of them.
//!
//! It is a scenario of its own and no flag of `batch`: it has rounds, several numbers of connections
//! and other servers to start and end, and none of that means anything to a plain batch. What is asked
//! is the batch scenario's: the same draws of agents, customers, objects and effect keys ([`keys`]).
//!
//! A peer earns a figure only by right answers: before any load its rules are proved ([`rules`]), each
//! answer under load is judged and budgets must balance at the end ([`judge`]). What a peer's model
//! does not hold is listed with every figure ([`DIFFERENCES`]). The exit status tells of wrong answers
//! and never of speed.

mod child;
mod drive;
mod judge;
mod keys;
mod outcome;
mod postgres;
mod redis;
mod resp;
mod rules;
mod server;
mod table;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::checks::{About, Batches, Checks};
use crate::interrupt;
use crate::machine;
use crate::options::{self, Length, Output, Where};
use crate::progress;
use crate::report::Document;
use crate::run::{self, Plan};
use crate::target::{Space, Target};

use self::drive::Load;
use self::judge::Ledger;
use self::keys::Draw;
use self::outcome::{Cell, Rounds};
use self::postgres::Postgres;
use self::redis::Redis;
use self::server::{Form, Rules, Server};

pub(crate) use self::table::Table;

/// What no peer's rules hold, with every figure.
const DIFFERENCES: [&str; 7] = [
    "effect keys, customers and objects are kept as they come: no keyed hash, no canonical form of a \
     destination, no erasure",
    "no decision id, no receipt or note of a decision, no epoch: an answer is a decision, a reason, \
     the attempt, and what is left or until when",
    "one live claim a target with a rank; no intents, no ownership sources, no handoffs",
    "no slices, pacing, contact windows or quiet hours; one budget for one purpose, set at load",
    "no API key, scope or space: one password, one tenant",
    "a binary or text protocol of its own instead of JSON over HTTP, and nothing is validated",
    "nothing is purged: keys and windows stay",
];

/// Effects of a peer are in flight as long as ours by default.
const LEASE_MS: u64 = 60_000;

/// A server to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Redis 7 or later: a function, the append-only file synced before every answer
    Redis,
    /// PostgreSQL: a plpgsql function, `fsync` and `synchronous_commit` on
    Postgres,
}

/// Options of the scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct Asked {
    /// The servers to compare with; each is started here, in a private directory
    #[arg(long = "peer", required = true, value_enum, value_delimiter = ',')]
    peers: Vec<Kind>,
    /// Connections to compare at; `--connections` has no meaning here
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16], value_parser = clap::value_parser!(u64).range(1..=100))]
    at: Vec<u64>,
    /// Rounds; each has a run of every server at each number of connections
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Contacts of a customer that a peer allows: as many as the purpose allows in Interlock's space
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000))]
    budget_limit: u16,
    /// The hours in which they count
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=8760))]
    budget_hours: u64,
    /// Where the peers' directories are made: on the disk that holds Interlock's data, and where
    /// PostgreSQL's user may go
    #[arg(long, default_value = "/var/tmp")]
    peer_data: PathBuf,
    #[command(flatten)]
    server: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    batches: Batches,
    #[command(flatten)]
    about: About,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Carries out the comparison.
pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.server, Space::Load)?;
    document.meet(&target);
    let comparison = Comparison::prepare(asked, &target)?;
    let (ours, theirs) = (
        &document.machine.file_system,
        machine::file_system_of(&asked.peer_data),
    );
    if target.data().is_some() && *ours != theirs {
        let words =
            format!("the data lie on different file systems: ours on {ours}, theirs on {theirs}");
        document.words.push(words);
    }
    let compared = comparison.run(document);
    // Ends the peers, also when a run failed.
    drop(comparison);
    compared?;
    target.close()
}

/// A peer that runs and holds its rules.
struct Peer {
    server: Box<dyn Server>,
    ledger: Ledger,
    durability: String,
}

struct Comparison<'a> {
    asked: &'a Asked,
    target: &'a Target,
    draw: Draw,
    peers: Vec<Peer>,
}

impl<'a> Comparison<'a> {
    fn prepare(asked: &'a Asked, target: &'a Target) -> Result<Self, String> {
        let (about, batches) = (&asked.about, &asked.batches);
        if about.objects > rules::OBJECT_FIRST {
            return Err(format!(
                "a comparison takes at most {} objects",
                rules::OBJECT_FIRST
            ));
        }
        let draw = Draw {
            batch: batches.batch as usize,
            probes: batches.order_probes as usize,
            customers: about.customers,
            objects: about.objects,
            seed: about.seed,
        };
        let rules = Rules {
            purpose: about.purpose.clone(),
            limit: asked.budget_limit,
            window_ms: asked.budget_hours * 3_600_000,
            lease_ms: LEASE_MS,
        };
        let start = |kind| Peer::start(kind, &rules, about.customers, &asked.peer_data);
        let peers = asked.peers.iter().map(|kind| start(*kind));
        Ok(Self {
            draw,
            peers: peers.collect::<Result<_, _>>()?,
            asked,
            target,
        })
    }

    fn run(&self, document: &mut Document) -> Result<(), String> {
        let mut rounds = Rounds::new(&self.draw);
        let mut number = 0;
        for round in 1..=self.asked.rounds {
            for &connections in &self.asked.at {
                let cell = self.ours(round, connections)?;
                progress::say(&cell.line());
                rounds.add(cell);
                if !rounds.right() {
                    rounds.tell(&self.known(), document);
                    return Ok(());
                }
                for (index, peer) in self.peers.iter().enumerate() {
                    for &form in peer.forms(self.draw.batch) {
                        interrupt::check()?;
                        number += 1;
                        let (warm_up, measured) = self.asked.length.times();
                        let load = Load {
                            draw: self.draw,
                            form,
                            connections,
                            run: number,
                            limit: self.asked.length.requests,
                            warm_up,
                            measured,
                        };
                        let measured = drive::run(&*peer.server, &load, &peer.ledger)?;
                        let cell = Cell::of_peer(index, &*peer.server, &load, round, measured)?;
                        progress::say(&cell.line());
                        rounds.add(cell);
                    }
                }
                if !rounds.right() {
                    rounds.tell(&self.known(), document);
                    return Ok(());
                }
            }
        }
        for peer in &self.peers {
            if let Err(error) = peer.ledger.balance() {
                rounds.wrong(format!("{}: {error}", peer.server.name()));
            }
        }
        rounds.tell(&self.known(), document);
        Ok(())
    }

    fn ours(&self, round: u32, connections: u64) -> Result<Cell, String> {
        let (asked, target) = (self.asked, self.target);
        // Batches of one are bare checks.
        let batch = (self.draw.batch > 1).then_some(asked.batches.batch);
        let mut shape = asked.about.shape(batch);
        shape.order_probes = self.draw.probes.min(self.draw.batch / 2);
        shape.run = options::run_tag();
        let script = |connection| {
            let checks = Checks::new(&shape, &target.endpoint, connection);
            Ok(Box::new(checks.alone_in(target)) as Box<_>)
        };
        let mut plan = Plan::new("Interlock", target, &script);
        plan.unit = "checks";
        plan.batch = self.draw.batch as f64;
        plan.about = asked.about.words();
        asked.length.apply(&mut plan, connections);
        plan.connections = connections;
        Ok(Cell::of_ours(round, connections, run::run(&plan)?))
    }

    fn known(&self) -> Vec<outcome::Known> {
        let known = |peer: &Peer| outcome::Known {
            name: peer.server.name(),
            durability: peer.durability.clone(),
            differences: DIFFERENCES.iter().map(|it| (*it).to_owned()).collect(),
        };
        self.peers.iter().map(known).collect()
    }
}

impl Peer {
    /// How it is asked batches of this size: for a single check all forms are the same.
    fn forms(&self, batch: usize) -> &'static [Form] {
        let forms = self.server.forms();
        if batch == 1 { &forms[..1] } else { forms }
    }

    fn start(kind: Kind, rules: &Rules, customers: u64, parent: &Path) -> Result<Self, String> {
        let server: Box<dyn Server> = match kind {
            Kind::Redis => Box::new(Redis::start(rules, parent)?),
            Kind::Postgres => Box::new(Postgres::start(rules, parent)?),
        };
        let mut conditions = server.conditions()?;
        let proved = rules::prove(&*server, rules)?;
        conditions.push(format!("data on {}", machine::file_system_of(parent)));
        conditions.push(format!("{proved} answers proved its rules"));
        Ok(Self {
            server,
            ledger: Ledger::new(customers, rules.limit),
            durability: conditions.join("; "),
        })
    }
}

#[cfg(test)]
#[path = "peer/whole_tests.rs"]
mod tests;
