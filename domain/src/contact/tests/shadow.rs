//! A shadow run against plain lists (§18).

use proptest::prelude::*;

use super::{HOUR_S, NOON, World};
use crate::contact::command::{Command, NoteMessage};
use crate::contact::fixture::{message, policy, sent};
use crate::contact::name::{ChannelId, IntentId, PurposeId};
use crate::contact::shadow::{Conflict, Found, Message, Shadow, part, widest_hours};
use crate::ids::Id;
use crate::time::Timestamp;

const DAY_S: i64 = 24 * HOUR_S;

/// What a run over the notes of these commands finds, in so many parts.
fn run(commands: &[Command], from: Timestamp, parts: u32) -> Found {
    let mut world = World::new();
    for command in commands {
        world.run(command);
    }
    let rules = policy();
    let mut shadow = Shadow::new(&rules, from);
    for of in 0..parts {
        let messages = world.notes.iter().cloned().filter_map(Message::of);
        shadow.see(messages.filter(|one| one.part(parts) == of).collect());
    }
    shadow.found()
}

fn count(found: &Found, conflict: Conflict) -> u64 {
    found.counts[conflict as usize]
}

fn at(hours: i64) -> Timestamp {
    NOON.plus_s(hours * HOUR_S)
}

#[test]
fn two_agents_within_a_day_are_too_near() {
    let outcome = |gap_ms: i64, second: &str| {
        let first = sent("p", "closing", at(-30)).command();
        let second = sent("p", second, at(-30).plus_ms(gap_ms)).command();
        let found = run(&[second, first], at(-48), 1);
        (
            found.messages,
            found.customers,
            count(&found, Conflict::ConcurrentAgents),
        )
    };
    assert_eq!(outcome(DAY_S * 1_000 - 1, "retention"), (2, 1, 1));
    assert_eq!(outcome(DAY_S * 1_000, "retention"), (2, 1, 0));
    assert_eq!(outcome(1_000, "closing"), (2, 1, 0));
    // A message before the begin is not counted, and judges the one after it.
    let early = sent("p", "closing", at(-30)).command();
    let late = sent("p", "retention", at(-20)).command();
    let found = run(&[early, late], at(-25), 1);
    assert_eq!(
        (found.messages, count(&found, Conflict::ConcurrentAgents)),
        (1, 1)
    );
    let sample = &found.samples[0];
    let agents: Vec<&str> = sample.agents.iter().map(|name| &**name).collect();
    assert_eq!((sample.at, agents), (at(-20), vec!["closing", "retention"]));
}

#[test]
fn the_customers_word_or_a_template_opens_the_window() {
    let outside = |commands: &[Command]| count(&run(commands, at(-48), 1), Conflict::OutsideWindow);
    let ours = sent("p", "closing", at(-1));
    assert_eq!(outside(&[ours.clone().command()]), 1);
    assert_eq!(
        outside(&[message("p", "whatsapp", at(-2)), ours.clone().command()]),
        0
    );
    assert_eq!(
        outside(&[message("p", "whatsapp", at(-25)), ours.clone().command()]),
        1
    );
    assert_eq!(
        outside(&[message("p", "voice", at(-2)), ours.clone().command()]),
        1
    );
    let template = NoteMessage {
        template: true,
        ..ours.clone()
    };
    assert_eq!(outside(&[template.command()]), 0);
    let voice = NoteMessage {
        channel: Some(ChannelId::of("voice")),
        ..ours.clone()
    };
    assert_eq!(outside(&[voice.command()]), 0);
    let unknown = NoteMessage {
        channel: None,
        ..ours
    };
    assert_eq!(outside(&[unknown.command()]), 0);
}

#[test]
fn quiet_hours_budgets_and_tokens_are_judged_at_the_messages_time() {
    let quiet = NoteMessage {
        channel: Some(ChannelId::of("always_quiet")),
        ..sent("p", "closing", at(-1))
    };
    assert_eq!(
        count(&run(&[quiet.command()], at(-48), 1), Conflict::QuietHours),
        1
    );
    let marketing = |hours: i64| NoteMessage {
        purpose: Some(PurposeId::of("marketing")),
        ..sent("p", "closing", at(hours))
    };
    let over = |hours: &[i64]| {
        let commands: Vec<_> = hours.iter().map(|at| marketing(*at).command()).collect();
        count(&run(&commands, at(-72), 1), Conflict::OverBudget)
    };
    assert_eq!(over(&[-30, -20, -10]), 0, "three a day");
    assert_eq!(over(&[-20, -15, -10, -5]), 1);
    assert_eq!(
        over(&[-34, -15, -11, -10]),
        0,
        "the first is out of the window"
    );
    // A slice is spread over two days, so the second reminder of a day is too early.
    let reminder = |hours: i64| NoteMessage {
        purpose: Some(PurposeId::of("collection")),
        intent: Some(IntentId::of("reminder")),
        ..sent("p", "closing", at(hours))
    };
    let paced = [reminder(-10).command(), reminder(-1).command()];
    assert_eq!(count(&run(&paced, at(-72), 1), Conflict::OverBudget), 1);
    let token = |customer: &str, hours: i64| NoteMessage {
        jti: Some(Id([7; 16])),
        ..sent(customer, "closing", at(hours))
    };
    let twice = [token("p", -3).command(), token("p", -2).command()];
    assert_eq!(
        count(&run(&twice, at(-48), 1), Conflict::TokensUsedTwice),
        1
    );
}

#[test]
fn nothing_of_a_customer_is_found() {
    let commands: Vec<_> = (0..40)
        .map(|step| sent("p", if step % 2 == 0 { "a" } else { "b" }, at(-step)).command())
        .collect();
    let found = run(&commands, at(-48), 1);
    assert!(found.samples.len() <= 4 * Conflict::ALL.len());
    let customer = format!("{:?}", crate::contact::fixture::hash("p"));
    assert!(!format!("{found:?}").contains(&customer));
}

#[test]
fn the_widest_window_is_the_longest_rule() {
    assert_eq!(widest_hours(&policy()), 168);
}

/// A message of the model: hours ago, who (0 is the customer), customer, template.
type Line = (i64, u8, u8, bool);

fn command_of(&(ago, who, customer, template): &Line) -> Command {
    let customer = format!("c{customer}");
    if who == 0 {
        return message(&customer, "whatsapp", at(-ago));
    }
    let message = NoteMessage {
        purpose: Some(PurposeId::of("retention")),
        template,
        ..sent(&customer, &format!("a{who}"), at(-ago))
    };
    message.command()
}

/// The rules as one reads them, over a list: concurrent, outside, over.
fn plainly(lines: &[Line], days: i64) -> (u64, [u64; 3]) {
    let (mut messages, mut counts) = (0, [0; 3]);
    for (place, &(ago, who, customer, template)) in lines.iter().enumerate() {
        if who == 0 || ago > days * 24 {
            continue;
        }
        messages += 1;
        // Earlier, or at the same time and listed before; the customer's word first.
        let before = |&(other, line): &(usize, &Line)| {
            line.2 == customer
                && (line.0 > ago || (line.0 == ago && (line.1 == 0 || other < place)))
        };
        let earlier: Vec<&Line> = lines
            .iter()
            .enumerate()
            .filter(before)
            .map(|(_, l)| l)
            .collect();
        let near = |line: &&&Line| line.0 - ago < 24;
        let ours = || earlier.iter().filter(|line| line.1 != 0).filter(near);
        counts[0] += u64::from(ours().any(|line| line.1 != who));
        let open = earlier.iter().filter(near).any(|line| line.1 == 0);
        counts[1] += u64::from(!template && !open);
        counts[2] += u64::from(ours().count() >= 1);
    }
    (messages, counts)
}

proptest! {
    #[test]
    fn a_run_finds_what_a_plain_count_finds(
        mut lines in proptest::collection::vec((0_i64..80, 0_u8..4, 0_u8..3, any::<bool>()), 0..40),
        days in 1_i64..3,
        parts in 1_u32..4,
    ) {
        // Notes come in the order of the list; times do not.
        lines.sort_by_key(|line| line.3);
        let commands: Vec<_> = lines.iter().map(command_of).collect();
        let found = run(&commands, at(-days * 24), parts);
        let (messages, counts) = plainly(&lines, days);
        prop_assert_eq!(found.messages, messages);
        prop_assert_eq!(
            [
                count(&found, Conflict::ConcurrentAgents),
                count(&found, Conflict::OutsideWindow),
                count(&found, Conflict::OverBudget),
            ],
            counts
        );
    }

    #[test]
    fn parts_are_a_partition(bytes in any::<[u8; 16]>(), parts in 1_u32..1_000) {
        prop_assert!(part(crate::key::KeyHash(bytes), parts) < parts);
        prop_assert_eq!(part(crate::key::KeyHash(bytes), 1), 0);
    }
}
