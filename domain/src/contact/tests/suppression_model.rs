//! Random suppressions and lifts against a model that reads the whole story each time (C5).

use proptest::prelude::*;

use super::World;
use crate::contact::command::{AddSuppression, Command};
use crate::contact::fixture::{AGENTS, CRM, check, lift, suppress};
use crate::contact::name::{ChannelId, SourceId};
use crate::contact::reason::{Reason, Verdict};

const PURPOSES: [&str; 3] = ["any", "service", "marketing"];
const CHANNELS: [Option<&str>; 3] = [None, Some("voice"), Some("whatsapp")];

/// What an entry is: source, purpose, channel, by their places.
type Identity = (bool, usize, usize);

#[derive(Clone, Debug)]
enum Act {
    Pass(i64),
    Add(Identity, Option<i64>),
    Lift(Identity),
    Ask(usize, usize),
}

/// Everything that was done, in order.
#[derive(Default)]
struct Story(Vec<(Identity, Said)>);

#[derive(Clone, Copy)]
enum Said {
    Until(Option<i64>),
    Lifted,
}

impl Story {
    /// Whether the entry is there: the last word about it was an addition that has not ended.
    fn holds(&self, identity: Identity, now: i64) -> bool {
        let said = self.0.iter().rev().find(|(about, ..)| *about == identity);
        match said {
            Some((_, Said::Until(until))) => until.is_none_or(|until| now < until),
            Some((_, Said::Lifted)) | None => false,
        }
    }

    fn stops(&self, purpose: usize, channel: usize, now: i64) -> bool {
        let mut identities = Vec::new();
        for source in [false, true] {
            for about in [0, purpose] {
                identities.extend([(source, about, 0), (source, about, channel)]);
            }
        }
        identities
            .into_iter()
            .any(|identity| self.holds(identity, now))
    }
}

fn source(is_crm: bool) -> SourceId {
    if is_crm { CRM } else { AGENTS }
}

fn addition((is_crm, purpose, channel): Identity, until: Option<i64>) -> Command {
    let added = AddSuppression {
        channel: CHANNELS[channel].map(ChannelId::of),
        until: until.map(crate::time::Timestamp),
        ..suppress("p", PURPOSES[purpose])
    };
    added.command().sent_by(source(is_crm))
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let identity = || (any::<bool>(), 0_usize..3, 0_usize..3);
    let act = prop_oneof![
        2 => (0_i64..8_000).prop_map(Act::Pass),
        3 => (identity(), proptest::option::of(0_i64..8_000)).prop_map(|(i, u)| Act::Add(i, u)),
        3 => identity().prop_map(Act::Lift),
        4 => (1_usize..3, 0_usize..3).prop_map(|(p, c)| Act::Ask(p, c)),
    ];
    proptest::collection::vec(act, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn law_c5_a_customer_answers_as_one_whose_whole_story_is_read(acts in acts()) {
        let mut world = World::new();
        let mut story = Story::default();
        for act in acts {
            let now = world.now.0;
            match act {
                Act::Pass(milliseconds) => {
                    world.now = world.now.plus_ms(milliseconds);
                    world.sweep();
                }
                Act::Add(identity, lasts_ms) => {
                    let until = lasts_ms.map(|lasts| now + lasts);
                    prop_assert!(world.declare(&addition(identity, until)).accepted);
                    story.0.push((identity, Said::Until(until)));
                }
                Act::Lift(identity) => {
                    let (is_crm, purpose, channel) = identity;
                    let command = lift("p", PURPOSES[purpose], CHANNELS[channel]);
                    let reply = world.declare(&command.sent_by(source(is_crm)));
                    prop_assert_eq!(reply.accepted, story.holds(identity, now));
                    story.0.push((identity, Said::Lifted));
                }
                Act::Ask(purpose, channel) => {
                    let mut asked = check().to("p").purpose(PURPOSES[purpose]);
                    asked.channel = CHANNELS[channel].map(ChannelId::of);
                    let reply = world.check(asked);
                    let is_suppressed = reply.reasons.contains(&Reason::Suppressed);
                    prop_assert_eq!(is_suppressed, story.stops(purpose, channel, now));
                    prop_assert!(!is_suppressed || reply.verdict == Verdict::Deny);
                }
            }
        }
    }
}
