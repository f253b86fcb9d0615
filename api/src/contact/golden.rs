//! What a stored outcome reads like when it is given again: golden bodies, one file for each format.
//!
//! A repeat is rendered from what its receipt stores, so the bytes on disk and the bytes a client
//! reads hang together: a change of either shows here. A file never changes once its format was
//! released; a new format gets a new one.

use interlock_domain::contact::admission::AdmissionState;
use interlock_domain::contact::claim::{ClaimKind, ClaimVia};
use interlock_domain::contact::command::{Direction, EffectKind};
use interlock_domain::contact::erasure::Erased;
use interlock_domain::contact::fixture::policy;
use interlock_domain::contact::handoff::{EffectSeen, Handoff, HandoffStatus, Package};
use interlock_domain::contact::legal_hold::{HoldTarget, LegalHold};
use interlock_domain::contact::name::{PurposeId, SourceId};
use interlock_domain::contact::promise::Promise;
use interlock_domain::contact::reason::{Reason, Refusal, Verdict};
use interlock_domain::contact::receipt::{HandoffRef, Receipt, Stored};
use interlock_domain::contact::reply::{
    AdmissionReply, BudgetView, ChannelView, CheckReply, ClaimReply, ClaimedRef, CommitmentView,
    EffectReply, EffectState, EffectView, EffectViewState, ErasedReply, HeldReply, LockView,
    OwnerView, Reply,
};
use interlock_domain::contact::text::Text;
use interlock_domain::contact::ties::Untied;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;

use crate::contact::handoffs::{self, Texts};
use crate::contact::{
    admissions, claims, declare, effects, facts, forget, legal_holds, refused, show,
};
use crate::limits::ApiLimits;

const FORMAT_1: &str = include_str!("golden/format_1.txt");

const ID: Id = Id([
    0x01, 0x9c, 0xd5, 0x04, 0xe0, 0x00, 0x70, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 7,
]);
const AT: Timestamp = Timestamp(1_773_144_000_000);

fn check() -> CheckReply {
    CheckReply {
        verdict: Verdict::HandoffTo,
        direction: Direction::Inbound,
        decision_id: ID,
        decided_at: AT,
        valid_for_s: 60,
        reasons: [Reason::OwnerActive].into_iter().collect(),
        owner: Some(OwnerView {
            holder: Text::from("specialist"),
            kind: ClaimKind::Case,
            level: Text::from("human_active"),
            source: Text::from("panel"),
            via: ClaimVia::Worker,
            since: AT,
            valid_until: AT.plus_s(600),
            epoch: 7,
        }),
        locks: vec![LockView {
            holder: Text::from("drafter"),
            task: Text::from("petition"),
            until: AT.plus_ms(1),
        }],
        effect: Some(EffectView {
            state: EffectViewState::Done,
            attempt: 2,
        }),
        channel: Some(ChannelView {
            free_form_until: Some(AT.plus_s(3_600)),
            template_required: true,
            quiet_until: Some(AT),
        }),
        budgets: [BudgetView {
            purpose: PurposeId::of("retention"),
            remaining: 0,
            next_allowed_at: Some(AT.plus_s(86_400)),
        }]
        .into_iter()
        .collect(),
        suppressions: [PurposeId::ANY, PurposeId::of("gone")]
            .into_iter()
            .collect(),
        contact_window_until: Some(AT),
        commitments: vec![CommitmentView {
            id: Text::from("offer 1"),
            kind: Text::from("offer"),
            valid_until: None,
        }],
        sign: false,
        signer: 3,
        names: vec![(PurposeId::of("gone"), Text::from("gone"))],
        promises: vec![promise()],
    }
}

fn promise() -> Promise {
    Promise {
        id: Text::from("call 1"),
        owner: Text::from("claims desk"),
        due: Some(AT.plus_s(7_200)),
    }
}

/// What a receipt of a handoff does not keep: the handoff, and its texts opened.
fn handed_over() -> (Handoff, Texts<'static>) {
    let handoff = Handoff {
        customer: KeyHash([1; 16]),
        target: Text::from("human_desk"),
        created_at: AT,
        expected_by: AT.plus_s(86_400),
        state: HandoffStatus::Closed,
        turned_at: AT.plus_s(60),
        outcome: Some(Text::from("resolved")),
        sealed: Vec::new(),
        destination: Box::default(),
        package: Package {
            owner: check().owner,
            commitments: check().commitments,
            promises: vec![promise()],
            suppressions: vec![Text::from("any")],
            effects: vec![EffectSeen {
                id: [5; 32],
                kind: EffectKind::Filing,
                state: EffectState::UnknownOutcome,
            }],
            vocabulary: vec![Text::from("resolved"), Text::from("callback")],
        },
        conversation: None,
        holds: Vec::new(),
    };
    let texts = serde_json::json!({
        "subject": {"type": "email", "value": "ana@example.com", "kind": "person"},
        "from_agent": "closing", "level": "V2", "reason": "asked for a person",
    });
    let texts = serde_json::from_value(texts).expect("texts");
    (handoff, texts)
}

/// One outcome of each kind, by name.
fn outcomes() -> Vec<(&'static str, Stored)> {
    let effect = |created, state, done_at| {
        let reply = EffectReply {
            created,
            state,
            attempt: 2,
            reserved_at: AT,
            done_at,
        };
        Stored::Effect(reply.into())
    };
    let mut all = vec![
        ("check", Stored::Check(Box::new(check()))),
        ("reserved", effect(true, EffectState::Reserved, None)),
        ("done", effect(false, EffectState::Done, Some(AT.plus_s(1)))),
        ("turned_down", Stored::Declared { accepted: false }),
        ("taken", Stored::Declared { accepted: true }),
        ("refused", Stored::Refused(Refusal::StaleEpoch)),
        ("contact", Stored::Contact(ID)),
        ("claimed", Stored::Claimed(ClaimedRef { id: ID, epoch: 7 })),
        (
            "claim",
            Stored::Claim(Box::new(ClaimReply {
                claim_id: ID,
                epoch: 7,
                holder: Text::from("joão \"j\""),
                kind: ClaimKind::TaskLock,
                level: Text::from("agent_active"),
                valid_until: AT.plus_s(600),
            })),
        ),
        (
            "held",
            Stored::Held(Box::new(HeldReply {
                refusal: Refusal::LeaseHeld,
                holder: Text::from("specialist"),
                until: AT.plus_s(600),
            })),
        ),
    ];
    all.extend(later_outcomes());
    all
}

/// The outcomes that are numbered after a declaration's.
fn later_outcomes() -> Vec<(&'static str, Stored)> {
    vec![
        (
            "erased",
            Stored::Erased(Box::new(ErasedReply {
                request_id: ID,
                customer: KeyHash([0xcd; 16]),
                erased: Erased {
                    at: AT,
                    contacts: 3,
                    claims: 1,
                    commitments: 2,
                    messages: 0,
                    tokens: 4,
                    terms: 2,
                    suppressions_kept: 1,
                    handoffs: 1,
                    promises: 2,
                    paid_units: 5,
                    effects: 6,
                },
            })),
        ),
        (
            "hold",
            Stored::Hold(Box::new(LegalHold {
                id: ID,
                target: HoldTarget::Customer(KeyHash([0xcd; 16])),
                since: AT,
                released_at: Some(AT.plus_s(60)),
            })),
        ),
        (
            "admission",
            Stored::Admission(Box::new(AdmissionReply {
                admission_id: ID,
                operation: Text::from("registry_search"),
                state: AdmissionState::Done { cost: 3 },
                units: 3,
                expires_at: AT.plus_s(60),
                remaining: Some(7),
            })),
        ),
        ("exhausted", Stored::Exhausted(AT.plus_s(600))),
        (
            "handoff",
            Stored::Handoff(Box::new(HandoffRef {
                id: ID,
                status: HandoffStatus::Closed,
                outcome: Some(Text::from("resolved")),
            })),
        ),
        (
            "fact_ended",
            Stored::FactEnded(Untied { freed: 3, kept: 5 }),
        ),
    ]
}

/// A reply as its route answers it: status and body.
fn rendered(reply: &Reply) -> (u16, Vec<u8>) {
    let mut body = Vec::new();
    let status = match reply {
        Reply::Check(check) => {
            show::check(check, &policy(), None).write(&mut body);
            200
        }
        Reply::Effect(effect) => {
            effects::written([5; 32], effect).write(&mut body);
            if effect.created { 201 } else { 200 }
        }
        Reply::Declared(declared) => {
            declare::written(declared).write(&mut body);
            200
        }
        Reply::Claim(claim) => {
            claims::written(claim).write(&mut body);
            201
        }
        Reply::Handoff(shown) => {
            let (handoff, texts) = handed_over();
            handoffs::written(&mut body, shown, &handoff, &texts).expect("the contract's words");
            200
        }
        Reply::Admission(admission) => {
            admissions::written(admission).write(&mut body);
            201
        }
        Reply::Held(_) | Reply::Exhausted { .. } | Reply::Refused(_) => {
            let failure = refused::reply(reply, &ApiLimits::default());
            failure.problem("0").write(&mut body);
            failure.code.status()
        }
        Reply::Erased(erased) => {
            body = forget::written(erased);
            200
        }
        Reply::FactEnded(untied) => {
            facts::written(*untied).write(&mut body);
            200
        }
        Reply::Hold(hold) => {
            legal_holds::written(hold).write(&mut body);
            201
        }
        Reply::Observed
        | Reply::ObservedAgain
        | Reply::RunAsked(_)
        | Reply::RunEnded
        | Reply::Runs(_)
        | Reply::Found(_)
        | Reply::HoldFound(_)
        | Reply::FoundAdmission { .. }
        | Reply::ClockSuspect
        | Reply::Moved
        | Reply::Advice(_)
        | Reply::Shown(_)
        | Reply::Feed(_)
        | Reply::Conflict
        | Reply::NotFound
        | Reply::Capacity
        | Reply::TooManyKeys
        | Reply::Undeclared(_)
        | Reply::Past(_)
        | Reply::Effects(_)
        | Reply::Ties(_)
        | Reply::EffectSeen(_) => panic!("{reply:?} has no body of its own"),
    };
    (status, body)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("hexadecimal digits")
    };
    digits.map(byte).collect()
}

/// What this build writes is what the newest file has.
#[test]
fn this_build_stores_and_renders_format_1() {
    let mut lines = String::new();
    for (name, stored) in outcomes() {
        let receipt = Receipt {
            fingerprint: [0xcd; 16],
            until: AT,
            source: SourceId(3),
            stored,
        };
        let bytes = postcard::to_allocvec(&receipt).expect("a receipt encodes");
        let (status, body) = rendered(&receipt.stored.reply());
        let body = String::from_utf8(body).expect("UTF-8");
        lines.push_str(&format!("{name} {} {status} {body}\n", hex(&bytes)));
    }
    assert_eq!(lines, FORMAT_1, "what this build writes:\n{lines}");
}

/// What any released format stored is read and rendered as it was then.
#[test]
fn every_format_is_rendered_as_ever() {
    for file in [FORMAT_1] {
        assert!(file.lines().count() > 1, "a golden file has outcomes");
        for line in file.lines() {
            let mut parts = line.splitn(4, ' ');
            let mut part = || parts.next().expect("name, bytes, status and body");
            let (name, bytes, status, body) = (part(), part(), part(), part());
            let receipt: Receipt = postcard::from_bytes(&unhex(bytes)).expect("a receipt decodes");
            let found = rendered(&receipt.stored.reply());
            assert_eq!(found.0.to_string(), status, "{name}");
            assert_eq!(String::from_utf8_lossy(&found.1), body, "{name}");
        }
    }
}
