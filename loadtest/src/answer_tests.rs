//! Answers a server might send, right and wrong.

use super::*;

fn id(index: usize) -> String {
    format!("0192f5a0-0000-7000-8000-{index:012x}")
}

fn allowed(index: usize) -> String {
    format!(
        r#"{{"decision_id":"{}","decision":"allow","reasons":["template_required"],"owner":null,
        "channel":{{"template_required":true}},"contact_budget":{{"service":{{"remaining":1}}}},
        "locks":[],"effect":{{"state":"none","attempt":1}},"valid_for_s":60}}"#,
        id(index)
    )
}

fn denied(index: usize, reason: &str) -> String {
    format!(
        r#"{{"effect":{{"attempt":1,"state":"in_flight"}},"reasons":["{reason}"],"valid_for_s":0,
        "decision":"deny","decision_id":"{}"}}"#,
        id(index)
    )
}

fn batch(results: &[String]) -> String {
    format!("{{\"results\":[{}]}}", results.join(","))
}

fn validate(body: &str, asked: usize, probes: &[Probe]) -> Result<Counts, Invalid> {
    Validator::new(asked).batch(body.as_bytes(), asked, probes)
}

fn rule_of(result: &str) -> &'static str {
    match Validator::new(1).single(result.as_bytes()) {
        Err(Invalid::Result { rule, .. }) => rule,
        other => panic!("{result}: {other:?}"),
    }
}

#[test]
fn a_right_answer_is_counted() {
    let results = [allowed(0), denied(1, "effect_in_flight"), allowed(2)];
    let counts = validate(&batch(&results), 3, &[]).expect("valid");
    assert_eq!(counts.decisions, [2, 0, 1]);
    let reasons: Vec<_> = counts.reasons_seen().collect();
    assert_eq!(reasons, [("template_required", 2), ("effect_in_flight", 1)]);
}

#[test]
fn another_number_of_results_is_refused() {
    let body = batch(&[allowed(0), allowed(1)]);
    assert_eq!(
        validate(&body, 3, &[]).err(),
        Some(Invalid::Count { asked: 3, got: 2 })
    );
    assert!(validate(&body, 1, &[]).is_err());
    assert_eq!(
        validate("{}", 1, &[]).err(),
        Some(Invalid::Count { asked: 1, got: 0 })
    );
}

#[test]
fn far_too_many_results_are_refused_and_not_walked_for_ever() {
    let results: Vec<_> = (0..50).map(allowed).collect();
    assert!(validate(&batch(&results), 2, &[]).is_err());
}

#[test]
fn one_id_may_not_come_twice_in_an_answer_but_may_in_the_next() {
    let body = batch(&[allowed(4), allowed(4)]);
    let wanted = "its decision_id came before in this answer";
    assert_eq!(
        validate(&body, 2, &[]).err(),
        Some(Invalid::Result {
            index: 1,
            rule: wanted
        })
    );
    let mut validator = Validator::new(1);
    assert!(validator.single(allowed(4).as_bytes()).is_ok());
    assert!(validator.single(allowed(4).as_bytes()).is_ok());
}

#[test]
fn the_order_of_a_pair_is_proved() {
    let probe = [Probe {
        first: 0,
        second: 2,
    }];
    let right = [allowed(0), allowed(1), denied(2, "effect_in_flight")];
    assert_eq!(
        validate(&batch(&right), 3, &probe).expect("valid").ordered,
        1
    );
    let both = [allowed(0), allowed(1), allowed(2)];
    assert!(validate(&batch(&both), 3, &probe).is_err());
    let turned = [denied(0, "effect_in_flight"), allowed(1), allowed(2)];
    assert_eq!(
        validate(&batch(&turned), 3, &probe)
            .expect("not provable")
            .ordered,
        0
    );
}

#[test]
fn each_broken_rule_is_named() {
    let right = allowed(0);
    let cases = [
        (
            right.replace("\"allow\"", "\"handoff_to\""),
            "a decision that no outbound check may get",
        ),
        (right.replace(&id(0), "x"), "decision_id is no UUID"),
        (right.replace("-7000-", "_7000_"), "decision_id is no UUID"),
        (right.replace("\"decision_id\"", "\"id\""), "no decision_id"),
        (right.replace("\"decision\"", "\"verdict\""), "no decision"),
        (right.replace("valid_for_s", "valid_for"), "no valid_for_s"),
        (
            right.replace("template_required\"]", "because\"]"),
            "an unknown reason",
        ),
        (
            right.replace("template_required\"]", "suppressed\"]"),
            "an allow with a reason to refuse",
        ),
        (
            right.replace("\"none\"", "\"done\""),
            "an allow that did not reserve its effect",
        ),
        (
            right.replace("\"none\"", "\"reserved\""),
            "an unknown effect.state",
        ),
        (
            right.replace("\"attempt\":1", "\"attempt\":0"),
            "a reserved effect without an attempt",
        ),
        (
            right.replace("\"attempt\":1", "\"attempt\":null"),
            "a reserved effect without an attempt",
        ),
        (
            right.replace("\"locks\":[]", "\"locks\":null"),
            "a list or map is null",
        ),
        (
            right.replace("\"owner\":null", "\"contact_token\":\"x\""),
            "contact_token does not start with nct1.",
        ),
        (
            denied(0, "suppressed").replace("in_flight", "none"),
            "an effect was reserved without an allow",
        ),
        (
            denied(0, "suppressed").replace("[\"suppressed\"]", "[]"),
            "a refusal names exactly one reason",
        ),
        (
            denied(0, "template_required"),
            "template_required is no reason to refuse",
        ),
        (
            denied(0, "suppressed")
                .replace("{\"effect\"", "{\"contact_token\":\"nct1.a.b\",\"effect\""),
            "a token without an allow",
        ),
    ];
    for (body, rule) in cases {
        assert_eq!(rule_of(&body), rule, "{body}");
    }
}

#[test]
fn cut_answers_are_refused_at_every_byte() {
    let body = batch(&[allowed(0), denied(1, "suppressed")]);
    for end in 0..body.len() {
        let cut = &body.as_bytes()[..end];
        assert!(Validator::new(2).batch(cut, 2, &[]).is_err(), "{end}");
    }
}

#[test]
fn a_check_that_names_no_effect_is_told_of_none() {
    let of = |effect: &str| {
        let mut validator = Validator::new(1);
        validator.want_no_effects();
        let id = id(0);
        let body = format!(
            r#"{{"decision_id":"{id}","decision":"allow","reasons":[],{effect}"valid_for_s":60}}"#
        );
        validator.single(body.as_bytes()).is_ok()
    };
    assert!(of("") && of(r#""effect":null,"#));
    assert!(!of(r#""effect":{"state":"none","attempt":1},"#));
    assert!(!of(r#""effect":{"state":"in_flight","attempt":null},"#));
}
