//! Request bodies: one buffer per connection holds head and body of a whole request, with places of
//! fixed width for what differs between checks. A new request only overwrites digits, so building a
//! check costs tens of nanoseconds and the server meets no body twice.
//!
//! Effect keys are fresh: `load-<run>-<connection><count>`, where `<run>` differs between runs.

use crate::random::Random;

/// How wide each place is, in digits.
const AGENT_DIGITS: usize = 2;
const CUSTOMER_DIGITS: usize = 8;
const OBJECT_DIGITS: usize = 7;
const EFFECT_DIGITS: usize = 12;

/// The first customer's number after `+55119`; customers count up from here.
const CUSTOMER_FIRST: u64 = 60_000_000;
/// Effect numbers one connection may use.
const EFFECTS_PER_CONNECTION: u64 = 100_000_000;

/// What the checks of a run have in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// The path asked.
    pub(crate) path: &'static str,
    /// Checks in one request; `None` asks one bare check.
    pub(crate) batch: Option<usize>,
    /// The purpose named.
    pub(crate) purpose: String,
    /// The channel named.
    pub(crate) channel: String,
    /// The gateway named, when answers shall carry tokens.
    pub(crate) gateway: Option<String>,
    /// How many customers the checks spread over.
    pub(crate) customers: u64,
    /// How many objects the checks spread over.
    pub(crate) objects: u64,
    /// Pairs of places in a batch that share one effect key, to prove the order of the answers.
    pub(crate) order_probes: usize,
    /// What sets this run's effect keys apart from those of every other run.
    pub(crate) run: u32,
}

/// Two places of a batch that carry one effect key: the later one may not be allowed when the
/// earlier one was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    /// The place asked first.
    pub(crate) first: usize,
    /// The place asked later.
    pub(crate) second: usize,
}

/// Where the digits of one check stand in the buffer.
#[derive(Debug, Clone, Copy)]
struct Places {
    agent: usize,
    customer: usize,
    object: usize,
    effect: usize,
}

/// A request that can be made anew in place.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    places: Vec<Places>,
    probes: Vec<Probe>,
    random: Random,
    customers: u64,
    objects: u64,
    next_effect: u64,
}

impl Request {
    /// The request of one connection.
    pub(crate) fn new(shape: &Shape, host: &str, key: &str, seed: u64, connection: u64) -> Self {
        let checks = shape.batch.unwrap_or(1);
        let mut places = Vec::with_capacity(checks);
        let mut body = Vec::new();
        if shape.batch.is_some() {
            body.extend_from_slice(b"{\"checks\":[");
        }
        for index in 0..checks {
            if index > 0 {
                body.push(b',');
            }
            places.push(push_check(&mut body, shape));
        }
        if shape.batch.is_some() {
            body.extend_from_slice(b"]}");
        }
        let mut bytes = head(shape.path, host, key, body.len()).into_bytes();
        let body_at = bytes.len();
        bytes.append(&mut body);
        for place in &mut places {
            place.agent += body_at;
            place.customer += body_at;
            place.object += body_at;
            place.effect += body_at;
        }
        Self {
            bytes,
            places,
            probes: vec![
                Probe {
                    first: 0,
                    second: 0
                };
                shape.order_probes.min(checks / 2)
            ],
            random: Random::new(seed, connection),
            customers: shape.customers,
            objects: shape.objects,
            next_effect: connection * EFFECTS_PER_CONNECTION,
        }
    }

    /// Writes new customers, objects and effect keys over the last ones.
    pub(crate) fn renew(&mut self) {
        for place in &self.places {
            let draw = self.random.next();
            put(&mut self.bytes, place.agent, AGENT_DIGITS, draw % 100);
            let customer = CUSTOMER_FIRST + self.random.below(self.customers);
            put(&mut self.bytes, place.customer, CUSTOMER_DIGITS, customer);
            let object = self.random.below(self.objects);
            put(&mut self.bytes, place.object, OBJECT_DIGITS, object);
            put(
                &mut self.bytes,
                place.effect,
                EFFECT_DIGITS,
                self.next_effect,
            );
            self.next_effect += 1;
        }
        self.renew_probes();
    }

    /// Gives each probe two places of its own, the pairs in separate stretches of the batch.
    fn renew_probes(&mut self) {
        let stretch = self.places.len() / self.probes.len().max(1);
        for (index, probe) in self.probes.iter_mut().enumerate() {
            let half = (stretch / 2) as u64;
            let first = index * stretch + self.random.below(half) as usize;
            let second = index * stretch + stretch / 2 + self.random.below(half) as usize;
            let from = self.places[first].effect;
            self.bytes
                .copy_within(from..from + EFFECT_DIGITS, self.places[second].effect);
            *probe = Probe { first, second };
        }
    }

    /// Head and body, ready to send.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The pairs of places that share an effect key.
    pub(crate) fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Checks in the request.
    pub(crate) const fn checks(&self) -> usize {
        self.places.len()
    }
}

fn head(path: &str, host: &str, key: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
         Accept: application/json\r\nUser-Agent: interlock-load\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

fn push_check(body: &mut Vec<u8>, shape: &Shape) -> Places {
    let text = |body: &mut Vec<u8>, text: &str| body.extend_from_slice(text.as_bytes());
    let gap = |body: &mut Vec<u8>, digits: usize| {
        let at = body.len();
        body.resize(at + digits, b'0');
        at
    };
    text(body, "{\"agent\":\"agent_");
    let agent = gap(body, AGENT_DIGITS);
    text(
        body,
        "\",\"intent\":\"follow_up\",\"direction\":\"outbound\",\"purpose\":\"",
    );
    text(body, &shape.purpose);
    text(body, "\",\"channel\":\"");
    text(body, &shape.channel);
    if let Some(gateway) = &shape.gateway {
        text(body, "\",\"gateway_id\":\"");
        text(body, gateway);
    }
    text(
        body,
        "\",\"subject\":{\"type\":\"phone_e164\",\"value\":\"+55119",
    );
    let customer = gap(body, CUSTOMER_DIGITS);
    text(
        body,
        "\"},\"object\":{\"namespace\":\"crm\",\"type\":\"order\",\"id\":\"order-",
    );
    let object = gap(body, OBJECT_DIGITS);
    text(
        body,
        &format!("\"}},\"effect_key\":\"load-{:08x}-", shape.run),
    );
    let effect = gap(body, EFFECT_DIGITS);
    text(body, "\"}");
    Places {
        agent,
        customer,
        object,
        effect,
    }
}

/// Writes `value` with leading zeros into `digits` bytes at `at`.
fn put(bytes: &mut [u8], at: usize, digits: usize, mut value: u64) {
    for byte in bytes[at..at + digits].iter_mut().rev() {
        *byte = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::*;

    fn shape(batch: Option<usize>) -> Shape {
        Shape {
            path: "/v1/coordination/check/batch",
            batch,
            purpose: "service".to_owned(),
            channel: "whatsapp".to_owned(),
            gateway: None,
            customers: 1_000_000,
            objects: 1_000_000,
            order_probes: 0,
            run: 0xfeed,
        }
    }

    fn body(request: &Request) -> &[u8] {
        let end = request
            .bytes()
            .windows(4)
            .position(|four| four == b"\r\n\r\n");
        &request.bytes()[end.expect("a head") + 4..]
    }

    fn checks(request: &Request) -> Vec<Value> {
        let body: Value = serde_json::from_slice(body(request)).expect("valid JSON");
        body["checks"].as_array().expect("a list").clone()
    }

    #[test]
    fn a_batch_is_valid_json_with_the_contracts_members() {
        let mut request = Request::new(&shape(Some(500)), "h", "k", 1, 0);
        request.renew();
        let checks = checks(&request);
        assert_eq!(checks.len(), 500);
        let one = &checks[499];
        assert_eq!(one["direction"], "outbound");
        assert_eq!(one["subject"]["type"], "phone_e164");
        let phone = one["subject"]["value"].as_str().expect("a phone");
        assert!(phone.starts_with("+551196") && phone.len() == 14, "{phone}");
        assert_eq!(one["effect_key"], "load-0000feed-000000000499");
    }

    #[test]
    fn effect_keys_never_repeat_over_renewals_and_connections() {
        let mut seen = HashSet::new();
        for connection in 0..3 {
            let mut request = Request::new(&shape(Some(100)), "h", "k", 1, connection);
            for _ in 0..3 {
                request.renew();
                for check in checks(&request) {
                    assert!(seen.insert(check["effect_key"].to_string()));
                }
            }
        }
        assert_eq!(seen.len(), 900);
    }

    #[test]
    fn customers_spread_and_a_hot_customer_is_one() {
        let customers = |customers| {
            let mut request = Request::new(
                &Shape {
                    customers,
                    ..shape(Some(200))
                },
                "h",
                "k",
                5,
                0,
            );
            request.renew();
            let values = checks(&request)
                .into_iter()
                .map(|c| c["subject"]["value"].to_string());
            values.collect::<HashSet<_>>().len()
        };
        assert!(customers(1_000_000) > 190);
        assert_eq!(customers(1), 1);
    }

    #[test]
    fn probes_share_exactly_their_pairs_keys() {
        let mut request = Request::new(
            &Shape {
                order_probes: 3,
                ..shape(Some(50))
            },
            "h",
            "k",
            9,
            0,
        );
        for _ in 0..20 {
            request.renew();
            let checks = checks(&request);
            let keys: HashSet<_> = checks.iter().map(|c| c["effect_key"].to_string()).collect();
            assert_eq!(keys.len(), 47);
            for probe in request.probes() {
                assert!(probe.first < probe.second);
                assert_eq!(
                    checks[probe.first]["effect_key"],
                    checks[probe.second]["effect_key"]
                );
            }
        }
    }

    #[test]
    fn a_single_check_is_a_bare_object_and_names_its_length() {
        let mut one = shape(None);
        one.gateway = Some("wa_gateway".to_owned());
        let mut request = Request::new(&one, "localhost:1", "secret", 1, 0);
        request.renew();
        let parsed: Value = serde_json::from_slice(body(&request)).expect("valid JSON");
        assert_eq!(parsed["gateway_id"], "wa_gateway");
        let head = String::from_utf8_lossy(request.bytes()).into_owned();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body(&request).len())));
        assert!(head.contains("Authorization: Bearer secret\r\n"));
    }
}
