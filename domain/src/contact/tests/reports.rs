//! Shadow runs as they are kept, and messages as they are noted (§18).

use super::{HOUR_S, NOON, World};
use crate::contact::command::{Body, Command, EndReport, ReadReports, RequestReport, Route};
use crate::contact::fixture::{AGENTS, check, command, contact_made, message, sent};
use crate::contact::note::Mark;
use crate::contact::reply::{Reply, RunAsked, RunsPage};
use crate::contact::reports::{RUNS_KEPT, RunState, SUMMARY_BYTES_MAX};
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::Machine;

pub(super) fn ask(days: u8) -> Command {
    command(
        AGENTS,
        Route::Shadow,
        Body::RequestReport(RequestReport { days }),
    )
}

pub(super) fn end(id: Id, summary: Option<Vec<u8>>) -> Command {
    command(
        AGENTS,
        Route::Shadow,
        Body::EndReport(EndReport { id, summary }),
    )
}

fn asked(world: &mut World, days: u8) -> RunAsked {
    let reply = world.run(&ask(days));
    let Reply::RunAsked(asked) = reply else {
        panic!("{reply:?}");
    };
    asked
}

fn page(world: &mut World, before: Option<u32>, limit: usize) -> RunsPage {
    let read = Body::ReadReports(ReadReports { before, limit });
    let reply = world.run(&command(AGENTS, Route::Reports, read));
    let Reply::Runs(page) = reply else {
        panic!("{reply:?}");
    };
    *page
}

#[test]
fn one_run_is_under_way_at_a_time() {
    let mut world = World::new();
    let first = asked(&mut world, 30);
    assert!(first.is_new);
    let again = asked(&mut world, 7);
    assert_eq!(
        again,
        RunAsked {
            is_new: false,
            ..first
        }
    );
    world.pass_s(5);
    assert_eq!(world.run(&end(first.id, Some(vec![1]))), Reply::RunEnded);
    // An end that comes again, or for a run nobody knows, changes nothing.
    let events = world.log.len();
    world.run(&end(first.id, None));
    world.run(&end(Id([3; 16]), None));
    assert_eq!(world.log.len(), events);
    let second = asked(&mut world, 7);
    assert!(second.is_new && second.id != first.id);
    world.run(&end(second.id, None));
    let runs = page(&mut world, None, 10).runs;
    let at = world.now;
    let states: Vec<RunState> = runs.into_iter().map(|run| run.state).collect();
    let done = RunState::Done {
        at,
        summary: vec![1],
    };
    assert_eq!(states, [RunState::Failed { at }, done]);
}

#[test]
fn the_newest_runs_are_kept_and_read_in_pages() {
    let mut world = World::new();
    let summary = vec![b'x'; SUMMARY_BYTES_MAX];
    for _ in 0..RUNS_KEPT + 20 {
        let run = asked(&mut world, 90);
        world.run_unchecked(&end(run.id, Some(summary.clone())));
    }
    let entity = world
        .entities
        .iter()
        .find(|(key, _)| key.kind == Kind::Reports);
    let (_, (_, entity)) = entity.expect("the runs are kept");
    let bytes = postcard::to_allocvec(entity).expect("it encodes").len();
    assert!(bytes < 1 << 20, "{bytes}");
    assert_eq!(crate::contact::Contact::check(entity), Ok(()));
    let (mut before, mut numbers) = (None, Vec::new());
    loop {
        let page = page(&mut world, before, 30);
        numbers.extend(page.runs.iter().map(|run| run.number));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    let wanted: Vec<u32> = (21..=120).rev().collect();
    assert_eq!(numbers, wanted);
}

#[test]
fn runs_are_forgotten_long_after_the_last_one() {
    let mut world = World::new();
    let run = asked(&mut world, 30);
    world.pass_s(500 * 24 * HOUR_S);
    assert_eq!(world.sweep(), 0, "it is under way");
    world.run(&end(run.id, None));
    assert_eq!(world.sweep(), 1);
}

#[test]
fn a_message_is_noted_and_held_nowhere() {
    let mut world = World::new();
    assert_eq!(
        world.run(&sent("p", "closing", NOON).command()),
        Reply::Observed
    );
    assert!(world.entities.is_empty());
    // Under a key nothing of the customer is touched, and a repeat is told.
    let keyed = sent("p", "closing", NOON.plus_s(60))
        .command()
        .keyed("k", "r");
    assert_eq!(crate::contact::Contact::keys(&keyed).len(), 1);
    assert_eq!(world.run(&keyed), Reply::Observed);
    assert_eq!(world.run(&keyed), Reply::ObservedAgain);
    world.run(&message("p", "whatsapp", NOON));
    let mut noted = Vec::new();
    for note in &world.notes {
        if let Some(Mark::Message(message)) = &note.mark {
            noted.push((message.agent.is_some(), message.occurred_at));
        }
    }
    assert_eq!(
        noted,
        [(true, NOON), (true, NOON), (false, NOON)],
        "no time to come"
    );
}

#[test]
fn a_contact_is_marked_once_for_what_it_counts_as() {
    let mut world = World::new();
    let allowed = world
        .check(check().to("p").purpose("marketing"))
        .decision_id;
    world.check(check().purpose("marketing"));
    for _ in 0..2 {
        world.run(&contact_made("p", "marketing", Some(allowed)));
    }
    world.run(&contact_made("p", "marketing", None));
    let marks: Vec<Option<Mark>> = world.notes.iter().map(|note| note.mark.clone()).collect();
    let wanted = [
        Some(Mark::ContactReserved),
        None,
        Some(Mark::ContactMade),
        None,
        Some(Mark::ContactDeclared),
    ];
    assert_eq!(marks, wanted);
}
