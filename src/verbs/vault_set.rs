//! `vault set`: another value for a name of a space's vault, such as a gateway's key.
//!
//! The value is read from standard input: arguments stand in the shell's history and in the list of
//! processes.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::{Exit, Stop};
use crate::registry::new_space::VaultValue;

/// The verb on the socket.
pub(crate) const NAME: &str = "vault set";

/// What is read at most: 32 bytes in base64url, with room for blanks around them.
const INPUT_BYTES_MAX: u64 = 1_024;

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: String,
    /// The value's name, as the document's `vault:NAME` has it. The value itself, 32 bytes in
    /// base64url, comes over standard input.
    name: String,
}

/// What is asked. Never logged: it holds the value.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
    name: String,
    base64url: String,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Set {
    space: String,
    name: String,
    /// A gateway of the rules has its key under the name.
    used: bool,
    /// The version of the rules in force; with a value that they use it is a new one.
    version: u32,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let refuse = |what: &str| Stop::new(Exit::Refused, format!("standard input: {what}"));
        let mut content = Vec::new();
        let mut input = std::io::stdin().lock().take(INPUT_BYTES_MAX);
        input
            .read_to_end(&mut content)
            .map_err(|_| refuse("cannot be read"))?;
        let value = std::str::from_utf8(&content)
            .ok()
            .and_then(|text| VaultValue::of_file(&self.name, text.trim().as_bytes()))
            .ok_or_else(|| refuse("must hold 32 bytes in base64url without padding"))?;
        let wanted = Wanted {
            space: self.space.clone(),
            name: self.name.clone(),
            base64url: URL_SAFE_NO_PAD.encode(value.bytes),
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let set: Set = print::done(&answer)?;
        let Set {
            space,
            name,
            version,
            ..
        } = &set;
        say(&match set.used {
            true => format!(
                "space `{space}`: the vault value `{name}` is set, version {version} of the rules \
                 has it"
            ),
            false => format!(
                "space `{space}`: the vault value `{name}` is set; no rule uses it yet, so the rules \
                 stay at version {version}. A gateway takes it by `key_ref`: `vault:{name}`"
            ),
        });
        Ok(())
    }
}

/// Sets it.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let value = URL_SAFE_NO_PAD.decode(&wanted.base64url).ok();
    let value = value.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let bytes = value.ok_or_else(|| No::Refused("the value must be 32 bytes".to_owned()))?;
    let value = VaultValue {
        name: wanted.name.clone(),
        bytes,
    };
    let mut registry = admin.registry().await;
    let change = registry
        .new_vault_value(&wanted.space, value)
        .map_err(No::Refused)?;
    admin.write(&mut registry, change).await?;
    let known = registry.find(&wanted.space).map_err(No::Failed)?;
    Ok(Answer::one(&Set {
        space: known.row.name.clone(),
        used: known.takes(&wanted.name),
        name: wanted.name,
        version: known.row.policy_version,
    }))
}
