//! Many clients at once: exactly one gets what there is one of.

use std::sync::Barrier;

use serde_json::json;

use crate::harness::Setup;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CLIENTS: usize = 16;

#[test]
fn one_of_many_reserves_an_effect() {
    let server = Setup::new().seed(SEED).shards(3).start();
    let effect = json!({"effect_key": "invoice-7", "kind": "external_action"});
    let together = Barrier::new(CLIENTS);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = server.client();
                let (together, effect) = (&together, &effect);
                scope.spawn(move || {
                    together.wait();
                    let once = format!("client-{number}");
                    let path = "/v1/coordination/effects";
                    client.post_once(path, KEY, &once, effect).status
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    let reserved = statuses.iter().filter(|status| **status == 201).count();
    let refused = statuses.iter().filter(|status| **status == 409).count();
    assert_eq!((reserved, refused), (1, CLIENTS - 1), "{statuses:?}");
}
