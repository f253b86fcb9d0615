//! The summary of a shadow run as it is kept and shown (§18).
//!
//! Here: its JSON, within its bound. Nothing in it is about one customer: agents are shown by names
//! that are those of programs, channels by names of the space's rules.

use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reports::SUMMARY_BYTES_MAX;
use interlock_domain::contact::shadow::{Conflict, Found, Sample};
use interlock_wire::json::{self, Object};

/// Most samples of a summary.
const SAMPLES_MAX: usize = 20;

/// The summary of what a run over so many days found.
pub(crate) fn text(found: &Found, days: u8, policy: &Policy) -> Vec<u8> {
    let mut out = Vec::with_capacity(2_048);
    let mut summary = Object::open(&mut out);
    summary.number("messages", found.messages);
    summary.number("customers", found.customers);
    let mut conflicts = Object::open(summary.member("conflicts"));
    for conflict in Conflict::ALL {
        let count = found.counts[conflict as usize];
        let mut one = Object::open(conflicts.member(conflict.slug()));
        one.number("count", count);
        let rate = rate(count, found.customers, days);
        one.member("per_1000_customers_month")
            .extend_from_slice(rate.as_bytes());
        one.close();
    }
    conflicts.close();
    let shown = shown(&found.samples, policy);
    summary.list("sample", &shown, |out, sample: &Vec<u8>| {
        out.extend_from_slice(sample);
    });
    summary.close();
    debug_assert!(out.len() <= SUMMARY_BYTES_MAX, "a summary keeps its bound");
    out
}

/// `count / customers * 1000 * 30 / days`, with two decimals, rounded down.
fn rate(count: u64, customers: u64, days: u8) -> String {
    let whole = u128::from(customers) * u128::from(days);
    let hundredths = (u128::from(count) * 1_000 * 30 * 100)
        .checked_div(whole)
        .unwrap_or(0);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// As many samples as there is room for.
fn shown(samples: &[Sample], policy: &Policy) -> Vec<Vec<u8>> {
    // What stands around them takes less than a quarter.
    let mut room = SUMMARY_BYTES_MAX / 4 * 3;
    let mut shown = Vec::new();
    for sample in samples.iter().take(SAMPLES_MAX) {
        let mut out = Vec::with_capacity(160);
        write(&mut out, sample, policy);
        match room.checked_sub(out.len() + 1) {
            Some(left) => room = left,
            None => break,
        }
        shown.push(out);
    }
    shown
}

fn write(out: &mut Vec<u8>, sample: &Sample, policy: &Policy) {
    let mut object = Object::open(out);
    object.word("conflict", sample.conflict.slug());
    object.instant("at", sample.at.0);
    if let Some(name) = sample.channel.and_then(|id| policy.channel_name(id)) {
        object.text("channel", name);
    }
    object.list("agents", &sample.agents, |out, name| json::text(out, name));
    object.close();
}

#[cfg(test)]
mod tests {
    use interlock_domain::contact::fixture::policy;
    use interlock_domain::contact::name::ChannelId;
    use interlock_domain::contact::text::Text;
    use interlock_domain::time::Timestamp;

    use super::*;

    #[test]
    fn a_rate_is_by_customers_and_month() {
        assert_eq!(rate(1, 1, 30), "1000.00");
        assert_eq!(rate(3, 40, 7), "321.42");
        assert_eq!(rate(0, 0, 30), "0.00");
        assert_eq!(rate(u64::MAX, 1, 1), "553402322211286548450000.00");
    }

    /// A summary of samples with names of 64 such characters.
    fn largest(character: &str) -> Vec<u8> {
        let sample = Sample {
            conflict: Conflict::TokensUsedTwice,
            at: Timestamp(i64::from(u32::MAX) * 1_000),
            channel: Some(ChannelId::of("whatsapp")),
            agents: vec![Text::from(&*character.repeat(64)); 2],
        };
        let found = Found {
            messages: u64::MAX,
            customers: 1,
            counts: [u64::MAX; Conflict::ALL.len()],
            samples: vec![sample; 1_000],
        };
        text(&found, 1, &policy())
    }

    #[test]
    fn the_largest_summary_keeps_its_bound() {
        for (character, shown) in [("a", SAMPLES_MAX), ("\"", 17)] {
            let text = largest(character);
            assert!(text.len() <= SUMMARY_BYTES_MAX, "{}", text.len());
            let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(read["sample"].as_array().unwrap().len(), shown);
            assert_eq!(read["conflicts"].as_object().unwrap().len(), 5);
        }
    }
}
