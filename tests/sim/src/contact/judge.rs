//! What every command must come to at one moment, and whether a record and an answer say so.

use interlock_domain::contact::command::{
    AddSuppression, Body, Command, DeclareContactMade, LiftSuppression, ObserveMessage,
    ReserveEffect, SettledBy, Settlement,
};
use interlock_domain::contact::erasure::Erased;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::feed::{Feed, feed_key};
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{DeclareReply, EffectReply, EffectState, Reply};
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;

use super::books::{Attempt, Books, State};
use super::change::Change;
use super::check::{self, Standing, standing};
use super::holds::Row;
use super::rules::{Hours, Rules, reason_days};
use super::{claims, facts, handoffs, locks, offers, paid, privacy, shadow};

/// When something was decided: over the books before a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment<'a> {
    pub(super) books: &'a Books,
    pub(super) rules: &'a Rules,
    pub(super) space: SpaceId,
    pub(super) record: u64,
    pub(super) now: Timestamp,
    /// The epoch the record gives, where it gives one: any that is above all earlier ones will do.
    pub(super) epoch: Option<u64>,
    /// The id the record gives a shadow run, where it gives one.
    pub(super) run: Option<Id>,
    /// What the record says an erasure took, where there was one.
    pub(super) erased: Option<Erased>,
    /// The handoff the record makes, where it makes one.
    pub(super) made: Option<&'a Handoff>,
    /// Nothing new is reserved: memory, disk or the space are at their bound.
    pub(super) full: bool,
    /// The clock cannot be trusted.
    pub(super) suspect: bool,
    /// Contacts that had to be remembered no longer than until then are forgotten.
    pub(super) forgotten: Timestamp,
}

/// What a declared contact finds of the decision it cites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cited {
    /// It is held, and the contact does not count again.
    Held(Id),
    /// It may have been forgotten by now.
    Maybe(Id),
    /// It is not, and the contact counts.
    Not,
    /// There is no customer to count it for.
    Nobody,
}

/// What a command must come to.
#[derive(Debug)]
pub(super) enum Due {
    /// A check's decision; more than one where it is open which claim governs.
    Check(Vec<check::Decided>),
    /// This answer, noted so, with these changes.
    Plain(Reply, Noted, Vec<Change>),
    /// A contact that cites a decision held, counts anew, or either.
    Contact(Cited, Vec<Change>),
    /// One of these.
    OneOf(Vec<Outcome>),
}

/// One thing a command may come to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) reply: Reply,
    pub(super) noted: Noted,
    pub(super) changes: Vec<Change>,
}

impl Moment<'_> {
    pub(super) fn key(&self, kind: Kind, hash: KeyHash) -> EntityKey {
        EntityKey {
            kind,
            space: self.space,
            hash,
        }
    }

    /// Where an id led before the record.
    pub(super) fn row(&self, key: EntityKey) -> Option<&Row> {
        let row = self.books.row(key);
        row.filter(|row| row.record < self.record && self.now < row.until)
    }
}

/// Decides a command.
pub(super) fn due(moment: &Moment<'_>, command: &Command) -> Due {
    let source = command.source;
    match &command.body {
        Body::Check(body) => Due::Check(check::decide(moment, body, source)),
        Body::ReserveEffect(body) => reserve(moment, source, body),
        Body::SettleEffect(body) => {
            let asked = Asked {
                effect: body.effect,
                attempt: body.attempt,
                settlement: body.settlement,
                by: body.by,
            };
            match settle(moment, source, &asked) {
                Ok((attempt, changes)) => {
                    let reply = Reply::Effect(view(&attempt, moment.now, false));
                    Due::Plain(reply, taken(&changes), changes)
                }
                Err(Some(refusal)) => refused(refusal),
                Err(None) => Due::Plain(Reply::NotFound, Noted::NothingToChange, Vec::new()),
            }
        }
        Body::DeclareEffect(body) => {
            let asked = Asked {
                effect: body.effect,
                attempt: Some(body.attempt),
                settlement: body.settlement,
                by: SettledBy::Holder,
            };
            match settle(moment, source, &asked) {
                Ok((_, changes)) => Due::Plain(declared(true), taken(&changes), changes),
                Err(Some(refusal)) => {
                    Due::Plain(declared(false), Noted::Refused(refusal), Vec::new())
                }
                Err(None) => Due::Plain(declared(false), Noted::NothingToChange, Vec::new()),
            }
        }
        Body::DeclareContactMade(body) => contact(moment, body),
        Body::AddSuppression(body) => suppress(moment, source, body),
        Body::LiftSuppression(body) => lift(moment, source, body),
        Body::ObserveMessage(body) => message(moment, body),
        Body::ClaimTarget(body) => Due::OneOf(vec![claims::declare(moment, command.route, body)]),
        Body::ObserveOwner(body) => Due::OneOf(claims::observe(moment, command.route, body)),
        Body::LockTask(body) => Due::OneOf(vec![locks::lock(moment, command.route, body)]),
        Body::ReleaseClaim(body) => Due::OneOf(locks::release(moment, command.route, body)),
        Body::Admit(body) => paid::admit(moment, source, body),
        Body::SettleAdmission(body) => paid::settle(moment, source, body),
        Body::RequestReport(body) => shadow::request(moment, *body, moment.run),
        Body::EndReport(body) => shadow::end(moment, body),
        Body::ForgetCustomer(body) => privacy::forget(moment, body),
        Body::PlaceHold(body) => privacy::place(moment, body),
        Body::ReleaseHold(body) => privacy::release(moment, body),
        Body::MakeCommitment(body) => Due::OneOf(offers::make(moment, body)),
        Body::EndCommitment(body) => Due::OneOf(offers::end(moment, body)),
        Body::TurnPromise(body) => Due::OneOf(offers::promise(moment, body)),
        Body::EndFact(body) => Due::OneOf(vec![facts::end(moment, body)]),
        Body::EndObservation(body) => Due::OneOf(claims::end(moment, body)),
        Body::Handoff(body) => Due::OneOf(handoffs::due(moment, (command.route, source), body)),
        Body::NoteMessage(_) => Due::Plain(Reply::Observed, Noted::Accepted, Vec::new()),
        Body::FindClaim(_)
        | Body::Advise(_)
        | Body::Show(_)
        | Body::FindHold(_)
        | Body::ReadReports(_)
        | Body::FindAdmission(_)
        | Body::FindTies(_)
        | Body::ReadFeed => unreachable!("they leave no record"),
    }
}

fn message(moment: &Moment<'_>, body: &ObserveMessage) -> Due {
    let change = Change::Seen {
        key: moment.key(Kind::Customer, body.customer),
        channel: body.channel,
        at: body.occurred_at.min(moment.now),
    };
    Due::Plain(Reply::Observed, Noted::Accepted, vec![change])
}

fn taken(changes: &[Change]) -> Noted {
    if changes.is_empty() {
        return Noted::NothingToChange;
    }
    Noted::Accepted
}

fn declared(accepted: bool) -> Reply {
    Reply::Declared(DeclareReply {
        accepted,
        ..DeclareReply::TURNED_DOWN
    })
}

fn refused(refusal: Refusal) -> Due {
    Due::Plain(Reply::Refused(refusal), Noted::Refused(refusal), Vec::new())
}

fn view(attempt: &Attempt, now: Timestamp, created: bool) -> EffectReply {
    let (state, done_at) = match attempt.at(now) {
        Some(State::Reserved { .. }) => (EffectState::Reserved, None),
        Some(State::Done { at, .. }) => (EffectState::Done, Some(at)),
        Some(State::Failed { .. }) => (EffectState::Failed, None),
        Some(State::Unknown) | None => (EffectState::UnknownOutcome, None),
    };
    EffectReply {
        created,
        state,
        attempt: attempt.number,
        reserved_at: attempt.reserved_at,
        done_at,
    }
}

fn reserve(moment: &Moment<'_>, source: SourceId, body: &ReserveEffect) -> Due {
    let (effect, kind) = (body.effect.hash, body.effect.kind);
    let key = moment.key(Kind::Effect, effect);
    let held = moment.books.attempt(key, moment.record);
    match standing(held, moment.now) {
        Standing::Free(attempt) => {
            let goes_on = held.filter(|_| attempt > 1);
            let tie = match facts::tie(moment, body) {
                _ if goes_on.is_some() => None,
                Ok(tie) => tie,
                Err(refusal) => return refused(refusal),
            };
            let change = Change::Reserved {
                key,
                attempt,
                source,
                kind: goes_on.map_or(kind, |held| held.kind),
                tied: goes_on.map_or(tie.is_some(), |held| held.tied),
            };
            let reply = EffectReply {
                created: true,
                state: EffectState::Reserved,
                attempt,
                reserved_at: moment.now,
                done_at: None,
            };
            let mut changes = vec![change];
            changes.extend(tie);
            if let Some(cap) = body
                .draws_on
                .as_ref()
                .and_then(|name| moment.rules.cap(name))
            {
                let on = paid::space_target(cap.name).key(moment.space);
                match paid::draw(moment, cap, on, body.cost_units) {
                    Ok((drawn, _)) => changes.push(drawn),
                    Err((reply, noted)) => return Due::Plain(reply, noted, Vec::new()),
                }
            }
            Due::Plain(Reply::Effect(reply), Noted::Accepted, changes)
        }
        Standing::Held(State::Reserved { .. }, _) => refused(Refusal::EffectInFlight),
        Standing::Held(..) => match held {
            Some(held) => {
                let reply = Reply::Effect(view(held, moment.now, false));
                Due::Plain(reply, Noted::Accepted, Vec::new())
            }
            None => refused(Refusal::EffectInFlight),
        },
    }
}

/// A settlement, by whichever way it came.
struct Asked {
    effect: KeyHash,
    /// The one that is named; only others than the holder may mean the current one.
    attempt: Option<u32>,
    settlement: Settlement,
    by: SettledBy,
}

/// The table of §8: the attempt as it is afterwards, or why not; `None` when there is no such key.
fn settle(
    moment: &Moment<'_>,
    source: SourceId,
    asked: &Asked,
) -> Result<(Attempt, Vec<Change>), Option<Refusal>> {
    let key = moment.key(Kind::Effect, asked.effect);
    let held = moment.books.attempt(key, moment.record).ok_or(None)?;
    let state = held.at(moment.now).ok_or(None)?;
    let holder = asked.by == SettledBy::Holder;
    let another = asked.attempt.is_some_and(|named| named != held.number);
    if another || (holder && held.source != source) {
        return Err(Some(Refusal::StaleAttempt));
    }
    let to = asked.settlement;
    let same = matches!(
        (state, to),
        (State::Done { .. }, Settlement::Done)
            | (State::Failed { .. }, Settlement::Failed)
            | (State::Unknown, Settlement::UnknownOutcome)
    );
    if same {
        return Ok((held.clone(), Vec::new()));
    }
    let ends = to != Settlement::UnknownOutcome;
    let moves = match (state, asked.by) {
        (State::Reserved { .. }, SettledBy::Holder) => true,
        (State::Reserved { .. }, SettledBy::Observation) | (State::Unknown, _) => ends,
        (State::Failed { .. }, SettledBy::Observation) => to == Settlement::Done,
        (State::Reserved { .. } | State::Failed { .. } | State::Done { .. }, _) => false,
    };
    if !moves {
        return Err(Some(Refusal::InvalidTransition));
    }
    let days = moment.rules.days[held.kind as usize];
    let until = moment.now.plus_s(days * 86_400);
    let mut settled = held.clone();
    settled.state = match to {
        Settlement::Done => State::Done {
            at: moment.now,
            until,
        },
        Settlement::Failed => State::Failed { until },
        Settlement::UnknownOutcome => State::Unknown,
    };
    let change = Change::Settled {
        key,
        settlement: to,
        kind: held.kind,
    };
    Ok((settled, vec![change]))
}

/// Contacts of a purpose that are remembered whatever their age.
const NEWEST: usize = 32;

fn contact(moment: &Moment<'_>, body: &DeclareContactMade) -> Due {
    let Some(customer) = body.customer else {
        return Due::Contact(Cited::Nobody, Vec::new());
    };
    let key = moment.key(Kind::Customer, customer);
    let of_purpose = || {
        let contacts = moment.books.contacts(key, moment.record);
        contacts.filter(|contact| contact.purpose == body.purpose)
    };
    let found = of_purpose()
        .find(|contact| contact.decided && Some(contact.id) == body.decision)
        .map(|contact| {
            let newer = of_purpose().filter(|other| other.record > contact.record);
            let kept = moment.now < contact.kept_until && newer.count() < NEWEST;
            if kept {
                Cited::Held(contact.id)
            } else {
                Cited::Maybe(contact.id)
            }
        });
    let token = body.jti.map(|jti| Change::Token { key, jti });
    Due::Contact(found.unwrap_or(Cited::Not), token.into_iter().collect())
}

/// The change a declared contact makes beside the token it names.
pub(super) fn counted(moment: &Moment<'_>, body: &DeclareContactMade, cited: Option<Id>) -> Change {
    let key = moment.key(Kind::Customer, body.customer.unwrap_or(KeyHash([0; 16])));
    match cited {
        Some(id) => Change::Made { key, id },
        None => Change::Counted {
            key,
            purpose: body.purpose,
            share: 0,
            decided: false,
        },
    }
}

fn suppress(moment: &Moment<'_>, source: SourceId, body: &AddSuppression) -> Due {
    let changes = suppressed_by(moment, source, body);
    Due::Plain(declared(true), Noted::Accepted, changes)
}

/// What an addition to the suppression list changes.
pub(super) fn suppressed_by(
    moment: &Moment<'_>,
    source: SourceId,
    body: &AddSuppression,
) -> Vec<Change> {
    let key = moment.key(Kind::Customer, body.customer);
    let window = body.window.as_ref().map(Hours::of);
    let mut entries = moment.books.entries(key, moment.record);
    let renews = entries.find(|entry| {
        entry.in_force(moment.now)
            && entry.source == source
            && entry.purpose == body.purpose
            && entry.channel == body.channel
            && entry.window == window
    });
    let own = reason_days(body.reason).map(|days| moment.now.plus_s(i64::from(days) * 86_400));
    let change = Change::Suppressed {
        key,
        source,
        purpose: body.purpose,
        channel: body.channel,
        window,
        until: body.until.or(own),
        renews: renews.map(|entry| entry.id),
    };
    vec![change, listed(moment, 1)]
}

/// The list moves on by so many changes.
fn listed(moment: &Moment<'_>, changes: u64) -> Change {
    let key = feed_key(moment.space);
    let last = moment.books.feed(key, moment.record) + changes;
    let event = Box::new(Event::FeedMoved(Feed { last }));
    Change::Exactly { key, event }
}

fn lift(moment: &Moment<'_>, source: SourceId, body: &LiftSuppression) -> Due {
    let key = moment.key(Kind::Customer, body.customer);
    let entries = moment.books.entries(key, moment.record);
    let mine = entries.filter(|entry| {
        entry.source == source
            && entry.purpose == body.purpose
            && entry.channel == body.channel
            && entry.in_force(moment.now)
    });
    let mut changes: Vec<Change> = mine
        .map(|entry| Change::Lifted {
            key,
            entry: entry.id,
        })
        .collect();
    if changes.is_empty() {
        return Due::Plain(declared(false), Noted::NothingToChange, changes);
    }
    changes.push(listed(moment, changes.len() as u64));
    Due::Plain(declared(true), Noted::Accepted, changes)
}
