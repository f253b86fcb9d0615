//! `explain`: why a decision came out as it did, from the receipt it left.

use actix_web::rt;
use interlock_actors::history::{self, Receipt};
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::Direction;
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::ids::Id;
use interlock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::place::Place;
use super::print;
use super::table::table;
use crate::admin::protocol::{Answer, Answered, No};
use crate::admin::{Admin, source_name};
use crate::console::say;
use crate::exit::Stop;

/// The verb on the socket.
pub(crate) const NAME: &str = "explain";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The `decision_id` of an answer.
    #[arg(value_parser = decision_id)]
    decision_id: Uuid,
}

fn decision_id(text: &str) -> Result<Uuid, &'static str> {
    Uuid::parse_str(text).map_err(|_| "a decision id is a UUID, the `decision_id` of an answer")
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    decision_id: Uuid,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Explained {
    decision_id: String,
    decision: String,
    /// The codes, each with the step of the order that gave it.
    reasons: Vec<Rule>,
    numbers: Vec<Number>,
    time: String,
    space: String,
    source: String,
    route: String,
    purpose: Option<String>,
    channel: Option<String>,
    direction: Option<String>,
    rules_version: u32,
}

/// A code and its step.
#[derive(Debug, Serialize, Deserialize)]
struct Rule {
    code: String,
    step: String,
}

/// A number that was compared.
#[derive(Debug, Serialize, Deserialize)]
struct Number {
    name: String,
    value: String,
}

impl Args {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let decision_id = self.decision_id;
        let answer = self.place.ask(NAME, &Wanted { decision_id })?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let explained: Explained = print::done(&answer)?;
        say(&words(&explained));
        Ok(())
    }
}

fn words(explained: &Explained) -> String {
    let fact = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
    let mut rows = Vec::new();
    for rule in &explained.reasons {
        rows.push(fact("reason", &rule.code));
        rows.push(fact("step", &rule.step));
    }
    for number in &explained.numbers {
        rows.push(fact(&number.name, &number.value));
    }
    rows.push(fact("decided at", &explained.time));
    rows.push(fact("space", &explained.space));
    rows.push(fact("source", &explained.source));
    rows.push(fact("route", &explained.route));
    for (name, value) in [
        ("purpose", &explained.purpose),
        ("channel", &explained.channel),
        ("direction", &explained.direction),
    ] {
        rows.extend(value.as_ref().map(|value| fact(name, value)));
    }
    let version = explained.rules_version.to_string();
    rows.push(fact("rules version", &version));
    table(&["decision", &explained.decision], &rows)
}

/// Looks it up.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let id = Id(*wanted.decision_id.as_bytes());
    let log = admin.log();
    let looked = rt::task::spawn_blocking(move || {
        history::find::<Contact>(&*log, stamp(id), &mut |receipt| {
            receipt.note.decision_id == Some(id)
        })
    });
    let failed = |what: String| No::Failed(format!("the history cannot be read: {what}"));
    let found = looked.await.map_err(|error| failed(error.to_string()))?;
    match found.map_err(|error| failed(error.to_string()))? {
        Some(receipt) => Ok(Answer::one(&explained(admin, wanted.decision_id, &receipt))),
        None => Err(No::Refused(
            "there is no receipt of that decision: it was never made here, or its day is no longer \
             kept"
                .to_owned(),
        )),
    }
}

/// The time in a decision's id.
fn stamp(id: Id) -> Timestamp {
    let mut stamp = [0; 8];
    stamp[2..].copy_from_slice(&id.0[..6]);
    Timestamp(i64::from_be_bytes(stamp))
}

fn explained(admin: &Admin, id: Uuid, receipt: &Receipt<Contact>) -> Explained {
    let Receipt {
        space,
        time,
        policy,
        note,
    } = receipt;
    let space = admin.directory().space(*space);
    let space = space.as_deref();
    let undeclared = |number: u32| format!("undeclared {number}");
    let purpose = note.purpose.map(|id| {
        let name = space.and_then(|space| space.policy.purpose_name(id));
        name.map_or_else(|| undeclared(id.0), str::to_owned)
    });
    let channel = note.channel.map(|id| {
        let name = space.and_then(|space| space.policy.channel_name(id));
        name.map_or_else(|| undeclared(id.0), str::to_owned)
    });
    let reasons = note.reasons.iter().map(|reason| Rule {
        code: reason.slug().to_owned(),
        step: step(reason.slug()).to_owned(),
    });
    Explained {
        decision_id: id.to_string(),
        decision: decision(note),
        reasons: reasons.collect(),
        numbers: numbers(note),
        time: print::time(*time),
        space: space.map_or_else(String::new, |space| space.name.to_string()),
        source: space.map_or_else(String::new, |space| source_name(space, note.source)),
        route: spaced(&format!("{:?}", note.route)),
        purpose,
        channel,
        direction: note.direction.map(|direction| match direction {
            Direction::Inbound => "inbound".to_owned(),
            Direction::Outbound => "outbound".to_owned(),
        }),
        rules_version: *policy,
    }
}

fn decision(note: &Note) -> String {
    match note.decision {
        Noted::Check(verdict) => verdict.slug().to_owned(),
        Noted::Accepted => "accepted".to_owned(),
        Noted::AcceptedTokenReused => "accepted, its token was named before".to_owned(),
        Noted::Refused(refusal) => format!("refused: {}", refusal.slug()),
        Noted::NothingToChange => "nothing to change".to_owned(),
    }
}

fn numbers(note: &Note) -> Vec<Number> {
    let numbers = note.facts.iter().map(|(fact, value)| {
        let name = fact.name();
        match name.strip_suffix("_ms") {
            Some(name) => Number {
                name: name.to_owned(),
                value: print::time(Timestamp(*value)),
            },
            None => Number {
                name: name.to_owned(),
                value: value.to_string(),
            },
        }
    });
    numbers.collect()
}

/// The step of the order (`docs/spec/contact.md` §4.2) that gives a code.
fn step(code: &str) -> &'static str {
    match code {
        "rebuilding" | "unavailable" => "0, before the order: the node could not decide",
        "effect_done" | "effect_in_flight" | "effect_unknown_outcome" => "1, effect",
        "suppressed" => "2, suppression",
        "contact_window" => "2b, contact window",
        "owner_active" => "3, holder",
        "lock_held" => "4, task lock",
        "budget_exhausted" => "5, budget",
        "budget_paced" => "6, pacing",
        "quiet_hours" => "7, quiet hours",
        "template_required" => "8, allow",
        _ => "see docs/spec/contact.md §4.2",
    }
}

/// `CheckBatch` as `check batch`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use interlock_domain::contact::reason::Reason;

    use super::*;

    #[test]
    fn every_reason_has_a_step() {
        for reason in Reason::ALL {
            assert!(!step(reason.slug()).contains("see"), "{reason:?}");
        }
        assert_eq!(spaced("CheckBatch"), "check batch");
    }

    #[test]
    fn an_id_tells_its_time() {
        let id = Uuid::parse_str("019b8e12-3400-7000-8000-000000000000").unwrap();
        assert_eq!(stamp(Id(*id.as_bytes())), Timestamp(0x019b_8e12_3400));
    }
}
