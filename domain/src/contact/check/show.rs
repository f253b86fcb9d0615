//! What a check sees, and what its answer shows beside the decision.
//!
//! Here: the state one check looks at, read once, and the members of `docs/spec/contact.md` §4.3.
//! Not here: what decides (`order`) and what is reserved (`check`).

use smallvec::SmallVec;

use crate::contact::advise;
use crate::contact::budget::{self, Look};
use crate::contact::channel::{self, ChannelState};
use crate::contact::check::{VALID_FOR_S, order};
use crate::contact::claim::{self, Claim, TaskLock};
use crate::contact::command::{Check, Command, Direction};
use crate::contact::customer::Customer;
use crate::contact::effect::{self, Effect, Standing};
use crate::contact::entity::ContactEntity;
use crate::contact::key;
use crate::contact::name::TaskId;
use crate::contact::object::Object;
use crate::contact::policy::{Policy, Purpose};
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{
    BudgetView, CheckReply, EffectState, EffectView, EffectViewState, LockView,
};
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::{Context, Entities};
use crate::time::Timestamp;

/// How many live locks an answer shows at most. An object may have hundreds, a batch asks about it 500
/// times, and each answer may be kept under an idempotency key.
pub(in crate::contact) const LOCKS_SHOWN_MAX: usize = 16;

/// What a check sees.
pub(super) struct Sight<'a> {
    pub(super) check: &'a Check,
    pub(super) now: Timestamp,
    pub(super) clock_suspect: bool,
    policy: &'a Policy,
    pub(super) purpose: &'a Purpose,
    pub(super) effect: Option<&'a Effect>,
    /// How the key stands, when one was given.
    pub(super) standing: Option<Standing>,
    pub(super) customer: Option<&'a Customer>,
    pub(super) object: Option<&'a Object>,
    /// The claim that governs subject and object.
    pub(super) owner: Option<&'a Claim>,
    /// The asked purpose's budget, when it has one and a subject was given.
    pub(super) budget: Option<Look>,
    pub(super) channel: Option<ChannelState>,
}

impl<'a> Sight<'a> {
    /// `None` when the purpose is not declared.
    pub(super) fn new<'e: 'a, 'p: 'a>(
        entities: &Entities<'e, ContactEntity>,
        command: &Command,
        check: &'a Check,
        context: &Context<'p, Policy>,
    ) -> Option<Self> {
        let (policy, now): (&'p Policy, _) = (context.policy, context.now);
        let purpose = policy.purpose_rules(check.purpose)?;
        let entity = |kind, hash| entities.get(&key(command.space, kind, hash));
        let effect = check
            .effect
            .and_then(|wanted| entity(Kind::Effect, wanted.hash)?.as_effect());
        let customer = check
            .customer
            .and_then(|hash| entity(Kind::Customer, hash)?.as_customer());
        let object = check
            .object
            .and_then(|hash| entity(Kind::Object, hash)?.as_object());
        let claims = customer.map(|customer| customer.rare.claims.iter());
        let on_object = object.map(|object| object.claims.iter());
        let both = claims.into_iter().flatten();
        let owner = claim::governing(both.chain(on_object.into_iter().flatten()), now);
        let mut sight = Self {
            check,
            now,
            clock_suspect: context.clock_suspect,
            policy,
            purpose,
            effect,
            standing: check.effect.map(|_| effect::standing(effect, now)),
            customer,
            object,
            owner,
            budget: None,
            channel: check
                .channel
                .and_then(|id| policy.channel_rules(id))
                .map(|rules| channel::state(rules, purpose, customer, now)),
        };
        sight.budget = sight.look(purpose, None);
        Some(sight)
    }

    /// Whether an `allow` would take memory.
    pub(super) fn reserves(&self) -> bool {
        let takes_effect = matches!(self.standing, Some(Standing::Free { .. }));
        let takes_contact =
            self.check.direction == Direction::Outbound && self.check.customer.is_some();
        takes_effect || takes_contact
    }

    /// A purpose's budget for this customer: the asked intent's share of the asked purpose, the
    /// whole of any other. `spent` is the share of a contact made just now.
    fn look(&self, purpose: &Purpose, spent: Option<u64>) -> Option<Look> {
        self.check.customer?;
        let budget = purpose.budget.as_ref()?;
        let contacts = self.customer.map_or(&[][..], |known| &known.contacts);
        let contacts =
            budget::contacts_of(contacts, purpose.id).chain(spent.map(|share| (self.now, share)));
        Some(if purpose.id == self.check.purpose {
            let share = budget::share(budget, self.check.intent);
            budget::of_share(budget, share, contacts, self.now)
        } else {
            budget::whole(budget, contacts.map(|(at, _)| at), self.now)
        })
    }

    /// What an `allow` must respect; on inbound also what is held by others.
    pub(super) fn allow_reasons(&self) -> SmallVec<[Reason; 2]> {
        let mut reasons = SmallVec::new();
        match self.check.direction {
            Direction::Inbound => {
                reasons.extend(order::effect_reason(self));
                reasons.extend(order::is_locked(self).then_some(Reason::LockHeld));
            }
            Direction::Outbound => {
                let template = self
                    .channel
                    .is_some_and(|known| known.view.template_required);
                reasons.extend(template.then_some(Reason::TemplateRequired));
            }
        }
        reasons
    }

    /// The answer, before anything is reserved.
    pub(super) fn reply(
        &self,
        id: Id,
        verdict: Verdict,
        reasons: SmallVec<[Reason; 2]>,
    ) -> CheckReply {
        CheckReply {
            verdict,
            reasons,
            owner: self.owner.map(Claim::view),
            locks: self.locks(),
            effect: self.held_effect(),
            channel: self.channel.map(|known| known.view),
            budgets: self.budgets(),
            suppressions: advise::suppressions(self.customer, self.check.channel, self.now),
            commitments: advise::commitments(self.customer, self.now),
            promises: advise::promises(self.customer),
            ..bare(self.check, id, self.now)
        }
    }

    /// Live locks on the object: that of the asked task first when they are more than are shown.
    fn locks(&self) -> Vec<LockView> {
        let all = self.object.map_or(&[][..], |object| &object.locks);
        let live = || all.iter().filter(|lock| lock.is_live(self.now));
        if live().count() <= LOCKS_SHOWN_MAX {
            return live().map(TaskLock::view).collect();
        }
        let is_asked = |lock: &&TaskLock| self.check.task == Some(TaskId::of(&lock.task));
        let others = live().filter(|lock| !is_asked(lock));
        let shown = live().filter(is_asked).chain(others);
        shown.take(LOCKS_SHOWN_MAX).map(TaskLock::view).collect()
    }

    /// The effect, when it is held.
    fn held_effect(&self) -> Option<EffectView> {
        let Some(Standing::Held { state, attempt }) = self.standing else {
            return None;
        };
        let state = match state {
            EffectState::Reserved => EffectViewState::InFlight,
            EffectState::Done => EffectViewState::Done,
            EffectState::UnknownOutcome | EffectState::Failed => EffectViewState::UnknownOutcome,
        };
        Some(EffectView { state, attempt })
    }

    fn budgets(&self) -> SmallVec<[BudgetView; 4]> {
        let mut views = SmallVec::new();
        if self.check.customer.is_none() {
            return views;
        }
        for purpose in self.policy.purposes() {
            let look = if purpose.id == self.check.purpose {
                self.budget
            } else {
                self.look(purpose, None)
            };
            views.extend(look.map(|look| look.view(purpose.id)));
        }
        views
    }

    /// Shows the asked purpose's budget as it is after this contact.
    pub(super) fn spend(&self, reply: &mut CheckReply, share: u64) {
        let Some(after) = self.look(self.purpose, Some(share)) else {
            return;
        };
        let asked = self.purpose.id;
        if let Some(view) = reply.budgets.iter_mut().find(|view| view.purpose == asked) {
            *view = after.view(asked);
        }
    }
}

/// An answer that shows nothing.
pub(super) fn bare(check: &Check, id: Id, now: Timestamp) -> CheckReply {
    CheckReply {
        verdict: Verdict::Allow,
        direction: check.direction,
        decision_id: id,
        decided_at: now,
        valid_for_s: VALID_FOR_S,
        reasons: SmallVec::new(),
        owner: None,
        locks: Vec::new(),
        effect: None,
        channel: None,
        budgets: SmallVec::new(),
        suppressions: SmallVec::new(),
        contact_window_until: None,
        commitments: Vec::new(),
        sign: false,
        signer: check.signer,
        names: Vec::new(),
        promises: Vec::new(),
    }
}
