//! The server binary.
//!
//! Here: the command line's verbs, one file each, and the one way out. Not here: anything a verb
//! does.

mod admin;
mod config;
mod console;
mod data_dir;
#[cfg(test)]
mod deploy;
mod exit;
mod export;
mod first_start;
mod listen;
mod log_stop;
mod memory_watch;
mod panics;
mod registry;
mod reserve;
mod rotation;
mod running;
mod secret;
mod seed;
mod serve;
mod signals;
mod telemetry;
mod tls;
mod verbs;
mod wiring;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::{Exit, Stop};

/// Every decision makes and drops small values on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// May this agent act, now? An in-memory coordinator that answers, and reserves what it promises.
#[derive(Debug, Parser)]
#[command(
    name = "interlock",
    version,
    arg_required_else_help = true,
    max_term_width = 80
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs the server. A first start sets everything up.
    #[command(after_help = exit::HELP)]
    Serve(Box<serve::Args>),
    /// Prints every setting with its unit, default and bound.
    Config,
    /// Lists and settles effects whose outcome nobody knows.
    #[command(subcommand, arg_required_else_help = true)]
    Effects(verbs::Effects),
    /// Rotates the salts of the suppression list.
    #[command(subcommand, arg_required_else_help = true)]
    Salts(verbs::Salts),
    /// Says why a decision came out as it did.
    #[command(after_help = exit::HELP)]
    Explain(verbs::explain::Args),
    /// Judges a contact token as a gateway does; asks no server.
    #[command(after_help = exit::HELP)]
    GatewayVerify(Box<verbs::gateway_verify::Args>),
    /// Shows what a running server holds of one customer, object or effect.
    #[command(after_help = exit::HELP)]
    Show(verbs::show::Args),
    /// Makes, lists and revokes keys of a running server.
    #[command(subcommand, arg_required_else_help = true)]
    Keys(verbs::Keys),
    /// Makes and lists spaces of a running server, and changes their rules.
    #[command(subcommand, arg_required_else_help = true)]
    Spaces(verbs::Spaces),
    /// Sets secrets of a running server's spaces.
    #[command(subcommand, arg_required_else_help = true)]
    Vault(verbs::Vault),
    /// Writes everything into one file, while the server runs or not.
    #[command(after_help = exit::HELP)]
    Export(verbs::export::Args),
    /// Makes a data directory of an export.
    #[command(after_help = exit::HELP)]
    Import(verbs::import::Args),
    /// Writes a stopped server's log anew, without what is gone.
    #[command(after_help = exit::HELP)]
    Compact(verbs::compact::Args),
    /// Reads a data directory that no server uses, and judges all of it.
    #[command(after_help = exit::HELP)]
    Verify(verbs::verify::Args),
}

fn main() -> ExitCode {
    panics::install();
    let outcome = std::panic::catch_unwind(run)
        .unwrap_or_else(|_| Err(Stop::new(Exit::Bug, "stopped by the bug named above")));
    // Also when the command line makes no sense, so it is not asked of what was parsed.
    let json = std::env::args_os().skip(1).any(|word| word == "--json");
    exit::code(outcome, json)
}

fn run() -> Result<(), Stop> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help) => return usage(&help),
    };
    match cli.verb {
        Verb::Serve(args) => serve::run(&args),
        Verb::Config => {
            console::say(config::document().trim_end());
            Ok(())
        }
        Verb::Effects(verb) => verb.run(),
        Verb::Salts(verb) => verb.run(),
        Verb::Explain(args) => args.run(),
        Verb::GatewayVerify(args) => args.run(),
        Verb::Verify(args) => args.run(),
        Verb::Export(args) => args.run(),
        Verb::Import(args) => args.run(),
        Verb::Compact(args) => args.run(),
        Verb::Show(args) => args.run(),
        Verb::Keys(verb) => verb.run(),
        Verb::Spaces(verb) => verb.run(),
        Verb::Vault(verb) => verb.run(),
    }
}

/// Help and version are answers; anything else is one line.
fn usage(help: &clap::Error) -> Result<(), Stop> {
    if help.use_stderr()
        && help.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        let text = help.to_string();
        // What is wrong, and the hint when there is one; the usage line is left to --help.
        let parts = text.split("\n\n");
        let said = parts.filter(|part| {
            let part = part.trim_start();
            !part.starts_with("Usage:") && !part.starts_with("For more information")
        });
        let said: Vec<&str> = said.flat_map(str::split_whitespace).collect();
        let line = said.join(" ");
        let line = line.strip_prefix("error: ").unwrap_or(&line);
        let line = format!("{line} (--help behind the verb lists what there is)");
        return Err(Stop::new(Exit::Usage, line));
    }
    console::say(help.to_string().trim_end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// The longest line of the help of a verb and of all below it.
    fn check_width(command: &mut clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let help = command.render_long_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{path}: {line}");
        }
        for verb in command.get_subcommands_mut() {
            check_width(verb, &path);
        }
    }

    #[test]
    fn help_keeps_within_80_columns() {
        let mut command = Cli::command();
        command.build();
        check_width(&mut command, "");
    }
}
