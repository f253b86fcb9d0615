//! The simulator's command line.

use std::panic::catch_unwind;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use interlock_domain::contact::Contact;
use interlock_sim::counters::{Counters, quiet_deliberate_panics};
use interlock_sim::machine::SimMachine;
use interlock_sim::world::{Failure, Options, run};

/// Runs seeded simulations; the seed is printed before each run, and a failing one with the command
/// that replays it.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// What is simulated
    #[arg(long, value_enum, default_value = "all")]
    machine: Choice,
    /// The first seed; without it one that nobody chose
    #[arg(long)]
    seed: Option<u64>,
    /// Runs, each with the next seed
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Steps of each run
    #[arg(long, default_value_t = 100_000)]
    steps: u64,
    /// Shards of the first process, 1 to 5; without it by seed
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=5))]
    shards: Option<u16>,
    /// Prints how often each case that a model tells apart was seen
    #[arg(long)]
    cases: bool,
}

/// The machines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Each of them
    All,
    /// Pairs of counters that must stay equal
    Counters,
    /// The contact product
    Contact,
}

impl Choice {
    fn takes(self, machine: Self) -> bool {
        self == Self::All || self == machine
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    quiet_deliberate_panics();
    let first = arguments.seed.unwrap_or_else(fresh_seed);
    for number in 0..arguments.seeds {
        let seed = first.wrapping_add(number);
        let shards = u16::try_from(seed % 5 + 1).expect("1 to 5");
        let options = Options {
            seed,
            steps: arguments.steps,
            shards: arguments.shards.unwrap_or(shards),
        };
        let mut fine = true;
        if arguments.machine.takes(Choice::Counters) {
            fine &= one::<Counters>(options, arguments.cases);
        }
        if arguments.machine.takes(Choice::Contact) {
            fine &= one::<Contact>(options, arguments.cases);
        }
        if !fine {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "this is a command line")]
fn one<M: SimMachine>(options: Options, cases: bool) -> bool {
    let name = M::NAME;
    let Options {
        seed,
        steps,
        shards,
    } = options;
    let replay =
        format!("cargo xtask sim --machine {name} --seed {seed} --steps {steps} --shards {shards}");
    println!("{name}: seed {seed}, {steps} steps, {shards} shards at first");
    let why = match catch_unwind(|| run::<M>(options, &mut |report| println!("  {report}"))) {
        Ok(Ok(report)) => {
            println!("{name}: seed {seed} is fine: {report}");
            if cases {
                println!("{:#?}", report.seen);
            }
            return true;
        }
        Ok(Err(Failure {
            violation,
            step,
            recent,
        })) => format!("at step {step}: {violation}\nthe steps before: {recent:?}"),
        Err(_) => "it panicked".to_owned(),
    };
    println!("{name}: seed {seed} FAILED {why}\nreplay: {replay}");
    false
}

/// A seed that nobody chose, short enough to type.
fn fresh_seed() -> u64 {
    getrandom::u64().unwrap_or(1) % 1_000_000_000
}
