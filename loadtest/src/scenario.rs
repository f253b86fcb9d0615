//! The scenarios: each a file of its own that says what is asked, of which space, and what comes out
//! of it. What they share is the plan ([`crate::run`]) and the report.

pub(crate) mod batch;
pub(crate) mod claims;
pub(crate) mod declare;
#[cfg(feature = "direct")]
pub(crate) mod direct;
pub(crate) mod effects;
pub(crate) mod growth;
pub(crate) mod hot;
pub(crate) mod mixed;
pub(crate) mod paid;
pub(crate) mod race;
pub(crate) mod recover;
pub(crate) mod shards;
pub(crate) mod single;
pub(crate) mod steady;
pub(crate) mod steps;
pub(crate) mod tokens;

use clap::Subcommand;

use crate::options::Output;
use crate::peer;
use crate::report::Document;

/// The kinds of load.
#[derive(Debug, Subcommand)]
pub(crate) enum Scenario {
    /// One check a request, at 5,000 a second
    Single(single::Asked),
    /// Batches of distinct checks, spread over customers and objects
    Batch(batch::Asked),
    /// Batches with a token for each allow, beside what one core signs in a tight loop
    Tokens(tokens::Asked),
    /// Claims on customers, renewed and released, and task locks
    Claims(steps::Asked),
    /// Effects that are reserved and settled
    Effects(steps::Asked),
    /// Calls of one paid operation, each admitted and then settled
    Paid(paid::Asked),
    /// Checks whose contact and effect are declared afterwards
    Declare(declare::Asked),
    /// A day of a fleet: everything above in the shares of a fleet, few customers often
    Mixed(mixed::Asked),
    /// Everything on one customer or one object, half of it, or one space that floods
    Hot(hot::Asked),
    /// Many callers for the same effects, budgets and customers: who was granted what
    Race(race::Asked),
    /// Load, SIGKILL, a start on the same data, and whether anything acknowledged is lost
    Recover(recover::Asked),
    /// The best load of 1, 2, 4 … shards, and which number to take
    Shards(shards::Asked),
    /// Throughput and memory from ten thousand to ten million customers
    Growth(growth::Asked),
    /// A long time under half of the most: memory, disk, purges, and single checks beside it
    Steady(steady::Asked),
    /// Batches beside Redis or PostgreSQL, started here with every answer on disk: the ratio of both
    Peer(Box<peer::Asked>),
    /// The node without HTTP, with a log that keeps nothing and with one on disk
    #[cfg(feature = "direct")]
    Direct(direct::Asked),
}

impl Scenario {
    /// Its name on the command line.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Single(_) => "single",
            Self::Batch(_) => "batch",
            Self::Tokens(_) => "tokens",
            Self::Claims(_) => "claims",
            Self::Effects(_) => "effects",
            Self::Paid(_) => "paid",
            Self::Declare(_) => "declare",
            Self::Mixed(_) => "mixed",
            Self::Hot(_) => "hot",
            Self::Race(_) => "race",
            Self::Recover(_) => "recover",
            Self::Shards(_) => "shards",
            Self::Growth(_) => "growth",
            Self::Steady(_) => "steady",
            Self::Peer(_) => "peer",
            #[cfg(feature = "direct")]
            Self::Direct(_) => "direct",
        }
    }

    /// How its figures are shown.
    pub(crate) const fn output(&self) -> &Output {
        match self {
            Self::Single(asked) => &asked.output,
            Self::Batch(asked) => &asked.output,
            Self::Tokens(asked) => &asked.output,
            Self::Claims(asked) => &asked.output,
            Self::Effects(asked) => &asked.output,
            Self::Paid(asked) => &asked.output,
            Self::Declare(asked) => &asked.output,
            Self::Mixed(asked) => &asked.output,
            Self::Hot(asked) => &asked.output,
            Self::Race(asked) => &asked.output,
            Self::Recover(asked) => &asked.output,
            Self::Shards(asked) => &asked.output,
            Self::Growth(asked) => &asked.output,
            Self::Steady(asked) => &asked.output,
            Self::Peer(asked) => &asked.output,
            #[cfg(feature = "direct")]
            Self::Direct(asked) => &asked.output,
        }
    }

    /// Carries it out and puts what it finds into the document.
    pub(crate) fn run(&self, document: &mut Document) -> Result<(), String> {
        match self {
            Self::Single(asked) => single::run(asked, document),
            Self::Batch(asked) => batch::run(asked, document),
            Self::Tokens(asked) => tokens::run(asked, document),
            Self::Claims(asked) => claims::run(asked, document),
            Self::Effects(asked) => effects::run(asked, document),
            Self::Paid(asked) => paid::run(asked, document),
            Self::Declare(asked) => declare::run(asked, document),
            Self::Mixed(asked) => mixed::run(asked, document),
            Self::Hot(asked) => hot::run(asked, document),
            Self::Race(asked) => race::run(asked, document),
            Self::Recover(asked) => recover::run(asked, document),
            Self::Shards(asked) => shards::run(asked, document),
            Self::Growth(asked) => growth::run(asked, document),
            Self::Steady(asked) => steady::run(asked, document),
            Self::Peer(asked) => peer::run(asked, document),
            #[cfg(feature = "direct")]
            Self::Direct(asked) => direct::run(asked, document),
        }
    }
}
