//! Documents as the harness prints them, and what they say.

use serde_json::json;

use super::*;
use crate::targets::list;

fn said(id: &str, document: &Value) -> Vec<(String, Option<bool>)> {
    let claims = claims(id, document).expect("figures");
    claims.into_iter().map(|it| (it.said, it.kept)).collect()
}

fn some(text: &str, kept: bool) -> (String, Option<bool>) {
    (text.to_owned(), Some(kept))
}

#[test]
fn redis_is_met_by_its_better_form_at_the_fewest_connections() {
    let peer = |connections: u64, form: &str, ratio: f64| {
        json!({"connections": connections, "form": form, "ours": [410_000.0, 400_500.0, 390_000.0],
               "ratio": {"median": ratio}, "ratio_to_best": {"median": 4.25}})
    };
    let document = json!({"peers": [
        peer(4, "pipeline", 6.0), peer(4, "one call", 5.5), peer(16, "pipeline", 4.9),
    ]});
    let told = ("4.2 times its best".to_owned(), None);
    let wanted = [some("400,500/s", true), some("5.5 times Redis", true), told];
    assert_eq!(said("T1", &document), wanted);
}

#[test]
fn shares_and_times_have_their_bounds() {
    let shards = json!({"shards": [
        {"shards": 1, "per_second": 400_000.0}, {"shards": 2, "per_second": 300_000.0},
    ]});
    let wanted = [some("75 % (300,000/s over 400,000/s)", false)];
    assert_eq!(said("T1b", &shards), wanted);
    let recovery = json!({"recovery": {"ready_s": 2.5, "entities_per_second": 1_200_000.0,
        "journal_bytes": 2e9, "entities": 3_000_000}});
    let wanted = [
        some("ready in 2.50 s", true),
        some("1,200,000 entities/s", true),
    ];
    assert_eq!(said("T6", &recovery)[..2], wanted);
    let beside = |ratio: f64| json!({"ratio": ratio, "alone_p99_ms": 2.0, "together_p99_ms": 5.0});
    let rounds = json!({"beside": [beside(9.0), beside(2.5), beside(1.0)]});
    let wanted = |kept| [some("p99 2.5 times (2.00 ms, then 5.00 ms)", kept)];
    assert_eq!(said("T10c", &rounds), wanted(false));
    assert_eq!(said("T11", &rounds), wanted(true));
}

#[test]
fn a_long_run_without_a_cycle_keeps_nothing() {
    let document = |cycles: Value| {
        json!({
            "steady": {"disk_ratio": 3.0, "resident_range": 0.04, "resident_drift": 0.01,
                       "purged": 7, "cycles": cycles},
            "beside": [{"ratio": 1.5, "alone_p99_ms": 2.0, "together_p99_ms": 3.0}],
        })
    };
    let claims = claims("T8", &document(json!([]))).expect("figures");
    assert!(!claims[0].holds() && claims[1].holds() && claims[2].holds());
    let one = said("T8", &document(json!([{}])));
    assert_eq!(
        one[0],
        some("disk 3.0 times the live state at most, 1 cycles", true)
    );
}

#[test]
fn a_document_without_the_figure_is_told_and_no_target_is_forgotten() {
    for target in &list::ALL {
        let error = claims(target.id, &json!({})).expect_err(target.id);
        assert!(error.starts_with("the harness gave no "), "{error}");
    }
}
