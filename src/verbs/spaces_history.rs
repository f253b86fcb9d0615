//! `spaces history`: the versions that a space's documents had, who made them and why.

use interlock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use super::table::table;
use crate::admin::protocol::{Answer, Answered, No};
use crate::admin::{Admin, OPERATOR_NAME};
use crate::console::say;
use crate::exit::Stop;
use crate::registry::rows::VersionRow;

/// The verb on the socket.
pub(crate) const NAME: &str = "spaces history";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The space, by name or id.
    name: String,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
}

/// A version of a document.
#[derive(Debug, Serialize, Deserialize)]
struct Version {
    kind: String,
    version: u32,
    at: String,
    /// The id of the key that proposed it, or `operator`.
    by: String,
    /// The ids of the keys that agreed to it, each with its role.
    agreed: Vec<String>,
    reason: String,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let space = self.name.clone();
        let answer = self.place.ask(NAME, &Wanted { space })?;
        if self.place.json {
            print::json(&answer, Some("versions"));
            return Ok(());
        }
        let versions: Vec<Version> = print::rows(&answer)?;
        let cells = versions.into_iter().map(|one| {
            let agreed = match one.agreed.as_slice() {
                [] => "-".to_owned(),
                agreed => agreed.join(" "),
            };
            let version = one.version.to_string();
            let since = print::stamp(&one.at);
            vec![one.kind, version, since, one.by, agreed, one.reason]
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let headings = ["document", "version", "since", "by", "agreed", "why"];
        say(&table(&headings, &cells));
        Ok(())
    }
}

/// Lists them, the newest first.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let registry = admin.registry().await;
    let known = registry.find(&wanted.space).map_err(No::Refused)?;
    let versions = known.documents.versions().rev().map(version);
    let versions: Vec<Version> = versions.collect();
    Ok(Answer::new(&versions, &serde_json::Map::new()))
}

fn version(row: &VersionRow) -> Version {
    let agreed = row.approvals.iter();
    Version {
        kind: row.kind.clone(),
        version: row.version,
        at: print::time(Timestamp(row.at)),
        by: row.by.clone().unwrap_or_else(|| OPERATOR_NAME.to_owned()),
        agreed: agreed
            .map(|one| format!("{} ({})", one.key_id, one.role))
            .collect(),
        reason: row.reason.clone(),
    }
}
