//! `paid`: each connection asks for a call of one operation and settles it, one request after the
//! other. An operation of the whole space is the hardest case: one shard has its budget.

use clap::Args;

use crate::connection::{Judged, Script, Wrong};
use crate::form::Form;
use crate::options::{self, Length, Output, Pacing, Where, name};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::scan::members;
use crate::target::{Endpoint, Space, Target};

/// Requests a second when nothing else is asked for.
const USUAL_RATE: f64 = 2_000.0;
const USUAL_CONNECTIONS: u64 = 16;

const STEPS: &[&str] = &["admit", "settle"];
const ADMIT: usize = 0;
const SETTLE: usize = 1;

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    pacing: Pacing,
    /// An operation whose scope is the space, with a cap that the run does not reach
    #[arg(long, default_value = "load", value_parser = name)]
    operation: String,
    /// Units of each call
    #[arg(long, default_value_t = 1)]
    cost_units: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Load)?;
    document.meet(&target);
    let run = options::run_tag();
    let script =
        |connection| Ok(Box::new(Calls::new(asked, &target.endpoint, run, connection)) as Box<_>);
    let mut plan = Plan::new("paid", &target, &script);
    plan.steps = STEPS;
    plan.about = format!(
        "operation {}, {} units a call",
        asked.operation, asked.cost_units
    );
    plan.pace = asked.pacing.pace(USUAL_RATE, 1.0);
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    document.runs.push(run::run(&plan)?);
    target.close()
}

/// The script of one connection.
#[derive(Debug)]
struct Calls {
    admit: Form,
    settle: Form,
    units: u64,
    step: usize,
    asked: u64,
    id: [u8; 36],
}

impl Calls {
    fn new(asked: &Asked, to: &Endpoint, run: u32, connection: u64) -> Self {
        let once = format!("load-{run:08x}-p-{connection:04}-##########");
        let path = "/v1/coordination/admissions";
        let (operation, units) = (&asked.operation, asked.cost_units);
        let admit = format!(r#"{{"operation":"{operation}","cost_units":{units}}}"#);
        let done = format!(r#"{{"state":"done","cost_units":{units}}}"#);
        let settle = format!("{path}/{}/settle", "#".repeat(36));
        Self {
            admit: Form::post(to, path, Some(&once), &admit),
            settle: Form::post(to, &settle, Some(&once), &done),
            units: u64::from(units),
            step: ADMIT,
            asked: 0,
            id: [b'-'; 36],
        }
    }
}

impl Script for Calls {
    fn prepare(&mut self) -> Option<usize> {
        if self.step == ADMIT {
            self.admit.digits(0, self.asked);
        } else {
            self.settle.text(0, &self.id).ok()?;
            self.settle.digits(1, self.asked);
        }
        self.asked += 1;
        Some(self.step)
    }

    fn bytes(&self) -> &[u8] {
        if self.step == ADMIT {
            self.admit.bytes()
        } else {
            self.settle.bytes()
        }
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        let step = std::mem::replace(&mut self.step, ADMIT);
        if status != if step == ADMIT { 201 } else { 200 } {
            return Err(Wrong::Status);
        }
        let [id, state, units] = members(body, ["admission_id", "state", "units"])?;
        let wanted = if step == ADMIT { "reserved" } else { "done" };
        if units.whole() != Some(self.units) || !state.is(wanted) {
            return Err("an admission in another state or of other units".into());
        }
        let id = id.text().and_then(|id| <[u8; 36]>::try_from(id).ok());
        let id = id.ok_or("an admission without an id")?;
        if step == ADMIT {
            self.id = id;
            self.step = SETTLE;
        } else if id != self.id {
            return Err("a settlement of another admission".into());
        }
        Ok(Judged::one())
    }

    fn lost(&mut self) {
        self.step = ADMIT;
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        asked: Asked,
    }

    #[test]
    fn an_answer_that_is_not_the_expected_one_is_told() {
        let asked = Line::parse_from(["paid", "--cost-units", "2"]).asked;
        let to = Endpoint::new("http://127.0.0.1:1", "k").expect("an address");
        let mut calls = Calls::new(&asked, &to, 1, 0);
        let answer = |id: &str, state: &str, units: u64| {
            let id = id.repeat(36);
            format!(r#"{{"admission_id":"{id}","state":"{state}","units":{units}}}"#)
        };
        let mut ask = |step, status, body: &str| {
            assert_eq!(calls.prepare(), Some(step));
            calls
                .judge(status, body.as_bytes())
                .map(|judged| judged.units)
        };
        assert_eq!(ask(ADMIT, 201, &answer("a", "reserved", 2)), Ok(1));
        assert_eq!(ask(SETTLE, 200, &answer("a", "done", 2)), Ok(1));
        assert!(ask(ADMIT, 201, &answer("a", "reserved", 1)).is_err());
        assert!(ask(ADMIT, 201, r#"{"state":"reserved","units":2}"#).is_err());
        assert_eq!(ask(ADMIT, 201, &answer("a", "reserved", 2)), Ok(1));
        assert!(ask(SETTLE, 200, &answer("b", "done", 2)).is_err());
        assert_eq!(ask(ADMIT, 409, "{}"), Err(Wrong::Status));
    }
}
