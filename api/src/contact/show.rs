//! From a check's reply to what the client reads.
//!
//! Here: borrowing, no copying: it runs for every check of every batch.

use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reason::Verdict;
use interlock_domain::contact::reply::{CheckReply, OwnerView};
use interlock_wire::contact::check::{
    ChannelState, CheckResult, CommitmentRef, ContactBudget, EffectStatus, Lock, Owner,
};

/// The answer to a check.
pub(crate) fn check<'a>(reply: &'a CheckReply, policy: &'a Policy) -> CheckResult<'a> {
    let holder = match (reply.verdict, &reply.owner) {
        (Verdict::HandoffTo, Some(owner)) => Some(&*owner.holder),
        (Verdict::HandoffTo | Verdict::Allow | Verdict::Defer | Verdict::Deny, _) => None,
    };
    let budgets = reply.budgets.iter().filter_map(|budget| {
        let left = ContactBudget {
            remaining: budget.remaining,
            next_allowed_at: budget.next_allowed_at.map(|at| at.0),
        };
        Some((reply.name(budget.purpose, policy)?, left))
    });
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
        commitments_active: commitments(reply),
        contact_token: None,
    }
}

fn owner(owner: &OwnerView) -> Owner<'_> {
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
            task: &lock.task,
            until: lock.until.0,
        })
        .collect()
}

fn commitments(reply: &CheckReply) -> Vec<CommitmentRef<'_>> {
    let commitments = reply.commitments.iter();
    commitments
        .map(|commitment| CommitmentRef {
            id: &commitment.id,
            r#type: &commitment.kind,
            valid_until: commitment.valid_until.map(|until| until.0),
        })
        .collect()
}
