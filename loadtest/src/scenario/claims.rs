//! `claims`: each connection takes a customer, renews its claim and gives it back; then it locks a task
//! of an object and gives that back. Customers and objects are its own, so nobody is in its way, and
//! come again, so that epochs must rise beyond releases.

use crate::connection::{Judged, Script, Wrong};
use crate::form::Form;
use crate::report::Document;
use crate::scan::members;
use crate::scenario::steps::{self, Asked, Steps};
use crate::target::Endpoint;
use crate::template::{CUSTOMER_FIRST, OBJECT_REF, SUBJECT};

/// Customers, and objects, that one connection claims in turn.
const TARGETS: u64 = 500;

/// The kinds of requests.
pub(crate) const STEPS: &[&str] = &["claim", "renew", "release", "lock", "unlock"];
const CLAIM: usize = 0;
const RENEW: usize = 1;
const RELEASE: usize = 2;
const LOCK: usize = 3;
const UNLOCK: usize = 4;

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let steps = Steps {
        name: "claims",
        about: "claims on customers and task locks",
        kinds: STEPS,
        script: |to, run, connection| Box::new(Claims::new(to, run, connection)),
    };
    steps::run(asked, document, &steps)
}

/// The script of one connection.
#[derive(Debug)]
pub(crate) struct Claims {
    claim: Form,
    lock: Form,
    release: Form,
    holder: String,
    connection: u64,
    /// The step that comes next.
    step: usize,
    /// Numbers the idempotency keys.
    asked: u64,
    /// Numbers the targets.
    round: u64,
    /// The claim that is held.
    held: Held,
    /// The last epoch of each target: customers first, then objects.
    epochs: Vec<u64>,
}

#[derive(Debug)]
struct Held {
    id: [u8; 36],
    epoch: u64,
}

impl Claims {
    /// Of a run, on a connection.
    pub(crate) fn new(to: &Endpoint, run: u32, connection: u64) -> Self {
        let holder = format!("holder-{connection:04}");
        let once = format!("load-{run:08x}-{connection:04}-##########");
        let claim = format!(
            r#"{{"kind":"owner","holder":"{holder}","lease_s":600,"intents":["follow_up"],{SUBJECT}}}"#
        );
        let lock = format!(
            r#"{{"kind":"task_lock","holder":"{holder}","lease_s":600,"task":"refund",{OBJECT_REF}}}"#
        );
        let path = "/v1/coordination/claims";
        let release = format!("{path}/{}/release", "#".repeat(36));
        Self {
            claim: Form::post(to, path, Some(&once), &claim),
            lock: Form::post(to, path, Some(&once), &lock),
            release: Form::post(to, &release, Some(&once), r####"{"epoch":############}"####),
            holder,
            connection,
            step: CLAIM,
            asked: 0,
            round: 0,
            held: Held {
                id: [b'-'; 36],
                epoch: 0,
            },
            epochs: vec![0; 2 * TARGETS as usize],
        }
    }

    /// Which of its customers, or objects, this round is about.
    const fn target(&self) -> u64 {
        self.round % TARGETS
    }

    fn form(&mut self) -> &mut Form {
        match self.step {
            CLAIM | RENEW => &mut self.claim,
            LOCK => &mut self.lock,
            _ => &mut self.release,
        }
    }

    fn is_lock(&self) -> bool {
        matches!(self.step, LOCK | UNLOCK)
    }

    /// A claim of ours, with an epoch above all earlier ones of its target.
    fn granted(&mut self, body: &[u8]) -> Result<(), Wrong> {
        let [id, epoch, holder, kind] = members(body, ["claim_id", "epoch", "holder", "kind"])?;
        let wanted = if self.is_lock() { "task_lock" } else { "owner" };
        if !holder.is(&self.holder) || !kind.is(wanted) {
            return Err("a claim of another holder or kind".into());
        }
        let (Some(id), Some(epoch)) = (id.text(), epoch.whole()) else {
            return Err("a claim without an id or an epoch".into());
        };
        let id: [u8; 36] = id.try_into().map_err(|_| "a claim_id that is no UUID")?;
        let kind_at = if self.is_lock() { TARGETS } else { 0 };
        let last = &mut self.epochs[(kind_at + self.round % TARGETS) as usize];
        if epoch <= *last {
            return Err("an epoch that is not above an earlier one of its target".into());
        }
        *last = epoch;
        if self.step == RENEW && id != self.held.id {
            return Err("a renewal with another claim_id".into());
        }
        self.held = Held { id, epoch };
        Ok(())
    }

    /// The claim that was given back.
    fn released(&self, body: &[u8]) -> Result<(), Wrong> {
        let [id, holder] = members(body, ["claim_id", "holder"])?;
        if id.text() == Some(&self.held.id) && holder.is(&self.holder) {
            Ok(())
        } else {
            Err("a release that shows another claim".into())
        }
    }
}

impl Script for Claims {
    fn prepare(&mut self) -> Option<usize> {
        let (asked, target) = (self.asked, self.target());
        let own = self.connection * TARGETS + target;
        let (id, epoch) = (self.held.id, self.held.epoch);
        let is_release = matches!(self.step, RELEASE | UNLOCK);
        let is_lock = self.is_lock();
        let form = self.form();
        if is_release {
            // A claim_id has as many letters as its gap: `granted` took it as 36 bytes.
            form.text(0, &id).ok()?;
            form.digits(1, asked);
            form.number(2, epoch);
        } else {
            form.digits(0, asked);
            form.digits(1, if is_lock { own } else { CUSTOMER_FIRST + own });
        }
        self.asked += 1;
        Some(self.step)
    }

    fn bytes(&self) -> &[u8] {
        match self.step {
            CLAIM | RENEW => self.claim.bytes(),
            LOCK => self.lock.bytes(),
            _ => self.release.bytes(),
        }
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        let releases = matches!(self.step, RELEASE | UNLOCK);
        if status != if releases { 200 } else { 201 } {
            self.lost();
            return Err(Wrong::Status);
        }
        let right = if releases {
            self.released(body)
        } else {
            self.granted(body)
        };
        if right.is_err() {
            self.lost();
        }
        right?;
        self.step += 1;
        if self.step == STEPS.len() {
            self.step = CLAIM;
            self.round += 1;
        }
        Ok(Judged::one())
    }

    /// Goes on with the next target; a claim that may be held ends by its lease, or is renewed when
    /// its turn comes again.
    fn lost(&mut self) {
        self.step = CLAIM;
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a22c54-97b6-7841-85ef-8c1c589f87c1";

    fn answer(epoch: u64, kind: &str) -> String {
        format!(r#"{{"claim_id":"{ID}","epoch":{epoch},"holder":"holder-0003","kind":"{kind}"}}"#)
    }

    #[test]
    fn a_round_is_claim_renew_release_lock_unlock() {
        let to = Endpoint::new("http://127.0.0.1:1", "k").expect("an address");
        let mut claims = Claims::new(&to, 1, 3);
        for (step, status, epoch, kind) in [
            (CLAIM, 201, 1, "owner"),
            (RENEW, 201, 2, "owner"),
            (RELEASE, 200, 2, "owner"),
            (LOCK, 201, 1, "task_lock"),
            (UNLOCK, 200, 1, "task_lock"),
            (CLAIM, 201, 1, "owner"),
        ] {
            assert_eq!(claims.prepare(), Some(step));
            let judged = claims.judge(status, answer(epoch, kind).as_bytes());
            assert!(judged.is_ok(), "{step}: {judged:?}");
        }
        let text = String::from_utf8_lossy(claims.release.bytes()).into_owned();
        assert!(text.contains(&format!("/claims/{ID}/release ")), "{text}");
        assert!(text.ends_with(r#"{"epoch":           1}"#), "{text}");
    }

    #[test]
    fn an_epoch_that_does_not_rise_is_wrong() {
        let to = Endpoint::new("http://127.0.0.1:1", "k").expect("an address");
        let mut claims = Claims::new(&to, 1, 3);
        claims.prepare();
        assert!(claims.judge(201, answer(5, "owner").as_bytes()).is_ok());
        claims.prepare();
        let again = claims.judge(201, answer(5, "owner").as_bytes());
        assert!(matches!(again, Err(Wrong::Answer(_))), "{again:?}");
        claims.prepare();
        assert_eq!(claims.judge(409, b"{}").err(), Some(Wrong::Status));
        claims.prepare();
        let other = claims.judge(201, answer(1, "task_lock").as_bytes());
        assert!(matches!(other, Err(Wrong::Answer(_))), "{other:?}");
    }
}
