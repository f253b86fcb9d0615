//! The only task runner: `cargo xtask VERB`. Each verb is a file; this one reads the command line and
//! hands over. Nothing here is part of the server.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool prints"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "outside the server: it waits for other processes and measures by the machine's clock"
)]

mod bench;
mod ci;
mod conformance;
mod deny;
mod figures;
mod fuzz;
mod mutants;
mod schema;
mod server;
mod setup;
mod shell;
mod sim;
mod sizes;
mod soak;
mod summary;
mod targets;
mod testing;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's tasks.
#[derive(Debug, Parser)]
#[command(about, max_term_width = 80)]
struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Bring in what the tests need; quick when it is there
    Setup,
    /// Run all tests: workspace, documentation, the published SDK against a server
    Test,
    /// Run the whole gate: fmt, clippy, tidy, deny, sim, test
    Ci,
    /// Run the seeded simulation
    Sim(sim::Options),
    /// Run one of the proofs for longer than the gate allows
    Soak(soak::Options),
    /// Plant known faults and show that each is caught
    Mutants(mutants::Options),
    /// Make up inputs for what reads bytes, guided by coverage
    Fuzz(fuzz::Options),
    /// Check the house rules that no compiler checks
    Tidy {
        /// Lower the ratchet to what is there now
        #[arg(long)]
        bless: bool,
    },
    /// Check licences, bans, sources and advisories of the dependencies
    Deny,
    /// Drive a server with the published SDK
    Conformance(conformance::Options),
    /// Send generated requests to a server and hold its answers to the document
    Schema(schema::Options),
    /// Measure the functions that every check goes through
    Bench(bench::Options),
    /// Measure a release server on this machine and print a table
    Figures(figures::Options),
}

fn main() -> ExitCode {
    let outcome = match Options::parse().verb {
        Verb::Setup => setup::run(),
        Verb::Test => testing::run().and_then(|tests| tests.close(shell::is_ci())),
        Verb::Ci => ci::run(),
        Verb::Sim(options) => sim::run(&options),
        Verb::Soak(options) => soak::run(&options),
        Verb::Mutants(options) => mutants::run(&options),
        Verb::Fuzz(options) => fuzz::run(&options),
        Verb::Tidy { bless } => tidy::run(bless),
        Verb::Deny => deny::run(),
        Verb::Conformance(options) => {
            conformance::run(&options).and_then(|tests| tests.close(shell::is_ci()))
        }
        Verb::Schema(options) => {
            schema::run(&options).and_then(|tests| tests.close(shell::is_ci()))
        }
        Verb::Bench(options) => bench::run(&options),
        Verb::Figures(options) => figures::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
