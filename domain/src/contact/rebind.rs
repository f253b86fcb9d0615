//! A command under a newer policy than it was parsed with.
//!
//! Here: whether the newer policy still declares every name of the command. Numbers come from the
//! names alone, so nothing is resolved anew. Not here: what the newer rules are; `decide` reads
//! them from its context.

use crate::contact::command::{Body, Command};
use crate::contact::name::{ChannelId, GatewayId, PurposeId, ReasonId};
use crate::contact::policy::Policy;
use crate::contact::reply::{Member, Reply};

/// Checks the command's names.
pub(super) fn rebind(command: &Command, policy: &Policy) -> Result<(), Reply> {
    let names = Names(policy);
    match &command.body {
        Body::Check(check) => {
            names.purpose(check.purpose)?;
            names.channel(check.channel)?;
            names.gateway(check.gateway)
        }
        Body::DeclareContactMade(declare) => {
            names.purpose(declare.purpose)?;
            names.channel(Some(declare.channel))?;
            names.gateway(declare.gateway)
        }
        Body::AddSuppression(add) => {
            names.of_suppression(add.purpose, add.channel)?;
            names.reason(add.reason)
        }
        Body::ObserveMessage(observe) => names.channel(Some(observe.channel)),
        Body::ClaimTarget(claim) => names.level(claim.level.as_deref()),
        Body::ObserveOwner(observe) => {
            names.level(observe.claim.level.as_deref())?;
            let source = policy.ownership_source(&observe.claim.source);
            declared(source, Member::Source)
        }
        Body::EndObservation(end) => declared(policy.ownership_source(&end.source), Member::Source),
        Body::MakeCommitment(made) => declared(policy.compatibility(&made.kind), Member::Type),
        Body::Admit(admit) => declared(admit.budget(policy), Member::Operation),
        Body::LockTask(lock) => names.level(lock.level.as_deref()),
        Body::ReserveEffect(_)
        | Body::SettleEffect(_)
        | Body::DeclareEffect(_)
        | Body::ReleaseClaim(_)
        | Body::EndCommitment(_)
        | Body::SettleAdmission(_)
        | Body::FindAdmission(_)
        | Body::FindClaim(_)
        | Body::Advise(_)
        | Body::Show(_)
        | Body::ForgetCustomer(_)
        | Body::PlaceHold(_)
        | Body::ReleaseHold(_)
        | Body::FindHold(_)
        | Body::ReadFeed
        // What was added under a name that is gone can still be lifted.
        | Body::LiftSuppression(_)
        // A name that is gone is only noted.
        | Body::NoteMessage(_)
        | Body::RequestReport(_)
        | Body::EndReport(_)
        | Body::ReadReports(_)
        | Body::Handoff(_)
        | Body::TurnPromise(_)
        | Body::EndFact(_)
        | Body::FindTies(_) => Ok(()),
    }
}

/// The names a policy declares.
pub(super) struct Names<'a>(pub(super) &'a Policy);

impl Names<'_> {
    fn purpose(&self, id: PurposeId) -> Result<(), Reply> {
        declared(self.0.purpose_rules(id), Member::Purpose)
    }

    /// What an entry of the suppression list is for, and where.
    pub(super) fn of_suppression(
        &self,
        purpose: PurposeId,
        channel: Option<ChannelId>,
    ) -> Result<(), Reply> {
        if purpose != PurposeId::ANY {
            self.purpose(purpose)?;
        }
        self.channel(channel)
    }

    fn channel(&self, id: Option<ChannelId>) -> Result<(), Reply> {
        id.map_or(Ok(()), |id| {
            declared(self.0.channel_rules(id), Member::Channel)
        })
    }

    fn gateway(&self, id: Option<GatewayId>) -> Result<(), Reply> {
        id.map_or(Ok(()), |id| {
            declared(self.0.gateway_rules(id), Member::GatewayId)
        })
    }

    fn level(&self, name: Option<&str>) -> Result<(), Reply> {
        declared(self.0.level(name), Member::Level)
    }

    fn reason(&self, id: ReasonId) -> Result<(), Reply> {
        declared(self.0.reason_rules(id), Member::Reason)
    }
}

fn declared<T>(found: Option<T>, member: Member) -> Result<(), Reply> {
    match found {
        Some(_) => Ok(()),
        None => Err(Reply::Undeclared(member)),
    }
}
