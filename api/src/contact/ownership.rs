//! From a request about ownership to a command.
//!
//! Here: what a claim, an observation, a lock and a release need beyond their shape: one target, a
//! declared level, a declared ownership source (`docs/spec/contact.md` §9, §10). Not here: who may
//! have what (`domain`).

use interlock_domain::contact::claim::{ClaimKind, ClaimVia};
use interlock_domain::contact::command::{
    Body, ClaimPlace, ClaimTarget, LockTask, ObserveOwner, ReleaseClaim,
};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::name::IntentId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::Member;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::claims::{ClaimKind as WireKind, ClaimRequest, INTENTS_MAX};
use interlock_wire::contact::declare::{
    DeclareRequest, LeaseDetail, ReleaseDetail, TaskLockDetail,
};
use interlock_wire::contact::subject::{Handle, ObjectRef};
use interlock_wire::read::List;
use interlock_wire::value::Name;

use crate::contact::{identity, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::ids;
use crate::problem::Failure;
use crate::state::AppState;

/// An id for a claim that may be made.
pub(crate) fn new_id<D: Decider>(state: &AppState<D>) -> Result<Id, Failure> {
    let mut ids = ids::stream().ok_or_else(refused::broken)?;
    Ok(ids.next((state.now)()))
}

/// `claims`.
pub(crate) fn claim(
    caller: &Caller,
    request: &ClaimRequest<'_>,
    new_id: Id,
) -> Result<Body, Failure> {
    let policy = &caller.space.policy;
    let level = level(policy, request.level.as_ref())?;
    let holder = Text::from(&*request.holder);
    let kind = match request.kind {
        WireKind::TaskLock => return lock(caller, request, (level, new_id)),
        WireKind::Owner => ClaimKind::Owner,
        WireKind::Case => ClaimKind::Case,
    };
    if request.task.is_some() {
        return Err(Failure::invalid(
            "`task` goes with `kind` `task_lock`; leave it out or ask for a lock",
        ));
    }
    let target = match (&request.subject, &request.object) {
        (Some(_), Some(_)) => {
            return Err(Failure::invalid(
                "a claim has one target: send `subject` or `object`, not both",
            ));
        }
        (subject, object) => target(caller, subject.as_ref(), object.as_ref())?,
    };
    let claim = ClaimTarget {
        target,
        kind,
        holder,
        level,
        lease_s: request.lease_s.0,
        intents: intents(&request.intents),
        source: source(caller),
        new_id,
    };
    match (&request.source, request.observed_at) {
        (None, None) => Ok(Body::ClaimTarget(claim)),
        (None, Some(_)) => Err(Failure::invalid(
            "`observed_at` goes with the ownership `source` that reports it; send both or neither",
        )),
        (Some(source), at) => {
            let declared = policy.ownership_source(source);
            declared.ok_or_else(|| refused::undeclared(Member::Source))?;
            Ok(Body::ObserveOwner(ObserveOwner {
                claim: ClaimTarget {
                    source: Text::from(&**source),
                    ..claim
                },
                observed_at: at.map(|at| Timestamp(at.0)),
                via: ClaimVia::Worker,
            }))
        }
    }
}

fn lock(
    caller: &Caller,
    request: &ClaimRequest<'_>,
    (level, new_id): (Option<Text>, Id),
) -> Result<Body, Failure> {
    let (Some(object), Some(task)) = (&request.object, &request.task) else {
        return Err(Failure::invalid(
            "a task lock needs `object` and `task`; send both",
        ));
    };
    if request.source.is_some() || request.observed_at.is_some() {
        return Err(Failure::invalid(
            "a task lock is declared by its holder; leave `source` and `observed_at` out",
        ));
    }
    Ok(Body::LockTask(LockTask {
        object: identity::object(caller.space.secret.prepared(), object),
        task: Text::from(&**task),
        holder: Text::from(&*request.holder),
        level,
        lease_s: request.lease_s.0,
        source: source(caller),
        new_id,
    }))
}

/// `claims/{claim_id}/release`, and `case.closed`.
pub(crate) const fn release(claim: Id, epoch: i64) -> Body {
    Body::ReleaseClaim(ReleaseClaim {
        claim,
        epoch,
        place: ClaimPlace::ToFind,
    })
}

/// `case.opened` and `lease`: on the subject, or on the object when no subject is given (§17).
pub(crate) fn declared(
    caller: &Caller,
    declared: &DeclareRequest<'_>,
    (kind, detail, new_id): (ClaimKind, &LeaseDetail<'_>, Id),
) -> Result<Body, Failure> {
    let object = match declared.subject {
        Some(_) => None,
        None => declared.object.as_ref(),
    };
    Ok(Body::ClaimTarget(ClaimTarget {
        target: target(caller, declared.subject.as_ref(), object)?,
        kind,
        holder: Text::from(&*declared.agent),
        level: level(&caller.space.policy, detail.level.as_ref())?,
        lease_s: detail.lease_s.0,
        intents: intents(&detail.intents),
        source: source(caller),
        new_id,
    }))
}

/// `task_lock`.
pub(crate) fn declared_lock(
    caller: &Caller,
    declared: &DeclareRequest<'_>,
    detail: &TaskLockDetail<'_>,
    new_id: Id,
) -> Result<Body, Failure> {
    let object = declared.object.as_ref().ok_or_else(|| {
        Failure::invalid("a task lock needs the `object` the task is on; send it")
    })?;
    Ok(Body::LockTask(LockTask {
        object: identity::object(caller.space.secret.prepared(), object),
        task: Text::from(&*detail.task),
        holder: Text::from(&*declared.agent),
        level: None,
        lease_s: detail.lease_s.0,
        source: source(caller),
        new_id,
    }))
}

/// `case.closed`.
pub(crate) fn closed(detail: &ReleaseDetail) -> Body {
    let epoch = i64::try_from(detail.epoch.0).unwrap_or(i64::MAX);
    release(Id(detail.claim_id.0), epoch)
}

fn target(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    object: Option<&ObjectRef<'_>>,
) -> Result<Target, Failure> {
    let secret = caller.space.secret.prepared();
    match (subject, object) {
        (Some(handle), _) => Ok(Target::Customer(identity::customer(secret, handle))),
        (None, Some(object)) => Ok(Target::Object(identity::object(secret, object))),
        (None, None) => Err(Failure::invalid(
            "a claim needs a target: send `subject` or `object`",
        )),
    }
}

fn level(policy: &Policy, name: Option<&Name<'_>>) -> Result<Option<Text>, Failure> {
    let Some(name) = name else { return Ok(None) };
    match policy.level(Some(name)) {
        Some((_, level)) => Ok(Some(level.clone())),
        None => Err(refused::undeclared(Member::Level)),
    }
}

fn intents(names: &List<Name<'_>, 0, INTENTS_MAX>) -> Vec<IntentId> {
    names.0.iter().map(|name| IntentId::of(name)).collect()
}

fn source(caller: &Caller) -> Text {
    Text::from(&*caller.key.source.name)
}
