//! Who has a customer or an object (§9): what a declaration and an observation must come to, and
//! which claim governs.

use std::cmp::Reverse;

use interlock_domain::contact::claim::{Claim, ClaimKind, ClaimVia};
use interlock_domain::contact::command::{ClaimTarget, EndObservation, ObserveOwner, Route};
use interlock_domain::contact::directory::{DirectoryRow, Target, row_key};
use interlock_domain::contact::event::{ClaimReleased, Event};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{
    ClaimReply, ClaimedRef, DeclareReply, HeldReply, OwnerView, Reply,
};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, KeyHash, Kind};
use interlock_domain::time::Timestamp;

use super::change::Change;
use super::judge::{Moment, Outcome};
use super::limits::{CLAIM_ID_S, CLAIM_ROW_S, LIVE_CLAIMS};

/// The strictest; of equals the last accepted.
pub(super) fn strictest<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Option<&'a Claim> {
    let place = |claim: &&Claim| (claim.rank, Reverse((claim.accepted_at, claim.epoch)));
    claims.into_iter().min_by_key(place)
}

/// The claims that may govern a check: of the customer's and the object's the stricter, of equals
/// the last accepted. Two accepted in one instant on two entities may each be the last.
pub(super) fn governing<'a>(
    moment: &Moment<'a>,
    customer: Option<KeyHash>,
    object: Option<KeyHash>,
) -> Vec<Option<&'a Claim>> {
    let of = |kind, hash: Option<KeyHash>| {
        let live = moment.books.claims(moment.key(kind, hash?));
        strictest(live?.live(moment.record, moment.now))
    };
    match (of(Kind::Customer, customer), of(Kind::Object, object)) {
        (Some(one), Some(other)) => {
            let place = |claim: &Claim| (claim.rank, Reverse(claim.accepted_at));
            match place(one).cmp(&place(other)) {
                std::cmp::Ordering::Less => vec![Some(one)],
                std::cmp::Ordering::Equal => vec![Some(one), Some(other)],
                std::cmp::Ordering::Greater => vec![Some(other)],
            }
        }
        (one, other) => vec![one.or(other)],
    }
}

/// A claim as a check shows it.
pub(super) fn owner(claim: &Claim) -> OwnerView {
    OwnerView {
        holder: claim.holder.clone(),
        kind: claim.kind,
        level: claim.level.clone(),
        source: claim.source.clone(),
        via: claim.via,
        since: claim.since,
        valid_until: claim.until,
        epoch: claim.epoch,
    }
}

/// A claim as its own answer shows it.
pub(super) fn shown(claim: &Claim) -> ClaimReply {
    ClaimReply {
        claim_id: claim.id,
        epoch: claim.epoch,
        holder: claim.holder.clone(),
        kind: claim.kind,
        level: claim.level.clone(),
        valid_until: claim.until,
    }
}

/// The answer to what was taken or given back, by the way it was asked.
pub(super) fn taken(route: Route, reply: ClaimReply) -> Reply {
    if route == Route::Batch {
        return Reply::Observed;
    }
    if route != Route::Declare {
        return Reply::Claim(Box::new(reply));
    }
    let (id, epoch) = (reply.claim_id, reply.epoch);
    Reply::Declared(DeclareReply {
        accepted: true,
        decision_id: None,
        claim: Some(ClaimedRef { id, epoch }),
    })
}

/// The answer to what was not.
pub(super) fn refused(route: Route, refusal: Refusal, held: Option<(&Text, Timestamp)>) -> Outcome {
    let reply = match held {
        _ if route == Route::Declare => Reply::Declared(DeclareReply::TURNED_DOWN),
        Some((holder, until)) => Reply::Held(Box::new(HeldReply {
            refusal,
            holder: holder.clone(),
            until,
        })),
        None => Reply::Refused(refusal),
    };
    Outcome {
        reply,
        noted: Noted::Refused(refusal),
        changes: Vec::new(),
    }
}

/// An id for what is accepted: the old one, unless it is too old.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming {
    pub(super) id: Id,
    pub(super) named_at: Timestamp,
    /// What ends because another id takes its place.
    ends: Option<Id>,
    fresh: bool,
}

impl Naming {
    pub(super) fn new(now: Timestamp, new_id: Id, earlier: Option<(Id, Timestamp)>) -> Self {
        match earlier {
            Some((id, named_at)) if now < named_at.plus_s(CLAIM_ID_S) => Self {
                id,
                named_at,
                ends: None,
                fresh: false,
            },
            Some((id, _)) => Self {
                id: new_id,
                named_at: now,
                ends: Some(id),
                fresh: true,
            },
            None => Self {
                id: new_id,
                named_at: now,
                ends: None,
                fresh: true,
            },
        }
    }

    /// What it changes beside the claim: the new id's row, the old one's end.
    pub(super) fn changes(&self, moment: &Moment<'_>, target: Target) -> Vec<Change> {
        let mut changes = Vec::new();
        let at = moment.now;
        if let Some(id) = self.ends {
            let event = Event::ClaimReleased(ClaimReleased { id, at });
            changes.push(exactly(target.key(moment.space), event));
        }
        if self.fresh {
            let until = at.plus_s(CLAIM_ROW_S);
            let row = DirectoryRow {
                target,
                until,
                terms: None,
                erased: None,
                admission: None,
            };
            let event = Event::RowWritten(Box::new(row));
            changes.push(exactly(row_key(moment.space, self.id), event));
        }
        changes
    }
}

pub(super) fn exactly(key: EntityKey, event: Event) -> Change {
    let event = Box::new(event);
    Change::Exactly { key, event }
}

fn live<'a>(moment: &Moment<'a>, key: EntityKey) -> Vec<&'a Claim> {
    let register = moment.books.claims(key);
    register.map_or_else(Vec::new, |all| all.live(moment.record, moment.now))
}

/// What a declaration must come to.
pub(super) fn declare(moment: &Moment<'_>, route: Route, body: &ClaimTarget) -> Outcome {
    let live = live(moment, body.target.key(moment.space));
    let (rank, _) = moment.rules.level(body.level.as_ref());
    let own = live.iter().copied().find(|claim| {
        claim.via == ClaimVia::Declaration && claim.kind == body.kind && claim.holder == body.holder
    });
    if own.is_none_or(|own| rank < own.rank) {
        let others = live.iter().copied();
        let above = others.filter(|claim| claim.holder != body.holder && claim.rank <= rank);
        if let Some(held) = strictest(above) {
            let held = Some((&held.holder, held.until));
            return refused(route, Refusal::LeaseHeld, held);
        }
    }
    // The hold of a handoff counts against no bound.
    let declared = live.iter().filter(|claim| claim.via != ClaimVia::Handoff);
    if own.is_none() && declared.count() >= LIVE_CLAIMS {
        return refused(route, Refusal::TargetFull, None);
    }
    let way = Way {
        via: ClaimVia::Declaration,
        longest_s: moment.rules.longest_s,
        observed_at: moment.now,
    };
    accept(moment, route, body, own, &way)
}

/// How a claim came, and what that means for it.
struct Way {
    via: ClaimVia,
    longest_s: i64,
    observed_at: Timestamp,
}

fn accept(
    moment: &Moment<'_>,
    route: Route,
    body: &ClaimTarget,
    earlier: Option<&Claim>,
    way: &Way,
) -> Outcome {
    let now = moment.now;
    let naming = Naming::new(
        now,
        body.new_id,
        earlier.map(|claim| (claim.id, claim.named_at)),
    );
    let (rank, level) = moment.rules.level(body.level.as_ref());
    let goes_on = earlier.filter(|claim| claim.holder == body.holder);
    let claim = Claim {
        id: naming.id,
        kind: body.kind,
        holder: body.holder.clone(),
        level,
        rank,
        source: body.source.clone(),
        via: way.via,
        since: goes_on.map_or(now, |claim| claim.since),
        accepted_at: now,
        until: now.plus_s(i64::from(body.lease_s).min(way.longest_s)),
        epoch: moment.epoch.unwrap_or(0),
        intents: body.intents.clone(),
        observed_at: way.observed_at,
        named_at: naming.named_at,
    };
    let reply = taken(route, shown(&claim));
    let event = Event::ClaimAccepted(Box::new(claim));
    let mut changes = vec![exactly(body.target.key(moment.space), event)];
    changes.extend(naming.changes(moment, body.target));
    Outcome {
        reply,
        noted: Noted::Accepted,
        changes,
    }
}

/// Did an ownership source say it, by whichever way?
fn is_of(claim: &Claim, source: &Text) -> bool {
    matches!(claim.via, ClaimVia::Worker | ClaimVia::Mapping) && claim.source == *source
}

/// What the end of an observation may come to: it is an observation that is over at once, so that what
/// happened before it and comes later begins nothing.
pub(super) fn end(moment: &Moment<'_>, body: &EndObservation) -> Vec<Outcome> {
    let now = moment.now;
    let at = body.observed_at.unwrap_or(now).min(now);
    let register = moment.books.claims(body.target.key(moment.space));
    let mine = |known: &Claim| is_of(known, &body.source);
    let last = register.and_then(|all| Some((all, all.last(moment.record, mine)?)));
    let mut outcomes = Vec::new();
    let mut goes_in = true;
    if let Some((all, last)) = last
        && at < last.observed_at
    {
        goes_in = !all.is_known(last, moment.record, now);
        outcomes.push(Outcome {
            reply: Reply::Observed,
            noted: Noted::NothingToChange,
            changes: Vec::new(),
        });
    }
    if goes_in {
        // What is over already may be said to be over again, under its own id or another.
        let last = last.map(|(_, last)| last);
        let live = last.is_some_and(|last| now < last.until);
        let earlier = last.map(|last| (last.id, last.named_at));
        outcomes.push(is_over(moment, body, at, earlier));
        if !live && earlier.is_some() {
            outcomes.push(is_over(moment, body, at, None));
        }
    }
    outcomes
}

fn is_over(
    moment: &Moment<'_>,
    body: &EndObservation,
    observed_at: Timestamp,
    earlier: Option<(Id, Timestamp)>,
) -> Outcome {
    let naming = Naming::new(moment.now, body.new_id, earlier);
    let ended = Change::Ended {
        key: body.target.key(moment.space),
        id: naming.id,
        source: body.source.clone(),
        observed_at,
    };
    let mut changes = vec![ended];
    changes.extend(naming.changes(moment, body.target));
    Outcome {
        reply: Reply::Observed,
        noted: Noted::Accepted,
        changes,
    }
}

/// What an observation may come to: one thing, unless what it must be compared with may be
/// forgotten.
pub(super) fn observe(moment: &Moment<'_>, route: Route, body: &ObserveOwner) -> Vec<Outcome> {
    let claim = &body.claim;
    let now = moment.now;
    let at = body.observed_at.unwrap_or(now).min(now);
    let register = moment.books.claims(claim.target.key(moment.space));
    let mine = |known: &Claim| is_of(known, &claim.source);
    let last = register.and_then(|all| Some((all, all.last(moment.record, mine)?)));
    let mut outcomes = Vec::new();
    let mut goes_in = true;
    if let Some((all, last)) = last
        && at < last.observed_at
    {
        goes_in = !all.is_known(last, moment.record, now);
        outcomes.push(Outcome {
            reply: taken(route, shown(last)),
            noted: Noted::NothingToChange,
            changes: Vec::new(),
        });
    }
    if goes_in {
        let way = Way {
            via: body.via,
            longest_s: moment.rules.validity_s(&claim.source),
            observed_at: at,
        };
        let earlier = last.map(|(_, last)| last);
        let earlier = earlier.filter(|last| now < last.until);
        outcomes.push(accept(moment, route, claim, earlier, &way));
    }
    outcomes
}

/// A lock's kind in an answer.
pub(super) const LOCK: ClaimKind = ClaimKind::TaskLock;
