//! Customers that are handed over (§16): the books of handoffs, of the effects that their packages
//! show, and what of both a read must say.
//!
//! Every form of a handoff is kept with the record that gave it. Its hold is a claim like any other
//! in the books of claims; no declaration, release or observation moves it. In `handoffs/`: what a
//! command about a handoff must come to (`due`).

mod due;

pub(super) use due::{due, is_due, is_hold_due};

use std::collections::BTreeMap;

use interlock_domain::contact::event::Event;
use interlock_domain::contact::handoff::{Handoff, HandoffStatus};
use interlock_domain::contact::legal_hold::HoldTarget;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, Kind};
use interlock_domain::time::Timestamp;

use super::limits::{ENDED_HANDOFF_S, SHOWN_EFFECTS};

/// A form of a handoff, by the record that gave it; `None`: it was erased.
type Form = (u64, Option<Handoff>);
/// An effect that was reserved by a record; `None`: all of them went.
type Seen = (u64, Option<[u8; 32]>);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Handoffs {
    forms: BTreeMap<EntityKey, Vec<Form>>,
    /// The handoffs of each customer.
    of: BTreeMap<EntityKey, Vec<EntityKey>>,
    /// The effects that each customer's allowed contacts reserved.
    effects: BTreeMap<EntityKey, Vec<Seen>>,
}

/// Those of one customer, as they stood before a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// They wait for their outcome.
    pub(super) open: usize,
    /// The customer must remember them.
    pub(super) known: usize,
    /// There ever were, and they were not erased.
    pub(super) all: usize,
}

impl Handoffs {
    /// Enters what it is about.
    pub(super) fn enter(&mut self, record: u64, key: EntityKey, event: &Event) {
        match event {
            Event::HandoffCreated(made) => {
                let customer = EntityKey {
                    kind: Kind::Customer,
                    hash: made.customer,
                    ..key
                };
                self.of.entry(customer).or_default().push(key);
                let forms = self.forms.entry(key).or_default();
                forms.push((record, Some((**made).clone())));
            }
            Event::HandoffTurned(turned) => self.push(record, key, |handoff| {
                handoff.state = turned.state;
                handoff.turned_at = turned.at;
                handoff.outcome.clone_from(&turned.outcome);
            }),
            Event::HandoffHeld(held) => self.push(record, key, |handoff| {
                handoff.holds.retain(|hold| *hold != held.hold);
                if held.placed {
                    handoff.holds.push(held.hold);
                }
            }),
            Event::HandoffErased(_) => self.forms.entry(key).or_default().push((record, None)),
            Event::ContactCounted(counted) if counted.effect.is_some() => {
                let list = self.effects.entry(key).or_default();
                list.push((record, counted.effect));
            }
            Event::CustomerErased(_) => self.gone(record, key),
            _ => {}
        }
    }

    /// A customer is forgotten, and with it the effects it was checked with.
    pub(super) fn gone(&mut self, record: u64, customer: EntityKey) {
        self.effects
            .entry(customer)
            .or_default()
            .push((record, None));
    }

    fn push(&mut self, record: u64, key: EntityKey, turn: impl FnOnce(&mut Handoff)) {
        if let Some(forms) = self.forms.get_mut(&key)
            && let Some((_, Some(last))) = forms.last()
        {
            let mut next = last.clone();
            turn(&mut next);
            forms.push((record, Some(next)));
        }
    }

    /// A handoff as it stood before a record.
    pub(super) fn of_id(&self, key: EntityKey, before: u64) -> Option<&Handoff> {
        let forms = self.forms.get(&key)?;
        let until = forms.partition_point(|form| form.0 < before);
        forms[..until].last()?.1.as_ref()
    }

    /// A handoff in its first form.
    pub(super) fn ever(&self, key: EntityKey) -> Option<&Handoff> {
        self.forms.get(&key)?.first()?.1.as_ref()
    }

    /// Every form it had since a record, that from before it first.
    pub(super) fn since(&self, key: EntityKey, record: u64) -> Vec<Option<&Handoff>> {
        let forms = self.forms.get(&key).map_or(&[][..], Vec::as_slice);
        let later = forms.partition_point(|form| form.0 <= record);
        let later = forms[later..].iter().map(|form| form.1.as_ref());
        let first = self.of_id(key, record + 1);
        std::iter::once(first).chain(later).collect()
    }

    /// A customer's handoffs before a record that were not erased.
    pub(super) fn of_customer(
        &self,
        customer: EntityKey,
        before: u64,
    ) -> impl Iterator<Item = (Id, &Handoff)> {
        let keys = self.of.get(&customer).into_iter().flatten();
        keys.filter_map(move |key| Some((Id(key.hash.0), self.of_id(*key, before)?)))
    }

    pub(super) fn count(&self, customer: EntityKey, before: u64, now: Timestamp) -> Count {
        let mut count = Count::default();
        for (_, handoff) in self.of_customer(customer, before) {
            let waits = handoff.state != HandoffStatus::Closed && now < handoff.expected_by;
            count.open += usize::from(waits);
            count.known += usize::from(!is_long_ago(handoff, now));
            count.all += 1;
        }
        count
    }

    /// Every handoff there is, as it stands.
    pub(super) fn all(&self) -> impl Iterator<Item = (&EntityKey, &Handoff)> {
        let forms = self.forms.iter();
        forms.filter_map(|(key, forms)| Some((key, forms.last()?.1.as_ref()?)))
    }

    /// The effects that a customer's package shows before a record, the newest first.
    pub(super) fn effects(&self, customer: EntityKey, before: u64) -> Vec<[u8; 32]> {
        let list = self.effects.get(&customer).map_or(&[][..], Vec::as_slice);
        let until = list.partition_point(|line| line.0 < before);
        let mut newest = Vec::new();
        for (_, id) in list[..until].iter().rev() {
            let Some(id) = id else {
                break;
            };
            if !newest.contains(id) {
                newest.push(*id);
            }
        }
        newest.truncate(SHOWN_EFFECTS);
        newest
    }
}

/// A handoff goes when it was long ago, unless a legal hold keeps it.
pub(super) fn may_be_forgotten(handoff: &Handoff, now: Timestamp) -> bool {
    handoff.holds.is_empty() && is_long_ago(handoff, now)
}

/// 90 days after its outcome or, without one, after it was due. From then on its customer need not know
/// it: a hold on the customer keeps both, one on the conversation only the handoff.
pub(super) fn is_long_ago(handoff: &Handoff, now: Timestamp) -> bool {
    let ended = if handoff.state == HandoffStatus::Closed {
        handoff.turned_at
    } else {
        handoff.expected_by
    };
    now >= ended.plus_s(ENDED_HANDOFF_S)
}

/// How it reads at a moment.
pub(super) fn status(handoff: &Handoff, now: Timestamp) -> HandoffStatus {
    if handoff.state != HandoffStatus::Closed && now >= handoff.expected_by {
        return HandoffStatus::Expired;
    }
    handoff.state
}

/// Does a legal hold on this keep it?
pub(super) fn is_of(handoff: &Handoff, target: HoldTarget) -> bool {
    match target {
        HoldTarget::Customer(customer) => handoff.customer == customer,
        HoldTarget::Conversation(conversation) => handoff.conversation == Some(conversation),
        HoldTarget::Object(_) => false,
    }
}
