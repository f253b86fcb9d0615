//! `spaces list`: the spaces there are.

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use super::table::table;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered};
use crate::console::say;
use crate::exit::Stop;

/// The verb on the socket.
pub(crate) const NAME: &str = "spaces list";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
}

/// What is asked: nothing in particular.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {}

/// A space.
#[derive(Debug, Serialize, Deserialize)]
struct Space {
    id: String,
    name: String,
    features: Vec<String>,
    rules_version: u32,
    sources: Vec<String>,
    keys: u64,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let answer = self.place.ask(NAME, &Wanted {})?;
        if self.place.json {
            print::json(&answer, Some("spaces"));
            return Ok(());
        }
        let spaces: Vec<Space> = print::rows(&answer)?;
        let rows: Vec<Vec<String>> = spaces
            .into_iter()
            .map(|space| {
                vec![
                    space.id,
                    space.name,
                    space.features.join(" "),
                    space.rules_version.to_string(),
                    space.sources.join(" "),
                    space.keys.to_string(),
                ]
            })
            .collect();
        let headings = ["id", "name", "features", "rules", "sources", "keys"];
        say(&table(&headings, &rows));
        Ok(())
    }
}

/// Lists them, by name.
pub(super) async fn serve(admin: &Admin, _: Wanted) -> Answered {
    let registry = admin.registry().await;
    let mut spaces: Vec<Space> = registry
        .space_rows()
        .map(|row| Space {
            id: row.id.to_string(),
            name: row.name.clone(),
            features: row.features.clone(),
            rules_version: row.policy_version,
            sources: row.sources.iter().map(|one| one.name.clone()).collect(),
            keys: registry
                .key_rows()
                .filter(|key| key.space == row.id)
                .count() as u64,
        })
        .collect();
    spaces.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
    Ok(Answer::new(&spaces, &serde_json::Map::new()))
}
