//! A node that runs: its start, what ends it, and its end.
//!
//! Here: the node, the server and the watchers put together, and the drain. Not here: which engine
//! and which bounds (`wiring`). Called by `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use interlock_actors::{Failure, Node, NodeClock, RecoveryReport};
use interlock_api::list::SuppressionList;
use interlock_api::list::follow::follow;
use interlock_domain::contact::Contact;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::admin::Admin;
use crate::admin::listen::Listening;
use crate::config::Config;
use crate::console::say;
use crate::exit::{Exit, Stop};
use crate::memory_watch::MemoryWatch;
use crate::registry::Registry;
use crate::rotation::Schedule;
use crate::serve::{counted, found, ready_line};
use crate::signals::{Asked, Signals};
use crate::tls::Tls;
use crate::wiring::{self, Opened};
use crate::{first_start, reserve, telemetry};

/// How long answers that carry a failure may take to leave before the process ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Everything a start has found.
#[derive(Debug)]
pub(crate) struct Start {
    /// The settings.
    pub(crate) config: Config,
    /// Where to listen.
    pub(crate) address: SocketAddr,
    /// What TLS is spoken with; `None` in the clear.
    pub(crate) tls: Option<Arc<Tls>>,
    /// The log.
    pub(crate) opened: Opened,
    /// Where the verbs find the server; `None` when they cannot.
    pub(crate) verbs_in: Option<PathBuf>,
    /// What renders the metrics.
    pub(crate) metrics: PrometheusHandle,
    /// The node's clock; it began before the log was opened.
    pub(crate) clock: NodeClock,
    /// Whatever the machine's clock says.
    pub(crate) accept_clock: bool,
    /// Keep the last partition unrebuilt.
    pub(crate) recovery_hold: Option<Duration>,
}

/// A node that runs.
#[derive(Debug)]
pub(crate) struct Running {
    start: Start,
    /// The line on what was found, but for the time that recovery takes.
    found: Option<String>,
    verbs: Option<Listening>,
    schedule: Schedule,
    node: Node<Contact>,
    shards: u16,
    server: ServerHandle,
    served: JoinHandle<std::io::Result<()>>,
    signals: Signals,
    stopping: Arc<AtomicBool>,
}

/// Why a node that runs comes to its end.
enum Ending {
    Signal(&'static str),
    Failure(Failure),
    Server(String),
}

impl Running {
    /// Starts the node, the server and the verbs' socket; recovery goes on.
    ///
    /// # Errors
    /// When a group, a thread or the address is refused.
    pub(crate) fn start(mut start: Start, registry: Registry) -> Result<Self, Stop> {
        let signals = Signals::take(start.tls.is_some())?;
        let clock = start.clock.clone();
        let options = wiring::node_options(&start.config, start.accept_clock, start.recovery_hold);
        let log = Arc::clone(&start.opened.log);
        let policies = registry.policies();
        let node = Node::<Contact>::start(log, policies, clock, start.opened.mark.take(), options)
            .map_err(wiring::start_refused)?;
        let stopping = Arc::new(AtomicBool::new(false));
        let found = found(&start.opened, &registry);
        let admin = Arc::new(Admin::new(registry, &node, &start.config));
        let list = Arc::new(SuppressionList::new());
        follow_list(&list, &node);
        let state = wiring::api_state(&node, &start, &admin, &stopping, list);
        let mut listen = wiring::listen_options(&start.config, start.address);
        listen.tls = start.tls.as_deref().map(Tls::config);
        let (server, _) = interlock_api::server(state, &listen).map_err(|error| {
            let message = format!("listen {}: {error}", start.address);
            Stop::new(Exit::Listen, message)
        })?;
        telemetry::keep_metrics(start.metrics.clone());
        MemoryWatch::new(&start.config.memory).keep(node.pressure());
        let schedule = Schedule::start(&admin, &start.config.signing);
        let verbs = start.verbs_in.as_deref();
        let verbs = verbs.map(|dir| Listening::start(dir, admin)).transpose()?;
        Ok(Self {
            found,
            verbs,
            schedule,
            node,
            shards: options.shards,
            server: server.handle(),
            served: run(server),
            signals,
            stopping,
            start,
        })
    }

    /// Serves until something ends it, and ends it.
    ///
    /// # Errors
    /// Why it could not go on.
    pub(crate) async fn serve(mut self) -> Result<(), Stop> {
        let url = first_start::url(self.start.address, self.start.tls.is_some());
        say(&format!("listening {url} rebuilding"));
        let ending = self.until_ending().await;
        self.stopping.store(true, Ordering::Relaxed);
        match ending {
            Ending::Signal(name) => {
                self.notice(name).await?;
                self.drain(name).await
            }
            Ending::Failure(failure) => {
                // What waits has been answered with 503; it only has to leave.
                rt::time::timeout(LAST_WORDS, self.server.stop(true))
                    .await
                    .ok();
                Err(wiring::went_down(&failure))
            }
            Ending::Server(what) => Err(Stop::new(Exit::Bug, format!("the server ended: {what}"))),
        }
    }

    async fn until_ending(&mut self) -> Ending {
        let mut recovered = false;
        loop {
            tokio::select! {
                biased;
                asked = self.signals.next() => match asked {
                    Asked::End(name) => return Ending::Signal(name),
                    Asked::Renew => self.renew(),
                },
                failure = self.node.failed() => return Ending::Failure(failure),
                ended = &mut self.served => return Ending::Server(format!("{ended:?}")),
                Some(report) = self.node.recovered(), if !recovered => {
                    recovered = true;
                    self.announce(report);
                }
            }
        }
    }

    /// Reads the certificate again, on a thread that may block.
    fn renew(&self) {
        let Some(tls) = self.start.tls.clone() else {
            return;
        };
        let renewal = rt::task::spawn_blocking(move || match tls.renew() {
            Ok(()) => tracing::info!("SIGHUP: new connections get the certificate as it is now"),
            Err(why) => tracing::warn!("SIGHUP: the certificate stays as it was: {why}"),
        });
        // It ends by itself.
        drop(renewal);
    }

    fn announce(&self, report: RecoveryReport) {
        let Start {
            opened,
            address,
            tls,
            clock,
            ..
        } = &self.start;
        if let Some(found) = &self.found {
            say(&wiring::last_run_line(opened.last_run));
            say(&format!(
                "{found}, {entities}; {snapshots} and {records} read, recovered in {millis} ms",
                entities = counted(report.entities, "entity"),
                snapshots = counted(report.snapshots, "snapshot"),
                records = counted(report.records, "record"),
                millis = clock.mono().0 / 1_000_000,
            ));
            say(&first_start::curl_line(
                *address,
                tls.is_some(),
                "$INTERLOCK_KEY",
            ));
        }
        let min = self.start.config.storage.free_bytes_min;
        if let Some(line) = reserve::scarce(opened.log.free_bytes(), min) {
            say(&line);
        }
        let tls = tls.is_some();
        say(&ready_line(
            *address,
            tls,
            self.shards,
            opened,
            clock.is_test(),
        ));
    }

    /// Goes on for the notice of the settings; `/readyz` says already that the node stops.
    async fn notice(&mut self, name: &'static str) -> Result<(), Stop> {
        let notice = Duration::from_secs(self.start.config.server.stopping_notice_s);
        if notice.is_zero() {
            return Ok(());
        }
        tracing::info!("{name}: stopping, the address closes in {notice:?}");
        tokio::select! {
            biased;
            failure = self.node.failed() => Err(wiring::went_down(&failure)),
            never = self.signals.end_at_next() => match never {},
            () = rt::time::sleep(notice) => Ok(()),
        }
    }

    /// Takes no more, answers what is in flight, writes what was decided.
    async fn drain(self, name: &'static str) -> Result<(), Stop> {
        tracing::info!("{name}: draining");
        let Self {
            node,
            server,
            mut signals,
            start,
            verbs,
            schedule,
            ..
        } = self;
        drop(schedule);
        let patience = Duration::from_secs(start.config.server.drain_s);
        let drained = async {
            if let Some(verbs) = verbs {
                verbs.close(patience).await;
            }
            server.stop(true).await;
            node.stop(patience).await;
        };
        tokio::select! {
            () = drained => {}
            never = signals.end_at_next() => match never {},
        }
        tracing::info!("drained");
        Ok(())
    }
}

/// Keeps the suppression list until the node ends.
fn follow_list(list: &Arc<SuppressionList>, node: &Node<Contact>) {
    let followed = follow(
        Arc::clone(list),
        node.handle(),
        node.notices(),
        node.readiness(),
    );
    drop(rt::spawn(followed));
}

fn run(server: Server) -> JoinHandle<std::io::Result<()>> {
    rt::spawn(server)
}
