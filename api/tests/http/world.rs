//! A decider without actors: commands are decided one after the other on a map.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interlock_actors::history::Receipt;
use interlock_api::analysis::{History, Visit};
use interlock_api::decider::{Answer, Asked, Decider, NotScanned, Refused, Scanned};
use interlock_api::list::SuppressionList;
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::{Body, Command, RequestReport, Route};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::fixture;
use interlock_domain::contact::holdings::Holdings;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::{Member, Reply};
use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::machine::{Context, Entities, Machine, Undecided, View};
use interlock_domain::time::Timestamp;
use tokio::sync::watch;

/// 2026-11-30T12:00:00Z: a Monday, outside every quiet hour but those of `always_quiet`.
pub(crate) const START: i64 = 1_796_040_000_000;

/// What the decider does with a submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Decide,
    /// Every command gets the product's answer to a missed deadline, or none.
    Late,
    Rebuilding,
    Broken,
    Unavailable,
    EntityBusy,
    /// Only the first command of a submission is decided.
    OnlyFirst,
    /// Memory is above its bound.
    Full,
    /// The disk has no room for a record.
    NoRoom,
    /// A newer policy dropped the purpose.
    Undeclared,
    SpaceBusy,
    Overloaded,
    Stopping,
    /// Never answers; counts the futures that are dropped.
    Silent,
}

#[derive(Clone)]
pub(crate) struct World(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    now: AtomicI64,
    mode: Mutex<Mode>,
    /// The mode after the next submission.
    then: Mutex<Option<Mode>>,
    silent: AtomicUsize,
    dropped: AtomicUsize,
    /// Looks at all entities that are under way.
    scans: AtomicUsize,
    /// They do not end yet.
    scans_held: watch::Sender<bool>,
    /// The past cannot be read yet.
    past_held: AtomicBool,
    list: Arc<SuppressionList>,
}

struct State {
    entities: BTreeMap<EntityKey, (u64, ContactEntity)>,
    ids: IdStream,
    /// What was noted, in order.
    notes: Vec<Receipt<Contact>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let list = SuppressionList::new();
        list.set_complete(true);
        Self(Arc::new(Inner {
            state: Mutex::new(State {
                entities: BTreeMap::new(),
                ids: IdStream::new([1; 32]),
                notes: Vec::new(),
            }),
            now: AtomicI64::new(START),
            mode: Mutex::new(Mode::Decide),
            then: Mutex::default(),
            silent: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            past_held: AtomicBool::new(false),
            scans: AtomicUsize::new(0),
            scans_held: watch::Sender::new(false),
            list: Arc::new(list),
        }))
    }

    /// The lists, which hear of every change at once.
    pub(crate) fn list(&self) -> Arc<SuppressionList> {
        Arc::clone(&self.0.list)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.0.now.load(Ordering::SeqCst))
    }

    pub(crate) fn set_now(&self, now: Timestamp) {
        self.0.now.store(now.0, Ordering::SeqCst);
    }

    pub(crate) fn advance_s(&self, seconds: i64) {
        self.set_now(self.now().plus_s(seconds));
    }

    pub(crate) fn mode(&self, mode: Mode) {
        *self.0.mode.lock().unwrap() = mode;
    }

    /// One mode for what is submitted next, another for all that comes after it.
    pub(crate) fn once(&self, mode: Mode, then: Mode) {
        self.mode(mode);
        *self.0.then.lock().unwrap() = Some(then);
    }

    /// Whoever reads the past waits until it is let go; only so long that a bug ends its test.
    pub(crate) fn hold_past(&self, held: bool) {
        self.0.past_held.store(held, Ordering::SeqCst);
    }

    /// Whoever looks at all entities waits until it is let go.
    pub(crate) fn hold_scans(&self, held: bool) {
        self.0.scans_held.send_replace(held);
    }

    /// How many look at all entities now.
    pub(crate) fn scans(&self) -> usize {
        self.0.scans.load(Ordering::SeqCst)
    }

    /// A shadow run is asked for, and nobody makes it.
    pub(crate) fn request_report(&self, days: u8) {
        let body = Body::RequestReport(RequestReport { days });
        let asked = fixture::command(fixture::AGENTS, Route::Shadow, body);
        self.decide(&asked, &fixture::policy(), false);
    }

    /// How many entities there are: what was recorded.
    pub(crate) fn entities(&self) -> usize {
        self.0.state.lock().unwrap().entities.len()
    }

    /// Submissions that were never answered, and how many of them were dropped.
    pub(crate) fn silent(&self) -> (usize, usize) {
        let load = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        (load(&self.0.silent), load(&self.0.dropped))
    }

    fn decide(&self, command: &Command, policy: &Policy, full: bool) -> Reply {
        let Some(look_up) = Contact::look_up(command) else {
            return self.decide_complete(command, policy, full);
        };
        let found = self.decide_complete(&look_up, policy, full);
        match Contact::looked_up(command.clone(), found) {
            Ok(complete) => self.decide_complete(&complete, policy, full),
            Err(reply) => reply,
        }
    }

    fn decide_complete(&self, command: &Command, policy: &Policy, full: bool) -> Reply {
        let mut state = self.0.state.lock().unwrap();
        let State {
            entities,
            ids,
            notes,
        } = &mut *state;
        let now = self.now();
        let views = Contact::keys(command).into_iter().map(|key| {
            let known = entities.get(&key);
            View {
                key,
                entity: known.map(|(_, entity)| entity),
                next_version: known.map_or(1, |(version, _)| version + 1),
            }
        });
        let mut context = Context {
            now,
            ids,
            policy,
            full,
            part_full: false,
            clock_suspect: false,
        };
        let decision = Contact::decide(&Entities::new(views.collect()), command, &mut context);
        for (key, event) in &decision.events {
            let entry = entities.entry(*key);
            let (version, entity) = entry.or_insert_with(|| (0, Contact::empty(key.kind)));
            Contact::apply(entity, event);
            *version += 1;
            Contact::check(entity).unwrap();
        }
        notes.extend(decision.note.map(|note| Receipt {
            space: command.space,
            time: now,
            policy: 1,
            note,
        }));
        for notice in &decision.notices {
            self.0.list.told(notice);
        }
        decision.reply
    }

    fn undecided(&self, command: &Command, policy: &Policy, why: Undecided) -> Answer<Reply> {
        let ids = &mut self.0.state.lock().unwrap().ids;
        match Contact::undecided(command, policy, why, self.now(), ids) {
            Some(reply) => Answer::Instead(reply),
            None => Answer::NotDecided(why),
        }
    }

    fn answer(
        &self,
        index: usize,
        command: &Command,
        policy: &Policy,
        mode: Mode,
    ) -> Answer<Reply> {
        match mode {
            Mode::Decide => Answer::Decided(self.decide(command, policy, false)),
            Mode::Full => Answer::Decided(self.decide(command, policy, true)),
            Mode::Undeclared => Answer::Decided(Reply::Undeclared(Member::Purpose)),
            Mode::OnlyFirst if index == 0 => Answer::Decided(self.decide(command, policy, false)),
            Mode::OnlyFirst | Mode::Late => self.undecided(command, policy, Undecided::Deadline),
            Mode::Rebuilding => self.undecided(command, policy, Undecided::Rebuilding),
            Mode::NoRoom => self.undecided(command, policy, Undecided::NoRoom),
            Mode::Broken => Answer::Broken,
            Mode::Unavailable => Answer::Unavailable,
            Mode::EntityBusy => Answer::Busy,
            Mode::SpaceBusy | Mode::Overloaded | Mode::Stopping | Mode::Silent => unreachable!(),
        }
    }
}

impl Decider for World {
    async fn submit(&self, asked: Asked) -> Result<Vec<Answer<Reply>>, Refused> {
        // What the node itself asks in the background is decided in every mode.
        let is_own = asked.commands.iter().all(|one| one.source == SourceId(0));
        let mode = match is_own {
            true => Mode::Decide,
            false => {
                let mut mode = self.0.mode.lock().unwrap();
                let then = self.0.then.lock().unwrap().take().unwrap_or(*mode);
                std::mem::replace(&mut *mode, then)
            }
        };
        match mode {
            Mode::SpaceBusy => return Err(Refused::Busy { retry_after_s: 3 }),
            Mode::Overloaded => return Err(Refused::Overloaded { retry_after_s: 2 }),
            Mode::Stopping => return Err(Refused::Stopping),
            Mode::Silent => {
                let _counted = CountedDrop(Arc::clone(&self.0));
                self.0.silent.fetch_add(1, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
            Mode::Decide
            | Mode::Late
            | Mode::Rebuilding
            | Mode::Broken
            | Mode::Unavailable
            | Mode::EntityBusy
            | Mode::OnlyFirst
            | Mode::Full
            | Mode::NoRoom
            | Mode::Undeclared => {}
        }
        let commands = asked.commands.iter().enumerate();
        Ok(commands
            .map(|(index, command)| self.answer(index, command, &asked.policy, mode))
            .collect())
    }

    async fn holdings(
        &self,
        space: SpaceId,
        policy: Arc<Policy>,
        since: Timestamp,
    ) -> Result<Holdings, NotScanned> {
        let now = self.now();
        let mut seen = Holdings::default();
        for (key, (_, entity)) in &self.0.state.lock().unwrap().entities {
            if key.space == space {
                seen.see(entity, &policy, since, now);
            }
        }
        Ok(seen)
    }

    async fn scan<T, F>(&self, limit: usize, pick: F) -> Result<Scanned<T>, NotScanned>
    where
        T: Ord + Send + 'static,
        F: Fn(&EntityKey, &ContactEntity, Timestamp) -> Option<T> + Send + Sync + 'static,
    {
        if *self.0.mode.lock().unwrap() == Mode::Rebuilding {
            return Err(NotScanned::Rebuilding);
        }
        let _one = Scanning::begin(&self.0)?;
        let mut held = self.0.scans_held.subscribe();
        held.wait_for(|held| !held).await.unwrap();
        let state = self.0.state.lock().unwrap();
        let known = state.entities.iter();
        let mut found: Vec<T> = known
            .filter_map(|(key, (_, entity))| pick(key, entity, self.now()))
            .collect();
        let matched = u64::try_from(found.len()).unwrap();
        found.sort();
        found.truncate(limit);
        Ok(Scanned {
            found,
            matched,
            left_out: 0,
        })
    }
}

impl History for World {
    fn between(&self, from: Timestamp, upto: Timestamp, visit: Visit<'_>) -> Result<(), String> {
        for _ in 0..4_000 {
            if !self.0.past_held.load(Ordering::SeqCst) {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        let state = self.0.state.lock().unwrap();
        let within = state.notes.iter();
        let mut within = within
            .filter(|noted| (from..=upto).contains(&noted.time))
            .map(|noted| Receipt {
                space: noted.space,
                time: noted.time,
                policy: noted.policy,
                note: noted.note.clone(),
            });
        match within.try_for_each(visit) {
            // Through or broken off: either is the end.
            ControlFlow::Continue(()) | ControlFlow::Break(()) => Ok(()),
        }
    }
}

/// One look at all entities, of the few that a shard queues.
struct Scanning(Arc<Inner>);

impl Scanning {
    fn begin(inner: &Arc<Inner>) -> Result<Self, NotScanned> {
        let before = inner.scans.fetch_add(1, Ordering::SeqCst);
        let one = Self(Arc::clone(inner));
        if before < 4 {
            Ok(one)
        } else {
            Err(NotScanned::GivenUp)
        }
    }
}

impl Drop for Scanning {
    fn drop(&mut self) {
        self.0.scans.fetch_sub(1, Ordering::SeqCst);
    }
}

struct CountedDrop(Arc<Inner>);

impl Drop for CountedDrop {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}
