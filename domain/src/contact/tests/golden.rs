//! What is stored, byte for byte. A change here is a change of format: old records are decoded for
//! ever, so variants and fields are only ever added behind what is there.

mod facts;
mod paid;

use std::fmt::Write;

use serde::Serialize;
use smallvec::smallvec;

use super::{claim_of, lock_of};
use crate::contact::Contact;
use crate::contact::admission::AdmissionState;
use crate::contact::claim::{Claim, ClaimKind};
use crate::contact::command::{Direction, EffectKind, Route, Settlement};
use crate::contact::commitment::{Commitment, CommitmentState, Score};
use crate::contact::directory::{DirectoryRow, Target};
use crate::contact::erasure::Erased;
use crate::contact::event::{
    ClaimReleased, CommitmentTurned, ContactCounted, ContactMade, CustomerErased, EffectReserved,
    EffectSettled, Event, HandoffHeld, HandoffTurned, HoldMarked, HoldReleased, MessageSeen,
    PromiseTurned, RunEnded, RunRequested, SuppressionLifted, TokenSeen,
};
use crate::contact::feed::Feed;
use crate::contact::handoff::{EffectSeen, Handoff, HandoffStatus, Package};
use crate::contact::legal_hold::{HoldTarget, LegalHold};
use crate::contact::name::{AgentId, ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::note::{Fact, Mark, MessageNoted, Note, Noted};
use crate::contact::promise::{Promise, PromiseState};
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::receipt::{HandoffRef, Receipt, Stored, StoredEffect};
use crate::contact::reply::{
    AdmissionReply, ClaimReply, ClaimedRef, CommitmentView, EffectReply, EffectState, HeldReply,
};
use crate::contact::suppression::Suppression;
use crate::contact::text::Text;
use crate::contact::window::Window;
use crate::ids::Id;
use crate::key::{KeyHash, Kind};
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
    let mut events = vec![
        Event::EffectReserved(EffectReserved {
            kind: EffectKind::ExternalAction,
            attempt: 2,
            source: SourceId(3),
            at,
            lease_until: Timestamp(2),
            tied: true,
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
            effect: Some([0xee; 32]),
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
            number: 9,
            lifted: Some(at),
            purpose_name: Text::from("any"),
            channel_name: Some(Text::from("sms")),
            destination: Box::from([0xef; 2]),
        })),
        Event::SuppressionLifted(SuppressionLifted {
            entry: id,
            at,
            number: 9,
        }),
        Event::MessageSeen(MessageSeen {
            channel: ChannelId(6),
            occurred_at: at,
            keep_hours: 24,
        }),
    ];
    events.extend(outcomes());
    events.extend(ownership());
    events.extend(privacy());
    events.extend(runs());
    events.extend(paid::events());
    events.extend(handoffs());
    events.extend(facts::events());
    events
}

/// Handoffs and promises.
fn handoffs() -> Vec<Event> {
    let at = Timestamp(1);
    let promise = Promise {
        id: Text::from("p"),
        owner: Text::from("o"),
        due: Some(at),
    };
    let package = Package {
        owner: Some(golden_claim().view()),
        commitments: vec![CommitmentView {
            id: Text::from("a"),
            kind: Text::from("offer"),
            valid_until: None,
        }],
        promises: vec![promise.clone()],
        suppressions: vec![Text::from("any")],
        effects: vec![EffectSeen {
            id: [0xee; 32],
            kind: EffectKind::Filing,
            state: EffectState::Done,
        }],
        vocabulary: vec![Text::from("done")],
    };
    vec![
        Event::HandoffCreated(Box::new(Handoff {
            customer: KeyHash([0xcd; 16]),
            target: Text::from("t"),
            created_at: at,
            expected_by: Timestamp(2),
            state: HandoffStatus::Created,
            turned_at: at,
            outcome: None,
            sealed: vec![9],
            destination: Box::from([8]),
            package,
            conversation: None,
            holds: Vec::new(),
        })),
        Event::HandoffTurned(Box::new(HandoffTurned {
            state: HandoffStatus::Closed,
            outcome: Some(Text::from("done")),
            at,
        })),
        Event::PromiseTurned(Box::new(PromiseTurned {
            promise,
            state: PromiseState::Withdrawn,
            at,
        })),
        Event::HandoffErased(CustomerErased { at }),
        Event::HandoffHeld(HandoffHeld {
            hold: Id([0xab; 16]),
            placed: true,
            at,
        }),
    ]
}

/// Claims, locks, rows and offers.
fn ownership() -> Vec<Event> {
    let (id, at) = (Id([0xab; 16]), Timestamp(1));
    vec![
        Event::ClaimAccepted(Box::new(golden_claim())),
        Event::LockTaken(Box::new(lock_of("h", "t", 7))),
        Event::ClaimReleased(ClaimReleased { id, at }),
        Event::RowWritten(Box::new(DirectoryRow {
            target: Target::Object(KeyHash([0xcd; 16])),
            until: at,
            terms: None,
            erased: None,
            admission: None,
        })),
        Event::CommitmentMade(Box::new(Commitment {
            id: Text::from("a"),
            kind: Text::from("offer"),
            score: Some(Score(3)),
            until: None,
            state: CommitmentState::Made,
            turned_at: at,
        })),
        Event::CommitmentTurned(Box::new(CommitmentTurned {
            id: Text::from("a"),
            state: CommitmentState::Declined,
            at,
        })),
        Event::FeedMoved(Feed { last: 9 }),
    ]
}

/// Erasures and legal holds.
fn privacy() -> Vec<Event> {
    let (id, at) = (Id([0xab; 16]), Timestamp(1));
    let hold = LegalHold {
        id,
        target: HoldTarget::Conversation(KeyHash([0xcd; 16])),
        since: at,
        released_at: None,
    };
    let erased = Erased {
        at,
        contacts: 3,
        claims: 4,
        commitments: 5,
        messages: 6,
        tokens: 7,
        terms: 8,
        suppressions_kept: 9,
        handoffs: 10,
        promises: 11,
        paid_units: 12,
        effects: 13,
    };
    vec![
        Event::CustomerErased(CustomerErased { at }),
        Event::HoldMarked(HoldMarked { placed: true, at }),
        Event::HoldPlaced(Box::new(hold)),
        Event::HoldReleased(HoldReleased { id, at }),
        Event::RowWritten(Box::new(DirectoryRow {
            target: Target::Customer(KeyHash([0xcd; 16])),
            until: at,
            terms: None,
            erased: Some(Box::new(erased)),
            admission: None,
        })),
    ]
}

/// Shadow runs.
fn runs() -> Vec<Event> {
    let (id, at) = (Id([0xab; 16]), Timestamp(1));
    vec![
        Event::RunRequested(RunRequested { id, days: 30, at }),
        Event::RunEnded(Box::new(RunEnded {
            id,
            at,
            summary: Some(vec![7]),
        })),
    ]
}

/// One receipt of each kind of outcome but a check's.
fn outcomes() -> Vec<Event> {
    let (id, at) = (Id([0xab; 16]), Timestamp(1));
    let receipt = |stored| {
        Event::ReceiptKept(Box::new(Receipt {
            fingerprint: [0xcd; 16],
            until: at,
            source: SourceId(3),
            stored,
        }))
    };
    vec![
        receipt(Stored::Effect(StoredEffect::from(EffectReply {
            created: true,
            state: EffectState::UnknownOutcome,
            attempt: 1,
            reserved_at: at,
            done_at: None,
        }))),
        receipt(Stored::Declared { accepted: true }),
        receipt(Stored::Observed),
        receipt(Stored::Refused(Refusal::InvalidTransition)),
        receipt(Stored::Contact(id)),
        receipt(Stored::Claimed(ClaimedRef { id, epoch: 7 })),
        receipt(Stored::Claim(Box::new(ClaimReply {
            claim_id: id,
            epoch: 7,
            holder: Text::from("h"),
            kind: ClaimKind::TaskLock,
            level: Text::from("l"),
            valid_until: at,
        }))),
        receipt(Stored::Held(Box::new(HeldReply {
            refusal: Refusal::TaskLocked,
            holder: Text::from("h"),
            until: at,
        }))),
        receipt(Stored::Hold(Box::new(LegalHold {
            id,
            target: HoldTarget::Object(KeyHash([0xcd; 16])),
            since: at,
            released_at: Some(at),
        }))),
        receipt(Stored::Admission(Box::new(AdmissionReply {
            admission_id: id,
            operation: Text::from("search"),
            state: AdmissionState::Failed,
            units: 4,
            expires_at: at,
            remaining: Some(2),
        }))),
        receipt(Stored::Exhausted(at)),
        receipt(Stored::Handoff(Box::new(HandoffRef {
            id,
            status: HandoffStatus::Closed,
            outcome: Some(Text::from("done")),
        }))),
    ]
}

const CLAIM: &str = "010101010101010101010101010101010001610c6167656e745f616374697665\
                     04066167656e7473000204060100080a";
const LOCK: &str = "0707070707070707070707070707070701680174066167656e74738098f2f99a\
                    6780d2a9fd9a67070c6167656e745f6163746976658098f2f99a678098f2f99a67";
const ANY_ON_SMS: &str = "03616e790103736d73";
const EFFECT: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";
const PACKAGE: &str = "10161000c6167656e745f616374697665066167656e747300020601010161056f66\
                       66657200010170016f01020103616e7901eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\
                       eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee03010104646f6e65";
const ID: &str = "abababababababababababababababab";
const FINGERPRINT: &str = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

#[test]
fn events_keep_their_bytes() {
    let wanted = [
        "00050203020401".to_owned(),
        "0102021e".to_owned(),
        format!("02{ID}050106070218200101{EFFECT}"),
        format!("03{ID}02"),
        format!("04{ID}0201"),
        format!("05{ID}0300000802010401a80ae8020103555443090102{ANY_ON_SMS}02efef"),
        format!("06{ID}0209"),
        "07060218".to_owned(),
        format!("08{FINGERPRINT}02030102ffffffffffffffffff01010301"),
        format!("08{FINGERPRINT}02030201"),
        format!("08{FINGERPRINT}020303"),
        format!("08{FINGERPRINT}02030402"),
        format!("08{FINGERPRINT}020305{ID}"),
        format!("08{FINGERPRINT}020306{ID}07"),
        format!("08{FINGERPRINT}020307{ID}07016802016c02"),
        format!("08{FINGERPRINT}02030804016802"),
        format!("08{FINGERPRINT}02030a{ID}01{FINGERPRINT}020102"),
        format!("08{FINGERPRINT}02030b{ID}067365617263680204020102"),
        format!("08{FINGERPRINT}02030c02"),
        format!("08{FINGERPRINT}02030d{ID}020104646f6e65"),
        format!("09{CLAIM}"),
        format!("0a{LOCK}"),
        format!("0b{ID}02"),
        format!("0c01{FINGERPRINT}02000000"),
        "0d0161056f666665720106000002".to_owned(),
        "0e01610402".to_owned(),
        "1309".to_owned(),
        "0f02".to_owned(),
        "100102".to_owned(),
        format!("11{ID}02{FINGERPRINT}0200"),
        format!("12{ID}02"),
        format!("0c00{FINGERPRINT}02000102030405060708090a0b0c0d00"),
        format!("14{ID}1e02"),
        format!("15{ID}02010107"),
        format!("0c02{FINGERPRINT}0200000106736561726368020406010503"),
        "160504021809".to_owned(),
        "1705020403".to_owned(),
        "180302".to_owned(),
        "190502".to_owned(),
        format!("1a{FINGERPRINT}01740204000200010901080{PACKAGE}0000"),
        "1b020104646f6e6502".to_owned(),
        "1c0170016f01020202".to_owned(),
        "1d02".to_owned(),
        format!("1e{ID}0102"),
        format!("1f{FINGERPRINT}02"),
        "2002".to_owned(),
        format!("2101{FINGERPRINT}02"),
        format!("08{FINGERPRINT}02030e0305"),
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
        facts: smallvec![(Fact::Used, 3)],
        mark: None,
    };
    assert_eq!(hex(&note), format!("050301{ID}0003010c010500010101000600"));
    let others = [
        Noted::Accepted,
        Noted::AcceptedTokenReused,
        Noted::Refused(Refusal::StaleAttempt),
        Noted::NothingToChange,
    ];
    assert_eq!(others.map(|noted| hex(&noted)), ["01", "02", "0301", "04"]);
}

#[test]
fn marks_keep_their_bytes() {
    let message = Mark::Message(Box::new(MessageNoted {
        customer: KeyHash([0xcd; 16]),
        occurred_at: Timestamp(1),
        agent: Some(AgentId(5)),
        name: Some(Text::from("a")),
        intent: None,
        jti: Some(Id([0xab; 16])),
        template: true,
    }));
    let marks = [
        Mark::ContactReserved,
        Mark::ContactMade,
        Mark::ContactDeclared,
        Mark::OwnershipOverlap,
    ];
    assert_eq!(marks.map(|mark| hex(&mark)), ["00", "01", "02", "03"]);
    assert_eq!(
        hex(&message),
        format!("04{FINGERPRINT}0201050101610001{ID}01")
    );
}

#[test]
fn empty_entities_keep_their_bytes() {
    let kinds = [
        Kind::Effect,
        Kind::Customer,
        Kind::Object,
        Kind::Receipt,
        Kind::Directory,
        Kind::Holds,
        Kind::Feed,
        Kind::Reports,
        Kind::SpaceBudget,
        Kind::Handoff,
    ];
    let found = kinds.map(|kind| hex(&Contact::empty(kind)));
    let never = "ff".repeat(9) + "01";
    let receipt = format!("03{}{never}0003", "00".repeat(16));
    let row = format!("0400{}{never}000000", "00".repeat(16));
    let handoff = format!(
        "09{}00{never}{never}00{never}000000{}",
        "00".repeat(16),
        "00".repeat(8)
    );
    let wanted = [
        "000000000000000200",
        "010000000000000000000000",
        "020000000000",
        &receipt,
        &row,
        "050000",
        "0600",
        "070000",
        "080000",
        &handoff,
    ];
    assert_eq!(found, wanted);
}

fn golden_claim() -> Claim {
    Claim {
        since: Timestamp(1),
        accepted_at: Timestamp(2),
        until: Timestamp(3),
        observed_at: Timestamp(4),
        named_at: Timestamp(5),
        ..claim_of("a", 1)
    }
}

#[test]
fn claims_keep_their_bytes() {
    let claim = golden_claim();
    assert_eq!(hex(&claim), CLAIM);
    assert_eq!(hex(&lock_of("h", "t", 7)), LOCK);
}
