//! What is stored, byte for byte. A change here is a change of format: old records are decoded for
//! ever, so variants and fields are only ever added behind what is there.

use std::fmt::Write;

use serde::Serialize;
use smallvec::smallvec;

use super::claim_of;
use crate::contact::Contact;
use crate::contact::command::{Direction, EffectKind, Route, Settlement};
use crate::contact::event::{
    ContactCounted, ContactMade, EffectReserved, EffectSettled, Event, MessageSeen,
    SuppressionLifted, TokenSeen,
};
use crate::contact::name::{ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::note::{Note, Noted};
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::receipt::{Receipt, Stored};
use crate::contact::reply::{DeclareReply, EffectReply, EffectState};
use crate::contact::suppression::Suppression;
use crate::contact::window::Window;
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::Machine;
use crate::time::Timestamp;

fn hex(value: &impl Serialize) -> String {
    let bytes = postcard::to_allocvec(value).expect("it encodes");
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

fn events() -> Vec<Event> {
    let (id, at) = (Id([0xab; 16]), Timestamp(1));
    let receipt = |stored| {
        Event::ReceiptKept(Box::new(Receipt {
            fingerprint: [0xcd; 16],
            until: at,
            stored,
        }))
    };
    vec![
        Event::EffectReserved(EffectReserved {
            kind: EffectKind::ExternalAction,
            attempt: 2,
            source: SourceId(3),
            at,
            lease_until: Timestamp(2),
        }),
        Event::EffectSettled(EffectSettled {
            settlement: Settlement::UnknownOutcome,
            at,
            keep_days: 30,
        }),
        Event::ContactCounted(ContactCounted {
            id,
            purpose: PurposeId(5),
            channel: Some(ChannelId(6)),
            share: 7,
            at,
            keep_hours: 24,
            keep_newest: 32,
            decided: true,
        }),
        Event::ContactMade(ContactMade { id, at }),
        Event::TokenSeen(TokenSeen {
            jti: id,
            at,
            reused: true,
        }),
        Event::SuppressionAdded(Box::new(Suppression {
            entry: id,
            source: SourceId(3),
            purpose: PurposeId::ANY,
            channel: None,
            reason: ReasonId(8),
            since: at,
            until: Some(Timestamp(2)),
            window: Window::new("22:00", "06:00", "UTC", Some(&[1])).ok(),
        })),
        Event::SuppressionLifted(SuppressionLifted { entry: id, at }),
        Event::MessageSeen(MessageSeen {
            channel: ChannelId(6),
            occurred_at: at,
            keep_hours: 24,
        }),
        receipt(Stored::Effect(EffectReply {
            created: true,
            state: EffectState::UnknownOutcome,
            attempt: 1,
            reserved_at: at,
            done_at: None,
        })),
        receipt(Stored::Declared(DeclareReply {
            accepted: true,
            decision_id: Some(id),
        })),
        receipt(Stored::Observed),
        receipt(Stored::Refused(Refusal::InvalidTransition)),
    ]
}

const ID: &str = "abababababababababababababababab";
const FINGERPRINT: &str = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

#[test]
fn events_keep_their_bytes() {
    let wanted = [
        "000502030204".to_owned(),
        "0102021e".to_owned(),
        format!("02{ID}0501060702182001"),
        format!("03{ID}02"),
        format!("04{ID}0201"),
        format!("05{ID}0300000802010401a80ae8020103555443"),
        format!("06{ID}02"),
        "07060218".to_owned(),
        format!("08{FINGERPRINT}02010103010200"),
        format!("08{FINGERPRINT}02020101{ID}"),
        format!("08{FINGERPRINT}0203"),
        format!("08{FINGERPRINT}020402"),
    ];
    let found: Vec<String> = events().iter().map(hex).collect();
    assert_eq!(found, wanted);
}

#[test]
fn notes_keep_their_bytes() {
    let note = Note {
        route: Route::Batch,
        source: SourceId(3),
        decision_id: Some(Id([0xab; 16])),
        decision: Noted::Check(Verdict::HandoffTo),
        reasons: smallvec![Reason::Unavailable],
        purpose: Some(PurposeId(5)),
        channel: None,
        direction: Some(Direction::Outbound),
    };
    assert_eq!(hex(&note), format!("050301{ID}0003010c0105000101"));
    let others = [
        Noted::Accepted,
        Noted::AcceptedTokenReused,
        Noted::Refused(Refusal::StaleAttempt),
        Noted::NothingToChange,
    ];
    assert_eq!(others.map(|noted| hex(&noted)), ["01", "02", "0301", "04"]);
}

#[test]
fn empty_entities_keep_their_bytes() {
    let kinds = [Kind::Effect, Kind::Customer, Kind::Object, Kind::Receipt];
    let found = kinds.map(|kind| hex(&Contact::empty(kind)));
    let receipt = format!("03{}{}03", "00".repeat(16), "ff".repeat(9) + "01");
    let wanted = ["0000000000000002", "0100000000000000", "020000", &receipt];
    assert_eq!(found, wanted);
}

#[test]
fn claims_keep_their_bytes() {
    let mut claim = claim_of("a", 1);
    (claim.since, claim.accepted_at, claim.until) = (Timestamp(1), Timestamp(2), Timestamp(3));
    let id = "01".repeat(16);
    let texts = "01610c6167656e745f61637469766504066167656e7473";
    assert_eq!(hex(&claim), format!("{id}00{texts}000204060100"));
}
