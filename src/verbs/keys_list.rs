//! `keys list`: the keys there are, without their text or its hash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use super::table::table;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::Stop;

/// The verb on the socket.
pub(crate) const NAME: &str = "keys list";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Only the keys of this space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: Option<String>,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: Option<String>,
}

/// A key.
#[derive(Debug, Serialize, Deserialize)]
struct Key {
    key_id: String,
    space: String,
    space_id: String,
    source: String,
    scopes: Vec<String>,
    roles: Vec<String>,
    test: bool,
    state: String,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let space = self.space.clone();
        let answer = self.place.ask(NAME, &Wanted { space })?;
        if self.place.json {
            print::json(&answer, Some("keys"));
            return Ok(());
        }
        let keys: Vec<Key> = print::rows(&answer)?;
        let rows: Vec<Vec<String>> = keys
            .into_iter()
            .map(|key| {
                let state = match key.test {
                    true => format!("{} (test)", key.state),
                    false => key.state,
                };
                let (scopes, roles) = (key.scopes.join(" "), key.roles.join(" "));
                vec![key.key_id, key.space, key.source, scopes, roles, state]
            })
            .collect();
        let headings = ["key id", "space", "source", "scopes", "roles", "state"];
        say(&table(&headings, &rows));
        Ok(())
    }
}

/// Lists them, by space, source and id.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let registry = admin.registry().await;
    let only = wanted.space.map(|space| registry.find_space(&space));
    let only = only.transpose().map_err(No::Refused)?;
    let spaces: BTreeMap<_, _> = registry.space_rows().map(|row| (row.id, row)).collect();
    let keys = registry.key_rows();
    let mut keys: Vec<Key> = keys
        .filter(|row| only.is_none_or(|id| id == row.space))
        .filter_map(|row| {
            let space = spaces.get(&row.space)?;
            let source = space.sources.iter().find(|one| one.id == row.source)?;
            Some(Key {
                key_id: row.key_id.clone(),
                space: space.name.clone(),
                space_id: space.id.to_string(),
                source: source.name.clone(),
                scopes: row.scopes.clone(),
                roles: row.roles.clone(),
                test: row.test,
                state: if row.revoked { "revoked" } else { "live" }.to_owned(),
            })
        })
        .collect();
    let order = |key: &Key| {
        let (space, source) = (key.space.clone(), key.source.clone());
        (space, key.space_id.clone(), source, key.key_id.clone())
    };
    keys.sort_by_cached_key(order);
    Ok(Answer::new(&keys, &serde_json::Map::new()))
}
