//! The figures of an overview (§18): what is held now and what was decided in the last days.
//!
//! Here: how old they may be, who makes them anew, and how far history has been counted. Figures that
//! are quickly made are made for each request that finds none begun after it; others are shown for a
//! minute. History is read once, the newest day first, and from where it stopped after that. Bounds:
//! so many figures are kept, so many are made at once, and the counts of history have a bound of
//! their own (`domain`, `tally`). Not here: what is counted (`domain`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::{rt, web};
use interlock_domain::contact::holdings::Holdings;
use interlock_domain::contact::tally::{Decided, Tally};
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use tokio::sync::{Semaphore, watch};

use crate::decider::Decider;
use crate::directory::SpaceEntry;
use crate::state::AppState;
use crate::stopwatch::Stopwatch;

/// How old figures may be that take long to make, in milliseconds.
const AGE_MS_MAX: i64 = 60_000;

/// Figures that took no longer to make are made anew for every request.
pub(super) const QUICK: Duration = Duration::from_millis(250);

/// Figures that are kept, and that are made at once, at most.
const KEPT_MAX: usize = 64;

/// A decision is in history at most this long after its time, in milliseconds: a commit that takes
/// longer has every answer past its deadline.
const SETTLED_MS: i64 = 120_000;

/// For how long days are read back before what is counted by then is shown.
const BACK_AT_ONCE: Duration = Duration::from_secs(1);

/// Looks at all entities that are under way at once; the shards queue few.
const FOLDS_MAX: usize = 2;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// For how many days counts are kept: the longest overview and the day under way.
const KEPT_DAYS: i64 = 91;

/// Figures of a space over so many days.
#[derive(Debug)]
pub(crate) struct Overview {
    /// When they were made.
    pub(crate) at: Timestamp,
    /// What was held then.
    pub(crate) holdings: Holdings,
    /// What was decided in the days before.
    pub(crate) decided: Decided,
    /// All of these days are counted; else the oldest of them follow.
    whole: bool,
    /// Runs since they were begun.
    begun: Stopwatch,
    /// How long they took.
    took: Duration,
}

/// Whose figures, over how many days.
type Key = (SpaceId, u8);

/// The figures of a node.
#[derive(Debug)]
pub(crate) struct Figures {
    kept: Mutex<HashMap<Key, Arc<Overview>>>,
    /// Those that are being made.
    making: Mutex<Vec<Key>>,
    /// Told whenever some are made.
    made: watch::Sender<u64>,
    counted: Arc<Mutex<Counted>>,
    /// Who may look at all entities.
    folds: Semaphore,
    quick: Duration,
}

/// Why there are no figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFigures {
    /// So many are made already.
    Busy,
    /// They were not made in time.
    Late,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Figures {
    /// None yet; those that take no longer than `quick` are made anew for every request.
    pub(super) fn new(quick: Duration) -> Self {
        Self {
            kept: Mutex::default(),
            making: Mutex::default(),
            made: watch::channel(0).0,
            counted: Arc::default(),
            folds: Semaphore::new(FOLDS_MAX),
            quick,
        }
    }

    /// The figures that a request may be answered with.
    fn serving(&self, key: Key, asked: Stopwatch, now: Timestamp) -> Option<Arc<Overview>> {
        let kept = self.kept(key).filter(|one| one.whole)?;
        // In this order: what was begun just before must not pass for begun after.
        let (since_asked, since_begun) = (asked.elapsed(), kept.begun.elapsed());
        let is_newer = since_begun <= since_asked;
        let is_kept = self.quick < kept.took && now.since(kept.at) < AGE_MS_MAX;
        (is_newer || is_kept).then_some(kept)
    }

    fn kept(&self, key: Key) -> Option<Arc<Overview>> {
        locked(&self.kept).get(&key).cloned()
    }

    fn keep(&self, key: Key, overview: Overview) {
        let mut kept = locked(&self.kept);
        if kept.len() >= KEPT_MAX && !kept.contains_key(&key) {
            let oldest = kept.iter().min_by_key(|(_, one)| one.at);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.map(|key| kept.remove(&key));
        }
        kept.insert(key, Arc::new(overview));
        drop(kept);
        self.made.send_modify(|count| *count += 1);
    }

    /// Notes that figures are being made; `Ok(false)`: they are already.
    fn begin(&self, key: Key) -> Result<bool, NoFigures> {
        let mut making = locked(&self.making);
        if making.contains(&key) {
            return Ok(false);
        }
        if making.len() >= KEPT_MAX {
            return Err(NoFigures::Busy);
        }
        making.push(key);
        Ok(true)
    }

    fn is_making(&self, key: Key) -> bool {
        locked(&self.making).contains(&key)
    }

    fn end(&self, key: Key) {
        locked(&self.making).retain(|one| *one != key);
        self.made.send_modify(|count| *count += 1);
    }
}

/// The figures of a space, begun after the request or at most a minute old; waits for them until
/// the deadline, and then takes what there is.
///
/// # Errors
/// There are none, and they did not come in time.
pub(crate) async fn overview<D: Decider>(
    state: &web::Data<AppState<D>>,
    space: &Arc<SpaceEntry>,
    days: u8,
    (asked, deadline_ms): (Stopwatch, u64),
) -> Result<Arc<Overview>, NoFigures> {
    let figures = &state.analysis.figures;
    let key = (space.id, days);
    let wait = async {
        let mut made = figures.made.subscribe();
        let mut begun = false;
        loop {
            if let Some(serving) = figures.serving(key, asked, (state.now)()) {
                return Ok(Some(serving));
            }
            if begun && !figures.is_making(key) {
                // Those that this request began came to nothing.
                return Ok(None);
            }
            if !begun && figures.begin(key)? {
                begun = true;
                spawn(state, space, days);
            }
            if made.changed().await.is_err() {
                return Ok(None);
            }
        }
    };
    let waited = rt::time::timeout(asked.left(deadline_ms), wait).await;
    let serving = waited.unwrap_or(Ok(None))?;
    serving.or_else(|| figures.kept(key)).ok_or(NoFigures::Late)
}

/// Makes figures in the background. That goes on when the request has gone: the next one finds what
/// it made.
fn spawn<D: Decider>(state: &web::Data<AppState<D>>, space: &Arc<SpaceEntry>, days: u8) {
    let (state, space) = (state.clone(), Arc::clone(space));
    drop(rt::spawn(async move {
        if let Err(why) = make(&state, &space, days).await {
            tracing::warn!("the figures of an overview were not made: {why}");
        }
        state.analysis.figures.end((space.id, days));
    }));
}

/// Makes figures: first with the newest days that are counted, and then with all that were asked
/// for.
async fn make<D: Decider>(
    state: &AppState<D>,
    space: &Arc<SpaceEntry>,
    days: u8,
) -> Result<(), String> {
    let analysis = &state.analysis;
    let begun = Stopwatch::start();
    let now = (state.now)();
    let since = now.plus_ms(-i64::from(days) * DAY_MS);
    let since = Timestamp(since.0.div_euclid(HOUR_MS) * HOUR_MS);
    let policy = Arc::clone(&space.policy);
    // It is never closed.
    let fold = analysis.figures.folds.acquire().await;
    let holdings = state.decider.holdings(space.id, policy, since).await;
    drop(fold);
    let holdings = holdings.map_err(|why| format!("the entities were not looked at: {why:?}"))?;
    loop {
        let counted = Arc::clone(&analysis.figures.counted);
        let (id, policy) = (space.id, Arc::clone(&space.policy));
        let work = move |reader: &super::Reader| {
            // Held while history is read: who comes meanwhile goes on from where this one ends.
            let mut counted = locked(&counted);
            let open = counted.read_on(reader, now)?;
            let reading = Stopwatch::start();
            while since < counted.from && reading.elapsed() < BACK_AT_ONCE {
                counted.read_back(reader, since)?;
            }
            let mut all = counted.tally.only(id);
            all.merge(&open);
            let mut decided = all.counts(id, &policy, since.max(counted.from), now);
            decided.since = decided.since.max(since);
            Ok((decided, counted.from <= since))
        };
        let (decided, whole) = analysis.read(work).await?;
        let overview = Overview {
            at: now,
            holdings: holdings.clone(),
            decided,
            whole,
            begun,
            took: begun.elapsed(),
        };
        analysis.figures.keep((space.id, days), overview);
        if whole {
            return Ok(());
        }
    }
}

/// How far history is counted: all of `from..upto`, for all spaces.
#[derive(Debug)]
struct Counted {
    tally: Tally,
    from: Timestamp,
    upto: Timestamp,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            tally: Tally::default(),
            from: Timestamp(i64::MAX),
            upto: Timestamp(i64::MAX),
        }
    }
}

impl Counted {
    /// Counts what is new up to `now`; answers what may still change.
    fn read_on(&mut self, reader: &super::Reader, now: Timestamp) -> Result<Tally, String> {
        let settled = now.plus_ms(-SETTLED_MS);
        if self.upto == Timestamp(i64::MAX) {
            // The first look: everything before lies behind.
            self.upto = Timestamp(settled.0.div_euclid(HOUR_MS) * HOUR_MS);
            self.from = self.upto;
        }
        let (mut closed, mut open) = (Tally::default(), Tally::default());
        reader.between((self.upto, now), &mut |receipt| {
            let into = if receipt.time < settled {
                &mut closed
            } else {
                &mut open
            };
            into.add(receipt.space, receipt.time, &receipt.note);
        })?;
        self.tally.merge(&closed);
        self.upto = self.upto.max(settled);
        self.tally.forget_before(now.plus_ms(-KEPT_DAYS * DAY_MS));
        Ok(open)
    }

    /// Counts one day more, but not before `since`.
    fn read_back(&mut self, reader: &super::Reader, since: Timestamp) -> Result<(), String> {
        let first = self.from.plus_ms(-DAY_MS).max(since);
        let mut older = Tally::default();
        reader.between((first, self.from.plus_ms(-1)), &mut |receipt| {
            older.add(receipt.space, receipt.time, &receipt.note);
        })?;
        self.tally.merge(&older);
        self.from = first;
        Ok(())
    }
}
