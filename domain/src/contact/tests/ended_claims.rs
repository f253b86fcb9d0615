//! What is remembered of claims, for how long, and by which words they are told (§9).

use super::claims::{claimed, epoch};
use super::{HOUR_S, NOON, World};
use crate::contact::Contact;
use crate::contact::claim::{ClaimKind, ClaimVia, ENDED_KEPT_MAX};
use crate::contact::directory::Target;
use crate::contact::fixture::{check, claim_on, hash, release};
use crate::contact::reply::Reply;
use crate::machine::Machine;

#[test]
fn the_words_of_a_claim_are_those_of_the_contract() {
    let kinds = [ClaimKind::Owner, ClaimKind::Case, ClaimKind::TaskLock];
    assert_eq!(kinds.map(ClaimKind::slug), ["owner", "case", "task_lock"]);
    for (via, word) in [
        (ClaimVia::Declaration, "declaration"),
        (ClaimVia::Handoff, "declaration"),
        (ClaimVia::Mapping, "mapping"),
        (ClaimVia::Worker, "worker"),
    ] {
        assert_eq!(via.slug(), word);
    }
}

#[test]
fn of_ended_claims_a_target_remembers_the_newest() {
    let mut world = World::new();
    let mut ended = Vec::new();
    for number in 0..ENDED_KEPT_MAX + 3 {
        let wanted = claim_on("p", "a").named(&number.to_string());
        let made = claimed(&mut world, &wanted.command());
        world.pass_s(1);
        ended.push(release(made.claim_id, epoch(&made)));
        claimed(&mut world, &ended[number]);
    }
    claimed(&mut world, &claim_on("p", "b").command());
    assert_eq!(world.customer("p").rare.claims.len(), ENDED_KEPT_MAX + 1);
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!(&*owner.holder, "b", "what is live stays");
    assert_eq!(world.run(&ended[2]), Reply::NotFound);
    claimed(&mut world, &ended[3]);
}

#[test]
fn an_id_leads_to_its_claim_for_92_days() {
    let mut world = World::new();
    let made = claimed(&mut world, &claim_on("p", "a").command());
    let look_up = Contact::look_up(&release(made.claim_id, 1)).expect("a look-up");
    let until = NOON.plus_s(92 * 24 * HOUR_S);
    let target = Target::Customer(hash("p"));
    for (now, reply) in [
        (until.plus_ms(-1), Reply::Found(target)),
        (until, Reply::NotFound),
    ] {
        world.now = now;
        assert_eq!(world.decide(&look_up).reply, reply);
    }
}
