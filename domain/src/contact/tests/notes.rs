//! What a decision's note says beside what was decided (§21): the purpose and channel, and the id.

use super::World;
use super::paid::{admit, settle_admission};
use super::privacy::{forget, hold, release_hold};
use super::reports::{ask, end};
use crate::contact::command::{
    AdmissionSettlement, Body, Direction, HoldPlace, ReleaseHold, Route,
};
use crate::contact::directory::Target;
use crate::contact::fixture::{AGENTS, check, command, contact_made, hash, lift, suppress};
use crate::contact::legal_hold::HoldTarget;
use crate::contact::name::{ChannelId, PurposeId};
use crate::contact::note::{Mark, Noted};
use crate::contact::reason::Refusal;
use crate::contact::reply::Reply;
use crate::ids::Id;

#[test]
fn a_change_of_the_suppression_list_is_noted_with_its_purpose_and_channel() {
    let mut world = World::new();
    let mut added = suppress("p", "marketing");
    added.channel = Some(ChannelId::of("voice"));
    world.declare(&added.command());
    for _ in 0..2 {
        world.declare(&lift("p", "marketing", Some("voice")));
    }
    let decisions = world.notes.iter().map(|note| note.decision);
    assert!(decisions.eq([Noted::Accepted, Noted::Accepted, Noted::NothingToChange]));
    for note in &world.notes {
        let about = (note.purpose, note.channel);
        let wanted = (PurposeId::of("marketing"), ChannelId::of("voice"));
        assert_eq!(about, (Some(wanted.0), Some(wanted.1)));
    }
}

#[test]
fn a_declared_contact_is_noted_with_its_purpose_channel_and_direction() {
    let mut world = World::new();
    let allowed = world.check(check().to("p")).decision_id;
    let mut nobodys = contact_made("p", "service", None);
    if let Body::DeclareContactMade(declare) = &mut nobodys.body {
        declare.customer = None;
    }
    for (declared, mark) in [
        (
            contact_made("p", "service", Some(allowed)),
            Some(Mark::ContactMade),
        ),
        (
            contact_made("p", "service", None),
            Some(Mark::ContactDeclared),
        ),
        (nobodys, None),
    ] {
        let id = world.declare(&declared).decision_id;
        let note = world.notes.last().expect("it is noted");
        assert_eq!((note.decision, note.decision_id), (Noted::Accepted, id));
        assert_eq!(note.purpose, Some(PurposeId::of("service")));
        assert_eq!(note.channel, Some(ChannelId::of("whatsapp")));
        assert_eq!(note.direction, Some(Direction::Outbound));
        assert_eq!(note.mark, mark);
    }
}

#[test]
fn an_admission_and_its_settlement_are_noted_under_its_id() {
    let mut world = World::new();
    let search = |units, id| admit("registry_search", Target::Customer(hash("p")), units, id);
    world.run(&search(Some(4), 1));
    world.run(&search(Some(5), 2));
    world.run(&settle_admission(1, AdmissionSettlement::Skipped));
    let noted = world
        .notes
        .iter()
        .map(|note| (note.decision, note.decision_id));
    let id = Some(Id([1; 16]));
    assert!(noted.eq([
        (Noted::Accepted, id),
        (Noted::Refused(Refusal::OverCallCeiling), None),
        (Noted::Accepted, id),
    ]));
}

#[test]
fn an_erasure_is_noted_whether_it_is_made_or_refused() {
    let mut world = World::new();
    world.run(&hold(HoldTarget::Customer(hash("p")), 1));
    world.run(&forget("p", 9, &[]));
    world.run(&release_hold(1));
    world.run(&forget("p", 9, &[]));
    let noted = |place: usize| {
        let note = &world.notes[place];
        (note.decision, note.decision_id)
    };
    assert_eq!(world.notes.len(), 4);
    assert_eq!(noted(1), (Noted::Refused(Refusal::UnderLegalHold), None));
    assert_eq!(noted(3), (Noted::Accepted, Some(Id([9; 16]))));
}

#[test]
fn a_legal_hold_is_noted_under_its_id() {
    let mut world = World::new();
    world.run(&hold(HoldTarget::Customer(hash("p")), 1));
    for _ in 0..2 {
        world.run(&release_hold(1));
    }
    let nowhere = Body::ReleaseHold(ReleaseHold {
        handoffs: Vec::new(),
        hold: Id([7; 16]),
        place: HoldPlace::Nowhere,
    });
    world.run(&command(AGENTS, Route::LegalHolds, nowhere));
    let noted = world.notes.iter();
    let noted = noted.map(|note| (note.decision, note.decision_id));
    let id = Some(Id([1; 16]));
    assert!(noted.eq([
        (Noted::Accepted, id),
        (Noted::Accepted, id),
        (Noted::NothingToChange, id),
        (Noted::NothingToChange, None),
    ]));
}

#[test]
fn a_shadow_run_is_noted_when_it_begins_and_when_it_ends() {
    let mut world = World::new();
    for _ in 0..2 {
        let Reply::RunAsked(run) = world.run(&ask(30)) else {
            panic!("a run is under way");
        };
        assert_eq!(world.notes.len(), 1, "the one under way is asked for once");
        if !run.is_new {
            world.run(&end(run.id, None));
        }
    }
    let decisions = world.notes.iter().map(|note| note.decision);
    assert!(decisions.eq([Noted::Accepted; 2]));
}
