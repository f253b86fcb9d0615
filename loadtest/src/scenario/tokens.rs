//! `tokens`: batches whose every allow carries a token. One token of each answer is verified with the
//! server's published keys, and must be for the customer of its check. Beside the rate stands what one core of this machine signs in a tight
//! loop in the same call, before and after the run.

use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::ask::Client;
use crate::checks::{About, Batches, Checks};
use crate::connection::excerpt;
use crate::findings::Signing;
use crate::options::{Length, Output, Pacing, Where, name};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::scenario::batch::USUAL_CONNECTIONS;
use crate::target::{Endpoint, Space, Target, gateway_key};
use crate::template::{Request, Shape};
use crate::token::{self, Keys, Recipients};

/// Checks a second when nothing else is asked for.
const USUAL_RATE: f64 = 20_000.0;
/// How long one core signs, before and again after the run.
const SIGNING: Duration = Duration::from_millis(500);
/// The connection whose effect keys the first question uses; no run has as many.
const ASIDE: u64 = 1_001;

/// Options of the scenario.
#[derive(Debug, Args)]
#[command(mut_arg("purpose", |it| it.default_value("marketing").help("The purpose of every check; one that has tokens")))]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    pacing: Pacing,
    #[command(flatten)]
    batches: Batches,
    #[command(flatten)]
    about: About,
    /// The gateway of every check
    #[arg(long, default_value = "wa_gateway", value_parser = name)]
    gateway: String,
    /// The key of that gateway in base64url, to verify whom tokens are for; a spawned server's is
    /// known
    #[arg(long, value_name = "KEY", conflicts_with = "spawn")]
    gateway_key: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Tokens)?;
    document.meet(&target);
    let mut shape = asked.about.shape(Some(asked.batches.batch));
    shape.gateway = Some(asked.gateway.clone());
    shape.order_probes = asked.batches.order_probes as usize;
    let keys = keys(&target.endpoint, &shape)?;
    let recipients = recipients(asked, &target)?;
    let script = |connection| {
        let checks = Checks::new(&shape, &target.endpoint, connection).alone_in(&target);
        let checks = checks.with_tokens(&keys);
        Ok(Box::new(checks.for_recipients(recipients.as_ref())) as Box<_>)
    };
    let mut plan = Plan::new("tokens", &target, &script);
    plan.unit = "checks";
    plan.batch = shape.checks() as f64;
    plan.about = format!("{}, gateway {}", asked.about.words(), asked.gateway);
    plan.pace = asked.pacing.pace(USUAL_RATE, plan.batch);
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    let before = token::signed_per_second(SIGNING);
    let run = run::run(&plan)?;
    let one_core = f64::midpoint(before, token::signed_per_second(SIGNING));
    if run.passed() {
        let tokens = run.tokens as f64 / run.seconds;
        let signing = Signing {
            one_core_per_second: one_core,
            tokens_per_second: tokens,
            ratio: tokens / one_core,
        };
        document
            .words
            .push(in_words(&signing, recipients.is_some()));
        document.signing = Some(signing);
    }
    document.runs.push(run);
    target.close()
}

/// Whom tokens must be for, where the gateway's key is known.
fn recipients(asked: &Asked, target: &Target) -> Result<Option<Recipients>, String> {
    let known = target
        .spawned
        .is_some()
        .then(|| gateway_key(&asked.gateway));
    let key = asked.gateway_key.clone().or(known.flatten());
    key.map(|key| Recipients::new(&key)).transpose()
}

fn in_words(signing: &Signing, recipients: bool) -> String {
    let Signing {
        one_core_per_second,
        tokens_per_second,
        ratio,
    } = signing;
    let unknown = if recipients {
        ""
    } else {
        " Whom they are for was not verified: no --gateway-key."
    };
    format!(
        "One core signs {one_core_per_second:.0} tokens a second in a tight loop here; the server \
         gave {tokens_per_second:.0} a second, {:.0} % of that.{unknown}",
        ratio * 100.0
    )
}

/// Asks one check, and for the keys of the space that its token names.
pub(crate) fn keys(to: &Endpoint, shape: &Shape) -> Result<Keys, String> {
    let single = Shape {
        batch: None,
        ..shape.clone()
    };
    let mut request = Request::new(&single, to, ASIDE);
    request.renew();
    let (status, body) = Client::connect(to)?.send(request.bytes())?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let space = answer["contact_token"].as_str().and_then(token::space);
    let space = space.ok_or_else(|| {
        let purpose = &shape.purpose;
        format!(
            "a check of `{purpose}` got no token (status {status}): {}",
            excerpt(&body)
        )
    })?;
    Keys::of(to, &space)
}
