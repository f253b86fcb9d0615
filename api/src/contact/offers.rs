//! From a declaration about a commitment to a command (`docs/spec/contact.md` §11, §17).
//!
//! Here: the id's hash, the declared type, the sealed terms. Not here: which commitment holds
//! (`domain`).

use interlock_domain::contact::command::{Body, ClaimPlace, EndCommitment, MakeCommitment};
use interlock_domain::contact::commitment::{CommitmentState, Score};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::reply::Member;
use interlock_domain::contact::text::Text;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::declare::{
    CommitmentDecidedDetail, CommitmentMadeDetail, CommitmentOutcome, CommitmentWithdrawnDetail,
};
use interlock_wire::contact::subject::Handle;
use interlock_wire::value::LongLabel;

use crate::contact::{identity, refused};
use crate::directory::Caller;
use crate::hashing::{Label, PreparedKey, key_hash};
use crate::problem::Failure;
use crate::sealing;

/// `commitment.made`.
pub(crate) fn made(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    detail: &CommitmentMadeDetail<'_>,
) -> Result<Body, Failure> {
    let subject = subject.ok_or_else(|| {
        Failure::invalid("a commitment needs the `subject` it was offered to; send it")
    })?;
    let policy = &caller.space.policy;
    if policy.compatibility(&detail.r#type).is_none() {
        return Err(refused::undeclared(Member::Type));
    }
    let secret = caller.space.secret.prepared();
    let row = row(secret, &detail.commitment_id);
    let terms = detail.terms.0.get();
    let terms = sealing::seal(secret, &row.0, terms.as_bytes()).ok_or_else(refused::broken)?;
    Ok(Body::MakeCommitment(MakeCommitment {
        customer: identity::customer(secret, subject),
        id: Text::from(&*detail.commitment_id),
        row,
        kind: Text::from(&*detail.r#type),
        score: detail.score.map(|score| score_of(score.0)),
        until: detail.valid_until.map(|until| Timestamp(until.0)),
        terms: Some(terms),
    }))
}

/// `commitment.withdrawn`.
pub(crate) fn withdrawn(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    detail: &CommitmentWithdrawnDetail<'_>,
) -> Body {
    ended(
        caller,
        subject,
        &detail.commitment_id,
        CommitmentState::Withdrawn,
    )
}

/// `commitment.decided`.
pub(crate) fn decided(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    detail: &CommitmentDecidedDetail<'_>,
) -> Body {
    let state = match detail.outcome {
        CommitmentOutcome::Accepted => CommitmentState::Accepted,
        CommitmentOutcome::Declined => CommitmentState::Declined,
    };
    ended(caller, subject, &detail.commitment_id, state)
}

fn ended(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    id: &LongLabel<'_>,
    state: CommitmentState,
) -> Body {
    let secret = caller.space.secret.prepared();
    let place = subject.map_or(ClaimPlace::ToFind, |handle| {
        ClaimPlace::At(Target::Customer(identity::customer(secret, handle)))
    });
    Body::EndCommitment(EndCommitment {
        place,
        id: Text::from(&**id),
        row: row(secret, id),
        state,
    })
}

/// The name of an offer's row.
pub(crate) fn row(secret: &PreparedKey, id: &str) -> KeyHash {
    key_hash(&secret.labelled(Label::Commitment, &[id.as_bytes()]))
}

/// A whole number in the order of the scores: the bits of a float compare like a whole number once
/// those of negative ones are turned round.
fn score_of(score: f64) -> Score {
    // Zero has two spellings.
    let bits = (score + 0.0).to_bits().cast_signed();
    Score(if bits < 0 { bits ^ i64::MAX } else { bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_keep_their_order() {
        let scores = [
            f64::MIN,
            -2.5,
            -1.0,
            -f64::MIN_POSITIVE,
            0.0,
            1e-300,
            1.0,
            2.0,
            f64::MAX,
        ];
        for pair in scores.windows(2) {
            assert!(score_of(pair[0]) < score_of(pair[1]), "{pair:?}");
        }
        assert_eq!(score_of(-0.0), score_of(0.0));
    }
}
