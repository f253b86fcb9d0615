//! `declare`: what an agent says after it acted. Each connection asks a check, declares the contact it
//! made by it, and settles its effect by declaration.

use clap::Args;

use crate::answer::Validator;
use crate::checks::About;
use crate::connection::{Judged, Script, Wrong};
use crate::form::Form;
use crate::options::{Length, Output, Pacing, Where};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::scan::{Member, members};
use crate::target::{Endpoint, Space, Target};
use crate::template::{Request, SUBJECT, Shape};

/// Requests a second when nothing else is asked for.
const USUAL_RATE: f64 = 2_000.0;
const USUAL_CONNECTIONS: u64 = 16;

/// The kinds of requests.
pub(crate) const STEPS: &[&str] = &["check", "contact made", "effect done"];
const CHECK: usize = 0;
const CONTACT: usize = 1;
const EFFECT: usize = 2;

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
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Load)?;
    document.meet(&target);
    let shape = asked.about.shape(None);
    let script = |connection| {
        Ok(Box::new(Declarations::new(&shape, &target.endpoint, connection)) as Box<_>)
    };
    let mut plan = Plan::new("declare", &target, &script);
    plan.steps = STEPS;
    plan.about = asked.about.words();
    plan.pace = asked.pacing.pace(USUAL_RATE, 1.0);
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    document.runs.push(run::run(&plan)?);
    target.close()
}

/// The script of one connection.
#[derive(Debug)]
pub(crate) struct Declarations {
    check: Request,
    validator: Validator,
    contact: Form,
    effect: Form,
    step: usize,
    asked: u64,
    /// The id of the decision that is declared about, as the check's answer has it.
    decision: String,
}

impl Declarations {
    /// Of checks of a shape, one a request, on a connection.
    pub(crate) fn new(shape: &Shape, to: &Endpoint, connection: u64) -> Self {
        let run = shape.run;
        let once = format!("load-{run:08x}-d-{connection:04}-##########");
        let path = "/v1/coordination/declare";
        let (channel, purpose) = (&shape.channel, &shape.purpose);
        let id = "#".repeat(36);
        let contact = format!(
            r#"{{"kind":"contact.made","agent":"agent_00",{SUBJECT},"detail":{{"channel":"{channel}","purpose":"{purpose}","decision_id":"{id}"}}}}"#
        );
        let effect = format!(
            r#"{{"kind":"effect","agent":"agent_00","detail":{{"effect_key":"load-{run:08x}-############","attempt":1,"state":"done"}}}}"#
        );
        Self {
            check: Request::new(shape, to, connection),
            validator: Validator::new(1),
            contact: Form::post(to, path, Some(&once), &contact),
            effect: Form::post(to, path, Some(&once), &effect),
            step: CHECK,
            asked: 0,
            decision: String::new(),
        }
    }

    fn judge_check(&mut self, body: &[u8]) -> Result<Judged, Wrong> {
        let counts = self.validator.single(body)?;
        if self.validator.allowed(0) {
            let [id] = members(body, ["decision_id"])?;
            let id = id
                .text()
                .map_or_else(Default::default, String::from_utf8_lossy);
            self.decision = id.into_owned();
            self.step = CONTACT;
        }
        Ok(Judged::checks(counts))
    }
}

impl Script for Declarations {
    fn prepare(&mut self) -> Option<usize> {
        match self.step {
            CONTACT => {
                self.contact.digits(0, self.asked);
                self.contact.digits(1, self.check.customer(0));
                self.contact.text(2, self.decision.as_bytes()).ok()?;
            }
            EFFECT => {
                self.effect.digits(0, self.asked);
                self.effect.digits(1, self.check.effect(0));
            }
            _ => {
                self.check.renew();
            }
        }
        self.asked += 1;
        Some(self.step)
    }

    fn bytes(&self) -> &[u8] {
        match self.step {
            CONTACT => self.contact.bytes(),
            EFFECT => self.effect.bytes(),
            _ => self.check.bytes(),
        }
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        let step = std::mem::replace(&mut self.step, CHECK);
        if status != 200 {
            return Err(Wrong::Status);
        }
        if step == CHECK {
            return self.judge_check(body);
        }
        let [accepted, decision] = members(body, ["accepted", "decision_id"])?;
        if accepted != Member::Flag(true) {
            return Err("a declaration that was not accepted".into());
        }
        if step == CONTACT {
            if !decision.is(&self.decision) {
                return Err("a contact that was recorded under another decision".into());
            }
            self.step = EFFECT;
        }
        Ok(Judged::one())
    }

    fn lost(&mut self) {
        self.step = CHECK;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::body;
    use crate::template::Customers;

    #[test]
    fn what_is_declared_is_what_was_allowed() {
        let to = Endpoint::new("http://127.0.0.1:1", "k").expect("an address");
        let shape = Shape {
            batch: None,
            purpose: "service".to_owned(),
            channel: "whatsapp".to_owned(),
            gateway: None,
            effects: true,
            customers: Customers::Spread(9),
            objects: 1,
            order_probes: 0,
            seed: 1,
            run: 7,
        };
        let mut script = Declarations::new(&shape, &to, 2);
        let id = "0192f5a0-0000-7000-8000-000000000001";
        assert_eq!(script.prepare(), Some(CHECK));
        let allow = format!(
            r#"{{"decision":"allow","decision_id":"{id}","reasons":[],"valid_for_s":60,"effect":{{"state":"none","attempt":1}}}}"#
        );
        assert!(script.judge(200, allow.as_bytes()).is_ok());
        assert_eq!(script.prepare(), Some(CONTACT));
        let said: serde_json::Value = serde_json::from_slice(body(script.bytes())).expect("JSON");
        assert_eq!(said["detail"]["decision_id"], id);
        let asked: serde_json::Value =
            serde_json::from_slice(body(script.check.bytes())).expect("JSON");
        assert_eq!(said["subject"], asked["subject"]);
        let other = script.judge(200, br#"{"accepted":true,"decision_id":"x"}"#);
        assert!(matches!(other, Err(Wrong::Answer(_))), "{other:?}");
        assert_eq!(script.prepare(), Some(CHECK));
        script.judge(200, allow.as_bytes()).expect("allowed");
        script.prepare();
        let right = format!(r#"{{"accepted":true,"decision_id":"{id}"}}"#);
        assert!(script.judge(200, right.as_bytes()).is_ok());
        assert_eq!(script.prepare(), Some(EFFECT));
        let said: serde_json::Value = serde_json::from_slice(body(script.bytes())).expect("JSON");
        let key = said["detail"]["effect_key"].as_str().expect("a key");
        assert_eq!(key, "load-00000007-000200000001");
        let refused = script.judge(200, br#"{"accepted":false}"#);
        assert!(matches!(refused, Err(Wrong::Answer(_))), "{refused:?}");
    }
}
