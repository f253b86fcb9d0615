//! `POST /v1/coordination/check/batch`.
//!
//! An invalid check refuses the whole batch before anything is asked. After that no batch fails for
//! one item: what cannot be decided is answered in place (§4.4). Only a node that can record nothing
//! at all answers 503.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Command, ReceiptRef, Route};
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reason::{Reason, Verdict};
use interlock_domain::contact::reply::Reply;
use interlock_domain::ids::{Id, IdStream};
use interlock_domain::machine::Undecided;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::check::{
    CheckBatchRequest, CheckRequest, CheckResult, Direction, write_batch,
};
use interlock_wire::read;

use crate::contact::identity::Keyed;
use crate::contact::{ask, command, refused, show};
use crate::decider::{Answer, Asked, Decider};
use crate::directory::Caller;
use crate::extract;
use crate::ids;
use crate::problem::Failure;
use crate::signing;
use crate::slices;
use crate::state::AppState;
use crate::stopwatch::Stopwatch;

/// What an answer to a check takes at most in the usual case, to size the buffer once.
const RESULT_BYTES: usize = 320;

/// What is said of a keyed batch whose rest was refused.
const IN_PART: &str = "a part of the batch was decided and recorded, then the node could take no more: \
    send the same batch again with the same Idempotency-Key, which answers what was decided and has the \
    rest decided";

/// The route, as receipts know it.
pub(crate) const ROUTE: &str = "check/batch";

/// May these agents do these now?
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::coordinating_batch(&request, &state.directory)?;
    let key = extract::idempotency_key(&request)?;
    let patience = started.left(limits.batch_deadline_ms);
    let body = extract::batch(&request, payload, &caller, limits, patience).await?;
    let batch: CheckBatchRequest<'_> = read::body(&body)?;
    let checks = &batch.checks.0;
    extract::take(&request, &caller, checks.len())?;
    let maker = Maker::new(&caller, key, &batch, (state.now)());
    let commands = commands(&maker, checks).await?;
    let at_once = || extract::checks_at_once(&request, &caller);
    let asked = (started, body.len());
    let answers = decide(&state, &caller, commands, asked, at_once).await?;
    // What became of such a check nobody can say, so it must not read as one that reserved nothing.
    if answers
        .iter()
        .any(|answer| matches!(answer, Answer::Unavailable))
    {
        return Err(refused::unavailable(limits));
    }
    if answers
        .iter()
        .all(|answer| matches!(answer, Answer::NotDecided(Undecided::NoRoom)))
    {
        return Err(refused::no_room(limits));
    }
    let mut out = Vec::with_capacity(RESULT_BYTES * checks.len());
    let mut undecided = InPlace::new(&state);
    let tokens = tokens(&caller, checks, &answers).await;
    let decided = checks.iter().zip(&answers).zip(&tokens);
    write_batch(&mut out, decided, |out, ((check, answer), token)| {
        let policy = &caller.space.policy;
        undecided
            .or_shown(check, answer, policy, token.as_deref())
            .write(out);
    });
    Ok(ask::json(StatusCode::OK, out))
}

/// The tokens of the answers, for those that one is due for.
async fn tokens(
    caller: &Caller,
    checks: &[CheckRequest<'_>],
    answers: &[Answer<Reply>],
) -> Vec<Option<String>> {
    let mut tokens = Vec::with_capacity(answers.len());
    for (check, answer) in checks.iter().zip(answers) {
        tokens.push(token(caller, check, answer));
        slices::make_way(tokens.len()).await;
    }
    tokens
}

/// The token of an answer, when one is due.
fn token(caller: &Caller, check: &CheckRequest<'_>, answer: &Answer<Reply>) -> Option<String> {
    let Answer::Decided(Reply::Check(reply)) = answer else {
        return None;
    };
    signing::token(caller, check, reply)
}

/// Makes the commands of a batch; with an Idempotency-Key each has a receipt of its own, by its place.
pub(crate) struct Maker<'a> {
    caller: &'a Caller,
    /// Every receipt holds the hash of the whole batch, so that another batch under the same key is
    /// told at its first item.
    keyed: Option<(Keyed<'a>, [u8; 16])>,
    now: Timestamp,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(
        caller: &'a Caller,
        key: Option<&'a str>,
        batch: &CheckBatchRequest<'_>,
        now: Timestamp,
    ) -> Self {
        let keyed = key.map(|key| {
            let keyed = Keyed { route: ROUTE, key };
            let secret = caller.space.secret.prepared();
            (keyed, keyed.fingerprint(secret, &[], batch))
        });
        Self { caller, keyed, now }
    }

    /// The command of the check at a place.
    pub(crate) fn command(&self, place: u32, check: &CheckRequest<'_>) -> Result<Command, Failure> {
        let caller = self.caller;
        let receipt = self.keyed.map(|(keyed, fingerprint)| ReceiptRef {
            hash: keyed.hash(
                caller.space.secret.prepared(),
                caller.key.source.id,
                &place.to_be_bytes(),
            ),
            fingerprint,
        });
        let body = command::check(caller, check, self.now);
        let body = body.map_err(|failure| in_batch(failure, place))?;
        Ok(command::of(caller, Route::CheckBatch, receipt, body))
    }
}

/// The commands of all checks.
async fn commands(maker: &Maker<'_>, checks: &[CheckRequest<'_>]) -> Result<Vec<Command>, Failure> {
    let mut commands = Vec::with_capacity(checks.len());
    for (place, check) in (0_u32..).zip(checks) {
        commands.push(maker.command(place, check)?);
        slices::make_way(commands.len()).await;
    }
    Ok(commands)
}

/// Says which check of the batch a failure is about.
fn in_batch(failure: Failure, place: u32) -> Failure {
    let detail = format!("in `checks[{place}]`: {}", failure.detail);
    Failure::new(failure.code, detail)
}

/// Has the commands decided, all at once or a part at a time, as `at_once` says before each part.
///
/// What is refused after a part was decided is answered in place, so that the answers there are reach
/// the client. A keyed batch is refused as a whole: its repeat finds them. One whose first check was not
/// decided decides nothing else: no receipt holds its key, and another batch under it would not be told.
async fn decide<D: Decider>(
    state: &AppState<D>,
    caller: &Caller,
    mut commands: Vec<Command>,
    (started, bytes): (Stopwatch, usize),
    at_once: impl Fn() -> usize,
) -> Result<Vec<Answer<Reply>>, Failure> {
    let keyed = commands
        .first()
        .is_some_and(|first| first.receipt.is_some());
    let mut answers = Vec::new();
    while !commands.is_empty() {
        // A keyed batch asks its first check alone: when its key belongs to another batch nothing
        // else of it may be decided.
        let most = match keyed && answers.is_empty() {
            true => 1,
            false => at_once(),
        };
        let rest = commands.split_off(most.min(commands.len()));
        let asked = Asked {
            commands: std::mem::replace(&mut commands, rest),
            policy: caller.space.policy.clone(),
            deadline: started.left(state.limits.batch_deadline_ms),
            bytes,
        };
        let count = asked.commands.len();
        let decided = match state.decider.submit(asked).await {
            Ok(decided) => decided,
            Err(refused) if answers.is_empty() => return Err(refused.into()),
            Err(refused) if keyed => return Err(in_part(refused.into())),
            Err(_) => {
                leave(&mut answers, count + commands.len());
                break;
            }
        };
        if answers.is_empty() {
            answers = decided;
        } else {
            answers.extend(decided);
        }
        let conflict = |answer: &Answer<Reply>| matches!(answer, Answer::Decided(Reply::Conflict));
        if answers.iter().any(conflict) {
            return Err(refused::reply(&Reply::Conflict, &state.limits));
        }
        if let (true, [first]) = (keyed, &*answers)
            && !matches!(first, Answer::Decided(Reply::Check(_)))
        {
            leave(&mut answers, commands.len());
            break;
        }
    }
    Ok(answers)
}

/// The rest of a batch is not decided, for the reason of the last one where that has one.
fn leave(answers: &mut Vec<Answer<Reply>>, count: usize) {
    let why = match answers.last() {
        Some(Answer::NotDecided(why)) => *why,
        _ => Undecided::Deadline,
    };
    answers.extend(std::iter::repeat_with(|| Answer::NotDecided(why)).take(count));
}

/// Refused when a part of it was decided already.
fn in_part(failure: Failure) -> Failure {
    Failure {
        detail: IN_PART.into(),
        ..failure
    }
}

/// Answers in place of those nobody decided.
struct InPlace<'a, D> {
    state: &'a AppState<D>,
    /// Made when the first is needed, which is seldom.
    ids: Option<IdStream>,
}

impl<'a, D> InPlace<'a, D> {
    fn new(state: &'a AppState<D>) -> Self {
        Self { state, ids: None }
    }

    /// The answer as decided, or `unavailable`: the customer's own message goes, ours waits.
    fn or_shown<'r>(
        &mut self,
        check: &CheckRequest<'_>,
        answer: &'r Answer<Reply>,
        policy: &'r Policy,
        token: Option<&'r str>,
    ) -> CheckResult<'r> {
        if let Answer::Decided(Reply::Check(reply)) | Answer::Instead(Reply::Check(reply)) = answer
        {
            return show::check(reply, policy, token);
        }
        let verdict = match check.direction {
            Direction::Inbound => Verdict::Allow,
            Direction::Outbound => Verdict::Defer,
        };
        CheckResult {
            decision: verdict.slug(),
            decision_id: self.id().0,
            valid_for_s: 0,
            reasons: [Reason::Unavailable.slug()].into_iter().collect(),
            ..CheckResult::default()
        }
    }

    fn id(&mut self) -> Id {
        let ids = self.ids.get_or_insert_with(|| {
            // A stream of zeros still gives ids; they name nothing that is kept.
            ids::stream().unwrap_or_else(|| IdStream::new([0; 32]))
        });
        ids.next((self.state.now)())
    }
}
