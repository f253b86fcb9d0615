//! The bundled load harness: asks a server, validates every answer, prints figures. It shares the
//! machine with the server when both run on one, so it is built to be light: bodies are patched in
//! place ([`form`]) and answers are scanned once ([`answer`], [`scan`]). It knows the wire contract
//! from its own side and uses no code of the server, so that a fault in the server's types cannot
//! hide; only the scenario behind the feature `direct` does.
#![expect(
    clippy::disallowed_methods,
    reason = "outside the server: it paces requests, measures by the machine's clock and leaves by itself"
)]

mod answer;
mod arrivals;
mod ask;
mod checks;
mod connection;
mod device;
mod findings;
mod form;
mod html;
mod http;
mod input;
mod interrupt;
mod machine;
mod options;
mod outside;
mod peer;
mod process;
mod progress;
mod random;
mod report;
mod run;
mod scan;
mod scenario;
mod spawn;
mod table;
mod tally;
mod target;
mod template;
mod token;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use crate::options::Options;
use crate::report::Document;

/// The server's allocator, where its code runs in this process.
#[cfg(feature = "direct")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match drive(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Where nobody reads it, the status says the same.
            writeln!(std::io::stderr(), "interlock-load: {error}").ok();
            ExitCode::from(2)
        }
    }
}

/// Carries out a scenario; false when an answer was wrong or none came.
fn drive(options: &Options) -> Result<bool, String> {
    process::wake_on_time();
    interrupt::listen()?;
    let scenario = &options.scenario;
    if let Some(path) = &options.html {
        html::check(path)?;
    }
    if let Some(folder) = &options.svg {
        html::check_folder(folder)?;
    }
    let mut document = Document {
        format: report::FORMAT,
        scenario: scenario.name().to_owned(),
        command: options::command_line(std::env::args()),
        started_ms: options::unix_ms(),
        machine: machine::this(Path::new(".")),
        ..Document::default()
    };
    scenario.run(&mut document)?;
    document.judge();
    if let Some(path) = &options.html {
        html::write(path, &document)?;
    }
    if let Some(folder) = &options.svg {
        html::write_charts(folder, &document)?;
    }
    let shown = if scenario.output().json {
        serde_json::to_string(&document).map_err(|error| error.to_string())? + "\n"
    } else {
        table::Table(&document).to_string()
    };
    let mut output = std::io::stdout().lock();
    let written = output.write_all(shown.as_bytes());
    written
        .and_then(|()| output.flush())
        .map_err(|error| format!("the report cannot be written: {error}"))?;
    Ok(document.passed)
}
