//! `show`: what the server holds of one customer, object or effect.
//!
//! Here: the question, and the read that goes through the ordinary turn, so that it waits for the
//! commits before it. In `show/`: the facts of an entity, and their words. What is named in clear is
//! hashed in the server process and neither logged nor answered.

mod facts;
mod words;

use std::fmt;

use interlock_api::directory::SpaceEntry;
use interlock_api::naming;
use interlock_domain::contact::command::{Body, Show};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::legal_hold::{HoldTarget, holds_key};
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::{KeyHash, Kind};
use serde::{Deserialize, Serialize};

use self::facts::Shown;
use super::effect_name::EffectName;
use super::place::Place;
use super::print;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::say;
use crate::exit::{Exit, Stop};

/// The verb on the socket.
pub(crate) const NAME: &str = "show";

/// The flags.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
    interlock show [OPTIONS] --space <NAME|ID>\n       \
    <--subject <TYPE:VALUE>|--object <TYPE:NAMESPACE:ID>|--effect-key <KEY>|\n       \
    --effect-id <ID>|--short <ID>>")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The space, by name or id.
    #[arg(long, value_name = "NAME|ID")]
    space: String,
    #[command(flatten)]
    target: TargetFlags,
}

/// Of what; exactly one of them.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TargetFlags {
    /// A customer, such as phone_e164:+15550100.
    #[arg(long, value_name = "TYPE:VALUE")]
    subject: Option<String>,
    /// An object, such as invoice:erp:17.
    #[arg(long, value_name = "TYPE:NAMESPACE:ID")]
    object: Option<String>,
    /// An effect, by its key.
    #[arg(long, value_name = "KEY")]
    effect_key: Option<String>,
    /// An effect, by its public id of 43 characters.
    #[arg(long, value_name = "ID")]
    effect_id: Option<String>,
    /// An effect, by its short id of 22 characters.
    #[arg(long, value_name = "ID")]
    short: Option<String>,
}

impl fmt::Debug for TargetFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TargetFlags(…)")
    }
}

/// Of what. Never logged: it is in clear.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// A customer.
    Subject(String),
    /// An object.
    Object(String),
    /// An effect.
    Effect(EffectName),
}

/// What is asked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    space: String,
    of: Target,
}

impl TargetFlags {
    fn target(&self) -> Option<Target> {
        let effect = |name: EffectName| Target::Effect(name);
        let subject = self.subject.clone().map(Target::Subject);
        let object = self.object.clone().map(Target::Object);
        let key = self.effect_key.clone().map(EffectName::Key);
        let id = self.effect_id.clone().map(EffectName::Id);
        let short = self.short.clone().map(EffectName::Short);
        subject.or(object).or(key.or(id).or(short).map(effect))
    }
}

impl Args {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let of = self.target.target();
        let wanted = Wanted {
            space: self.space.clone(),
            of: of.ok_or_else(|| Stop::new(Exit::Usage, "name what to show"))?,
        };
        let answer = self.place.ask(NAME, &wanted)?;
        if self.place.json {
            print::json(&answer, None);
            return Ok(());
        }
        let shown: Shown = print::done(&answer)?;
        say(&words::of(&shown));
        Ok(())
    }
}

/// Reads it.
pub(super) async fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let space = admin.space(&wanted.space).await?;
    let (kind, hash) = match &wanted.of {
        Target::Subject(named) => (Kind::Customer, naming::customer(&space, named)),
        Target::Object(named) => (Kind::Object, naming::object(&space, named)),
        Target::Effect(named) => (Kind::Effect, Ok(named.hash(&space)?)),
    };
    let hash = hash.map_err(No::Refused)?;
    let entity = look(admin, &space, (kind, hash)).await?;
    let now = admin.node().clock().now();
    let mut shown = Shown::of(&space, kind, hash, entity.as_deref(), now);
    let held = match &wanted.of {
        Target::Subject(_) => Some(HoldTarget::Customer(hash)),
        Target::Object(_) => Some(HoldTarget::Object(hash)),
        Target::Effect(_) => None,
    };
    if let Some(held) = held {
        // The customer or object counts its holds; their ids are where the space's holds are.
        let key = holds_key(space.id);
        let holds = look(admin, &space, (key.kind, key.hash)).await?;
        shown.held(holds.as_deref().and_then(ContactEntity::as_holds), held);
    }
    Ok(Answer::one(&shown))
}

/// An entity as it is, after the commits before it.
async fn look(
    admin: &Admin,
    space: &SpaceEntry,
    (kind, hash): (Kind, KeyHash),
) -> Result<Option<Box<ContactEntity>>, No> {
    let reply = admin.decide(space, Body::Show(Show { kind, hash })).await?;
    let Reply::Shown(entity) = reply else {
        return Err(No::Failed(format!("no answer but {}", reply.outcome().0)));
    };
    Ok(entity)
}
