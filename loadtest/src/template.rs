//! Checks, singly or in batches: a whole request that is patched in place ([`Form`]) for each new one.
//!
//! Effect keys are fresh: `load-<run>-<connection><count>`, where `<run>` differs between runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::form::Form;
use crate::random::{Random, Zipf};
use crate::target::Endpoint;

/// The first customer's number after `+55119`; customers count up from here.
pub(crate) const CUSTOMER_FIRST: u64 = 60_000_000;
/// Customers there are numbers for.
pub(crate) const CUSTOMERS_MAX: u64 = 39_999_999;
/// Effect numbers one connection may use.
pub(crate) const EFFECTS_PER_CONNECTION: u64 = 100_000_000;

/// Gaps of one check, in the order in which they stand in it; the last one only where effects are
/// named.
const GAPS: usize = 4;
const CUSTOMER: usize = 1;
const OBJECT: usize = 2;
const EFFECT: usize = 3;

/// A customer as every request names one; eight digits to fill.
pub(crate) const SUBJECT: &str = r#""subject":{"type":"phone_e164","value":"+55119########"}"#;
/// An object as every request names one; seven digits to fill.
pub(crate) const OBJECT_REF: &str =
    r#""object":{"namespace":"crm","type":"order","id":"order-#######"}"#;

/// Which customers are asked about.
#[derive(Debug, Clone)]
pub(crate) enum Customers {
    /// Each as often as any other, of so many.
    Spread(u64),
    /// Few often and many seldom.
    Zipf(Zipf),
    /// Each once: all connections take from one count, up to a bound.
    InTurn {
        /// The next one.
        next: Arc<AtomicU64>,
        /// The first that is not asked about.
        end: u64,
    },
    /// One after the other without an end, over all connections: each comes again only when all that
    /// there are numbers for have come.
    Rolling(Arc<AtomicU64>),
}

/// What the checks of a run have in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Checks in one request; `None` asks one bare check.
    pub(crate) batch: Option<usize>,
    /// The purpose named.
    pub(crate) purpose: String,
    /// The channel named.
    pub(crate) channel: String,
    /// The gateway named, when answers shall carry tokens.
    pub(crate) gateway: Option<String>,
    /// Whom the checks are about.
    pub(crate) customers: Customers,
    /// Whether each check names a fresh effect.
    pub(crate) effects: bool,
    /// How many objects the checks spread over.
    pub(crate) objects: u64,
    /// Pairs of places in a batch that share one effect key, to prove the order of the answers.
    pub(crate) order_probes: usize,
    /// The seed of customers and objects.
    pub(crate) seed: u64,
    /// What sets this run's effect keys apart from those of every other run.
    pub(crate) run: u32,
}

impl Shape {
    /// Checks in one request.
    pub(crate) fn checks(&self) -> usize {
        self.batch.unwrap_or(1)
    }
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

/// A request of checks that can be made anew in place.
#[derive(Debug)]
pub(crate) struct Request {
    form: Form,
    checks: usize,
    probes: Vec<Probe>,
    random: Random,
    customers: Customers,
    objects: u64,
    /// Gaps of each check.
    gaps: usize,
    next_effect: u64,
    /// The first of the customers in turn that are named now.
    first: u64,
    /// They are named again in the next request.
    again: bool,
}

impl Request {
    /// The request of one connection.
    pub(crate) fn new(shape: &Shape, to: &Endpoint, connection: u64) -> Self {
        let checks = shape.checks();
        let one = check(shape);
        let form = match shape.batch {
            None => Form::post(to, "/v1/coordination/check", None, &one),
            Some(_) => {
                let all = vec![one; checks].join(",");
                let body = format!("{{\"checks\":[{all}]}}");
                Form::post(to, "/v1/coordination/check/batch", None, &body)
            }
        };
        let none = Probe {
            first: 0,
            second: 0,
        };
        Self {
            form,
            checks,
            probes: vec![
                none;
                if shape.effects {
                    shape.order_probes.min(checks / 2)
                } else {
                    0
                }
            ],
            random: Random::new(shape.seed, connection),
            customers: shape.customers.clone(),
            objects: shape.objects,
            gaps: if shape.effects { GAPS } else { GAPS - 1 },
            next_effect: connection * EFFECTS_PER_CONNECTION,
            first: 0,
            again: false,
        }
    }

    /// Writes new customers, objects and effect keys over the last ones; false when all customers
    /// have had their turn.
    pub(crate) fn renew(&mut self) -> bool {
        if !std::mem::take(&mut self.again) {
            let taken = |next: &AtomicU64| next.fetch_add(self.checks as u64, Ordering::Relaxed);
            self.first = match &self.customers {
                Customers::InTurn { next, end } => match taken(next) {
                    first if first < *end => first,
                    _ => return false,
                },
                Customers::Rolling(next) => taken(next),
                Customers::Spread(_) | Customers::Zipf(_) => 0,
            };
        }
        for place in 0..self.checks {
            let gap = place * self.gaps;
            let draw = self.random.next();
            let customer = match &self.customers {
                Customers::Spread(bound) => self.random.below(*bound),
                Customers::Zipf(zipf) => zipf.draw(&mut self.random),
                // The last batch begins again when customers do not fill it.
                Customers::InTurn { end, .. } => (self.first + place as u64) % end,
                Customers::Rolling(_) => (self.first + place as u64) % CUSTOMERS_MAX,
            };
            let object = self.random.below(self.objects);
            self.form.digits(gap, draw % 100);
            self.form.digits(gap + CUSTOMER, CUSTOMER_FIRST + customer);
            self.form.digits(gap + OBJECT, object);
            if self.gaps == GAPS {
                self.form.digits(gap + EFFECT, self.next_effect);
                self.next_effect += 1;
            }
        }
        self.renew_probes();
        true
    }

    /// Nobody knows what became of the request: where each customer has one turn, the next request
    /// names the same ones, with effect keys of its own.
    pub(crate) const fn turn_again(&mut self) {
        self.again = matches!(self.customers, Customers::InTurn { .. });
    }

    /// Gives each probe two places of its own, the pairs in separate stretches of the batch.
    fn renew_probes(&mut self) {
        let stretch = self.checks / self.probes.len().max(1);
        for (index, probe) in self.probes.iter_mut().enumerate() {
            let half = (stretch / 2) as u64;
            let first = index * stretch + self.random.below(half) as usize;
            let second = index * stretch + stretch / 2 + self.random.below(half) as usize;
            self.form
                .copy(first * GAPS + EFFECT, second * GAPS + EFFECT);
            *probe = Probe { first, second };
        }
    }

    /// Head and body, ready to send.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.form.bytes()
    }

    /// The pairs of places that share an effect key.
    pub(crate) fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Checks in the request.
    pub(crate) const fn checks(&self) -> usize {
        self.checks
    }

    /// The number of the effect key at a place.
    pub(crate) fn effect(&self, place: usize) -> u64 {
        number(self.form.held(place * GAPS + EFFECT))
    }

    /// The number of the customer at a place, as a subject has it.
    pub(crate) fn customer(&self, place: usize) -> u64 {
        number(self.form.held(place * self.gaps + CUSTOMER))
    }

    /// Writes effect keys over those of the present checks, from the first on.
    pub(crate) fn name_effects(&mut self, effects: &[u64]) {
        for (place, effect) in effects.iter().enumerate().take(self.checks) {
            self.form.digits(place * GAPS + EFFECT, *effect);
        }
    }
}

fn number(digits: &[u8]) -> u64 {
    let digits = digits.iter();
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// One check, with gaps for agent, customer, object and effect.
fn check(shape: &Shape) -> String {
    let gateway = shape.gateway.as_ref();
    let gateway = gateway.map_or_else(String::new, |name| format!(r#","gateway_id":"{name}""#));
    let effect = if shape.effects {
        format!(r#","effect_key":"load-{:08x}-############""#, shape.run)
    } else {
        String::new()
    };
    format!(
        r#"{{"agent":"agent_##","intent":"follow_up","direction":"outbound","purpose":"{}","channel":"{}"{gateway},{SUBJECT},{OBJECT_REF}{effect}}}"#,
        shape.purpose, shape.channel
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::*;
    use crate::form::body;

    fn shape(batch: Option<usize>) -> Shape {
        Shape {
            batch,
            purpose: "service".to_owned(),
            channel: "whatsapp".to_owned(),
            gateway: None,
            effects: true,
            customers: Customers::Spread(1_000_000),
            objects: 1_000_000,
            order_probes: 0,
            seed: 1,
            run: 0xfeed,
        }
    }

    fn request(shape: &Shape, connection: u64) -> Request {
        let to = Endpoint::new("http://localhost:1", "secret").expect("an address");
        Request::new(shape, &to, connection)
    }

    fn checks(request: &Request) -> Vec<Value> {
        let body: Value = serde_json::from_slice(body(request.bytes())).expect("valid JSON");
        body["checks"].as_array().expect("a list").clone()
    }

    #[test]
    fn a_batch_is_valid_json_with_the_contracts_members() {
        let mut request = request(&shape(Some(500)), 0);
        assert!(request.renew());
        let checks = checks(&request);
        assert_eq!(checks.len(), 500);
        let one = &checks[499];
        assert_eq!(one["direction"], "outbound");
        assert_eq!(one["subject"]["type"], "phone_e164");
        let phone = one["subject"]["value"].as_str().expect("a phone");
        assert!(phone.starts_with("+551196") && phone.len() == 14, "{phone}");
        assert_eq!(one["effect_key"], "load-0000feed-000000000499");
        assert_eq!(request.effect(499), 499);
    }

    #[test]
    fn effect_keys_never_repeat_over_renewals_and_connections() {
        let mut seen = HashSet::new();
        for connection in 0..3 {
            let mut request = request(&shape(Some(100)), connection);
            for _ in 0..3 {
                request.renew();
                for check in checks(&request) {
                    assert!(seen.insert(check["effect_key"].to_string()));
                }
            }
        }
        assert_eq!(seen.len(), 900);
    }

    fn customers(shape: &Shape) -> Vec<String> {
        let mut request = request(shape, 0);
        let mut all = Vec::new();
        while all.len() < 200 && request.renew() {
            let values = checks(&request).into_iter();
            all.extend(values.map(|check| check["subject"]["value"].to_string()));
        }
        all
    }

    #[test]
    fn customers_spread_take_turns_or_are_one() {
        let distinct = |customers_of: Customers| {
            let shape = Shape {
                customers: customers_of,
                ..shape(Some(20))
            };
            customers(&shape).into_iter().collect::<HashSet<_>>().len()
        };
        assert!(distinct(Customers::Spread(1_000_000)) > 190);
        assert_eq!(distinct(Customers::Spread(1)), 1);
        let (next, end) = (Arc::new(AtomicU64::new(0)), 50);
        assert_eq!(distinct(Customers::InTurn { next, end }), 50);
        assert!(distinct(Customers::Zipf(Zipf::new(1_000, 1.1))) < 150);
        assert_eq!(distinct(Customers::Rolling(Arc::default())), 200);
    }

    #[test]
    fn customers_whose_turn_was_lost_have_it_again() {
        let (next, end) = (Arc::new(AtomicU64::new(0)), 40);
        let shape = Shape {
            customers: Customers::InTurn { next, end },
            ..shape(Some(20))
        };
        let mut request = request(&shape, 0);
        assert!(request.renew());
        let (first, effect) = (request.customer(0), request.effect(0));
        request.turn_again();
        assert!(request.renew());
        assert_eq!(request.customer(0), first);
        assert_ne!(request.effect(0), effect);
        assert!(request.renew());
        assert_eq!(request.customer(19), first + 39);
        assert!(!request.renew());
        request.turn_again();
        assert!(request.renew() && !request.renew());
    }

    #[test]
    fn checks_without_effects_name_the_same_otherwise() {
        let mut request = request(
            &Shape {
                effects: false,
                order_probes: 2,
                ..shape(Some(20))
            },
            0,
        );
        assert!(request.renew() && request.probes().is_empty());
        let checks = checks(&request);
        assert!(checks.iter().all(|check| check.get("effect_key").is_none()));
        let phone = format!("+55119{}", request.customer(19));
        assert_eq!(checks[19]["subject"]["value"], phone);
    }

    #[test]
    fn probes_share_exactly_their_pairs_keys() {
        let mut request = request(
            &Shape {
                order_probes: 3,
                ..shape(Some(50))
            },
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
    fn a_single_check_is_a_bare_object() {
        let mut one = shape(None);
        one.gateway = Some("wa_gateway".to_owned());
        let mut request = request(&one, 0);
        request.renew();
        let parsed: Value = serde_json::from_slice(body(request.bytes())).expect("valid JSON");
        assert_eq!(parsed["gateway_id"], "wa_gateway");
        assert_eq!(parsed["object"]["namespace"], "crm");
    }
}
