//! `keys create`: a new key of a source, printed once.

use interlock_api::directory::{Role, Scope};
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::print;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::Stop;
use crate::registry::change::WantedKey;

/// The verb on the socket.
pub(crate) const NAME: &str = "keys create";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: String,
    /// The source the key speaks for.
    #[arg(long, value_name = "NAME")]
    source: String,
    /// Makes the source when the space has none of that name.
    #[arg(long)]
    new_source: bool,
    /// What it may call; may be given several times. Without one a key without roles may coordinate,
    /// and one with roles has no scope: people act through their roles.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// What it may see and change; may be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Makes a test key (nia_sk_test_…).
    #[arg(long)]
    test: bool,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
    source: String,
    #[serde(default)]
    new_source: bool,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    test: bool,
}

/// What is answered. Never logged: it holds the key.
#[derive(Serialize, Deserialize)]
struct Made {
    key: String,
    key_id: String,
    space: String,
    source: String,
    source_made: bool,
    scopes: Vec<String>,
    roles: Vec<String>,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let wanted = Wanted {
            space: self.space.clone(),
            source: self.source.clone(),
            new_source: self.new_source,
            scopes: self.scopes.clone(),
            roles: self.roles.clone(),
            test: self.test,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let made: Made = print::done(&answer)?;
        let source = if made.source_made {
            "new source"
        } else {
            "source"
        };
        let none = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        say(&format!(
            "key {id} of the {source} `{}` in the space `{}`\nscopes: {}\nroles: {}\n\n  {key}\n\n\
             Keep it: it is stored as a keyed hash and never shown again.",
            made.source,
            made.space,
            none(&made.scopes),
            none(&made.roles),
            id = made.key_id,
            key = made.key,
        ));
        Ok(())
    }
}

/// Makes it.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let scopes = match wanted.scopes.as_slice() {
        [] if wanted.roles.is_empty() => vec![Scope::Coordinate],
        [] => Vec::new(),
        names => each(names, "scope", Scope::from_name, Scope::ALL, Scope::name)?,
    };
    let roles = each(
        &wanted.roles,
        "role",
        Role::from_name,
        Role::ALL,
        Role::name,
    )?;
    let named = |names: Vec<&'static str>| names.into_iter().map(str::to_owned).collect();
    let scope_names = named(scopes.iter().map(|one| one.name()).collect());
    let role_names = named(roles.iter().map(|one| one.name()).collect());
    let mut registry = admin.registry().await;
    let (change, made) = registry
        .new_key(WantedKey {
            space: &wanted.space,
            source: &wanted.source,
            new_source: wanted.new_source,
            scopes,
            roles,
            test: wanted.test,
        })
        .map_err(No::Refused)?;
    admin.write(&mut registry, change).await?;
    Ok(Answer::one(&Made {
        key: made.text.reveal().to_owned(),
        key_id: made.text.key_id.clone(),
        space: made.space,
        source: wanted.source,
        source_made: made.source_made,
        scopes: scope_names,
        roles: role_names,
    }))
}

/// Words of a list of words, each once.
fn each<T: Copy + Ord>(
    names: &[String],
    what: &str,
    from_name: fn(&str) -> Option<T>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Vec<T>, No> {
    let mut read = Vec::new();
    for one in names {
        let Some(known) = from_name(one) else {
            let known: Vec<&str> = all.iter().map(|one| name(*one)).collect();
            let known = known.join(", ");
            return Err(No::Refused(format!(
                "there is no {what} `{one}`; there is {known}"
            )));
        };
        read.push(known);
    }
    read.sort_unstable();
    read.dedup();
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_once_and_unknown_ones_refused() {
        let read = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            each(&names, "scope", Scope::from_name, Scope::ALL, Scope::name)
        };
        assert_eq!(read(&["track", "track"]), Ok(vec![Scope::Track]));
        let Err(No::Refused(what)) = read(&["fly"]) else {
            panic!("it is refused");
        };
        assert!(
            what.contains("`fly`") && what.contains("coordinate"),
            "{what}"
        );
    }
}
