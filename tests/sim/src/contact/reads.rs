//! Answers to reads: they leave no record, so each must be what the books had at some moment since
//! the question. Which moment is open, and so is the time of it, up to the latest there was.

use interlock_domain::contact::command::{Body, ClaimPlace, Show};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::handoff::{Handoff, HandoffStatus, handoff_key};
use interlock_domain::contact::key;
use interlock_domain::contact::reply::{EffectSight, EffectState, HandoffReply, Reply};
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, Kind};
use interlock_domain::time::Timestamp;

use super::books::State;
use super::coverage;
use super::handoffs::may_be_forgotten;
use super::model::{Asked, ContactModel};

impl ContactModel {
    /// Judges the answer of a command that only reads; `None` when it is none.
    pub(super) fn read(&mut self, asked: &Asked, reply: &Reply) -> Option<Result<(), String>> {
        let fine = match &asked.command.body {
            Body::Handoff(body) => {
                let fine = self.read_of_handoff(asked, body, reply)?;
                self.saw(coverage::read(body, reply));
                fine
            }
            Body::Show(body) => {
                let shown = self.read_of_entity(asked, *body, reply);
                self.saw(
                    Some("show: an entity").filter(|_| matches!(reply, Reply::Shown(Some(_)))),
                );
                shown
            }
            Body::Advise(body) => {
                let fine = match reply {
                    Reply::Advice(reply) => self.may_advise(asked, *body, reply),
                    _ => false,
                };
                self.saw(Some(match body.target {
                    Target::Object(_) => "advice: an object",
                    Target::Customer(_) | Target::Space(_) => "advice: a customer",
                }));
                fine
            }
            Body::ReadReports(body) => {
                let space = asked.command.space;
                let mut moments = asked.since + 1..=self.records + 1;
                let Reply::Runs(page) = reply else {
                    return Some(Err("it is no page".to_owned()));
                };
                let runs = &self.books.runs;
                let fine = moments.any(|before| runs.page(space, *body, before) == **page);
                self.saw(Some(match page.runs.len() {
                    0 => "reports: none",
                    _ if page.next.is_some() => "reports: a page",
                    _ => "reports: the last page",
                }));
                fine
            }
            _ => return None,
        };
        let why = || "it never was so".to_owned();
        Some(fine.then_some(()).ok_or_else(why))
    }

    fn read_of_entity(&self, asked: &Asked, body: Show, reply: &Reply) -> bool {
        let key = key(asked.command.space, body.kind, body.hash);
        let mut moments = asked.since + 1..=self.records + 1;
        match reply {
            Reply::Shown(Some(entity)) => {
                moments.any(|before| self.is_as_booked(key, entity, before).is_ok())
            }
            Reply::Shown(None) => moments.any(|before| !self.is_needed(key, before, self.latest)),
            _ => false,
        }
    }

    fn read_of_handoff(&self, asked: &Asked, body: &HandoffCommand, reply: &Reply) -> Option<bool> {
        let space = asked.command.space;
        let mut moments = asked.since + 1..=self.records + 1;
        match (body, reply) {
            (HandoffCommand::Create(body), Reply::Past(_)) => {
                Some(body.expected_by.is_some_and(|by| by <= self.latest))
            }
            (HandoffCommand::Accept(body), Reply::NotFound) => {
                Some(self.may_be_unknown(asked, body.handoff))
            }
            (HandoffCommand::Close(body), Reply::NotFound) => {
                let nowhere = body.place == ClaimPlace::Nowhere;
                Some(nowhere || self.may_be_unknown(asked, body.handoff))
            }
            (HandoffCommand::Read(body), Reply::NotFound) => {
                Some(self.may_be_unknown(asked, body.handoff))
            }
            (HandoffCommand::Read(body), Reply::Handoff(shown)) => {
                let forms = self
                    .books
                    .handoffs
                    .since(handoff_key(space, body.handoff), asked.since);
                let mut forms = forms.into_iter().flatten();
                let latest = self.latest;
                Some(forms.any(|form| may_read(form, body.handoff, shown, latest)))
            }
            (HandoffCommand::ListEffects(body), Reply::Effects(ids)) => {
                let customer = key(space, Kind::Customer, body.customer);
                Some(moments.any(|before| self.books.handoffs.effects(customer, before) == *ids))
            }
            (HandoffCommand::SeeEffect(body), Reply::EffectSeen(sight)) => {
                Some(moments.any(|before| self.may_see(asked, body.effect, *sight, before)))
            }
            (
                HandoffCommand::Read(_)
                | HandoffCommand::ListEffects(_)
                | HandoffCommand::SeeEffect(_)
                | HandoffCommand::Find(_),
                _,
            ) => Some(false),
            _ => None,
        }
    }

    /// Was there a moment since the question at which a handoff may not have been there?
    pub(super) fn may_be_unknown(&self, asked: &Asked, id: Id) -> bool {
        let key = handoff_key(asked.command.space, id);
        let forms = self.books.handoffs.since(key, asked.since);
        let gone = |form: Option<&Handoff>| {
            form.is_none_or(|handoff| may_be_forgotten(handoff, self.latest))
        };
        forms.into_iter().any(gone)
    }

    /// Done, in flight and ambiguous effects are shown.
    fn may_see(
        &self,
        asked: &Asked,
        effect: KeyHash,
        sight: Option<EffectSight>,
        before: u64,
    ) -> bool {
        let key = key(asked.command.space, Kind::Effect, effect);
        let Some(attempt) = self.books.attempt(key, before) else {
            return sight.is_none();
        };
        let now = self.latest;
        let over = |until: Timestamp| until <= now;
        let (state, gone) = match attempt.state {
            State::Reserved { .. } => (Some(EffectState::Reserved), false),
            State::Done { until, .. } => (Some(EffectState::Done), over(until)),
            State::Failed { .. } => (None, true),
            State::Unknown => (Some(EffectState::UnknownOutcome), false),
        };
        let lapsed = match attempt.state {
            State::Reserved { until } => over(until),
            _ => false,
        };
        match sight {
            None => gone,
            Some(sight) => {
                sight.kind == attempt.kind
                    && (Some(sight.state) == state
                        || (lapsed && sight.state == EffectState::UnknownOutcome))
            }
        }
    }

    /// A kept outcome says where a handoff was; the rest is read from it.
    pub(super) fn completed_by(&self, asked: &Asked, reply: &Reply, record: u64) -> Option<Reply> {
        let Reply::Handoff(shown) = reply else {
            return None;
        };
        if shown.handoff.is_some() {
            return None;
        }
        let key = handoff_key(asked.command.space, shown.id);
        let form = self.books.handoffs.of_id(key, record + 1)?;
        Some(Reply::Handoff(Box::new(HandoffReply {
            handoff: Some(form.clone()),
            ..(**shown).clone()
        })))
    }
}

/// May a handoff of this form read so?
fn may_read(form: &Handoff, id: Id, shown: &HandoffReply, latest: Timestamp) -> bool {
    let expires = form.state != HandoffStatus::Closed && form.expected_by <= latest;
    let status = shown.status == form.state || (expires && shown.status == HandoffStatus::Expired);
    status
        && (shown.id, &shown.outcome) == (id, &form.outcome)
        && shown.handoff.as_ref() == Some(form)
}
