//! `salts rotate`: gives a source another salt for its copy of the suppression list.

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::Stop;

/// The verb on the socket.
pub(crate) const NAME: &str = "salts rotate";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: String,
    /// The source's name.
    #[arg(long, value_name = "NAME")]
    source: String,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
    source: String,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Rotated {
    source: String,
    /// How often its salt was rotated.
    rotations: u32,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let wanted = Wanted {
            space: self.space.clone(),
            source: self.source.clone(),
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let Rotated { source, .. } = print::done(&answer)?;
        say(&format!(
            "source {source} has another salt; its next page of the suppression list starts anew"
        ));
        Ok(())
    }
}

/// Rotates it.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let mut registry = admin.registry().await;
    let now = admin.node().clock().now();
    let (change, rotations) = registry
        .salt_rotated(&wanted.space, &wanted.source, now)
        .map_err(No::Refused)?;
    admin.write(&mut registry, change).await?;
    Ok(Answer::one(&Rotated {
        source: wanted.source,
        rotations,
    }))
}
