//! `keys rotate-signing`: another key follows the one that signs contact tokens.

use interlock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use super::table::table;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::Stop;
use crate::registry::rows::SpaceRow;

/// The verb on the socket.
pub(crate) const NAME: &str = "keys rotate-signing";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    which: Which,
    /// For a key in wrong hands: the next key signs now, and every other leaves the published set
    /// now. What is on its way is refused by a gateway that has read the set again.
    #[arg(long, requires = "space", conflicts_with = "all")]
    now: bool,
}

/// Of which spaces; exactly one of them. Nobody rotates every space by leaving a flag out.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// This space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: Option<String>,
    /// Every space, one after the other.
    #[arg(long)]
    all: bool,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: Option<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    now: bool,
}

/// What became of a space's keys.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    space: String,
    /// When the new key signs; `None`: nothing changed.
    signs_from: Option<String>,
    /// When the key that signed until then verifies nothing any more.
    old_until: Option<String>,
    /// Why nothing changed.
    refused: Option<String>,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let wanted = Wanted {
            space: self.which.space.clone(),
            all: self.which.all,
            now: self.now,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, Some("spaces"));
            return Ok(());
        }
        let rows: Vec<Row> = print::rows(&answer)?;
        let dash = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
        let cells = rows.into_iter().map(|row| {
            let until = row.refused.or(row.old_until);
            vec![row.space, dash(row.signs_from), dash(until)]
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let headings = [
            "space",
            "the next key signs from",
            "the old one verifies until",
        ];
        say(&table(&headings, &cells));
        Ok(())
    }
}

/// Rotates them, one space after the other. A space alone is refused with its reason; of many, those
/// that have a next key already are told beside the others.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let named = |row: &SpaceRow| (row.id, row.name.clone());
    let (spaces, alone) = {
        let registry = admin.registry().await;
        match (&wanted.space, wanted.all) {
            (Some(name), false) => {
                let known = registry.find(name).map_err(No::Refused)?;
                (vec![named(&known.row)], true)
            }
            (None, true) if !wanted.now => (registry.space_rows().map(named).collect(), false),
            (None, true | false) | (Some(_), true) => {
                let rule = "either a space or all of them, --space S or --all; --now needs a space";
                return Err(No::Refused(rule.to_owned()));
            }
        }
    };
    let mut rows = Vec::new();
    for (space, name) in spaces {
        let time = |at: Timestamp| Some(print::time(at));
        rows.push(match admin.rotate_signing(space, wanted.now).await {
            Ok(rotated) => Row {
                space: rotated.space,
                signs_from: time(rotated.signs_from),
                old_until: time(rotated.old_until),
                refused: None,
            },
            Err(No::Refused(why)) if !alone => Row {
                space: name,
                signs_from: None,
                old_until: None,
                refused: Some(why),
            },
            Err(no) => return Err(no),
        });
    }
    Ok(Answer::new(&rows, &serde_json::Map::new()))
}
