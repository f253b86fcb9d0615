//! Places in line, without waiting for anything: a space that asked once asks for ever, or never.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::*;

const KIB: usize = 1_024;
const FOREVER: u64 = u64::MAX;
const NEVER: u64 = 0;

const fn space(number: u8) -> SpaceId {
    SpaceId([number; 16])
}

/// 100 KiB for all, 10 KiB for one of several, 20 that wait.
fn lines(asks_ms: u64) -> Lines {
    Lines::new(&ApiLimits {
        batches_bytes_max: 100 * KIB,
        batches_bytes_per_space_max: 10 * KIB,
        batches_waiting_per_space_max: 20,
        space_asks_ms: asks_ms,
        retry_after_s: 7,
        ..ApiLimits::default()
    })
}

/// A batch on its way to a place.
struct Batch<'a> {
    asking: Pin<Box<dyn Future<Output = Result<Place, Failure>> + 'a>>,
    place: Option<Place>,
}

impl<'a> Batch<'a> {
    fn of(lines: &'a Lines, number: u8, bytes: usize) -> Self {
        let mut batch = Self {
            asking: Box::pin(lines.place(space(number), bytes, Duration::MAX)),
            place: None,
        };
        assert!(!batch.is_in() || batch.place.is_some());
        batch
    }

    /// Has it got its place by now?
    fn is_in(&mut self) -> bool {
        if self.place.is_none() {
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(got) = self.asking.as_mut().poll(&mut context) {
                self.place = Some(got.expect("there is room to wait"));
            }
        }
        self.place.is_some()
    }
}

fn inside(batches: &mut [Batch<'_>]) -> usize {
    batches
        .iter_mut()
        .filter_map(|batch| batch.is_in().then_some(()))
        .count()
}

/// Runs a test where the bound on waiting can be made; no test gets that far.
fn with_time(test: impl FnOnce()) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().expect("a runtime");
    let _entered = runtime.enter();
    test();
}

#[test]
fn a_space_that_is_alone_has_all() {
    with_time(|| {
        for asks_ms in [NEVER, FOREVER] {
            let lines = lines(asks_ms);
            lines.asks(space(1));
            lines.asks(space(1));
            let mut batches: Vec<_> = (0..15).map(|_| Batch::of(&lines, 1, 10 * KIB)).collect();
            assert_eq!(inside(&mut batches), 10);
            batches.drain(..4);
            assert_eq!(inside(&mut batches), 10);
        }
    });
}

#[test]
fn beside_another_it_has_its_part_and_the_other_never_waits_for_the_rest() {
    with_time(|| {
        let lines = lines(FOREVER);
        lines.asks(space(2));
        lines.asks(space(1));
        let mut flood: Vec<_> = (0..15).map(|_| Batch::of(&lines, 1, 4 * KIB)).collect();
        assert_eq!(inside(&mut flood), 2, "two of 4 KiB are within 10 KiB");
        let mut other = Batch::of(&lines, 2, 10 * KIB);
        assert!(other.is_in());
        // One after the other, in the order in which they came.
        for at in 0..12 {
            flood[at].place = None;
            flood[at].asking = Box::pin(std::future::pending());
            assert_eq!(inside(&mut flood), 2);
            assert!(flood[at + 1].is_in() && flood[at + 2].is_in());
        }
    });
}

/// A body above the part, or above all there is, takes all of it and goes alone.
#[test]
fn a_batch_larger_than_the_part_goes_alone() {
    with_time(|| {
        let lines = lines(FOREVER);
        lines.asks(space(2));
        let mut large: Vec<_> = (0..3).map(|_| Batch::of(&lines, 1, 5_000 * KIB)).collect();
        assert_eq!(inside(&mut large), 1);
        large.remove(0);
        assert_eq!(inside(&mut large), 1);
    });
}

/// Of many floods each has few in the line of all, so the next space waits for few of each.
#[test]
fn many_floods_wait_for_each_other_by_turns() {
    with_time(|| {
        let lines = lines(FOREVER);
        lines.asks(space(1));
        lines.asks(space(2));
        let flood = |number| {
            (0..15)
                .map(|_| Batch::of(&lines, number, 10 * KIB))
                .collect()
        };
        let mut floods: Vec<Vec<_>> = (1..=20).map(flood).collect();
        let inside_all = |floods: &mut [Vec<Batch<'_>>]| -> Vec<usize> {
            floods.iter_mut().map(|flood| inside(flood)).collect()
        };
        let first = inside_all(&mut floods);
        assert_eq!(first, [vec![1; 10], vec![0; 10]].concat());
        let mut last = Batch::of(&lines, 100, 10 * KIB);
        assert!(!last.is_in());
        // When each of those that are inside goes, one of each of the others comes, and then it.
        for flood in &mut floods {
            if inside(flood) == 1 {
                flood.remove(0);
            }
        }
        let mut went = 0;
        while !last.is_in() {
            let counts = inside_all(&mut floods);
            let at = counts.iter().position(|&count| count == 1).expect("one");
            floods[at].remove(0);
            went += 1;
            assert!(went <= 20, "{went} batches of 20 spaces went before it");
        }
    });
}

#[test]
fn who_waits_beyond_the_bound_is_refused_and_who_leaves_makes_room() {
    with_time(|| {
        let lines = lines(FOREVER);
        lines.asks(space(2));
        assert_eq!(lines.look(space(1)), Ok(()));
        let mut batches: Vec<_> = (0..21).map(|_| Batch::of(&lines, 1, 10 * KIB)).collect();
        assert_eq!(inside(&mut batches), 1);
        let refusal = lines.look(space(1)).expect_err("20 wait");
        assert_eq!(
            (refusal.code, refusal.retry_after_s),
            (Code::RateLimited, Some(7))
        );
        let mut context = Context::from_waker(Waker::noop());
        let mut asking = Box::pin(lines.place(space(1), KIB, Duration::MAX));
        let polled = asking.as_mut().poll(&mut context);
        assert!(matches!(polled, Poll::Ready(Err(told)) if told == refusal));
        assert_eq!(
            lines.look(space(2)),
            Ok(()),
            "another space has its own line"
        );
        batches.remove(20);
        assert_eq!(lines.look(space(1)), Ok(()));
        // All leave, in any order; what they held is free again.
        while !batches.is_empty() {
            batches.swap_remove(batches.len() / 2);
            inside(&mut batches);
        }
        assert!(Batch::of(&lines, 1, 10 * KIB).is_in());
    });
}
