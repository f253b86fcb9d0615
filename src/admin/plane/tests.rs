//! A client that leaves in the middle of a step, over a node in memory.

use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use interlock_actors::{Node, NodeClock};
use interlock_domain::contact::Contact;
use interlock_storage::MemoryLog;
use serde_json::json;

use super::*;
use crate::config::Config;
use crate::exit::Exit;
use crate::registry::new_space::{COORDINATION, NewSpace};
use crate::secret;
use crate::wiring::node_options;

const SPACE: u128 = 7;
const PATIENCE: Duration = Duration::from_secs(20);

fn who() -> Who {
    Who {
        space: SpaceId(*Uuid::from_u128(SPACE).as_bytes()),
        key_id: "a".into(),
        roles: vec![Role::Admin],
    }
}

fn started() -> (Node<Contact>, ConfigPlane) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.toml");
    let config = Config::load(Some(&file)).expect("the defaults");
    let log = Arc::new(MemoryLog::new());
    let secret = secret::for_memory(&*log).expect("a log");
    let clock = NodeClock::test(Timestamp(1_796_040_000_000));
    let mut registry = Registry::open(log.clone(), &secret, clock.clone()).expect("an empty log");
    let space = NewSpace {
        id: Uuid::from_u128(SPACE),
        name: "one".to_owned(),
        features: vec![COORDINATION.to_owned()],
        sources: Vec::new(),
        vault: Vec::new(),
        coordination: json!({}),
    };
    registry.create(&space, Exit::Bug).expect("a space");
    let options = node_options(&config, false, None);
    let policies = registry.policies();
    let node = Node::<Contact>::start(log, policies, clock, None, options).expect("a node");
    let admin = Admin::new(registry, &node, &config);
    (node, ConfigPlane::new(Arc::new(admin)))
}

#[test]
fn a_step_whose_client_leaves_is_whole_all_the_same() {
    actix_web::rt::System::new().block_on(async {
        let (node, plane) = started();
        let wanted = Proposal {
            kind: DocumentKind::Features,
            document: json!({ "enabled": [] }).to_string(),
            reason: "a test".to_owned(),
        };
        let diff = plane.propose(who(), wanted).await.expect("it is open");
        {
            let mut left = pin!(plane.approve(who(), diff.id));
            let polled = left.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Pending), "{polled:?}");
        }
        let applied = async {
            loop {
                let now = plane.diff(who().space, diff.id).await.expect("it is there");
                if now.state == DiffState::Applied {
                    return now.version;
                }
                task::yield_now().await;
            }
        };
        let version = tokio::time::timeout(PATIENCE, applied).await;
        assert_eq!(version, Ok(Some(2)), "durable, and in force");
        node.stop(PATIENCE).await;
    });
}
