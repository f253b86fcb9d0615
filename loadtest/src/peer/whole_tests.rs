//! Each peer from its start to its end: the installed server, its rules, a little load, and nothing
//! left of it. `cargo xtask setup` installs the servers.

use std::fs;
use std::time::Duration;

use super::*;

const CUSTOMERS: u64 = 40;
/// Checks for half more than the contacts of all customers.
const BATCHES: u64 = 60;

fn rules() -> Rules {
    Rules {
        purpose: "marketing".to_owned(),
        limit: 20,
        window_ms: 86_400_000,
        lease_ms: LEASE_MS,
    }
}

fn load(form: Form, run: u32, batches: u64) -> Load {
    Load {
        draw: Draw {
            batch: 20,
            probes: 1,
            customers: CUSTOMERS,
            objects: 10,
            seed: 1,
        },
        form,
        connections: 3,
        run,
        limit: Some(batches),
        warm_up: Duration::ZERO,
        measured: Duration::from_secs(3600),
    }
}

/// Few customers for many checks: calls meet at their windows, and budgets are raced for.
fn whole(kind: Kind) {
    let parent = tempfile::tempdir().expect("a directory");
    // Another user's server has to come by here.
    fs::set_permissions(
        parent.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o711),
    )
    .expect("its mode");
    let peer =
        Peer::start(kind, &rules(), CUSTOMERS, parent.path()).expect("a peer with our rules");
    assert!(
        peer.durability.contains("answers proved its rules"),
        "{}",
        peer.durability
    );
    let forms = peer.server.forms();
    let batches = BATCHES / forms.len() as u64;
    let mut exhausted = 0;
    for (run, &form) in (1..).zip(forms) {
        let load = load(form, run, batches);
        let measured = drive::run(&*peer.server, &load, &peer.ledger).expect("a run");
        assert_eq!(measured.faults, Vec::<String>::new(), "{form}");
        assert_eq!(measured.counts.checks, batches * 20);
        assert_eq!(measured.latency.len(), batches);
        exhausted += measured.counts.exhausted;
    }
    assert!(exhausted >= BATCHES * 20 / 4, "{exhausted}");
    assert_eq!(peer.ledger.balance(), Ok(()));
    assert!(peer.server.cpu_seconds() > 0.0);
    drop(peer);
    assert_eq!(
        fs::read_dir(parent.path()).expect("a list").count(),
        0,
        "its directory is gone"
    );
}

/// Without time to hold anything: a reservation is over at once, and so is a contact.
fn lapses(server: &dyn Server) {
    let check = |effect| keys::Check {
        agent: 1,
        customer: 60_000_000,
        object: 1,
        effect,
        task: false,
    };
    for (run, &form) in (1..).zip(server.forms()) {
        let mut link = server.connect(form, run, 1).expect("a connection");
        let mut ask = |effect| {
            let mut verdicts = Vec::new();
            link.ask(&[check(effect)], &mut verdicts)
                .expect("an answer");
            verdicts[0]
        };
        for effect in 0..5 {
            assert_eq!(
                ask(effect),
                judge::Verdict::Allow(1),
                "{form}: contacts leave the window"
            );
        }
        assert_eq!(
            ask(0),
            judge::Verdict::EffectUnknown,
            "{form}: the lease ran out"
        );
    }
}

const fn timeless(purpose: String) -> Rules {
    Rules {
        purpose,
        limit: 2,
        window_ms: 0,
        lease_ms: 0,
    }
}

#[test]
fn redis_from_start_to_end() {
    whole(Kind::Redis);
}

#[test]
fn postgres_from_start_to_end() {
    whole(Kind::Postgres);
}

#[test]
fn what_has_its_time_lapses() {
    let rules = timeless("marketing".to_owned());
    let parent = std::env::temp_dir();
    lapses(&Redis::start(&rules, &parent).expect("Redis"));
    lapses(&Postgres::start(&rules, &parent).expect("PostgreSQL"));
}
