//! A handoff as a client reads it.
//!
//! Here: the package. What it shows is the handoff's own and never changes, so every answer about a
//! handoff shows the same. Not here: what was known (`domain`).

use interlock_domain::contact::command::EffectKind;
use interlock_domain::contact::handoff::{EffectSeen, Handoff};
use interlock_domain::contact::reply::{EffectState, HandoffReply};
use interlock_wire::contact::check::EffectKind as WireKind;
use interlock_wire::contact::effects::EffectState as WireState;
use interlock_wire::contact::handoffs as wire;

use crate::contact::handoffs::texts::Texts;
use crate::contact::show;
use crate::signing;

/// What the receiving side has to know, in words. A coordinator keeps no conversation and nothing of
/// a customer that a side of the level `V0` may not read, so the words are the same for all.
const CONTEXT: &str = "This package comes from a coordinator, which keeps no conversation. It lists who \
    had the customer, what was offered and still holds, what the company owes, which purposes the \
    customer is suppressed for, and the effects its last checks reserved.";

/// Writes it; `None` when a sealed word is none of the contract's.
pub(crate) fn written(
    out: &mut Vec<u8>,
    shown: &HandoffReply,
    handoff: &Handoff,
    texts: &Texts<'_>,
) -> Option<()> {
    let id = signing::hyphenated(&shown.id.0);
    let known = wire::Handoff {
        handoff_id: &id,
        status: shown.status.slug(),
        created_at: handoff.created_at.0,
        expected_by: Some(handoff.expected_by.0),
        outcome: shown.outcome.as_deref(),
        package: Some(package(&id, handoff, texts)?),
    };
    known.write(out);
    Some(())
}

fn package<'a>(
    id: &'a str,
    handoff: &'a Handoff,
    texts: &'a Texts<'_>,
) -> Option<wire::HandoffPackage<'a>> {
    let package = &handoff.package;
    Some(wire::HandoffPackage {
        spec: wire::PackageSpec::V0,
        handoff_id: id,
        created_at: handoff.created_at.0,
        from_agent: &texts.from_agent,
        target: &handoff.target,
        level: texts.level()?,
        reason: texts.reason.as_deref(),
        subject: Some(texts.handle()?),
        context: wire::HandoffContext {
            text: CONTEXT,
            etag: None,
            policy_version: None,
        },
        owner: package.owner.as_ref().map(show::owner),
        open_objects: Vec::new(),
        open_objects_more: 0,
        commitments_active: show::commitments(&package.commitments),
        promises_open: show::promises(&package.promises),
        effects: package.effects.iter().map(effect).collect(),
        suppressions: package.suppressions.iter().map(|name| &**name).collect(),
        outcome: Some(wire::OutcomeRequest {
            expected_by: Some(handoff.expected_by.0),
            vocabulary: package.vocabulary.iter().map(|word| &**word).collect(),
        }),
    })
}

const fn effect(seen: &EffectSeen) -> wire::EffectSeen {
    wire::EffectSeen {
        effect_id: seen.id,
        kind: match seen.kind {
            EffectKind::Delivery => WireKind::Delivery,
            EffectKind::Document => WireKind::Document,
            EffectKind::Notice => WireKind::Notice,
            EffectKind::Filing => WireKind::Filing,
            EffectKind::PaidCall => WireKind::PaidCall,
            EffectKind::ExternalAction => WireKind::ExternalAction,
        },
        state: match seen.state {
            EffectState::Reserved => WireState::Reserved,
            EffectState::Done => WireState::Done,
            EffectState::Failed => WireState::Failed,
            EffectState::UnknownOutcome => WireState::UnknownOutcome,
        },
    }
}
