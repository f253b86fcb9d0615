//! What was offered to a customer and what the company owes it (§11): the books of both, and what a
//! word about them must come to.
//!
//! Every form an offer ever had is kept with the record that gave it. An offer that holds no more may
//! be forgotten after a time or when there are many; then either of two outcomes will do.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{ClaimPlace, EndCommitment, MakeCommitment, TurnPromise};
use interlock_domain::contact::commitment::{Commitment, CommitmentState};
use interlock_domain::contact::directory::{DirectoryRow, Target, row_key};
use interlock_domain::contact::event::{CommitmentTurned, Event, PromiseTurned};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::promise::{Promise, PromiseState};
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{CommitmentView, DeclareReply, Reply};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, KeyHash, Kind};
use interlock_domain::time::Timestamp;

use super::change::Change;
use super::claims::exactly;
use super::judge::{Moment, Outcome};
use super::limits::{ENDED_OFFER_S, ENDED_OFFERS, OFFER_ROW_S, OPEN_PROMISES};
use super::rules::Agree;

/// One form of an offer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Offer {
    /// Its type; `None` while only a word about it came.
    pub(super) kind: Option<Text>,
    score: Option<i64>,
    until: Option<Timestamp>,
    pub(super) state: CommitmentState,
    turned_at: Timestamp,
    /// It may have been forgotten before this word came, which then stands alone.
    alone: bool,
}

/// All forms of the offers of one customer, by id.
/// `None`: it was erased.
type Forms = BTreeMap<Text, Vec<(u64, Option<Offer>)>>;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Offers {
    offers: BTreeMap<EntityKey, Forms>,
    /// `None`: all were erased.
    promises: BTreeMap<EntityKey, Vec<(u64, Option<PromiseTurned>)>>,
}

impl Offer {
    /// Offered or accepted, and not past its end.
    fn holds(&self, now: Timestamp) -> bool {
        let stands = [CommitmentState::Made, CommitmentState::Accepted].contains(&self.state);
        stands && self.kind.is_some() && self.until.is_none_or(|until| now < until)
    }

    fn ended_at(&self) -> Timestamp {
        let stands = [CommitmentState::Made, CommitmentState::Accepted].contains(&self.state);
        match self.until {
            Some(until) if stands && self.kind.is_some() => until,
            _ => self.turned_at,
        }
    }
}

impl Offers {
    /// Enters what it is about.
    pub(super) fn enter(&mut self, record: u64, key: EntityKey, event: &Event) {
        match event {
            Event::CommitmentMade(made) => {
                let offer = Offer {
                    kind: Some(made.kind.clone()),
                    score: made.score.map(|score| score.0),
                    until: made.until,
                    state: made.state,
                    turned_at: made.turned_at,
                    alone: false,
                };
                self.push(record, key, &made.id, offer);
            }
            Event::CommitmentTurned(turned) => {
                let known = self.of_id(key, &turned.id, u64::MAX).cloned();
                let kept = self.is_known(key, &turned.id, u64::MAX, turned.at);
                let alone = known.is_some() && !kept;
                let offer = Offer {
                    state: turned.state,
                    turned_at: turned.at,
                    alone,
                    // What may be forgotten holds no more, so nothing is lost by taking it as gone.
                    ..known.filter(|_| !alone).unwrap_or(Offer {
                        kind: None,
                        score: None,
                        until: None,
                        state: turned.state,
                        turned_at: turned.at,
                        alone,
                    })
                };
                self.push(record, key, &turned.id, offer);
            }
            Event::PromiseTurned(turned) => {
                let list = self.promises.entry(key).or_default();
                list.push((record, Some((**turned).clone())));
            }
            Event::CustomerErased(_) => {
                for forms in self.offers.get_mut(&key).into_iter().flatten() {
                    forms.1.push((record, None));
                }
                self.promises.entry(key).or_default().push((record, None));
            }
            _ => {}
        }
    }

    fn push(&mut self, record: u64, key: EntityKey, id: &Text, offer: Offer) {
        let now = offer.turned_at;
        let forms = self.offers.entry(key).or_default();
        forms
            .entry(id.clone())
            .or_default()
            .push((record, Some(offer)));
        if forms.len() <= ENDED_OFFERS {
            return;
        }
        // Which of two ends is the newer one is open where one came by time. A word that waits counts among the ended until its offer comes, so whether there were too
        // many is only known now.
        let all = self.before(key, u64::MAX);
        let gone = all.filter(|(id, offer)| !offer.alone && !self.is_known(key, id, u64::MAX, now));
        let gone: Vec<Text> = gone.map(|(id, _)| id.clone()).collect();
        let Some(forms) = self.offers.get_mut(&key) else {
            return;
        };
        for id in gone {
            if let Some(forms) = forms.get_mut(&id)
                && let Some((_, Some(last))) = forms.last()
            {
                let mut last = last.clone();
                last.alone = true;
                forms.push((record, Some(last)));
            }
        }
    }

    /// Each offer as it stood before a record.
    pub(super) fn before(
        &self,
        key: EntityKey,
        before: u64,
    ) -> impl Iterator<Item = (&Text, &Offer)> {
        let forms = self.offers.get(&key).into_iter().flatten();
        forms.filter_map(move |(id, forms)| {
            let until = forms.partition_point(|form| form.0 < before);
            Some((id, forms[..until].last()?.1.as_ref()?))
        })
    }

    /// An offer as it stood before a record.
    fn of_id(&self, key: EntityKey, id: &Text, before: u64) -> Option<&Offer> {
        let forms = self.offers.get(&key)?.get(id)?;
        let until = forms.partition_point(|form| form.0 < before);
        forms[..until].last()?.1.as_ref()
    }

    /// Must an offer be remembered? It holds, or it ended of late and few ended since.
    pub(super) fn is_known(&self, key: EntityKey, id: &Text, before: u64, now: Timestamp) -> bool {
        let Some(offer) = self.of_id(key, id, before) else {
            return false;
        };
        let ended = offer.ended_at();
        let later = self.before(key, before).filter(|(other, known)| {
            let newer = known.ended_at() >= ended || known.turned_at >= offer.turned_at;
            *other != id && !known.holds(now) && newer
        });
        let kept =
            offer.holds(now) || (now < ended.plus_s(ENDED_OFFER_S) && later.count() < ENDED_OFFERS);
        kept && !offer.alone
    }

    /// Does a customer have an offer that holds or a promise that is open?
    pub(super) fn is_needed(&self, key: EntityKey, before: u64, now: Timestamp) -> bool {
        self.before(key, before).any(|(_, offer)| offer.holds(now))
            || !self.open(key, before).is_empty()
    }

    /// What holds, in the order of the ids.
    pub(super) fn holding(
        &self,
        key: EntityKey,
        before: u64,
        now: Timestamp,
    ) -> Vec<CommitmentView> {
        let holding = self
            .before(key, before)
            .filter(|(_, offer)| offer.holds(now));
        let mut views: Vec<_> = holding
            .map(|(id, offer)| CommitmentView {
                id: id.clone(),
                kind: offer.kind.clone().unwrap_or_else(|| Text::from("")),
                valid_until: offer.until,
            })
            .collect();
        views.sort_by(|one, other| one.id.cmp(&other.id));
        views
    }

    /// The promises that are open before a record, in the order of the ids: of each the last word
    /// counts.
    pub(super) fn open(&self, key: EntityKey, before: u64) -> Vec<Promise> {
        let words = self.promises.get(&key).map_or(&[][..], Vec::as_slice);
        let mut open: BTreeMap<&Text, &PromiseTurned> = BTreeMap::new();
        for (_, word) in words.iter().take_while(|word| word.0 < before) {
            match word {
                Some(word) => {
                    open.insert(&word.promise.id, word);
                }
                None => open.clear(),
            }
        }
        let open = open
            .into_values()
            .filter(|word| word.state == PromiseState::Open);
        open.map(|word| word.promise.clone()).collect()
    }
}

fn outcome(accepted: bool, noted: Noted, changes: Vec<Change>) -> Outcome {
    let reply = Reply::Declared(DeclareReply {
        accepted,
        ..DeclareReply::TURNED_DOWN
    });
    Outcome {
        reply,
        noted,
        changes,
    }
}

fn nothing() -> Outcome {
    outcome(true, Noted::NothingToChange, Vec::new())
}

/// What offering something must come to.
pub(super) fn make(moment: &Moment<'_>, body: &MakeCommitment) -> Vec<Outcome> {
    let key = moment.key(Kind::Customer, body.customer);
    let row = moment.row(row_key(moment.space, Id(body.row.0)));
    let offers = &moment.books.offers;
    let waiting = offers.of_id(key, &body.id, moment.record);
    let known = offers.is_known(key, &body.id, moment.record, moment.now);
    // A clock that jumps by years ends an id's row before its offer is forgotten: the offer that is
    // still there is then known or not.
    let is_there = waiting.is_some_and(|offer| offer.kind.is_some());
    if let Some(row) = row {
        let taken = outcome(false, Noted::Refused(Refusal::IdTaken), Vec::new());
        // An id outlives its offer: one that is forgotten is not offered again under it.
        // A word that waits is no offer.
        let known = known && is_there;
        return match (row.target == Target::Customer(body.customer), known) {
            (true, true) => vec![nothing()],
            (true, false) => vec![nothing(), taken],
            (false, _) if is_there => vec![nothing(), taken],
            (false, _) => vec![taken],
        };
    }
    let mut words = vec![waiting.map(|word| word.state)];
    if waiting.is_some() && !known {
        words.push(None);
    }
    let mut outcomes: Vec<Outcome> = words
        .into_iter()
        .map(|word| made(moment, key, body, word))
        .collect();
    if is_there {
        outcomes.push(nothing());
    }
    outcomes
}

fn made(
    moment: &Moment<'_>,
    key: EntityKey,
    body: &MakeCommitment,
    word: Option<CommitmentState>,
) -> Outcome {
    let now = moment.now;
    let beaten = standing(moment, key, body);
    let (state, beaten) = match (word, beaten) {
        (Some(CommitmentState::Withdrawn), _) => (CommitmentState::Withdrawn, Vec::new()),
        (Some(CommitmentState::Declined), _) => (CommitmentState::Declined, Vec::new()),
        (_, None) => (CommitmentState::Superseded, Vec::new()),
        (Some(CommitmentState::Accepted), Some(beaten)) => (CommitmentState::Accepted, beaten),
        (_, Some(beaten)) => (CommitmentState::Made, beaten),
    };
    let commitment = Commitment {
        id: body.id.clone(),
        kind: body.kind.clone(),
        score: body.score,
        until: body.until,
        state,
        turned_at: now,
    };
    let row = DirectoryRow {
        target: Target::Customer(body.customer),
        until: body.until.unwrap_or(now).max(now).plus_s(OFFER_ROW_S),
        terms: body.terms.clone(),
        erased: None,
        admission: None,
    };
    let mut changes = vec![
        exactly(key, Event::CommitmentMade(Box::new(commitment))),
        exactly(
            row_key(moment.space, Id(body.row.0)),
            Event::RowWritten(Box::new(row)),
        ),
    ];
    changes.extend(
        beaten
            .into_iter()
            .map(|id| turned(key, id, CommitmentState::Superseded, now)),
    );
    outcome(true, Noted::Accepted, changes)
}

fn turned(key: EntityKey, id: Text, state: CommitmentState, at: Timestamp) -> Change {
    let turned = CommitmentTurned { id, state, at };
    exactly(key, Event::CommitmentTurned(Box::new(turned)))
}

/// The table of §11: whom a new offer supersedes; `None` when it does not hold itself.
fn standing(moment: &Moment<'_>, key: EntityKey, body: &MakeCommitment) -> Option<Vec<Text>> {
    let now = moment.now;
    let all = moment.books.offers.before(key, moment.record);
    let holding: Vec<(&Text, &Offer)> = all.filter(|(_, offer)| offer.holds(now)).collect();
    let same = |offer: &Offer| offer.kind.as_ref() == Some(&body.kind);
    let rule = |offer: &Offer| moment.rules.agrees(offer.kind.as_deref().unwrap_or(""));
    let alone = |offer: &Offer| rule(offer) == Some(Agree::Exclusive);
    if holding
        .iter()
        .any(|(_, offer)| alone(offer) && !same(offer))
    {
        return None;
    }
    let of_type: Vec<_> = holding.iter().filter(|(_, offer)| same(offer)).collect();
    match moment.rules.agrees(&body.kind)? {
        Agree::Exclusive => Some(holding.iter().map(|(id, _)| (*id).clone()).collect()),
        Agree::First => of_type.is_empty().then(Vec::new),
        Agree::Best => {
            let score = body.score.map(|score| score.0);
            // `None` is below every score.
            let best = of_type.iter().all(|(_, offer)| offer.score < score);
            best.then(|| of_type.iter().map(|(id, _)| (*id).clone()).collect())
        }
    }
}

/// What a word about an offer must come to.
pub(super) fn end(moment: &Moment<'_>, body: &EndCommitment) -> Vec<Outcome> {
    let ClaimPlace::At(Target::Customer(customer)) = body.place else {
        return vec![nothing()];
    };
    let key = moment.key(Kind::Customer, customer);
    let now = moment.now;
    let offers = &moment.books.offers;
    let turns = || {
        let change = turned(key, body.id.clone(), body.state, now);
        outcome(true, Noted::Accepted, vec![change])
    };
    let Some(offer) = offers.of_id(key, &body.id, moment.record) else {
        return vec![turns()];
    };
    let open = match offer.state {
        CommitmentState::Made => true,
        CommitmentState::Accepted => body.state != CommitmentState::Accepted,
        CommitmentState::Superseded | CommitmentState::Withdrawn | CommitmentState::Declined => {
            false
        }
    };
    let mut outcomes = vec![if open { turns() } else { nothing() }];
    // It may be forgotten, and what is over by its time may take a word or not.
    let known = offers.is_known(key, &body.id, moment.record, now);
    if !known || (open && offer.kind.is_some() && !offer.holds(now)) {
        outcomes.push(if open { nothing() } else { turns() });
    }
    outcomes
}

/// Is the offer that a word is about known? `None` where it may be forgotten.
pub(super) fn knows(moment: &Moment<'_>, body: &EndCommitment) -> Option<bool> {
    let ClaimPlace::At(Target::Customer(customer)) = body.place else {
        return Some(true);
    };
    let key = moment.key(Kind::Customer, customer);
    let offers = &moment.books.offers;
    if offers.of_id(key, &body.id, moment.record).is_none() {
        return Some(false);
    }
    let known = offers.is_known(key, &body.id, moment.record, moment.now);
    known.then_some(true)
}

/// What a word about a promise must come to.
pub(super) fn promise(moment: &Moment<'_>, body: &TurnPromise) -> Vec<Outcome> {
    let key = moment.key(Kind::Customer, body.customer);
    let open = moment.books.offers.open(key, moment.record);
    let known = open.iter().find(|known| known.id == body.promise.id);
    let turned = PromiseTurned {
        promise: body.promise.clone(),
        state: body.state,
        at: moment.now,
    };
    let change = exactly(key, Event::PromiseTurned(Box::new(turned)));
    let turns = outcome(true, Noted::Accepted, vec![change]);
    match (body.state, known) {
        // The same word again says nothing new, and may be noted as one.
        (PromiseState::Open, Some(known)) if *known == body.promise => vec![turns, nothing()],
        (PromiseState::Open, None) if open.len() >= OPEN_PROMISES => {
            let refusal = Refusal::TargetFull;
            vec![Outcome {
                reply: Reply::Refused(refusal),
                noted: Noted::Refused(refusal),
                changes: Vec::new(),
            }]
        }
        (PromiseState::Open, _) | (_, Some(_)) => vec![turns],
        (PromiseState::Kept | PromiseState::Withdrawn, None) => vec![nothing()],
    }
}

/// What holds and what is owed, as a check shows them, each in an order of its own.
pub(super) fn shown(
    moment: &Moment<'_>,
    customer: Option<KeyHash>,
) -> (Vec<CommitmentView>, Vec<Promise>) {
    let Some(customer) = customer else {
        return (Vec::new(), Vec::new());
    };
    let key = moment.key(Kind::Customer, customer);
    let offers = &moment.books.offers;
    let holding = offers.holding(key, moment.record, moment.now);
    (holding, offers.open(key, moment.record))
}
