//! `spaces create`: a new space on a running server.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::place::Place;
use super::print;
use super::spaces_apply::document;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::{Exit, Stop};
use crate::registry::new_space::{COORDINATION, NewSpace, VaultValue};
use crate::registry::policy;
use crate::secret::random_bytes;

/// The verb on the socket.
pub(crate) const NAME: &str = "spaces create";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Its name.
    name: String,
    /// Its coordination document, a JSON file; without one the five standard purposes and the
    /// usual channels.
    #[arg(long, value_name = "FILE")]
    coordination: Option<PathBuf>,
    /// Its id, a UUID; without one a random one.
    #[arg(long, value_name = "UUID")]
    #[arg(value_parser = space_id)]
    id: Option<Uuid>,
    /// A value the document points at, from a file of 32 bytes or their base64url; may be given
    /// several times.
    #[arg(long, value_name = "NAME=FILE")]
    vault: Vec<String>,
}

/// What is asked. Never logged: it holds the vault.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    name: String,
    id: Option<Uuid>,
    coordination: Option<Box<RawValue>>,
    #[serde(default)]
    vault: Vec<WantedValue>,
}

/// A vault value.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedValue {
    name: String,
    base64url: String,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    id: String,
    name: String,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let coordination = self.coordination.as_deref().map(document).transpose()?;
        let vault: Result<_, Stop> = self.vault.iter().map(|named| vault(named)).collect();
        let wanted = Wanted {
            name: self.name.clone(),
            id: self.id,
            coordination,
            vault: vault?,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let Made { id, name } = print::done(&answer)?;
        say(&format!(
            "space `{name}` ({id}) made\nIts first key:\n  interlock keys create --space {id} \\\n    \
             --source NAME --new-source{}",
            self.place.flags()
        ));
        Ok(())
    }
}

fn vault(named: &str) -> Result<WantedValue, Stop> {
    let Some((name, path)) = named.split_once('=') else {
        let message = "--vault reads NAME=FILE";
        return Err(Stop::new(Exit::Usage, message));
    };
    let refuse =
        |what: String| Stop::new(Exit::Refused, format!("the vault value `{name}`: {what}"));
    let content = std::fs::read(Path::new(path)).map_err(|error| refuse(error.to_string()))?;
    let value = VaultValue::of_file(name, &content)
        .ok_or_else(|| refuse("its file must hold 32 bytes or their base64url".to_owned()))?;
    Ok(WantedValue {
        name: value.name,
        base64url: URL_SAFE_NO_PAD.encode(value.bytes),
    })
}

/// Makes it.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let mut vault = Vec::new();
    for WantedValue { name, base64url } in wanted.vault {
        let value = VaultValue::of_file(&name, base64url.as_bytes());
        let rule = || No::Refused(format!("the vault value `{name}` must be 32 bytes"));
        vault.push(value.ok_or_else(rule)?);
    }
    let coordination = match wanted.coordination {
        Some(text) => policy::read(text.get(), &vault).map_err(No::Refused)?,
        None => policy::default_document(),
    };
    let id = match wanted.id {
        Some(id) => id,
        None => random_id().map_err(|stop| No::Failed(stop.message))?,
    };
    let new = NewSpace {
        id,
        name: wanted.name,
        features: vec![COORDINATION.to_owned()],
        sources: Vec::new(),
        vault,
        coordination,
    };
    let mut registry = admin.registry().await;
    registry.name_is_free(&new.name).map_err(No::Refused)?;
    let refuse = |what: String| No::Refused(format!("space `{}`: {what}", new.name));
    let change = registry.new_space(&new).map_err(refuse)?;
    admin.write(&mut registry, change).await?;
    Ok(Answer::one(&Made {
        id: new.id.to_string(),
        name: new.name,
    }))
}

fn space_id(text: &str) -> Result<Uuid, &'static str> {
    Uuid::parse_str(text).map_err(|_| "a space's id is a UUID in its hyphenated form")
}

fn random_id() -> Result<Uuid, Stop> {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = random_bytes()?;
    let random = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
    Ok(uuid::Builder::from_random_bytes(random).into_uuid())
}
