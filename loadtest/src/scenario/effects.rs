//! `effects`: each connection reserves an effect and settles it as done. Every tenth key is reserved
//! again afterwards, and must be found done.

use crate::connection::{Judged, Script, Wrong};
use crate::form::Form;
use crate::report::Document;
use crate::scan::members;
use crate::scenario::steps::{self, Asked, Steps};
use crate::target::Endpoint;
use crate::template::EFFECTS_PER_CONNECTION;

/// Each so many-th key is reserved once more.
const AGAIN_EVERY: u64 = 10;
/// Letters of an effect's id: 32 bytes in base64url.
const ID_LETTERS: usize = 43;

/// The kinds of requests.
pub(crate) const STEPS: &[&str] = &["reserve", "settle", "reserve again"];
const RESERVE: usize = 0;
const SETTLE: usize = 1;
const AGAIN: usize = 2;

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let steps = Steps {
        name: "effects",
        about: "effects reserved and settled as done",
        kinds: STEPS,
        script: |to, run, connection| Box::new(Effects::new(to, run, connection)),
    };
    steps::run(asked, document, &steps)
}

/// The script of one connection.
#[derive(Debug)]
pub(crate) struct Effects {
    reserve: Form,
    settle: Form,
    step: usize,
    asked: u64,
    number: u64,
    id: [u8; ID_LETTERS],
}

impl Effects {
    /// Of a run, on a connection.
    pub(crate) fn new(to: &Endpoint, run: u32, connection: u64) -> Self {
        let once = format!("load-{run:08x}-e-{connection:04}-##########");
        let path = "/v1/coordination/effects";
        let body = format!(r#"{{"kind":"delivery","effect_key":"load-{run:08x}-e-############"}}"#);
        let settle = format!("{path}/{}/settle", "#".repeat(ID_LETTERS));
        Self {
            reserve: Form::post(to, path, Some(&once), &body),
            settle: Form::post(to, &settle, Some(&once), r#"{"attempt":1,"state":"done"}"#),
            step: RESERVE,
            asked: 0,
            number: connection * EFFECTS_PER_CONNECTION,
            id: [b'-'; ID_LETTERS],
        }
    }

    fn next(&mut self) {
        self.step = RESERVE;
        self.number += 1;
    }
}

impl Script for Effects {
    fn prepare(&mut self) -> Option<usize> {
        if self.step == SETTLE {
            self.settle.text(0, &self.id).ok()?;
            self.settle.digits(1, self.asked);
        } else {
            self.reserve.digits(0, self.asked);
            self.reserve.digits(1, self.number);
        }
        self.asked += 1;
        Some(self.step)
    }

    fn bytes(&self) -> &[u8] {
        if self.step == SETTLE {
            self.settle.bytes()
        } else {
            self.reserve.bytes()
        }
    }

    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong> {
        let wanted = if self.step == RESERVE { 201 } else { 200 };
        if status != wanted {
            self.lost();
            return Err(Wrong::Status);
        }
        let [id, state, attempt] = members(body, ["effect_id", "state", "attempt"])?;
        let step = self.step;
        let id = id
            .text()
            .and_then(|id| <[u8; ID_LETTERS]>::try_from(id).ok());
        let wanted = if step == RESERVE { "reserved" } else { "done" };
        let right = attempt.whole() == Some(1) && state.is(wanted);
        let (Some(id), true) = (id, right) else {
            self.lost();
            return Err("an effect in another state or attempt".into());
        };
        if step != RESERVE && id != self.id {
            self.lost();
            return Err("another effect than the one that was named".into());
        }
        self.id = id;
        match step {
            RESERVE => self.step = SETTLE,
            SETTLE if self.number.is_multiple_of(AGAIN_EVERY) => self.step = AGAIN,
            _ => self.next(),
        }
        Ok(Judged::one())
    }

    /// Goes on with the next key.
    fn lost(&mut self) {
        self.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(state: &str, id: u8) -> String {
        let id = char::from(id).to_string().repeat(ID_LETTERS);
        format!(r#"{{"attempt":1,"effect_id":"{id}","state":"{state}"}}"#)
    }

    #[test]
    fn a_key_is_reserved_settled_and_found_done() {
        let to = Endpoint::new("http://127.0.0.1:1", "k").expect("an address");
        let mut effects = Effects::new(&to, 1, 0);
        for (step, status, state) in [
            (RESERVE, 201, "reserved"),
            (SETTLE, 200, "done"),
            (AGAIN, 200, "done"),
            (RESERVE, 201, "reserved"),
        ] {
            assert_eq!(effects.prepare(), Some(step));
            let judged = effects.judge(status, answer(state, b'a').as_bytes());
            assert!(judged.is_ok(), "{step}: {judged:?}");
        }
        effects.prepare();
        let other = effects.judge(200, answer("done", b'b').as_bytes());
        assert!(matches!(other, Err(Wrong::Answer(_))), "{other:?}");
        effects.prepare();
        let granted_twice = effects.judge(200, answer("done", b'a').as_bytes());
        assert_eq!(granted_twice.err(), Some(Wrong::Status));
    }
}
