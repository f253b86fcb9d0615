//! `mixed`: a day of a fleet in the time of the run. Agents ask single checks and batches, some for
//! messages with tokens; they declare what they did, take and give back customers, reserve and settle
//! effects, answer customers who wrote, and now and then a customer opts out and in again. Few
//! customers come often (Zipf). The rate goes over the run as over a day: `--rate` is the mean.

use clap::Args;

use crate::arrivals::{Pace, Profile};
use crate::checks::{About, Checks};
use crate::connection::{Judged, Script, Wrong};
use crate::form::Form;
use crate::options::{Length, Output, Pacing, Where, name};
use crate::random::{Random, Zipf};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::scan::{Member, members};
use crate::scenario::claims::{self, Claims};
use crate::scenario::declare::{self, Declarations};
use crate::scenario::effects::{self, Effects};
use crate::scenario::tokens;
use crate::target::{Endpoint, Space, Target};
use crate::template::{CUSTOMER_FIRST, Customers, SUBJECT, Shape};
use crate::token::Keys;

/// Requests a second when nothing else is asked for.
const USUAL_RATE: f64 = 2_000.0;
const USUAL_CONNECTIONS: u64 = 16;
/// How unevenly customers come.
const EXPONENT: f64 = 1.1;
/// Checks in a batch of a fleet.
const BATCH: usize = 50;
/// The rate of each hour of the day, from midnight, over the day's mean.
const DAY: Profile = &[
    0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.5, 1.0, 1.6, 2.0, 2.2, 2.0, 1.4, 1.5, 1.8, 1.8, 1.7, 1.6, 1.4,
    1.0, 0.7, 0.5, 0.3, 0.2,
];

/// The kinds of requests: those of the parts, in their order.
const STEPS: &[&str] = &[
    "check",
    "batch of 50",
    "with token",
    "claim",
    "renew",
    "release",
    "lock",
    "unlock",
    "reserve",
    "settle",
    "reserve again",
    "own check",
    "contact made",
    "effect done",
    "inbound",
    "opt out",
    "opt in",
];
/// Of 100 requests, how many each part has.
const SHARES: [u64; 7] = [46, 4, 10, 10, 10, 12, 8];

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    pacing: Pacing,
    #[command(flatten)]
    about: About,
    /// The purpose of messages with tokens
    #[arg(long, default_value = "marketing", value_parser = name)]
    token_purpose: String,
    /// The gateway of messages with tokens
    #[arg(long, default_value = "wa_gateway", value_parser = name)]
    gateway: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Fleet)?;
    document.meet(&target);
    let single = Shape {
        customers: Customers::Zipf(Zipf::new(asked.about.customers, EXPONENT)),
        ..asked.about.shape(None)
    };
    let with_token = Shape {
        purpose: asked.token_purpose.clone(),
        gateway: Some(asked.gateway.clone()),
        run: single.run.wrapping_add(1),
        ..single.clone()
    };
    let keys = tokens::keys(&target.endpoint, &with_token)?;
    let script = |connection| {
        let at = (&target.endpoint, connection);
        let fleet = Fleet::new(&single, &with_token, &keys, asked.about.customers, at);
        Ok(Box::new(fleet) as Box<_>)
    };
    let mut plan = Plan::new("mixed", &target, &script);
    plan.steps = STEPS;
    plan.about = format!("{}, Zipf {EXPONENT}", asked.about.words());
    plan.unit = "operations";
    plan.pace = asked.pacing.pace(USUAL_RATE, 1.0);
    if let Pace::Open { profile, .. } = &mut plan.pace {
        *profile = DAY;
    }
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    document.runs.push(run::run(&plan)?);
    target.close()
}

/// The script of one connection: parts that each go on where they were when their turn comes again.
struct Fleet<'a> {
    parts: Vec<Part<'a>>,
    random: Random,
    present: usize,
}

struct Part<'a> {
    script: Box<dyn Script + 'a>,
    /// Where its kinds of requests begin in the list.
    first_step: usize,
}

impl<'a> Fleet<'a> {
    fn new(
        single: &Shape,
        with_token: &Shape,
        keys: &'a Keys,
        customers: u64,
        (to, connection): (&Endpoint, u64),
    ) -> Self {
        let other = |by| Shape {
            run: single.run.wrapping_add(by),
            ..single.clone()
        };
        let batch = Shape {
            batch: Some(BATCH),
            ..other(2)
        };
        let mut parts: Vec<Part<'a>> = Vec::new();
        let mut first_step = 0;
        let mut add = |steps: usize, script: Box<dyn Script + 'a>| {
            parts.push(Part { script, first_step });
            first_step += steps;
        };
        add(1, Box::new(Checks::new(single, to, connection)));
        add(1, Box::new(Checks::new(&batch, to, connection)));
        let tokens = Checks::new(with_token, to, connection).with_tokens(keys);
        add(1, Box::new(tokens));
        let run = single.run;
        add(
            claims::STEPS.len(),
            Box::new(Claims::new(to, run, connection)),
        );
        add(
            effects::STEPS.len(),
            Box::new(Effects::new(to, run, connection)),
        );
        let declarations = Declarations::new(&other(3), to, connection);
        add(declare::STEPS.len(), Box::new(declarations));
        add(
            3,
            Box::new(Customer::new(single, customers, to, connection)),
        );
        Self {
            parts,
            random: Random::new(single.seed, connection + 1_000),
            present: 0,
        }
    }
}

impl Script for Fleet<'_> {
    fn prepare(&mut self) -> Option<usize> {
        let mut drawn = self.random.below(SHARES.iter().sum());
        self.present = 0;
        while drawn >= SHARES[self.present] {
            drawn -= SHARES[self.present];
            self.present += 1;
        }
        let part = &mut self.parts[self.present];
        Some(part.first_step + part.script.prepare()?)
    }

    fn bytes(&self) -> &[u8] {
        self.parts[self.present].script.bytes()
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        self.parts[self.present].script.judge(status, body)
    }

    fn lost(&mut self) {
        self.parts[self.present].script.lost();
    }
}

/// What customers themselves bring: they write, and sometimes they want no more, and then again.
#[derive(Debug)]
struct Customer {
    /// What they write, that they opt out, that they opt in.
    forms: [Form; 3],
    random: Random,
    zipf: Zipf,
    connection: u64,
    step: usize,
    asked: u64,
    /// Who opted out last and has not opted in again.
    out: Option<u64>,
    /// Whether it is not known what became of an opt-out or opt-in.
    unsure: bool,
}

const INBOUND: usize = 0;
const OPT_OUT: usize = 1;
const OPT_IN: usize = 2;
/// One of so many requests is an opt-out or an opt-in.
const OPTS_EVERY: u64 = 20;
/// Of so many customers in a row one is a connection's own to opt out.
const OWN_EVERY: u64 = 1_000;

impl Customer {
    fn new(shape: &Shape, customers: u64, to: &Endpoint, connection: u64) -> Self {
        let run = shape.run;
        let once = format!("load-{run:08x}-o-{connection:04}-##########");
        let path = "/v1/coordination/declare";
        let said = |kind: &str, more: &str| {
            let body = format!(
                r#"{{"kind":"suppression.{kind}","agent":"agent_00",{SUBJECT},"detail":{{"purpose":"transactional"{more}}}}}"#
            );
            Form::post(to, path, Some(&once), &body)
        };
        let wrote = format!(
            r#"{{"agent":"agent_00","intent":"answer","direction":"inbound","purpose":"{}",{SUBJECT}}}"#,
            shape.purpose
        );
        Self {
            forms: [
                Form::post(to, "/v1/coordination/check", None, &wrote),
                said("added", r#","reason":"opt_out""#),
                said("lifted", ""),
            ],
            random: Random::new(shape.seed, connection + 2_000),
            zipf: Zipf::new(customers, EXPONENT),
            connection,
            step: INBOUND,
            asked: 0,
            out: None,
            unsure: false,
        }
    }

    /// An answer to a customer who wrote: somebody goes on with them.
    fn answered(body: &[u8]) -> Result<Judged, Wrong> {
        let [decision, id, holder] = members(body, ["decision", "decision_id", "holder"])?;
        if id.text().is_none() {
            return Err("no decision_id".into());
        }
        if decision.is("allow") || (decision.is("handoff_to") && holder != Member::None) {
            Ok(Judged::one())
        } else {
            Err("a decision that no inbound check may get".into())
        }
    }
}

impl Script for Customer {
    fn prepare(&mut self) -> Option<usize> {
        let drawn = self.zipf.draw(&mut self.random);
        self.step = match (self.random.below(OPTS_EVERY), self.out) {
            (0, Some(_)) => OPT_IN,
            (0, None) => OPT_OUT,
            (_, _) => INBOUND,
        };
        let own = drawn / OWN_EVERY * OWN_EVERY + self.connection % OWN_EVERY;
        let form = &mut self.forms[self.step];
        if self.step == INBOUND {
            form.digits(0, CUSTOMER_FIRST + drawn);
        } else {
            form.digits(0, self.asked);
            form.digits(1, CUSTOMER_FIRST + self.out.unwrap_or(own));
            self.out = Some(self.out.unwrap_or(own));
        }
        self.asked += 1;
        Some(self.step)
    }

    fn bytes(&self) -> &[u8] {
        self.forms[self.step].bytes()
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        if status != 200 {
            self.lost();
            return Err(Wrong::Status);
        }
        if self.step == INBOUND {
            return Self::answered(body);
        }
        let unsure = std::mem::take(&mut self.unsure);
        if self.step == OPT_IN {
            self.out = None;
        }
        let [accepted] = members(body, ["accepted"])?;
        if accepted == Member::Flag(true) || unsure {
            Ok(Judged::one())
        } else {
            Err("an opt-out or opt-in that was not accepted".into())
        }
    }

    fn lost(&mut self) {
        self.unsure |= self.step != INBOUND;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_mean_and_every_hundred_its_shares() {
        let mean = DAY.iter().sum::<f64>() / DAY.len() as f64;
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        assert_eq!(SHARES.iter().sum::<u64>(), 100);
        let parts = 3 + claims::STEPS.len() + effects::STEPS.len() + declare::STEPS.len() + 3;
        assert_eq!(parts, STEPS.len());
    }

    #[test]
    fn who_wrote_is_gone_on_with() {
        let id = r#""decision_id":"x""#;
        let judged = |body: &str| Customer::answered(body.as_bytes()).is_ok();
        assert!(judged(&format!(r#"{{"decision":"allow",{id}}}"#)));
        assert!(judged(&format!(
            r#"{{"decision":"handoff_to","holder":{{}},{id}}}"#
        )));
        assert!(!judged(&format!(r#"{{"decision":"handoff_to",{id}}}"#)));
        assert!(!judged(&format!(r#"{{"decision":"deny",{id}}}"#)));
        assert!(!judged(r#"{"decision":"allow"}"#));
    }
}
