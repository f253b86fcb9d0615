//! What a space says of handoffs: the level of a hold, how long an outcome is waited for, the words
//! for it, and what each of them suppresses.

use interlock_domain::contact::command::AddSuppression;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::contact::name::{ChannelId, PurposeId, ReasonId};
use interlock_domain::contact::text::Text;

use super::{REASONS, list};
use crate::random::Random;

/// Words for outcomes; some versions have dropped the last.
pub(in crate::contact) const OUTCOMES: [&str; 4] = ["resolved", "opt_out", "pause", "callback"];

/// See the module.
#[derive(Clone, Debug)]
pub(in crate::contact) struct Handoffs {
    pub(in crate::contact) level: &'static str,
    pub(in crate::contact) wait_s: i64,
    pub(in crate::contact) words: Vec<&'static str>,
    suppresses: Vec<Suppresses>,
}

#[derive(Clone, Debug)]
struct Suppresses {
    outcome: &'static str,
    purpose: &'static str,
    reason: &'static str,
    channel: Option<&'static str>,
}

impl Handoffs {
    /// By chance, of names that the rules have.
    pub(super) fn some(
        levels: &[&'static str],
        purposes: &[&'static str],
        channels: &[&'static str],
        random: &mut Random,
    ) -> Self {
        let words = if random.chance(150) { 3 } else { 4 };
        let mapped = OUTCOMES[1..3].iter().map(|&outcome| Suppresses {
            outcome,
            purpose: purposes[random.index(purposes.len())],
            reason: REASONS[random.index(REASONS.len())].0,
            channel: random
                .chance(500)
                .then(|| channels[random.index(channels.len())]),
        });
        let suppresses = mapped.collect();
        Self {
            level: levels[random.index(levels.len())],
            wait_s: random.pick(&[2, 600, 86_400, 400_000]),
            words: OUTCOMES[..words].to_vec(),
            suppresses,
        }
    }

    /// Is it one of the words?
    pub(in crate::contact) fn hears(&self, outcome: &Text) -> bool {
        self.words.contains(&&**outcome)
    }

    /// The words, as a package shows them.
    pub(in crate::contact) fn vocabulary(&self) -> Vec<Text> {
        self.words.iter().map(|word| Text::from(*word)).collect()
    }

    /// What an outcome of a handoff adds to the suppression list.
    pub(in crate::contact) fn suppresses(
        &self,
        outcome: &Text,
        handoff: &Handoff,
    ) -> Option<AddSuppression> {
        let mut mapped = self.suppresses.iter();
        let mapped = mapped.find(|mapped| *mapped.outcome == **outcome)?;
        Some(AddSuppression {
            customer: handoff.customer,
            purpose: PurposeId::of(mapped.purpose),
            channel: mapped.channel.map(ChannelId::of),
            reason: ReasonId::of(mapped.reason),
            until: None,
            window: None,
            destination: handoff.destination.clone(),
        })
    }

    /// Its part of the document.
    pub(super) fn text(&self) -> String {
        let Self { level, wait_s, .. } = self;
        let words = list(&self.words, |word| format!(r#""{word}""#));
        let outcomes = list(&self.suppresses, |mapped| {
            let Suppresses {
                outcome,
                purpose,
                reason,
                channel,
            } = mapped;
            let channel = channel.map_or(String::new(), |name| format!(r#","channel":"{name}""#));
            format!(
                r#""{outcome}":{{"suppress":{{"purpose":"{purpose}","reason":"{reason}"{channel}}}}}"#
            )
        });
        format!(
            r#"{{"level":"{level}","wait_s":{wait_s},"vocabulary":[{words}],"outcomes":{{{outcomes}}}}}"#
        )
    }
}
