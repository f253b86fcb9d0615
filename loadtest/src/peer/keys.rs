//! Which checks a peer is asked: the same agents, customers, objects and effect keys, in the same
//! order, as the batches of `template` for the same seed and connection (a test compares them), and
//! the same pairs that share an effect key.

use crate::random::Random;
use crate::template::Probe;

/// The first customer's number after `+55119`, as in `template`.
const CUSTOMER_FIRST: u64 = 60_000_000;
/// Effect numbers one connection may use, as in `template`.
const EFFECTS_PER_CONNECTION: u64 = 100_000_000;

/// One check, by numbers; a peer writes them in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Check {
    /// Two digits of `agent_NN`.
    pub(crate) agent: u64,
    /// Eight digits of `+55119NNNNNNNN`.
    pub(crate) customer: u64,
    /// Seven digits of `order-NNNNNNN`.
    pub(crate) object: u64,
    /// Twelve digits of `load-RUN-NNNNNNNNNNNN`.
    pub(crate) effect: u64,
    /// Whether the check names the task; the load's never do.
    pub(crate) task: bool,
}

/// What the checks of a run are drawn from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draw {
    /// Checks in a batch.
    pub(crate) batch: usize,
    /// Pairs in a batch that share an effect key.
    pub(crate) probes: usize,
    /// Customers to spread over.
    pub(crate) customers: u64,
    /// Objects to spread over.
    pub(crate) objects: u64,
    /// Chooses customers and objects.
    pub(crate) seed: u64,
}

/// The batches of one connection.
#[derive(Debug)]
pub(crate) struct Batches {
    draw: Draw,
    random: Random,
    next_effect: u64,
    checks: Vec<Check>,
    probes: Vec<Probe>,
}

impl Batches {
    /// Starts at the first batch of a connection.
    pub(crate) fn new(draw: Draw, connection: u64) -> Self {
        let none = Probe {
            first: 0,
            second: 0,
        };
        Self {
            draw,
            random: Random::new(draw.seed, connection),
            next_effect: connection * EFFECTS_PER_CONNECTION,
            checks: vec![Check::default(); draw.batch],
            probes: vec![none; draw.probes.min(draw.batch / 2)],
        }
    }

    /// Makes the next batch.
    pub(crate) fn renew(&mut self) {
        for check in &mut self.checks {
            *check = Check {
                agent: self.random.next() % 100,
                customer: CUSTOMER_FIRST + self.random.below(self.draw.customers),
                object: self.random.below(self.draw.objects),
                effect: self.next_effect,
                task: false,
            };
            self.next_effect += 1;
        }
        let stretch = self.checks.len() / self.probes.len().max(1);
        for (index, probe) in self.probes.iter_mut().enumerate() {
            let half = (stretch / 2) as u64;
            let first = index * stretch + self.random.below(half) as usize;
            let second = index * stretch + stretch / 2 + self.random.below(half) as usize;
            self.checks[second].effect = self.checks[first].effect;
            *probe = Probe { first, second };
        }
    }

    /// The present batch.
    pub(crate) fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Its pairs that share an effect key.
    pub(crate) fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// A customer's place among those drawn from.
    pub(crate) fn place(customer: u64) -> usize {
        customer.saturating_sub(CUSTOMER_FIRST) as usize
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::target::Endpoint;
    use crate::template::{Customers, Request, Shape};

    #[test]
    fn a_peer_is_asked_what_interlock_is_asked() {
        let draw = Draw {
            batch: 60,
            probes: 2,
            customers: 1_000_000,
            objects: 1_000_000,
            seed: 7,
        };
        let to = Endpoint::new("http://127.0.0.1:1", "k").expect("an address");
        let shape = Shape {
            batch: Some(60),
            purpose: "service".to_owned(),
            channel: "whatsapp".to_owned(),
            gateway: None,
            effects: true,
            customers: Customers::Spread(draw.customers),
            objects: draw.objects,
            order_probes: 2,
            seed: 7,
            run: 0xfeed,
        };
        let mut request = Request::new(&shape, &to, 3);
        let mut batches = Batches::new(draw, 3);
        for _ in 0..3 {
            request.renew();
            batches.renew();
            assert_eq!(request.probes(), batches.probes());
            let text = String::from_utf8_lossy(request.bytes()).into_owned();
            let (_, body) = text.split_once("\r\n\r\n").expect("a body");
            let body: Value = serde_json::from_str(body).expect("JSON");
            for (asked, check) in body["checks"]
                .as_array()
                .expect("a list")
                .iter()
                .zip(batches.checks())
            {
                assert_eq!(asked["agent"], format!("agent_{:02}", check.agent));
                assert_eq!(
                    asked["subject"]["value"],
                    format!("+55119{:08}", check.customer)
                );
                assert_eq!(asked["object"]["id"], format!("order-{:07}", check.object));
                assert_eq!(
                    asked["effect_key"],
                    format!("load-0000feed-{:012}", check.effect)
                );
            }
        }
    }
}
