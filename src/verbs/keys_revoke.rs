//! `keys revoke`: turns a key off for good, from the next request on.

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::Stop;

/// The verb on the socket.
pub(crate) const NAME: &str = "keys revoke";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The key's id, as `keys list` shows it.
    key_id: String,
    /// The space, by name or id, when several have a key of that id.
    #[arg(long, value_name = "NAME|ID")]
    space: Option<String>,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    key_id: String,
    space: Option<String>,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Revoked {
    key_id: String,
    /// It was off already.
    already: bool,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let wanted = Wanted {
            key_id: self.key_id.clone(),
            space: self.space.clone(),
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let Revoked { key_id, already } = print::done(&answer)?;
        say(&match already {
            true => format!("key {key_id} was revoked before; nothing changed"),
            false => format!("key {key_id} is revoked; its next request is answered 401"),
        });
        Ok(())
    }
}

/// Turns it off.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let mut registry = admin.registry().await;
    let change = registry
        .revoked(&wanted.key_id, wanted.space.as_deref())
        .map_err(No::Refused)?;
    let already = change.is_none();
    if let Some(change) = change {
        // Also on a full disk: the key may be the one that fills it.
        admin.write_always(&mut registry, change).await?;
    }
    Ok(Answer::one(&Revoked {
        key_id: wanted.key_id,
        already,
    }))
}
