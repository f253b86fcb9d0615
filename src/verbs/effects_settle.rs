//! `effects settle`: a person, or the system of record, says how an attempt ended.
//!
//! Here: the rows of `docs/spec/contact.md` §8 that no route has. The command is an ordinary one,
//! durable before it is answered; its receipt names the operator as the source.

use interlock_api::directory::SpaceEntry;
use interlock_domain::contact::command::{Body, SettleEffect, SettledBy, Settlement, Show};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::{KeyHash, Kind};
use serde::{Deserialize, Serialize};

use super::effect_name::{EffectFlags, EffectName, short};
use super::place::Place;
use super::print;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::{Exit, Stop};

/// The verb on the socket.
pub(crate) const NAME: &str = "effects settle";

/// The flags.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
    interlock effects settle [OPTIONS] --space <NAME|ID> --state <STATE>\n       \
    --by <BY> <--effect-key <KEY>|--effect-id <ID>|--short <ID>>")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    effect: EffectFlags,
    /// The space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: String,
    /// How it ended.
    #[arg(long)]
    state: State,
    /// Who says so: a person, or an observation of the system of record.
    #[arg(long)]
    by: By,
    /// Only when this is the attempt.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It happened.
    Done,
    /// It did not happen; the next attempt may open.
    Failed,
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// A person who looked.
    Person,
    /// The system of record.
    Observation,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
    effect: EffectName,
    state: State,
    by: By,
    attempt: Option<u32>,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Settled {
    short_id: String,
    state: String,
    attempt: u32,
}

impl Args {
    /// Asks and prints.
    pub(super) fn run(&self) -> Result<(), Stop> {
        let effect = self.effect.name();
        let effect = effect.ok_or_else(|| Stop::new(Exit::Usage, "name the effect"))?;
        let wanted = Wanted {
            space: self.space.clone(),
            effect,
            state: self.state,
            by: self.by,
            attempt: self.attempt,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let settled: Settled = print::done(&answer)?;
        say(&format!(
            "effect {}: attempt {} is {}",
            settled.short_id, settled.attempt, settled.state
        ));
        Ok(())
    }
}

/// Settles it.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let space = admin.space(&wanted.space).await?;
    let effect = wanted.effect.hash(&space)?;
    if let Some(attempt) = wanted.attempt {
        is_current(admin, &space, effect, attempt).await?;
    }
    let settle = SettleEffect {
        effect,
        attempt: wanted.attempt,
        settlement: match wanted.state {
            State::Done => Settlement::Done,
            State::Failed => Settlement::Failed,
        },
        by: match wanted.by {
            By::Person => SettledBy::Person,
            By::Observation => SettledBy::Observation,
        },
    };
    let reply = admin.decide(&space, Body::SettleEffect(settle)).await?;
    if let Reply::Effect(reply) = &reply {
        return Ok(Answer::one(&Settled {
            short_id: short(effect),
            state: reply.state.slug().to_owned(),
            attempt: reply.attempt,
        }));
    }
    Err(match reply.outcome().1 {
        "not_found" => unknown(),
        "invalid_transition" => No::Refused(refusal(wanted.by)),
        other => No::Refused(format!("it is refused: {other}")),
    })
}

async fn is_current(
    admin: &Admin,
    space: &SpaceEntry,
    effect: KeyHash,
    attempt: u32,
) -> Result<(), No> {
    let show = Show {
        kind: Kind::Effect,
        hash: effect,
    };
    let Reply::Shown(shown) = admin.decide(space, Body::Show(show)).await? else {
        return Err(unknown());
    };
    let known = shown.as_deref().and_then(ContactEntity::as_effect);
    match known.map(|effect| effect.attempt) {
        None => Err(unknown()),
        Some(current) if current == attempt => Ok(()),
        Some(current) => Err(No::Refused(format!(
            "its attempt is {current}, not {attempt}; see interlock show"
        ))),
    }
}

fn unknown() -> No {
    No::Refused("the space knows no such effect, or has forgotten it".to_owned())
}

fn refusal(by: By) -> String {
    match by {
        By::Person => {
            "a person settles only an effect whose outcome is unknown (lease over, or declared \
             so); see interlock show"
        }
        By::Observation => {
            "an observation settles an effect that is reserved or unknown, and confirms a failed \
             one as done; see interlock show"
        }
    }
    .to_owned()
}
