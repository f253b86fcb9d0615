//! Who has a task of an object (§10), and how claims and locks are given back (§9, §17).

use interlock_domain::contact::claim::{Claim, TaskLock};
use interlock_domain::contact::command::{ClaimPlace, LockTask, ReleaseClaim, Route};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::event::{ClaimReleased, Event};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{ClaimReply, DeclareReply, LockView, Reply};
use interlock_domain::key::{EntityKey, KeyHash, Kind};

use super::claims::{LOCK, Naming, exactly, refused, shown, taken};
use super::holds::{Hold, Register};
use super::judge::{Moment, Outcome};
use super::limits::LIVE_LOCKS;

fn live<'a>(moment: &Moment<'a>, object: KeyHash) -> Vec<&'a TaskLock> {
    let register = moment.books.locks(moment.key(Kind::Object, object));
    register.map_or_else(Vec::new, |all| all.live(moment.record, moment.now))
}

/// Every live lock of an object, as a check shows them, in an order of their own.
pub(super) fn locks(moment: &Moment<'_>, object: Option<KeyHash>) -> Vec<LockView> {
    let live = object.map_or_else(Vec::new, |object| live(moment, object));
    let mut views: Vec<LockView> = live
        .into_iter()
        .map(|lock| LockView {
            holder: lock.holder.clone(),
            task: lock.task.clone(),
            until: lock.until,
        })
        .collect();
    sort(&mut views);
    views
}

/// Sorts locks for comparing.
pub(super) fn sort(views: &mut [LockView]) {
    views.sort_by(|one, other| (&one.task, one.until).cmp(&(&other.task, other.until)));
}

fn shown_lock(lock: &TaskLock) -> ClaimReply {
    ClaimReply {
        claim_id: lock.id,
        epoch: lock.epoch,
        holder: lock.holder.clone(),
        kind: LOCK,
        level: lock.level.clone(),
        valid_until: lock.until,
    }
}

/// What asking for a lock must come to.
pub(super) fn lock(moment: &Moment<'_>, route: Route, body: &LockTask) -> Outcome {
    let now = moment.now;
    let live = live(moment, body.object);
    let held = live.iter().copied().find(|lock| lock.task == body.task);
    if let Some(held) = held.filter(|held| held.holder != body.holder) {
        let held = Some((&held.holder, held.until));
        return refused(route, Refusal::TaskLocked, held);
    }
    if held.is_none() && live.len() >= LIVE_LOCKS {
        return refused(route, Refusal::TargetFull, None);
    }
    let earlier = held.map(|lock| (lock.id, lock.named_at));
    let naming = Naming::new(now, body.new_id, earlier);
    let (_, level) = moment.rules.level(body.level.as_ref());
    // Under another id it is another lock, which begins where the old one ends.
    let goes_on = held.filter(|lock| lock.id == naming.id);
    let lock = TaskLock {
        id: naming.id,
        holder: body.holder.clone(),
        task: body.task.clone(),
        source: body.source.clone(),
        since: goes_on.map_or(now, |lock| lock.since),
        until: now.plus_s(i64::from(body.lease_s).min(moment.rules.longest_s)),
        epoch: moment.epoch.unwrap_or(0),
        level,
        accepted_at: now,
        named_at: naming.named_at,
    };
    let target = Target::Object(body.object);
    let reply = taken(route, shown_lock(&lock));
    let event = Event::LockTaken(Box::new(lock));
    let mut changes = vec![exactly(target.key(moment.space), event)];
    changes.extend(naming.changes(moment, target));
    Outcome {
        reply,
        noted: Noted::Accepted,
        changes,
    }
}

/// What a release may come to: one thing, unless what it names may be forgotten.
pub(super) fn release(moment: &Moment<'_>, route: Route, body: &ReleaseClaim) -> Vec<Outcome> {
    let ClaimPlace::At(target) = body.place else {
        return vec![missing(route)];
    };
    let key = target.key(moment.space);
    let show: fn(&Claim) -> ClaimReply = shown;
    if let Some(all) = moment.books.claims(key)
        && let Some(claim) = all.of_id(body.claim, moment.record)
    {
        return give_back(moment, route, (key, body), (all, claim, show));
    }
    let show: fn(&TaskLock) -> ClaimReply = shown_lock;
    if let Some(all) = moment.books.locks(key)
        && let Some(lock) = all.of_id(body.claim, moment.record)
    {
        return give_back(moment, route, (key, body), (all, lock, show));
    }
    vec![missing(route)]
}

fn give_back<T: Hold + Clone>(
    moment: &Moment<'_>,
    route: Route,
    (key, body): (EntityKey, &ReleaseClaim),
    (all, hold, show): (&Register<T>, &T, fn(&T) -> ClaimReply),
) -> Vec<Outcome> {
    let now = moment.now;
    let is_over = hold.is_over(now);
    let outcome = if i64::try_from(hold.epoch()) != Ok(body.epoch) {
        refused(route, Refusal::StaleEpoch, None)
    } else if is_over {
        Outcome {
            reply: taken(route, show(hold)),
            noted: Noted::NothingToChange,
            changes: Vec::new(),
        }
    } else {
        let mut ended = hold.clone();
        ended.end(now);
        let (id, at) = (body.claim, now);
        Outcome {
            reply: taken(route, show(&ended)),
            noted: Noted::Accepted,
            changes: vec![exactly(key, Event::ClaimReleased(ClaimReleased { id, at }))],
        }
    };
    let mut outcomes = vec![outcome];
    if !all.is_known(hold, moment.record, now) {
        outcomes.push(missing(route));
    }
    outcomes
}

fn missing(route: Route) -> Outcome {
    let reply = if route == Route::Declare {
        Reply::Declared(DeclareReply::TURNED_DOWN)
    } else {
        Reply::NotFound
    };
    Outcome {
        reply,
        noted: Noted::NothingToChange,
        changes: Vec::new(),
    }
}
