//! What is only read, or only noted: advice, entities for an operator, shadow runs, and messages that
//! went.

use interlock_domain::contact::command::{Advise, Body, NoteMessage, ReadReports, Route, Show};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::name::{AgentId, IntentId};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::Kind;

use super::super::rules::{INTENTS, Rules};
use super::contacts::{channel, purpose};
use super::handoffs::About;
use super::own::AGENTS;
use crate::random::Random;

/// One of a few things.
pub(super) fn ask(rules: &Rules, about: About, random: &mut Random) -> (Route, Body) {
    match random.weighted(&[4, 3, 2, 3]) {
        0 => {
            let target = if random.chance(700) {
                Target::Customer(about.customer)
            } else {
                Target::Object(about.object)
            };
            (Route::Context, Body::Advise(Advise { target }))
        }
        1 => {
            let (kind, hash) = match random.below(3) {
                0 => (Kind::Customer, about.customer),
                1 => (Kind::Object, about.object),
                _ => (Kind::Effect, about.effect),
            };
            (Route::Operator, Body::Show(Show { kind, hash }))
        }
        2 => {
            let before = u32::try_from(random.range(1..=6)).unwrap_or(1);
            let body = ReadReports {
                before: random.chance(500).then_some(before),
                limit: random.pick(&[1, 2, 50]),
            };
            (Route::Reports, Body::ReadReports(body))
        }
        _ => (Route::Batch, Body::NoteMessage(note(rules, about, random))),
    }
}

fn note(rules: &Rules, about: About, random: &mut Random) -> NoteMessage {
    let agent = random.pick(&AGENTS);
    let ago = i64::try_from(random.below(4 * 3_600_000)).unwrap_or(0);
    NoteMessage {
        customer: about.customer,
        channel: random.chance(800).then(|| channel(rules, random)),
        agent: AgentId::of(agent),
        name: random.chance(700).then(|| Text::from(agent)),
        purpose: random.chance(700).then(|| purpose(rules, random)),
        intent: random
            .chance(500)
            .then(|| IntentId::of(random.pick(&INTENTS))),
        jti: random.chance(300).then_some(Id([4; 16])),
        occurred_at: about.now.plus_ms(60_000 - ago),
        template: random.chance(300),
    }
}
