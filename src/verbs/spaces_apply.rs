//! `spaces apply`: another coordination document for a space, in force without a restart.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::place::Place;
use super::print;
use super::table::{paragraph, table};
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::{Exit, Stop};
use crate::registry::diff::{Difference, LISTED_MAX};

/// The verb on the socket.
pub(crate) const NAME: &str = "spaces apply";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The space, by name or id.
    name: String,
    /// The document, a JSON file.
    file: PathBuf,
    /// Why, for `spaces history`.
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: Option<String>,
    /// Says what would change and changes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
    coordination: Box<RawValue>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

/// What is answered, beside what differs.
#[derive(Debug, Serialize, Deserialize)]
struct Applied {
    space: String,
    /// Something differs, and it is in force unless this was a dry run.
    changed: bool,
    dry_run: bool,
    from_version: u32,
    /// The version in force, or that would be.
    version: u32,
    /// Members that differ; beyond the listed ones only counted.
    differences: u64,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let wanted = Wanted {
            space: self.name.clone(),
            coordination: document(&self.file)?,
            reason: self.reason.clone(),
            dry_run: self.dry_run,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, Some("members"));
            return Ok(());
        }
        let applied: Applied = print::done(&answer)?;
        let (space, version) = (&applied.space, applied.version);
        if !applied.changed {
            say(&format!(
                "space `{space}`: the document is the one in force (version {version}); nothing \
                 changed"
            ));
            return Ok(());
        }
        say(&match applied.dry_run {
            true => format!("space `{space}`: version {version} would be (nothing changed yet)"),
            false => format!("space `{space}`: version {version} is in force"),
        });
        let members: Vec<Difference> = print::rows(&answer)?;
        let listed = members.len() as u64;
        let dash = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
        let cut = members.iter().map(Difference::cut);
        let rows: Vec<Vec<String>> = cut
            .map(|one| vec![one.member, dash(one.from), dash(one.to)])
            .collect();
        let table = table(&["member", "from", "to"], &rows);
        say(&table);
        for one in &members {
            if let Some(note) = &one.note {
                say(&paragraph(&format!("{}: {note}", one.member)));
            }
        }
        if table.contains('…') {
            say("what ends with … is cut; --json shows it whole");
        }
        if applied.differences > listed {
            say(&format!("and {} more", applied.differences - listed));
        }
        Ok(())
    }
}

/// The document of a file.
pub(super) fn document(path: &Path) -> Result<Box<RawValue>, Stop> {
    let refuse = |what: String| {
        let message = format!("the document {}: {what}", path.display());
        Stop::new(Exit::Refused, message)
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| refuse(format!("cannot be read: {error}; check the path")))?;
    RawValue::from_string(text).map_err(|error| refuse(format!("is not JSON: {error}")))
}

/// A reason as the configuration plane takes it too.
fn reason(text: &str) -> Result<String, &'static str> {
    match text.chars().count() {
        1..=500 => Ok(text.to_owned()),
        _ => Err("a reason has 1 to 500 characters"),
    }
}

/// Judges it, and puts it in force.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let why = wanted.reason.as_deref().unwrap_or("spaces apply");
    reason(why).map_err(|rule| No::Refused(format!("the reason: {rule}")))?;
    let mut registry = admin.registry().await;
    let rules = registry
        .new_rules(&wanted.space, wanted.coordination.get(), why)
        .map_err(No::Refused)?;
    let changed = rules.change.is_some();
    if let Some(change) = rules.change.filter(|_| !wanted.dry_run) {
        admin.write(&mut registry, change).await?;
    }
    let done = Applied {
        space: rules.space,
        changed,
        dry_run: wanted.dry_run,
        from_version: rules.from_version,
        version: rules.from_version + u32::from(changed),
        differences: rules.differences.len() as u64,
    };
    let listed = rules.differences.len().min(LISTED_MAX);
    Ok(Answer::new(&rules.differences[..listed], &done))
}
