//! From a check's reply to what the client reads.
//!
//! Here: borrowing, no copying: it runs for every check of every batch.

use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::promise::Promise;
use interlock_domain::contact::reason::Verdict;
use interlock_domain::contact::reply::{BudgetView, CheckReply, CommitmentView, OwnerView};
use interlock_wire::contact::check::{
    ChannelState, CheckResult, CommitmentRef, ContactBudget, EffectStatus, Lock, Owner, PromiseRef,
};

/// The answer to a check.
pub(crate) fn check<'a>(
    reply: &'a CheckReply,
    policy: &'a Policy,
    token: Option<&'a str>,
) -> CheckResult<'a> {
    let holder = match (reply.verdict, &reply.owner) {
        (Verdict::HandoffTo, Some(owner)) => Some(&*owner.holder),
        (Verdict::HandoffTo | Verdict::Allow | Verdict::Defer | Verdict::Deny, _) => None,
    };
    let budgets = reply.budgets.iter();
    let budgets =
        budgets.filter_map(|view| Some((reply.name(view.purpose, policy)?, budget(view))));
    let suppressions = reply.suppressions.iter();
    CheckResult {
        decision: reply.verdict.slug(),
        decision_id: reply.decision_id.0,
        valid_for_s: reply.valid_for_s,
        reasons: reply.reasons.iter().map(|reason| reason.slug()).collect(),
        holder,
        owner: reply.owner.as_ref().map(owner),
        locks: locks(reply),
        effect: reply.effect.map(|effect| EffectStatus {
            state: effect.state.slug(),
            attempt: Some(effect.attempt),
        }),
        channel: reply.channel.map(|channel| ChannelState {
            free_form_until: channel.free_form_until.map(|until| until.0),
            template_required: channel.template_required,
            quiet_until: channel.quiet_until.map(|until| until.0),
        }),
        contact_budget: budgets.collect(),
        suppressions: suppressions
            .filter_map(|purpose| reply.name(*purpose, policy))
            .collect(),
        contact_window_until: reply.contact_window_until.map(|until| until.0),
        commitments_active: commitments(&reply.commitments),
        promises_open: promises(&reply.promises),
        contact_token: token,
    }
}

/// What a budget has left.
pub(crate) fn budget(view: &BudgetView) -> ContactBudget {
    ContactBudget {
        remaining: view.remaining,
        next_allowed_at: view.next_allowed_at.map(|at| at.0),
    }
}

/// The claim that governs.
pub(crate) fn owner(owner: &OwnerView) -> Owner<'_> {
    Owner {
        holder: &owner.holder,
        kind: owner.kind.slug(),
        level: &owner.level,
        source: &owner.source,
        via: owner.via.slug(),
        since: owner.since.0,
        valid_until: owner.valid_until.0,
        epoch: owner.epoch,
    }
}

fn locks(reply: &CheckReply) -> Vec<Lock<'_>> {
    let locks = reply.locks.iter();
    locks
        .map(|lock| Lock {
            holder: &lock.holder,
            kind: "task_lock",
            task: Some(&lock.task),
            until: lock.until.0,
        })
        .collect()
}

/// What holds for the subject.
pub(crate) fn commitments(commitments: &[CommitmentView]) -> Vec<CommitmentRef<'_>> {
    commitments
        .iter()
        .map(|commitment| CommitmentRef {
            id: &commitment.id,
            r#type: &commitment.kind,
            valid_until: commitment.valid_until.map(|until| until.0),
        })
        .collect()
}

/// What the company owes the subject.
pub(crate) fn promises(promises: &[Promise]) -> Vec<PromiseRef<'_>> {
    promises
        .iter()
        .map(|promise| PromiseRef {
            id: &promise.id,
            owner: &promise.owner,
            due: promise.due.map(|due| due.0),
        })
        .collect()
}
