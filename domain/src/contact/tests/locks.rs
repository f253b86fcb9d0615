//! Task locks (§10), acceptance rows L1 to L3.

use super::{ALLOWED, NOON, World, decided, deferred};
use crate::contact::claim::{ClaimKind, LOCKS_LIVE_MAX};
use crate::contact::fixture::{check, lock, release};
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::reply::{ClaimReply, DeclareReply, HeldReply, Reply};
use crate::contact::text::Text;
use crate::ids::Id;

fn locked(world: &mut World, command: &crate::contact::command::Command) -> ClaimReply {
    let reply = world.run(command);
    let Reply::Claim(claim) = reply else {
        panic!("a lock was answered with {reply:?}");
    };
    *claim
}

#[test]
fn l1_one_holder_has_a_task_until_its_lock_ends() {
    let mut world = World::new();
    let mine = locked(&mut world, &lock("o", "t", "a").command());
    assert_eq!(
        (mine.kind, mine.valid_until),
        (ClaimKind::TaskLock, NOON.plus_s(600))
    );
    let theirs = lock("o", "t", "b");
    let refused = Reply::Held(Box::new(HeldReply {
        refusal: Refusal::TaskLocked,
        holder: Text::from("a"),
        until: NOON.plus_s(600),
    }));
    assert_eq!(world.run(&theirs.clone().command()), refused);
    assert_eq!(
        world.declare(&theirs.clone().declared()),
        DeclareReply::TURNED_DOWN
    );
    world.pass_s(100);
    let renewed = locked(&mut world, &lock("o", "t", "a").command());
    assert_eq!(renewed.claim_id, mine.claim_id);
    assert!(renewed.epoch > mine.epoch);
    world.now = NOON.plus_ms(699_999);
    assert!(matches!(
        world.run(&theirs.clone().command()),
        Reply::Held(_)
    ));
    world.now = NOON.plus_ms(700_000);
    let taken = locked(&mut world, &theirs.command());
    assert!(taken.epoch > renewed.epoch);
}

#[test]
fn l2_l3_a_lock_stops_its_task_alone() {
    let mut world = World::new();
    locked(
        &mut world,
        &lock("o", "hearing_summary", "summarizer").command(),
    );
    locked(
        &mut world,
        &lock("o", "petition_draft", "drafter").command(),
    );
    let about = |agent: &str| check().about("o").by(agent);
    let stopped = world.check(about("drafter").task("hearing_summary"));
    assert_eq!(decided(&stopped), deferred(Reason::LockHeld));
    let holders: Vec<&str> = stopped.locks.iter().map(|lock| &*lock.holder).collect();
    assert_eq!(
        holders,
        ["summarizer", "drafter"],
        "every live lock is shown"
    );
    assert!(stopped.owner.is_none(), "a lock is no owner");
    assert_eq!(decided(&world.check(about("drafter"))), ALLOWED);
    assert_eq!(
        decided(&world.check(about("drafter").task("petition_draft"))),
        ALLOWED
    );
    assert_eq!(
        decided(&world.check(about("summarizer").task("hearing_summary"))),
        ALLOWED
    );
    let inbound = world.check(about("drafter").task("hearing_summary").inbound());
    assert_eq!(decided(&inbound), (Verdict::Allow, Some(Reason::LockHeld)));
    // The same task of another object is another task.
    assert_eq!(
        decided(&world.check(check().about("other").by("drafter").task("hearing_summary"))),
        ALLOWED
    );
}

#[test]
fn a_lock_is_given_back_by_its_epoch() {
    let mut world = World::new();
    let mine = locked(&mut world, &lock("o", "t", "a").command());
    let epoch = i64::try_from(mine.epoch).expect("a small epoch");
    assert_eq!(
        world.run(&release(mine.claim_id, epoch + 1)),
        Reply::Refused(Refusal::StaleEpoch)
    );
    world.pass_s(5);
    let ended = locked(&mut world, &release(mine.claim_id, epoch));
    assert_eq!(
        (ended.kind, ended.valid_until),
        (ClaimKind::TaskLock, NOON.plus_s(5))
    );
    let theirs = locked(&mut world, &lock("o", "t", "b").command());
    assert!(theirs.epoch > mine.epoch);
    let again = locked(&mut world, &release(mine.claim_id, epoch));
    assert_eq!(again, ended);
}

#[test]
fn a_lock_goes_on_under_a_new_name_after_90_days() {
    let mut world = World::new();
    let mut wanted = lock("o", "t", "a");
    wanted.lease_s = 86_400;
    let mut last = locked(&mut world, &wanted.clone().command());
    let first = last.claim_id;
    wanted.new_id = Id([9; 16]);
    for half_day in 1..=180 {
        assert_eq!(last.claim_id, first, "{half_day}");
        world.now = NOON.plus_s(half_day * 43_200);
        last = locked(&mut world, &wanted.clone().command());
    }
    assert_eq!(last.claim_id, Id([9; 16]));
    let reply = world.check(check().about("o").task("t").by("b"));
    assert_eq!(reply.locks.len(), 1, "one task has one lock");
    let epoch = i64::try_from(last.epoch).expect("a small epoch");
    locked(&mut world, &release(last.claim_id, epoch));
    assert_eq!(
        decided(&world.check(check().about("o").task("t").by("b"))),
        ALLOWED
    );
}

#[test]
fn an_object_has_a_bound_on_live_locks() {
    let mut world = World::new();
    for task in 0..LOCKS_LIVE_MAX {
        locked(
            &mut world,
            &lock("o", &format!("task_{task}"), "a").command(),
        );
    }
    let one_more = lock("o", "one_more", "a");
    assert_eq!(
        world.run(&one_more.clone().command()),
        Reply::Refused(Refusal::TargetFull)
    );
    assert_eq!(
        world.declare(&one_more.declared()),
        DeclareReply::TURNED_DOWN
    );
    locked(&mut world, &lock("o", "task_0", "a").command());
    world.full = true;
    assert_eq!(
        world.run(&lock("other", "t", "a").command()),
        Reply::Capacity
    );
}

/// An answer is bounded: a batch asks about one object 500 times, and each answer may be kept.
#[test]
fn an_answer_shows_a_bounded_number_of_locks_the_asked_one_among_them() {
    let mut world = World::new();
    for task in 0..LOCKS_LIVE_MAX {
        locked(
            &mut world,
            &lock("o", &format!("task_{task}"), "a").command(),
        );
    }
    for task in [0, 17, LOCKS_LIVE_MAX - 1] {
        let task = format!("task_{task}");
        let reply = world.check(check().about("o").task(&task).by("b"));
        assert_eq!(decided(&reply), deferred(Reason::LockHeld));
        assert_eq!(reply.locks.len(), 16);
        assert_eq!(&*reply.locks[0].task, &*task);
        let mut tasks: Vec<&str> = reply.locks.iter().map(|lock| &*lock.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        assert_eq!(tasks.len(), 16);
    }
}
