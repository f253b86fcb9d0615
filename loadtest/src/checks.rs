//! Checks as a load: the script of one connection, singly or in batches, and the options that shape
//! them. Scenarios of checks are this with other customers, purposes and paces.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use clap::Args;

use crate::answer::{Decision, UNAVAILABLE, Validator};
use crate::connection::{Judged, Script, Wrong};
use crate::options::{self, name};
use crate::target::{Endpoint, Target};
use crate::template::{CUSTOMERS_MAX, Customers, Request, Shape};
use crate::token::{Keys, Recipients};

/// Checks in a batch, at most: the contract's bound.
pub(crate) const BATCH_MAX: u32 = 500;
/// Pairs of checks a batch that share an effect key.
pub(crate) const ORDER_PROBES: usize = 1;

/// What checks are about.
#[derive(Debug, Clone, Args)]
pub(crate) struct About {
    /// Chooses customers and objects; effect keys are new in every run
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Customers to spread over
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=CUSTOMERS_MAX))]
    pub(crate) customers: u64,
    /// Objects to spread over
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=9_999_999))]
    pub(crate) objects: u64,
    /// The purpose of every check. `service` of a spawned server has a budget that no run uses up and
    /// no token, so every distinct check is allowed
    #[arg(long, default_value = "service", value_parser = name)]
    pub(crate) purpose: String,
    /// The channel of every check
    #[arg(long, default_value = "whatsapp", value_parser = name)]
    pub(crate) channel: String,
}

/// The size of batches.
#[derive(Debug, Clone, Args)]
pub(crate) struct Batches {
    /// Checks in a request
    #[arg(long, default_value_t = BATCH_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(BATCH_MAX)))]
    pub(crate) batch: u32,
    /// Pairs of checks a batch that share an effect key, which proves the order of the answers; the
    /// later one of a pair is denied
    #[arg(long, default_value_t = ORDER_PROBES as u32, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub(crate) order_probes: u32,
}

impl About {
    /// What is asked about when nothing else is said.
    pub(crate) fn usual() -> Self {
        Self {
            seed: 1,
            customers: 1_000_000,
            objects: 1_000_000,
            purpose: "service".to_owned(),
            channel: "whatsapp".to_owned(),
        }
    }

    /// The shape of checks in batches of so many, or bare ones.
    pub(crate) fn shape(&self, batch: Option<u32>) -> Shape {
        Shape {
            batch: batch.map(|checks| checks as usize),
            purpose: self.purpose.clone(),
            channel: self.channel.clone(),
            gateway: None,
            customers: Customers::Spread(self.customers),
            effects: true,
            objects: self.objects,
            order_probes: batch.map_or(0, |_| ORDER_PROBES),
            seed: self.seed,
            run: options::run_tag(),
        }
    }

    /// In words, for a heading.
    pub(crate) fn words(&self) -> String {
        format!(
            "purpose {}, {} customers, {} objects, seed {}",
            self.purpose, self.customers, self.objects, self.seed
        )
    }
}

/// Effects that were reserved and answered, kept to be asked about later: the newest and some of all.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    newest: VecDeque<u64>,
    /// Every so many-th of all that came.
    sample: Vec<u64>,
    every: u64,
    seen: u64,
}

impl Acknowledged {
    /// The most that is kept of each kind.
    const KEPT_MAX: usize = 50_000;

    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        Self {
            newest: VecDeque::new(),
            sample: Vec::new(),
            every: 1,
            seen: 0,
        }
    }

    fn add(&mut self, effect: u64) {
        if self.newest.len() == Self::KEPT_MAX {
            self.newest.pop_front();
        }
        self.newest.push_back(effect);
        if self.seen.is_multiple_of(self.every) {
            self.sample.push(effect);
        }
        self.seen += 1;
        if self.sample.len() == Self::KEPT_MAX {
            // Half as dense from here on, and so far.
            let mut keep = false;
            self.sample.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }

    /// What was kept, each once.
    pub(crate) fn into_kept(self) -> Vec<u64> {
        let mut all: Vec<u64> = self.newest.into_iter().chain(self.sample).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The script of one connection.
pub(crate) struct Checks<'a> {
    request: Request,
    validator: Validator,
    batch: bool,
    /// The server's keys, when every allow has a token: one of each answer is verified.
    keys: Option<&'a Keys>,
    /// What names a token's recipient, where the gateway's key is known.
    recipients: Option<&'a Recipients>,
    /// The place whose token is verified.
    place: usize,
    acknowledged: Option<&'a Mutex<Acknowledged>>,
    /// Whether nothing but a budget may stand against a check: the space is the run's own.
    alone: bool,
}

impl<'a> Checks<'a> {
    /// Of a shape.
    pub(crate) fn new(shape: &Shape, to: &Endpoint, connection: u64) -> Self {
        let request = Request::new(shape, to, connection);
        let mut validator = Validator::new(request.checks());
        if !shape.effects {
            validator.want_no_effects();
        }
        Self {
            validator,
            request,
            batch: shape.batch.is_some(),
            keys: None,
            recipients: None,
            place: 0,
            acknowledged: None,
            alone: false,
        }
    }

    /// In a space that nobody else uses: there every check whose budget is not used up is allowed.
    pub(crate) const fn alone_in(mut self, target: &Target) -> Self {
        self.alone = target.spawned.is_some();
        self
    }

    /// Every allow has a token, and one of each answer is verified with these keys.
    pub(crate) fn with_tokens(mut self, keys: &'a Keys) -> Self {
        self.validator.want_tokens();
        self.keys = Some(keys);
        self
    }

    /// Such a token must also be for the customer that its check named.
    pub(crate) const fn for_recipients(mut self, recipients: Option<&'a Recipients>) -> Self {
        self.recipients = recipients;
        self
    }

    /// Notes the effects that were reserved.
    pub(crate) fn noted(mut self, acknowledged: &'a Mutex<Acknowledged>) -> Self {
        self.acknowledged = Some(acknowledged);
        self
    }

    /// Every effect key is new, so none may be held but that of a pair's later place.
    fn refused_rightly(&self) -> Result<(), Wrong> {
        for place in 0..self.request.checks() {
            let reason = self.validator.reason(place);
            if self.validator.allowed(place) || reason == Some(UNAVAILABLE) {
                continue;
            }
            let held = reason.is_some_and(|reason| reason.starts_with("effect_"));
            let mut probes = self.request.probes().iter();
            if held && !probes.any(|probe| probe.second == place) {
                return Err(format!("result {place}: a new effect key is held").into());
            }
            if self.alone && !held && reason != Some("budget_exhausted") {
                let words = "refused although nothing stands against it";
                return Err(format!("result {place}: {words}").into());
            }
        }
        Ok(())
    }

    fn verify(&self, keys: &Keys) -> Result<u64, Wrong> {
        let token = self.validator.token();
        if token.is_empty() {
            return Ok(0);
        }
        let token = keys.verify(token)?;
        if token.decision != self.validator.id(self.place) {
            return Err("a token for another decision".into());
        }
        let customer = self.request.customer(self.place);
        let is_for = |recipients: &Recipients| token.recipient == recipients.of_phone(customer);
        if self.recipients.is_none_or(is_for) {
            Ok(1)
        } else {
            Err("a token for another recipient".into())
        }
    }
}

impl Script for Checks<'_> {
    fn prepare(&mut self) -> Option<usize> {
        if !self.request.renew() {
            return None;
        }
        if self.keys.is_some() {
            // The place changes with the effect's number, so that each comes.
            self.place = self.request.effect(0) as usize / 7 % self.request.checks();
            self.validator.keep_token(self.place);
        }
        Some(0)
    }

    fn bytes(&self) -> &[u8] {
        self.request.bytes()
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        if status != 200 {
            return Err(Wrong::Status);
        }
        let mut counts = if self.batch {
            let (asked, probes) = (self.request.checks(), self.request.probes());
            self.validator.batch(body, asked, probes)?
        } else {
            self.validator.single(body)?
        };
        if counts.decisions[Decision::Allow as usize] < self.request.checks() as u64 {
            self.refused_rightly()?;
        }
        if let Some(keys) = self.keys {
            counts.tokens_verified += self.verify(keys)?;
        }
        if let Some(acknowledged) = self.acknowledged {
            let mut noted = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
            for place in 0..self.request.checks() {
                if self.validator.allowed(place) {
                    noted.add(self.request.effect(place));
                }
            }
        }
        Ok(Judged::checks(counts))
    }

    fn lost(&mut self) {
        self.request.turn_again();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_bounded_and_has_the_newest() {
        let mut noted = Acknowledged::new();
        for effect in 0..400_000 {
            noted.add(effect);
        }
        let kept = noted.into_kept();
        assert!(kept.len() <= 2 * Acknowledged::KEPT_MAX, "{}", kept.len());
        assert!(kept.contains(&0) && kept.contains(&399_999) && kept.contains(&350_000));
    }
}
