//! `effects awaiting`: effects whose outcome nobody knows, oldest first.
//!
//! They wait for a decision of a person: such a key is never opened again by a check or by time
//! (`docs/spec/contact.md` §8).

use std::collections::BTreeSet;

use interlock_actors::scan::NotScanned;
use interlock_domain::contact::command::EffectKind;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::reply::EffectState;
use interlock_domain::key::{EntityKey, KeyHash, SpaceId};
use interlock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::effect_name::short;
use super::place::Place;
use super::print;
use super::table::table;
use crate::admin::protocol::{Answer, Answered, No};
use crate::admin::{Admin, source_name};
use crate::console::say;
use crate::exit::Stop;
use crate::registry::space_id;

/// The verb on the socket.
pub(crate) const NAME: &str = "effects awaiting";

/// Listed unasked.
const LIMIT_USUAL: u64 = 100;
/// Listed at most.
const LIMIT_MAX: u64 = 10_000;

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Only of this space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: Option<String>,
    /// Only those unknown for at least this long, such as 90s, 10m, 2h or 3d.
    #[arg(long, value_name = "SPAN", value_parser = seconds)]
    older_than: Option<i64>,
    /// Only of this kind, such as delivery.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only those a source of this name reserved.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// How many to list, the oldest first.
    #[arg(long, value_name = "N", default_value_t = LIMIT_USUAL,
          value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    limit: u64,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: Option<String>,
    #[serde(default)]
    older_than_s: i64,
    kind: Option<String>,
    source: Option<String>,
    limit: u64,
}

/// An effect.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    short_id: String,
    space: String,
    kind: String,
    source: String,
    attempt: u32,
    reserved_at: String,
    unknown_since: String,
    age_s: i64,
    /// `lease over`, or `declared`: somebody said so.
    because: String,
}

/// What stands beside the rows.
#[derive(Debug, Serialize, Deserialize)]
struct Done {
    /// How many there are.
    awaiting: u64,
    /// There are more than are listed.
    truncated: bool,
    /// Entities in use all the time, which were not looked at.
    left_out: u64,
}

/// An effect that was found; ordered by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    since: Timestamp,
    space: SpaceId,
    hash: KeyHash,
    kind: EffectKind,
    source: SourceId,
    attempt: u32,
    reserved_at: Timestamp,
    lapsed: bool,
}

/// Which are looked for.
struct Filter {
    space: Option<SpaceId>,
    kind: Option<EffectKind>,
    sources: Option<BTreeSet<(SpaceId, SourceId)>>,
    older_than_ms: i64,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let wanted = Wanted {
            space: self.space.clone(),
            older_than_s: self.older_than.unwrap_or(0),
            kind: self.kind.clone(),
            source: self.source.clone(),
            limit: self.limit,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, Some("effects"));
            return Ok(());
        }
        let rows: Vec<Row> = print::rows(&answer)?;
        let done: Done = print::done(&answer)?;
        let listed = rows.len();
        let cells: Vec<Vec<String>> = rows
            .into_iter()
            .map(|row| {
                let (age, attempt) = (print::span(row.age_s), row.attempt.to_string());
                let (kind, source) = (row.kind, row.source);
                vec![
                    row.short_id,
                    age,
                    kind,
                    source,
                    attempt,
                    row.because,
                    row.space,
                ]
            })
            .collect();
        let headings = [
            "short id", "age", "kind", "source", "attempt", "because", "space",
        ];
        say(&table(&headings, &cells));
        if done.truncated {
            say(&format!(
                "{listed} of {}; --limit lists more",
                done.awaiting
            ));
        }
        if done.left_out > 0 {
            say(&format!(
                "{} were in use and not looked at; ask again",
                done.left_out
            ));
        }
        Ok(())
    }
}

/// A span of time in seconds.
fn seconds(text: &str) -> Result<i64, String> {
    let rule = || "a span such as 90s, 10m, 2h or 3d".to_owned();
    let unit = text.chars().last().ok_or_else(rule)?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(rule()),
    };
    let number: u32 = text
        .strip_suffix(unit)
        .and_then(|number| number.parse().ok())
        .ok_or_else(rule)?;
    Ok(i64::from(number) * factor)
}

impl Filter {
    fn pick(&self, key: &EntityKey, entity: &ContactEntity, now: Timestamp) -> Option<Found> {
        let effect = entity.as_effect()?;
        let place = (key.space, effect.source);
        let wanted = effect.state_at(now) == EffectState::UnknownOutcome
            && self.space.is_none_or(|space| space == key.space)
            && self.kind.is_none_or(|kind| kind == effect.kind)
            && self
                .sources
                .as_ref()
                .is_none_or(|sources| sources.contains(&place))
            && now.0.saturating_sub(effect.turned_at.0) >= self.older_than_ms;
        wanted.then_some(Found {
            since: effect.turned_at,
            space: key.space,
            hash: key.hash,
            kind: effect.kind,
            source: effect.source,
            attempt: effect.attempt,
            reserved_at: effect.reserved_at,
            lapsed: effect.state == EffectState::Reserved,
        })
    }
}

async fn filter(admin: &Admin, wanted: &Wanted) -> Result<Filter, No> {
    let registry = admin.registry().await;
    let space = wanted
        .space
        .as_ref()
        .map(|space| registry.find_space(space));
    let space = space.transpose().map_err(No::Refused)?.map(space_id);
    let kind = wanted.kind.as_ref().map(|name| {
        let known = EffectKind::ALL.into_iter().find(|kind| kind.name() == name);
        let names: Vec<&str> = EffectKind::ALL.iter().map(|kind| kind.name()).collect();
        known.ok_or_else(|| No::Refused(format!("a kind is one of {}", names.join(", "))))
    });
    let kind = kind.transpose()?;
    let sources = wanted.source.as_ref().map(|name| {
        let rows = registry.space_rows();
        let sources: BTreeSet<(SpaceId, SourceId)> = rows
            .flat_map(|row| row.sources.iter().map(|source| (row.id, source)))
            .filter(|(_, source)| source.name == *name)
            .map(|(id, source)| (space_id(id), SourceId(source.id)))
            .collect();
        match sources.is_empty() {
            true => Err(No::Refused("no space has a source of that name".to_owned())),
            false => Ok(sources),
        }
    });
    Ok(Filter {
        space,
        kind,
        sources: sources.transpose()?,
        older_than_ms: wanted.older_than_s.max(0).saturating_mul(1_000),
    })
}

/// Finds them.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let filter = filter(admin, &wanted).await?;
    let limit = usize::try_from(wanted.limit.clamp(1, LIMIT_MAX)).unwrap_or(1);
    let scanned = admin
        .node()
        .scan(limit, move |key, entity, now| filter.pick(key, entity, now))
        .await
        .map_err(|why| {
            No::Failed(match why {
                NotScanned::Rebuilding => {
                    "the node is still rebuilding; ask again when it is ready".to_owned()
                }
                NotScanned::GivenUp => {
                    "the node has too much to look for, or is going down; ask again".to_owned()
                }
            })
        })?;
    let now = admin.node().clock().now();
    let rows: Vec<Row> = scanned
        .found
        .iter()
        .map(|found| row(admin, found, now))
        .collect();
    Ok(Answer::new(
        &rows,
        &Done {
            awaiting: scanned.matched,
            truncated: scanned.matched > rows.len() as u64,
            left_out: scanned.left_out,
        },
    ))
}

fn row(admin: &Admin, found: &Found, now: Timestamp) -> Row {
    let space = admin.directory().space(found.space);
    let known = space.as_deref();
    Row {
        short_id: short(found.hash),
        space: known.map_or_else(String::new, |space| space.name.to_string()),
        kind: found.kind.name().to_owned(),
        source: known.map_or_else(String::new, |space| source_name(space, found.source)),
        attempt: found.attempt,
        reserved_at: print::time(found.reserved_at),
        unknown_since: print::time(found.since),
        age_s: now.0.saturating_sub(found.since.0).max(0) / 1_000,
        because: if found.lapsed {
            "lease over"
        } else {
            "declared"
        }
        .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read() {
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("10m"), Ok(600));
        assert_eq!(seconds("2h"), Ok(7_200));
        assert_eq!(seconds("3d"), Ok(259_200));
        for text in ["", "m", "10", "-1m", "1w", "1é"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
