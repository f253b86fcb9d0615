//! The bundled load harness: asks a running server, validates every answer, prints figures. It shares
//! the machine with the server when both run on one, so it is built to be light: bodies are patched in
//! place ([`template`]) and answers are scanned once ([`answer`]). It knows the wire contract from its
//! own side and uses no code of the server, so that a fault in the server's types cannot hide.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool prints"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "outside the server: it paces requests and measures by the machine's clock"
)]

mod answer;
mod connection;
mod fairness;
mod html;
mod http;
mod interrupt;
mod options;
mod paid;
mod peer;
mod random;
#[allow(dead_code, reason = "filled in by the scenarios, one after the other")]
mod report;
mod run;
mod scan;
mod table;
mod tally;
mod template;

use std::process::ExitCode;

use clap::Parser as _;

use crate::options::{Options, Scenario};
use crate::table::Report;

fn main() -> ExitCode {
    match drive(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("interlock-load: {error}");
            ExitCode::from(2)
        }
    }
}

/// Carries out every run; false when an answer was invalid or missing.
fn drive(options: &Options) -> Result<bool, String> {
    if let Scenario::Paid { paid } = &options.scenario {
        let report = paid::run(paid)?;
        let json = || serde_json::to_string(&report).map_err(|error| error.to_string());
        println!(
            "{}",
            if paid.json {
                json()?
            } else {
                report.to_string()
            }
        );
        return Ok(true);
    }
    if let Scenario::Fairness { fairness } = &options.scenario {
        return fairness::run(fairness, |round| {
            let json = || serde_json::to_string(round).map_err(|error| error.to_string());
            let text = if fairness.json {
                json()?
            } else {
                round.to_string()
            };
            println!("{text}");
            Ok(())
        });
    }
    if let Scenario::Peer { peer } = &options.scenario {
        if let Some(path) = &options.html {
            html::check(path)?;
        }
        let document = peer::run(peer, |line| eprintln!("{line}"))?;
        if let Some(path) = &options.html {
            html::write(path, &document)?;
        }
        if peer.common.json {
            let json = serde_json::to_string(&document).map_err(|error| error.to_string())?;
            println!("{json}");
        } else {
            println!("{}", peer::Table(&document));
        }
        return Ok(document.passed);
    }
    let mut passed = true;
    for plan in options.plans()? {
        let report = run::run(&plan)?;
        print(&report, plan.common.json)?;
        passed &= report.passed();
    }
    Ok(passed)
}

fn print(report: &Report, json: bool) -> Result<(), String> {
    if json {
        println!(
            "{}",
            serde_json::to_string(report).map_err(|error| error.to_string())?
        );
    } else {
        println!("{report}");
    }
    Ok(())
}
