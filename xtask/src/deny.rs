//! Licences, bans and sources of the dependencies, by `deny.toml`. Advisories are checked when their
//! database can be reached; where it cannot, one line says so, for that is neither a test nor a failure.

use crate::setup;
use crate::shell::{self, Outcome};

/// Checks the dependencies.
pub(crate) fn run() -> Outcome {
    setup::deny_tool()?;
    let rules = [
        "deny",
        "--log-level",
        "error",
        "check",
        "licenses",
        "bans",
        "sources",
    ];
    shell::run(&mut shell::cargo(rules))?;
    if !shell::works(&mut shell::cargo([
        "deny",
        "--log-level",
        "error",
        "fetch",
        "db",
    ])) {
        eprintln!("deny: the advisory database could not be reached, advisories not looked at");
        return Ok(());
    }
    let advisories = [
        "deny",
        "--log-level",
        "error",
        "check",
        "--disable-fetch",
        "advisories",
    ];
    shell::run(&mut shell::cargo(advisories))
}
