//! A running server with the conformance space, and the requests most tests send.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use interlock_api::analysis::Analysis;
use interlock_api::directory::{
    Directory, Features, KeyEntry, Role, SaltOf, Scope, SourceEntry, SpaceEntry, SpaceSecret,
};
use interlock_api::limits::{ApiLimits, ListenOptions};
use interlock_api::signing::SigningKeys;
use interlock_api::state::{AppState, BackInTime, Readiness, TestClock};
use interlock_domain::contact::fixture;
use interlock_domain::contact::name::SourceId;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::client::{Answered, Client};
use crate::no_plane::NoPlane;
use crate::observed;
use crate::world::World;

pub(crate) const KEY_A: &str = "nia_sk_test_local_acme_a_secretA";
pub(crate) const KEY_B: &str = "nia_sk_test_local_acme_b_secretB";
/// Without the scope `coordinate`.
pub(crate) const KEY_C: &str = "nia_sk_test_local_acme_c_secretC";
/// With the roles `analysis` and `security` alone.
pub(crate) const KEY_D: &str = "nia_sk_test_local_acme_d_secretD";
/// Of a space without the feature, with the role `analysis`.
pub(crate) const KEY_OFF_ANALYSIS: &str = "nia_sk_test_local_off_l_secretL";
/// Turned off.
pub(crate) const KEY_OLD: &str = "nia_sk_test_local_acme_old_secretO";
/// Of a space without the feature.
pub(crate) const KEY_OFF: &str = "nia_sk_test_local_off_e_secretE";
/// Of another space with the feature.
pub(crate) const KEY_OTHER: &str = "nia_sk_test_local_other_f_secretF";

/// With the scope `admin` alone.
pub(crate) const KEY_ADMIN: &str = "nia_sk_test_local_acme_g_secretG";
/// With the role `admin` alone.
pub(crate) const KEY_ADMIN_ROLE: &str = "nia_sk_test_local_acme_h_secretH";
/// With the role `security` alone.
pub(crate) const KEY_SECURITY: &str = "nia_sk_test_local_acme_i_secretI";
/// With the role `integration` alone.
pub(crate) const KEY_INTEGRATION: &str = "nia_sk_test_local_acme_l_secretL";
/// With the scope `admin`, of a space without the feature.
pub(crate) const KEY_OFF_ADMIN: &str = "nia_sk_test_local_off_j_secretJ";
/// With the scope `admin`, of another space with the feature.
pub(crate) const KEY_OTHER_ADMIN: &str = "nia_sk_test_local_other_k_secretK";

pub(crate) const PHONE: &str = "+5511987654321";
pub(crate) const CHECK: &str = "/v1/coordination/check";
pub(crate) const BATCH: &str = "/v1/coordination/check/batch";
pub(crate) const DECLARE: &str = "/v1/coordination/declare";
pub(crate) const CLAIMS: &str = "/v1/coordination/claims";
pub(crate) const EFFECTS: &str = "/v1/coordination/effects";

/// A server on its own thread; stops when dropped.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    pub(crate) world: World,
    pub(crate) directory: Arc<Directory>,
    pub(crate) readiness: Arc<Mutex<Readiness>>,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// Messages that reports hold at once, and figures that are quick however long they take.
    pub(crate) const USUAL: (usize, Duration) = (1_000, Duration::MAX);

    pub(crate) fn start() -> Self {
        Self::with(ApiLimits::default(), true)
    }

    pub(crate) fn with(limits: ApiLimits, test_clock: bool) -> Self {
        Self::over(World::new(), limits, test_clock, Self::USUAL)
    }

    /// A server over a world that was there before; it holds at most so many messages at once, and
    /// figures that took longer are shown for a minute.
    pub(crate) fn over(
        world: World,
        limits: ApiLimits,
        test_clock: bool,
        reports: (usize, Duration),
    ) -> Self {
        observed::begin();
        let (state, readiness) = Self::state(&world, limits, test_clock, reports);
        let directory = Arc::clone(&state.directory);
        let (told, telling) = mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let options = ListenOptions {
                    addresses: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
                    workers: 1,
                    shutdown_s_max: 1,
                    ..ListenOptions::default()
                };
                let (server, bound) = interlock_api::server(state, &options).unwrap();
                told.send((server.handle(), bound[0])).unwrap();
                server.await.unwrap();
            });
        });
        let (handle, address) = telling.recv().unwrap();
        Self {
            address,
            world,
            directory,
            readiness,
            handle,
            thread: Some(thread),
        }
    }

    /// What the handlers reach, and whether the node is ready.
    pub(crate) fn state(
        world: &World,
        limits: ApiLimits,
        test_clock: bool,
        (messages_at_once_max, quick): (usize, Duration),
    ) -> (AppState<World>, Arc<Mutex<Readiness>>) {
        let readiness = Arc::new(Mutex::new(Readiness::Ready));
        let (now_ready, stamps) = (Arc::clone(&readiness), world.clone());
        let clock: Arc<dyn TestClock> = Arc::new(Clock(world.clone()));
        let past = Arc::new(world.clone());
        let state = AppState {
            analysis: Analysis::bounded(past, messages_at_once_max, quick),
            directory: Arc::new(directory()),
            decider: world.clone(),
            list: world.list(),
            limits,
            now: Arc::new(move || stamps.now()),
            plane: Arc::new(NoPlane),
            readiness: Arc::new(move || *now_ready.lock().unwrap()),
            metrics: Arc::new(observed::metrics),
            test_clock: test_clock.then_some(clock),
        };
        (state, readiness)
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Sends with key A and, for a POST, a new Idempotency-Key.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answered {
        self.post_as(KEY_A, path, body)
    }

    pub(crate) fn post_as(&self, key: &str, path: &str, body: &Value) -> Answered {
        self.post_keyed(key, path, &fresh("key"), body)
    }

    pub(crate) fn post_keyed(
        &self,
        key: &str,
        path: &str,
        idempotency_key: &str,
        body: &Value,
    ) -> Answered {
        let headers = [
            ("Authorization", format!("Bearer {key}")),
            ("Content-Type", "application/json".to_owned()),
            ("Idempotency-Key", idempotency_key.to_owned()),
        ];
        self.client()
            .send("POST", path, &headers, body.to_string().as_bytes())
    }

    pub(crate) fn check(&self, check: &Value) -> Value {
        // Without an Idempotency-Key, as the SDK sends it.
        let headers = [
            ("Authorization", format!("Bearer {KEY_A}")),
            ("Content-Type", "application/json".to_owned()),
        ];
        let body = check.to_string();
        self.client()
            .send("POST", CHECK, &headers, body.as_bytes())
            .ok()
    }

    pub(crate) fn declare(&self, kind: &str, detail: &Value) -> Value {
        let body = json!({"kind": kind, "agent": "closing", "detail": detail});
        self.post(DECLARE, &body).ok()
    }

    pub(crate) fn declare_for(&self, value: &str, kind: &str, detail: &Value) -> Answered {
        let body =
            json!({"kind": kind, "agent": "closing", "subject": phone(value), "detail": detail});
        self.post(DECLARE, &body)
    }

    pub(crate) fn get(&self, path: &str, key: Option<&str>) -> Answered {
        let headers: Vec<_> = key
            .map(|key| ("Authorization", format!("Bearer {key}")))
            .into_iter()
            .collect();
        self.client().send("GET", path, &headers, b"")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let thread = self.thread.take();
        // The server's own thread drives the stop; nobody has to wait for the future.
        drop(self.handle.stop(false));
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }
}

struct Clock(World);

impl TestClock for Clock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn set(
        &self,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<(), BackInTime>> + Send + '_>> {
        Box::pin(async move {
            if now < self.0.now() {
                return Err(BackInTime);
            }
            self.0.set_now(now);
            Ok(())
        })
    }
}

fn directory() -> Directory {
    let directory = Directory::new(&[9; 32]);
    let policy = Arc::new(fixture::policy());
    let spaces = [
        (fixture::SPACE, true, 1),
        (SpaceId([8; 16]), false, 2),
        (SpaceId([9; 16]), true, 3),
    ];
    for (id, coordination, secret) in spaces {
        directory.put_space(SpaceEntry {
            id,
            name: "acme".into(),
            features: Features { coordination },
            policy: Arc::clone(&policy),
            signing: SigningKeys::first(SpaceSecret::new(&[secret; 32]).prepared(), Timestamp(0)),
            secret: SpaceSecret::new(&[secret; 32]),
            sources: Arc::new([]),
        });
    }
    let keys = [
        (KEY_A, fixture::SPACE, 1, vec![Scope::Coordinate]),
        (
            KEY_B,
            fixture::SPACE,
            2,
            vec![Scope::Coordinate, Scope::Track, Scope::Context],
        ),
        (KEY_C, fixture::SPACE, 1, vec![Scope::Track]),
        (KEY_OLD, fixture::SPACE, 1, vec![Scope::Coordinate]),
        (
            KEY_OFF,
            SpaceId([8; 16]),
            1,
            vec![Scope::Coordinate, Scope::Track, Scope::Context],
        ),
        (KEY_OTHER, SpaceId([9; 16]), 1, vec![Scope::Coordinate]),
    ];
    let keys =
        keys.map(|(text, space, source, scopes)| (text, space, source, (scopes, Vec::new())));
    for (text, space, source, (scopes, roles)) in keys.into_iter().chain(governors()) {
        put_key(&directory, text, (space, SourceId(source)), (scopes, roles));
    }
    assert!(directory.revoke("old"));
    directory
}

/// Makes a key known: of a space and source, with what it may.
pub(crate) fn put_key(
    directory: &Directory,
    text: &str,
    (space, source): (SpaceId, SourceId),
    (scopes, roles): (Vec<Scope>, Vec<Role>),
) {
    directory.put_key(KeyEntry {
        digest: directory.digest(text),
        key_id: text.rsplit('_').nth(1).expect("a key's id").into(),
        space,
        source: SourceEntry {
            id: source,
            name: "agents".into(),
            salt: SaltOf::default(),
        },
        test: true,
        region: "local".into(),
        scopes,
        roles,
        revoked: false,
    });
}

/// A key's text, space, source, and what it may.
type Key = (&'static str, SpaceId, u32, (Vec<Scope>, Vec<Role>));

/// Keys of those who erase, hold and count, and of those who settle for others.
fn governors() -> [Key; 8] {
    let admin = || (vec![Scope::Admin], Vec::new());
    [
        (KEY_ADMIN, fixture::SPACE, 3, admin()),
        (
            KEY_ADMIN_ROLE,
            fixture::SPACE,
            3,
            (Vec::new(), vec![Role::Admin]),
        ),
        (
            KEY_SECURITY,
            fixture::SPACE,
            3,
            (Vec::new(), vec![Role::Security]),
        ),
        (
            KEY_INTEGRATION,
            fixture::SPACE,
            3,
            (Vec::new(), vec![Role::Integration]),
        ),
        (KEY_OFF_ADMIN, SpaceId([8; 16]), 3, admin()),
        (KEY_OTHER_ADMIN, SpaceId([9; 16]), 3, admin()),
        (
            KEY_D,
            fixture::SPACE,
            4,
            (Vec::new(), vec![Role::Analysis, Role::Security]),
        ),
        (
            KEY_OFF_ANALYSIS,
            SpaceId([8; 16]),
            4,
            (Vec::new(), vec![Role::Analysis]),
        ),
    ]
}

/// A text no other test has: a customer, an effect key, an Idempotency-Key.
pub(crate) fn fresh(word: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{word}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn phone(value: &str) -> Value {
    json!({"type": "phone_e164", "value": value})
}

/// The check most rows begin with.
pub(crate) fn check() -> Value {
    json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound", "purpose": "service",
        "channel": "whatsapp", "subject": phone(PHONE),
    })
}

/// The same with some members set; `null` takes one out.
pub(crate) fn check_with(members: &Value) -> Value {
    let mut check = check();
    for (name, value) in members.as_object().unwrap() {
        check[name] = value.clone();
        if value.is_null() {
            check.as_object_mut().unwrap().remove(name);
        }
    }
    check
}
