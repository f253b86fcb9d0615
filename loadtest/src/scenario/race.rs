//! `race`: many callers for the same few things at once (closed loop). For each effect key at most one
//! wins, of each budget exactly as many as it allows, each customer has one holder at a time, and the
//! epochs of its claims rise. What was granted is kept in a ledger and judged at the end.

mod ledger;

use clap::Args;

use crate::answer::{UNAVAILABLE, Validator};
use crate::connection::{Judged, Script, Wrong};
use crate::form::Form;
use crate::options::{self, Length, Output, Where, name};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::scan::members;
use crate::scenario::race::ledger::{Grant, Ledger};
use crate::target::{Endpoint, Space, Target};
use crate::template::{CUSTOMER_FIRST, SUBJECT};

const USUAL_CONNECTIONS: u64 = 16;
/// Checks of one batch on effect keys, and the keys they are for.
const EFFECT_CHECKS: u64 = 10;
const EFFECT_KEYS: u64 = 5;
/// How many requests of each connection a thing is raced for by, on average.
const EACH: u64 = 2;
/// Customers that are claimed, away from those whose budget is raced for.
const CLAIMED_FIRST: u64 = CUSTOMER_FIRST + 20_000_000;
/// Customers there are numbers for.
const RACED_MAX: u64 = 19_000_000;

/// The kinds of requests.
const STEPS: &[&str] = &["effects", "budget", "claim", "release"];
const EFFECTS: usize = 0;
const BUDGET: usize = 1;
const CLAIM: usize = 2;
const RELEASE: usize = 3;

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    /// The purpose whose budget is raced for
    #[arg(long, default_value = "scarce", value_parser = name)]
    purpose: String,
    /// Contacts that its budget allows, in a window longer than the run
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// A purpose without a budget, for effects
    #[arg(long, default_value = "service", value_parser = name)]
    free_purpose: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Race)?;
    document.meet(&target);
    let connections = asked.length.connections.unwrap_or(USUAL_CONNECTIONS);
    let ledger = Ledger::new(connections * EACH);
    let run = options::run_tag();
    let script = |connection| {
        let racer = Racer::new(asked, &ledger, &target.endpoint, run, connection);
        Ok(Box::new(racer) as Box<_>)
    };
    let mut plan = Plan::new("race", &target, &script);
    plan.steps = STEPS;
    plan.unit = "operations";
    plan.about = format!(
        "budget of {} for {}, effects for {}",
        asked.limit, asked.purpose, asked.free_purpose
    );
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    let mut run = run::run(&plan)?;
    let race = ledger.judge(u64::from(asked.limit));
    if !race.violations.is_empty() {
        run.throughput = None;
    }
    document.words.push(format!(
        "{} effect keys, {} budgets and {} customers were raced for; {} violations.",
        race.effects,
        race.budgets,
        race.targets,
        race.violations.len()
    ));
    document.runs.push(run);
    document.race = Some(race);
    target.close()
}

/// The script of one connection.
struct Racer<'a> {
    ledger: &'a Ledger,
    /// A form for each kind of request.
    forms: [Form; 4],
    validator: Validator,
    connection: u64,
    holder: String,
    step: usize,
    asked: u64,
    /// What the present request races for.
    raced: u64,
    /// The claim it holds.
    held: Option<Grant>,
    id: [u8; 36],
}

impl<'a> Racer<'a> {
    fn new(asked: &Asked, ledger: &'a Ledger, to: &Endpoint, run: u32, connection: u64) -> Self {
        let check = |purpose: &str, key: &str| {
            format!(
                r#"{{"agent":"agent_{connection:04}","intent":"follow_up","direction":"outbound","purpose":"{purpose}","channel":"whatsapp",{SUBJECT},"effect_key":"race-{run:08x}-{key}"}}"#
            )
        };
        let effects = vec![check(&asked.free_purpose, "e-##########"); EFFECT_CHECKS as usize];
        let effects = format!("{{\"checks\":[{}]}}", effects.join(","));
        let budget = check(&asked.purpose, &format!("b-{connection:04}-##########"));
        let holder = format!("holder-{connection:04}");
        let claim = format!(r#"{{"kind":"owner","holder":"{holder}","lease_s":3600,{SUBJECT}}}"#);
        let once = format!("race-{run:08x}-{connection:04}-##########");
        let claims = "/v1/coordination/claims";
        let release = format!("{claims}/{}/release", "#".repeat(36));
        let checks = "/v1/coordination/check";
        Self {
            ledger,
            forms: [
                Form::post(to, &format!("{checks}/batch"), None, &effects),
                Form::post(to, checks, None, &budget),
                Form::post(to, claims, Some(&once), &claim),
                Form::post(to, &release, Some(&once), r####"{"epoch":############}"####),
            ],
            validator: Validator::new(EFFECT_CHECKS as usize),
            connection,
            holder,
            step: RELEASE,
            asked: 0,
            raced: 0,
            held: None,
            id: [b'-'; 36],
        }
    }

    /// Whether a check's place was decided; what was not may or may not have been granted.
    fn decided(&self, place: usize) -> bool {
        self.validator.reason(place) != Some(UNAVAILABLE)
    }

    fn judge_effects(&mut self, body: &[u8]) -> Result<Judged, Wrong> {
        let counts = self.validator.batch(body, EFFECT_CHECKS as usize, &[])?;
        for place in 0..EFFECT_CHECKS {
            let key = self.raced * EFFECT_KEYS + place % EFFECT_KEYS;
            let at = place as usize;
            self.ledger
                .effect(key, self.validator.allowed(at), self.decided(at));
        }
        Ok(Judged::checks(counts))
    }

    fn judge_budget(&mut self, body: &[u8]) -> Result<Judged, Wrong> {
        let counts = self.validator.single(body)?;
        let reason = self.validator.reason(0);
        let allowed = self.validator.allowed(0);
        if !allowed && !matches!(reason, Some("budget_exhausted" | UNAVAILABLE)) {
            return Err("a contact that was refused for something else than its budget".into());
        }
        self.ledger.budget(self.raced, allowed, self.decided(0));
        Ok(Judged::checks(counts))
    }

    fn judge_claim(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        self.ledger.claim_asked(self.raced);
        let [id, epoch, holder, code] = members(body, ["claim_id", "epoch", "holder", "code"])?;
        if status == 409 {
            // Somebody holds it, and the answer says who; not the one who asked.
            if code.is("lease_held") && holder.text().is_some() && !holder.is(&self.holder) {
                return Ok(Judged::one());
            }
            return Err("a refused claim without another holder".into());
        }
        let id = id.text().and_then(|id| <[u8; 36]>::try_from(id).ok());
        let (Some(id), Some(epoch), true) = (id, epoch.whole(), holder.is(&self.holder)) else {
            return Err("a claim without an id or an epoch, or of another holder".into());
        };
        self.id = id;
        self.held = Some(Grant::now(self.raced, epoch));
        Ok(Judged::one())
    }
}

impl Script for Racer<'_> {
    fn prepare(&mut self) -> Option<usize> {
        // In turn; only who holds a customer gives one back.
        self.step = match (self.step, self.held) {
            (EFFECTS, _) => BUDGET,
            (BUDGET, _) => CLAIM,
            (CLAIM, Some(_)) => RELEASE,
            (_, _) => EFFECTS,
        };
        if self.step != RELEASE {
            self.raced = self.ledger.next(self.step);
        }
        if self.raced >= RACED_MAX {
            return None;
        }
        let (asked, raced) = (self.asked, self.raced);
        let form = &mut self.forms[self.step];
        match self.step {
            EFFECTS => {
                for place in 0..EFFECT_CHECKS {
                    let gap = 2 * place as usize;
                    // Any customer will do: this purpose has no budget.
                    let customer = (asked * EFFECT_CHECKS + place + self.connection * 7) % 10_000;
                    form.digits(gap, CUSTOMER_FIRST + customer);
                    form.digits(gap + 1, raced * EFFECT_KEYS + place % EFFECT_KEYS);
                }
            }
            BUDGET => {
                form.digits(0, CUSTOMER_FIRST + raced);
                form.digits(1, asked);
            }
            CLAIM => {
                form.digits(0, asked);
                form.digits(1, CLAIMED_FIRST - 5_000_000 + raced);
            }
            _ => {
                form.text(0, &self.id).ok()?;
                form.digits(1, asked);
                form.number(2, self.held.map_or(0, |held| held.epoch));
                self.held = self.held.map(Grant::until_now);
            }
        }
        self.asked += 1;
        Some(self.step)
    }

    fn bytes(&self) -> &[u8] {
        self.forms[self.step].bytes()
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        let right = match self.step {
            CLAIM => matches!(status, 201 | 409),
            _ => status == 200,
        };
        if !right {
            self.lost();
            return Err(Wrong::Status);
        }
        match self.step {
            EFFECTS => self.judge_effects(body),
            BUDGET => self.judge_budget(body),
            CLAIM => self.judge_claim(status, body),
            _ => {
                self.ledger.granted(self.held.take());
                Ok(Judged::one())
            }
        }
    }

    fn lost(&mut self) {
        match self.step {
            EFFECTS => {
                for key in 0..EFFECT_KEYS {
                    self.ledger
                        .effect(self.raced * EFFECT_KEYS + key, false, false);
                }
            }
            BUDGET => self.ledger.budget(self.raced, false, false),
            CLAIM => self.ledger.unsure(self.raced),
            _ => {
                // It may still be held, so the claim counts up to its release being sent.
                self.ledger.granted(self.held.take());
                self.ledger.unsure(self.raced);
            }
        }
    }
}

impl Drop for Racer<'_> {
    fn drop(&mut self) {
        self.ledger.granted(self.held.take());
    }
}
