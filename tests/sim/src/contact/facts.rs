//! Effect keys that live as long as an object (§8): which are tied to which, and what the end of a
//! fact must come to.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{EndFact, ReserveEffect};
use interlock_domain::contact::event::{Event, FactEnded, KeyTied, KeyUntied};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::Reply;
use interlock_domain::contact::ties::Untied;
use interlock_domain::key::{EntityKey, KeyHash, Kind};

use super::books::State;
use super::change::Change;
use super::claims::exactly;
use super::judge::{Moment, Outcome};
use super::limits::TIED_KEYS;

/// The keys of each object from which record on.
#[derive(Debug, Default)]
pub(super) struct Ties(BTreeMap<EntityKey, Vec<(u64, Vec<KeyHash>)>>);

impl Ties {
    /// Enters what it is about.
    pub(super) fn enter(&mut self, record: u64, key: EntityKey, event: &Event) {
        match event {
            Event::KeyTied(tied) => {
                let mut keys = self.of(key, u64::MAX).to_vec();
                keys.push(tied.effect);
                self.0.entry(key).or_default().push((record, keys));
            }
            Event::FactEnded(ended) => {
                let mut keys = self.of(key, u64::MAX).to_vec();
                keys.retain(|tied| !ended.effects.contains(tied));
                self.0.entry(key).or_default().push((record, keys));
            }
            _ => {}
        }
    }

    /// The keys tied to an object before a record, in the order in which they were.
    pub(super) fn of(&self, key: EntityKey, before: u64) -> &[KeyHash] {
        let forms = self.0.get(&key).map_or(&[][..], Vec::as_slice);
        let until = forms.partition_point(|form| form.0 < before);
        forms[..until].last().map_or(&[], |form| &form.1)
    }
}

/// What the first reservation of a key changes at the object whose life it gets.
///
/// # Errors
/// The refusal of an object that has as many keys as it may have.
pub(super) fn tie(moment: &Moment<'_>, body: &ReserveEffect) -> Result<Option<Change>, Refusal> {
    // The rules of the decision say which kinds of keys a fact has.
    let object = body.fact;
    let Some(object) = object.filter(|_| moment.rules.of_facts(body.effect.kind)) else {
        return Ok(None);
    };
    let key = moment.key(Kind::Object, object);
    if moment.books.ties.of(key, moment.record).len() >= TIED_KEYS {
        return Err(Refusal::TargetFull);
    }
    let tied = KeyTied {
        effect: body.effect.hash,
        at: moment.now,
    };
    Ok(Some(exactly(key, Event::KeyTied(tied))))
}

/// What the end of a fact must come to: of the keys that were looked up, those that are still tied.
pub(super) fn end(moment: &Moment<'_>, body: &EndFact) -> Outcome {
    let key = moment.key(Kind::Object, body.object);
    if moment.books.legal_holds.covers(key, moment.record) {
        let refusal = Refusal::UnderLegalHold;
        return Outcome {
            reply: Reply::Refused(refusal),
            noted: Noted::Refused(refusal),
            changes: Vec::new(),
        };
    }
    let named = body.keys.as_deref().unwrap_or_default();
    let tied = moment.books.ties.of(key, moment.record).iter();
    let effects: Vec<KeyHash> = tied.filter(|tied| named.contains(tied)).copied().collect();
    let at = moment.now;
    let mut untied = Untied { freed: 0, kept: 0 };
    let mut changes = Vec::new();
    for effect in &effects {
        let effect = moment.key(Kind::Effect, *effect);
        let attempt = moment.books.attempt(effect, moment.record);
        match attempt.and_then(|attempt| attempt.at(at)) {
            Some(State::Done { .. } | State::Failed { .. }) | None => untied.freed += 1,
            Some(State::Reserved { .. } | State::Unknown) => untied.kept += 1,
        }
        changes.push(exactly(effect, Event::KeyUntied(KeyUntied { at })));
    }
    let mut noted = Noted::NothingToChange;
    if !effects.is_empty() {
        noted = Noted::Accepted;
        let ended = FactEnded { effects, at };
        changes.push(exactly(key, Event::FactEnded(ended)));
    }
    Outcome {
        reply: Reply::FactEnded(untied),
        noted,
        changes,
    }
}
