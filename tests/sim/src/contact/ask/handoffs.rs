//! What is asked about handoffs: customers are passed on, taken over, and their outcomes told.

use interlock_domain::contact::command::{Body, ClaimPlace, EffectKind, Route};
use interlock_domain::contact::handoff::EffectSeen;
use interlock_domain::contact::handoff::command::{
    AcceptHandoff, CloseHandoff, CreateHandoff, HandoffCommand, ListEffects, ReadHandoff, SeeEffect,
};
use interlock_domain::contact::legal_hold::HoldTarget;
use interlock_domain::contact::reply::EffectState;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;

use super::super::handoffs::is_of;
use super::super::rules::{OUTCOMES, Rules};
use super::own::AGENTS;
use crate::random::Random;
use interlock_domain::contact::handoff::Handoff;

/// Handoffs of late that are asked about again.
const KNOWN_MAX: usize = 40;

/// A handoff that came to light.
#[derive(Clone, Debug)]
struct Known {
    id: Id,
    handoff: Handoff,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Handoffs(Vec<Known>);

/// What a command may be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) customer: KeyHash,
    pub(super) object: KeyHash,
    pub(super) effect: KeyHash,
    pub(super) now: Timestamp,
}

impl Handoffs {
    pub(super) fn made(&mut self, id: Id, handoff: &Handoff) {
        self.0.push(Known {
            id,
            handoff: handoff.clone(),
        });
        if self.0.len() > KNOWN_MAX {
            self.0.remove(0);
        }
    }

    /// Those that a legal hold on this keeps, as far as they are known.
    pub(super) fn kept_by(&self, target: HoldTarget) -> Vec<Id> {
        let known = self.0.iter();
        let kept = known.filter(|known| is_of(&known.handoff, target));
        kept.map(|known| known.id).collect()
    }

    /// All that are known, as somebody names them who does not know what a hold is on.
    pub(super) fn all(&self) -> Vec<Id> {
        self.0.iter().map(|known| known.id).collect()
    }

    /// One of a few things.
    pub(super) fn ask(&self, rules: &Rules, about: About, random: &mut Random) -> (Route, Body) {
        let (route, command) = match random.weighted(&[6, 3, 4, 1, 2, 3, 2, 1, 1]) {
            0 => (Route::Handoffs, create(about, random)),
            1 => (Route::HandoffAccept, self.accept(None, random)),
            2 => (Route::HandoffOutcome, self.close(rules, None, random)),
            3 => (Route::Declare, HandoffCommand::Note),
            4 => (Route::Declare, self.accept(Some(about), random)),
            5 => (Route::Declare, self.close(rules, Some(about), random)),
            6 => {
                let handoff = self.one(random).0;
                let read = HandoffCommand::Read(ReadHandoff { handoff });
                (Route::Handoffs, read)
            }
            7 => {
                let customer = about.customer;
                let list = HandoffCommand::ListEffects(ListEffects { customer });
                (Route::Handoffs, list)
            }
            _ => {
                let effect = about.effect;
                let see = HandoffCommand::SeeEffect(SeeEffect { effect });
                (Route::Handoffs, see)
            }
        };
        (route, Body::Handoff(command))
    }

    /// One that is known, mostly a new one, with its customer; or one that never was.
    fn one(&self, random: &mut Random) -> (Id, Option<KeyHash>) {
        if self.0.is_empty() || random.chance(40) {
            return (Id([9; 16]), None);
        }
        let newest = &self.0[self.0.len().saturating_sub(4)..];
        let known = if random.chance(500) {
            &newest[random.index(newest.len())]
        } else {
            &self.0[random.index(self.0.len())]
        };
        (known.id, Some(known.handoff.customer))
    }

    fn accept(&self, declared: Option<About>, random: &mut Random) -> HandoffCommand {
        let (handoff, of) = self.one(random);
        let subject = declared.and_then(|about| subject(about, of, random));
        HandoffCommand::Accept(AcceptHandoff { handoff, subject })
    }

    fn close(&self, rules: &Rules, declared: Option<About>, random: &mut Random) -> HandoffCommand {
        let (handoff, of) = self.one(random);
        let subject = declared.and_then(|about| subject(about, of, random));
        let words = if random.chance(100) {
            &OUTCOMES[..]
        } else {
            &rules.handoffs.words[..]
        };
        let outcome = Text::from(words[random.index(words.len())]);
        let unsaid = declared.is_some() && random.chance(100);
        HandoffCommand::Close(CloseHandoff {
            handoff,
            outcome: (!unsaid).then_some(outcome),
            subject,
            place: ClaimPlace::ToFind,
        })
    }
}

/// Whose a declaration says it is.
fn subject(about: About, of: Option<KeyHash>, random: &mut Random) -> Option<KeyHash> {
    match random.below(4) {
        0 | 1 => None,
        2 => of,
        _ => Some(about.customer),
    }
}

/// The handoff's id is put in later, and is no part of the request.
fn create(about: About, random: &mut Random) -> HandoffCommand {
    let by = match random.weighted(&[4, 3, 3, 3, 1]) {
        0 => None,
        1 => Some(random.range(1..=3_000)),
        2 => Some(random.range(1..=7_200_000)),
        3 => Some(random.range(1..=400_000_000)),
        _ => Some(0),
    };
    let by = by.map(|ahead| i64::try_from(ahead).unwrap_or(1));
    let effects = (0..random.below(3)).map(|number| EffectSeen {
        id: [u8::try_from(number).unwrap_or(0); 32],
        kind: random.pick(&EffectKind::ALL),
        state: random.pick(&[EffectState::Done, EffectState::Reserved]),
    });
    let effects = effects.collect();
    let told = random.chance(750);
    HandoffCommand::Create(Box::new(CreateHandoff {
        id: Id([0; 16]),
        customer: about.customer,
        target: Text::from(random.pick(&[AGENTS[0], AGENTS[1], "desk"])),
        expected_by: by.map(|ahead| about.now.plus_ms(if ahead == 0 { -60_000 } else { ahead })),
        sealed: vec![7; random.index(9)],
        destination: if told {
            about.customer.0.into()
        } else {
            Box::default()
        },
        conversation: random.chance(400).then_some(about.object),
        effects,
    }))
}
