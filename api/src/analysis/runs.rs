//! Shadow runs: one at a time a node, in the background (§18).
//!
//! Here: the queue, the walk through history and the end of a run. Bounds: so many runs wait, so many
//! messages are held at once; where there are more, history is read several times, each time for a
//! part of all customers; the end of one waits while the disk has no room. Not here: the rules (`domain`). A run that was under way when the process
//! ended is taken up again by the next one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::{rt, web};
use interlock_domain::contact::command::{Body, Command, EndReport, ReadReports, Route};
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::{Reply, RunAsked};
use interlock_domain::contact::reports::{Run, RunState};
use interlock_domain::contact::shadow::{Found, Message, Shadow, widest_hours};
use interlock_domain::ids::Id;
use interlock_domain::key::SpaceId;
use interlock_domain::machine::Undecided;
use interlock_domain::time::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::analysis::{Reader, summary};
use crate::decider::{Answer, Asked, Decider};
use crate::directory::SpaceEntry;
use crate::state::{AppState, Readiness};

/// Runs that wait behind the one under way; a further one is refused.
const WAITING_MAX: usize = 8;

/// Messages that are held at once: with their names some 60 MB.
pub(crate) const MESSAGES_AT_ONCE_MAX: usize = 250_000;

/// How often a part may be as large as it should be: one customer has most of all messages.
const PART_FACTOR_MAX: usize = 4;

/// Parts there are at most: a run over more messages fails.
const PARTS_MAX: u32 = 4_096;

/// How long the end of a run may take to be decided, and to be tried again.
const END_DEADLINE: Duration = Duration::from_secs(30);
const END_PAUSE: Duration = Duration::from_secs(1);
/// How often the end of a run is tried; then the next start takes the run up again.
const END_TRIES: u32 = 60;

/// Time between two looks whether the node is ready.
const READY_PAUSE: Duration = Duration::from_millis(200);

/// The source that acts in nobody's name; those of a space are numbered from 1.
const NODE: SourceId = SourceId(0);

/// How far the run under way has come, from 0 to 1.
const PROGRESS: &str = "interlock_shadow_progress";

/// The runs of a node.
pub(crate) struct Runs {
    /// Places for the run under way and those that wait.
    places: Arc<Semaphore>,
    /// One at a time.
    turn: Semaphore,
    /// Those that are queued or under way.
    known: Mutex<HashSet<Id>>,
    messages_at_once_max: usize,
}

/// A place in the queue.
pub(crate) struct Place(OwnedSemaphorePermit);

/// A run to be made.
#[derive(Clone)]
struct Job {
    space: Arc<SpaceEntry>,
    id: Id,
    days: u8,
    requested_at: Timestamp,
}

impl Runs {
    pub(super) fn new(messages_at_once_max: usize) -> Self {
        metrics::describe_gauge!(
            PROGRESS,
            "How far the shadow run under way has come, from 0 to 1."
        );
        Self {
            places: Arc::new(Semaphore::new(WAITING_MAX + 1)),
            turn: Semaphore::new(1),
            known: Mutex::default(),
            messages_at_once_max,
        }
    }

    /// A place in the queue; `None` when it is full.
    pub(crate) fn place(&self) -> Option<Place> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.ok().map(Place)
    }

    /// Notes that a run is queued; false when it is already.
    fn begin(&self, id: Id) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(id)
    }

    fn end(&self, id: Id) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&id);
    }
}

/// Takes a run up in the background, unless it is queued already.
pub(crate) fn take_up<D: Decider>(
    state: &web::Data<AppState<D>>,
    space: &Arc<SpaceEntry>,
    asked: RunAsked,
    place: Place,
) {
    if !state.analysis.runs.begin(asked.id) {
        return;
    }
    let job = Job {
        space: Arc::clone(space),
        id: asked.id,
        days: asked.days,
        requested_at: asked.requested_at,
    };
    let state = state.clone();
    // It ends by itself, or with the process; then the next one takes the run up again.
    drop(rt::spawn(async move {
        make(&state, &job).await;
        drop(place.0);
    }));
}

/// Takes up the runs that were under way when the last process ended, one after the other.
pub(crate) async fn resume<D: Decider>(state: web::Data<AppState<D>>) {
    while (state.readiness)() != Readiness::Ready {
        rt::time::sleep(READY_PAUSE).await;
    }
    for space in state.directory.spaces() {
        let Some(run) = under_way(&state, &space).await else {
            continue;
        };
        if state.analysis.runs.begin(run.id) {
            let job = Job {
                space,
                id: run.id,
                days: run.days,
                requested_at: run.requested_at,
            };
            make(&state, &job).await;
        }
    }
}

/// The run of a space that has not ended.
pub(crate) async fn under_way<D: Decider>(state: &AppState<D>, space: &SpaceEntry) -> Option<Run> {
    let read = Body::ReadReports(ReadReports {
        before: None,
        limit: 1,
    });
    let Some(Reply::Runs(page)) = decided(state, space, read).await else {
        return None;
    };
    let newest = page.runs.into_iter().next();
    newest.filter(|run| run.state == RunState::Pending)
}

/// Makes one run, from its place in the queue to its end.
async fn make<D: Decider>(state: &AppState<D>, job: &Job) {
    let runs = &state.analysis.runs;
    // It is never closed.
    let _turn = runs.turn.acquire().await;
    let summary = match found(state, job).await {
        Ok(found) => Some(summary::text(&found, job.days, &job.space.policy)),
        Err(why) => {
            tracing::warn!("a shadow run failed: {why}");
            None
        }
    };
    let end = EndReport {
        id: job.id,
        summary,
    };
    let mut tries = 0;
    while tries < END_TRIES {
        let body = Body::EndReport(end.clone());
        match answered(state, &job.space, body).await {
            Some(Answer::Decided(Reply::RunEnded)) => break,
            // However long it takes to make room, the run ends then, and others wait behind it.
            Some(Answer::NotDecided(Undecided::NoRoom)) => {}
            Some(_) | None => tries += 1,
        }
        rt::time::sleep(END_PAUSE).await;
    }
    runs.end(job.id);
}

/// What the rules would have changed.
async fn found<D: Decider>(state: &AppState<D>, job: &Job) -> Result<Found, String> {
    let walk = Walk {
        space: job.space.id,
        policy: Arc::clone(&job.space.policy),
        from: job.requested_at.plus_s(-i64::from(job.days) * 86_400),
        upto: job.requested_at,
        at_once_max: state.analysis.runs.messages_at_once_max,
    };
    let found = state
        .analysis
        .read(move |reader| walk.found(reader))
        .await?;
    // The last row that was looked at is older than the end of the span, however little.
    metrics::gauge!(PROGRESS).set(1.0);
    Ok(found)
}

/// A walk through history.
struct Walk {
    space: SpaceId,
    policy: Arc<Policy>,
    from: Timestamp,
    upto: Timestamp,
    at_once_max: usize,
}

impl Walk {
    /// Looks at all messages at once where they are few enough; else counts them, and reads them
    /// again in so many parts that each is.
    fn found(&self, reader: &Reader) -> Result<Found, String> {
        let mut messages = Vec::new();
        let mut count: usize = 0;
        self.messages(reader, (0, 1), &mut |message| {
            count += 1;
            if count <= self.at_once_max {
                messages.push(message);
            } else {
                messages.clear();
            }
        })?;
        let mut shadow = Shadow::new(&self.policy, self.from);
        if count <= self.at_once_max {
            shadow.see(messages);
            return Ok(shadow.found());
        }
        drop(messages);
        let parts = u32::try_from(count.div_ceil(self.at_once_max)).unwrap_or(u32::MAX);
        if parts > PARTS_MAX {
            return Err(format!("there are {count} messages, too many for one run"));
        }
        for part in 0..parts {
            let mut messages = Vec::new();
            let mut left_out = false;
            self.messages(reader, (part, parts), &mut |message| {
                if message.part(parts) != part {
                    return;
                }
                if messages.len() < self.at_once_max.saturating_mul(PART_FACTOR_MAX) {
                    messages.push(message);
                } else {
                    left_out = true;
                }
            })?;
            if left_out {
                return Err("one customer has too many of all messages for one run".to_owned());
            }
            shadow.see(messages);
        }
        Ok(shadow.found())
    }

    /// Visits the messages of the space, those before the begin that may matter included.
    fn messages(
        &self,
        reader: &Reader,
        (pass, passes): (u32, u32),
        visit: &mut dyn FnMut(Message),
    ) -> Result<(), String> {
        let lead_s = i64::from(widest_hours(&self.policy)) * 3_600;
        let span = (self.from.plus_s(-lead_s), self.upto);
        let whole = span.1.since(span.0).max(1) as f64;
        let mut seen: u32 = 0;
        reader.between(span, &mut |receipt| {
            seen = seen.wrapping_add(1);
            if seen % 4_096 == 1 {
                let of_pass = receipt.time.since(span.0) as f64 / whole;
                metrics::gauge!(PROGRESS).set((f64::from(pass) + of_pass) / f64::from(passes));
            }
            if receipt.space == self.space
                && let Some(message) = Message::of(receipt.note)
                && message.noted.occurred_at >= span.0
            {
                visit(message);
            }
        })
    }
}

/// Has a command of the node's own decided; `None` when it was not.
async fn decided<D: Decider>(state: &AppState<D>, space: &SpaceEntry, body: Body) -> Option<Reply> {
    match answered(state, space, body).await? {
        Answer::Decided(reply) => Some(reply),
        Answer::NotDecided(_)
        | Answer::Instead(_)
        | Answer::Broken
        | Answer::Unavailable
        | Answer::Busy => None,
    }
}

/// The answer to a command of the node's own; `None` when the node takes no more.
async fn answered<D: Decider>(
    state: &AppState<D>,
    space: &SpaceEntry,
    body: Body,
) -> Option<Answer<Reply>> {
    let asked = Asked {
        commands: vec![Command {
            space: space.id,
            source: NODE,
            route: Route::Shadow,
            receipt: None,
            body,
        }],
        policy: Arc::clone(&space.policy),
        deadline: END_DEADLINE,
        bytes: 0,
    };
    state.decider.submit(asked).await.ok()?.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_runs_wait_and_a_place_comes_back() {
        let runs = Runs::new(1);
        let mut places: Vec<Place> = (0..100).map_while(|_| runs.place()).collect();
        assert_eq!(places.len(), WAITING_MAX + 1);
        assert!(runs.place().is_none());
        places.pop();
        assert!(runs.place().is_some());
    }

    #[test]
    fn a_run_is_queued_once() {
        let runs = Runs::new(1);
        let id = Id([7; 16]);
        assert!(runs.begin(id));
        assert!(!runs.begin(id));
        runs.end(id);
        assert!(runs.begin(id));
    }
}
