//! Request bodies: what is taken, what is refused, and what a refusal says.

use interlock_wire::contact::check::{CheckBatchRequest, CheckRequest, Direction, EffectKind};
use interlock_wire::contact::declare::{
    ContactMadeDetail, DeclareRequest, EffectDetail, SuppressionAddedDetail,
};
use interlock_wire::contact::effects::{EffectReserve, EffectSettle};
use interlock_wire::read::{Read, Refusal, body};
use interlock_wire::value::Attempt;
use proptest::prelude::*;

const CHECK: &str = r#"{"agent":"closing","intent":"follow_up","direction":"outbound",
    "purpose":"service","channel":"whatsapp","subject":{"type":"phone_e164","value":"+5511987654321"}}"#;

fn sentence<'a, T: Read<'a> + std::fmt::Debug>(json: &'a str) -> String {
    match body::<T>(json.as_bytes()) {
        Err(Refusal::Contract(sentence)) => sentence,
        other => panic!("expected a refusal by contract, got {other:?}"),
    }
}

#[test]
fn a_check_is_read_without_copies() {
    let check: CheckRequest<'_> = body(CHECK.as_bytes()).unwrap();
    assert_eq!(&*check.agent, "closing");
    assert_eq!(check.direction, Direction::Outbound);
    assert_eq!(check.effect_kind, EffectKind::Delivery);
    assert!(matches!(
        check.subject.unwrap().value.0,
        std::borrow::Cow::Borrowed(_)
    ));
}

/// A large batch has room for its checks from the start; a small body is not given that room.
#[test]
fn a_list_has_room_for_what_its_body_can_hold() {
    let effect = r#""outbound","effect_key":"order-17-confirmation","task":"confirm""#;
    let check = CHECK.replace(r#""outbound""#, effect);
    let batch = |checks: usize| {
        let checks = vec![&*check; checks].join(",");
        format!(r#"{{"checks":[{checks}]}}"#)
    };
    let large = batch(500);
    let read: CheckBatchRequest<'_> = body(large.as_bytes()).unwrap();
    assert_eq!((read.checks.0.len(), read.checks.0.capacity()), (500, 500));
    let small = batch(1);
    let read: CheckBatchRequest<'_> = body(small.as_bytes()).unwrap();
    assert!(read.checks.0.capacity() <= 4);
}

#[test]
fn an_optional_member_may_be_null_and_a_required_one_not() {
    let check = CHECK.replace(r#""whatsapp""#, "null");
    let check: CheckRequest<'_> = body(check.as_bytes()).unwrap();
    assert_eq!(check.channel, None);
    let check = CHECK.replace(r#""closing""#, "null");
    assert_eq!(
        sentence::<CheckRequest<'_>>(&check),
        "`agent` must be a text of 1 to 256 characters"
    );
}

#[test]
fn a_refusal_names_the_member_and_the_rule() {
    let cases = [
        (
            "\"closing\"",
            "\"\"",
            "`agent` must be a text of 1 to 256 characters",
        ),
        (
            "\"follow_up\"",
            "\"Follow-Up\"",
            "`intent` must be a name: 1 to 40 lower-case letters, digits or underscores, a letter first",
        ),
        (
            "\"outbound\"",
            "7",
            "`direction` must be one of `inbound`, `outbound`",
        ),
        (
            "\"+5511987654321\"",
            "[]",
            "`subject.value` must be a text of 1 to 320 characters",
        ),
        (
            "\"channel\"",
            "\"chanel\"",
            "the body has a member the contract does not list; send only `agent`, `intent`, \
             `direction`, `purpose`, `subject`, `object`, `task`, `channel`, `effect_key`, \
             `effect_kind`, `gateway_id`, `destination_hash`",
        ),
        (
            "\"value\"",
            "\"valeu\"",
            "`subject` has a member the contract does not list; send only `type`, `value`, \
             `scope`, `subject_kind`",
        ),
        (
            "\"channel\":\"whatsapp\"",
            "\"agent\":\"x\"",
            "`agent` appears twice; send it once",
        ),
        (
            "\"purpose\":\"service\",",
            "",
            "`purpose` is missing; it must be a name: 1 to 40 lower-case letters, digits or \
             underscores, a letter first",
        ),
        (
            "\"channel\":\"whatsapp\"",
            "\"object\":5",
            "`object` must be an object",
        ),
    ];
    for (from, to, expected) in cases {
        let json = CHECK.replace(from, to);
        assert_eq!(sentence::<CheckRequest<'_>>(&json), expected);
    }
}

#[test]
fn a_batch_names_the_item() {
    let json = format!(
        "{{\"checks\":[{CHECK},{}]}}",
        CHECK.replace("\"service\"", "\"\"")
    );
    let said = sentence::<CheckBatchRequest<'_>>(&json);
    assert!(said.starts_with("`checks[1].purpose` must be"), "{said}");
}

#[test]
fn d16_a_batch_has_1_to_500_checks() {
    for (count, fits) in [(0, false), (1, true), (500, true), (501, false)] {
        let json = format!("{{\"checks\":[{}]}}", vec![CHECK; count].join(","));
        let read = body::<CheckBatchRequest<'_>>(json.as_bytes());
        assert_eq!(read.is_ok(), fits, "{count}");
        if !fits {
            let said = sentence::<CheckBatchRequest<'_>>(&json);
            assert_eq!(said, "`checks` must have 1 to 500 items");
        }
    }
}

#[test]
fn w11_lengths_count_characters() {
    for (length, fits) in [(512, true), (513, false)] {
        let key = "é".repeat(length);
        let json = format!("{{\"effect_key\":\"{key}\",\"kind\":\"delivery\"}}");
        assert_eq!(body::<EffectReserve<'_>>(json.as_bytes()).is_ok(), fits);
    }
}

#[test]
fn what_is_not_json_is_told_apart_from_what_breaks_the_contract() {
    let depth = "[".repeat(100_000);
    let bomb = format!("{{\"kind\":\"effect\",\"agent\":\"a\",\"detail\":{depth}");
    let cases: &[&[u8]] = &[
        b"",
        b"{",
        b"nope",
        b"{\"agent\":\"\xff\"}",
        b"{} {}",
        depth.as_bytes(),
        bomb.as_bytes(),
    ];
    for case in cases {
        let read = body::<DeclareRequest<'_>>(case);
        assert_eq!(read, Err(Refusal::NotJson), "{:?}", case.get(..40));
    }
    let closed = format!("{{\"agent\":{depth}{}}}", "]".repeat(100_000));
    for json in [
        closed.as_str(),
        "{\"agent\":\"\\ud800\"}",
        "{\"agent\":1e999}",
    ] {
        assert_eq!(
            sentence::<DeclareRequest<'_>>(json),
            "`agent` must be a text of 1 to 256 characters"
        );
    }
    assert_eq!(
        sentence::<CheckRequest<'_>>("[]"),
        "the body must be an object"
    );
    assert_eq!(
        sentence::<CheckRequest<'_>>("null"),
        "the body must be an object"
    );
}

#[test]
fn whole_numbers_may_be_written_in_any_way_json_has() {
    let settle = |attempt: &str| {
        let json = format!("{{\"attempt\":{attempt},\"state\":\"done\"}}");
        body::<EffectSettle>(json.as_bytes()).map(|settle| settle.attempt)
    };
    assert_eq!(settle("1"), Ok(Attempt(1)));
    assert_eq!(settle("2.0"), Ok(Attempt(2)));
    assert_eq!(settle("1e3"), Ok(Attempt(1_000)));
    assert_eq!(settle("99999999999999999999999"), Ok(Attempt(u32::MAX)));
    for wrong in ["0", "-1", "1.5", "\"1\"", "true", "null", "[]"] {
        assert!(settle(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_detail_is_read_by_its_kind() {
    let json = r#"{"detail":{"channel":"whatsapp","purpose":"service","unchecked":true},
        "kind":"contact.made","agent":"closing"}"#;
    let declared: DeclareRequest<'_> = body(json.as_bytes()).unwrap();
    let text = declared.detail.0.get();
    let read = |text| interlock_wire::read::text_at::<ContactMadeDetail<'_>>(text, Some("detail"));
    assert!(read(text).unwrap().unchecked);
    assert_eq!(
        interlock_wire::read::text_at::<EffectDetail<'_>>(text, Some("detail")),
        Err(Refusal::Contract(
            "`detail` has a member the contract does not list; send only `effect_key`, `attempt`, \
             `state`"
                .to_owned()
        ))
    );
}

#[test]
fn a_window_has_times_of_day() {
    let json = r#"{"purpose":"any","reason":"opt_out","until":"2026-11-29T19:00:00-03:00",
        "window":{"from":"21:00","to":"08:00","tz":"America/Sao_Paulo","days":[1,7]}}"#;
    let added: SuppressionAddedDetail<'_> = body(json.as_bytes()).unwrap();
    assert_eq!(&*added.window.unwrap().from, "21:00");
    for (from, to) in [
        ("21:00", "24:00"),
        ("08:00", "8:00"),
        ("7]", "8]"),
        (",7]", ".5]"),
    ] {
        let json = json.replace(from, to);
        let said = sentence::<SuppressionAddedDetail<'_>>(&json);
        assert!(said.starts_with("`window."), "{said}");
    }
}

#[test]
fn one_request_has_one_canonical_form() {
    let spelled = CHECK
        .replace("\"closing\"", "\"\\u0063losing\"")
        .replace('\n', " ");
    let reordered = format!(
        "{{\"effect_kind\":\"delivery\",\"task\":null,{}",
        spelled.trim_start_matches('{')
    );
    let one: CheckRequest<'_> = body(CHECK.as_bytes()).unwrap();
    let other: CheckRequest<'_> = body(reordered.as_bytes()).unwrap();
    assert_eq!(
        serde_json::to_string(&one).unwrap(),
        serde_json::to_string(&other).unwrap()
    );
}

proptest! {
    /// W13: whatever is sent in place of a value, the refusal does not repeat it.
    #[test]
    fn w13_a_refusal_never_repeats_what_was_sent(secret in "[A-Z]{12}", at in 0_usize..7) {
        let members = ["closing", "follow_up", "outbound", "whatsapp", "phone_e164", "channel", "value"];
        let json = CHECK.replace(&format!("\"{}\"", members[at]), &format!("\"{secret}\""));
        let json = if members[at] == "closing" {
            json.replace(&format!("\"{secret}\""), &format!("{{\"{secret}\":1}}"))
        } else {
            json
        };
        let said = sentence::<CheckRequest<'_>>(&json);
        prop_assert!(!said.contains(&secret), "{}", said);
    }

    #[test]
    fn no_body_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _read = body::<CheckBatchRequest<'_>>(&bytes);
        let _read = body::<DeclareRequest<'_>>(&bytes);
    }
}
