//! What is asked about contacts, effects, suppressions and messages.

use interlock_domain::contact::command::{
    AddSuppression, Body, Check, DeclareContactMade, Direction, EffectKind, EffectRef,
    ObserveMessage, ReserveEffect, Route,
};
use interlock_domain::contact::name::{
    AgentId, ChannelId, GatewayId, IntentId, PurposeId, ReasonId, TaskId,
};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;

use super::super::paid::EFFECTS_DRAW_ON;
use super::super::rules::{GATEWAY, INTENTS, REASONS, Rules};
use super::{Place, own};
use crate::random::Random;

impl Place {
    pub(super) fn check(
        &self,
        rules: &Rules,
        (customer, object): (KeyHash, KeyHash),
        effect: EffectRef,
        random: &mut Random,
    ) -> (Route, Body) {
        let inbound = random.chance(150);
        let body = Check {
            direction: if inbound {
                Direction::Inbound
            } else {
                Direction::Outbound
            },
            agent: AgentId::of(random.pick(&own::AGENTS)),
            intent: IntentId::of(random.pick(&INTENTS)),
            purpose: purpose(rules, random),
            channel: random.chance(700).then(|| channel(rules, random)),
            gateway: random.chance(500).then(|| GatewayId::of(GATEWAY)),
            customer: random.chance(850).then_some(customer),
            object: random.chance(500).then_some(object),
            task: random
                .chance(400)
                .then(|| TaskId::of(random.pick(&own::TASKS))),
            effect: random.chance(500).then_some(effect),
            signer: 1,
        };
        let route = random.pick(&[Route::Check, Route::CheckBatch]);
        (route, Body::Check(body))
    }

    pub(super) fn contact(&self, rules: &Rules, customer: KeyHash, random: &mut Random) -> Body {
        let mut body = DeclareContactMade {
            customer: random.chance(900).then_some(customer),
            purpose: purpose(rules, random),
            channel: channel(rules, random),
            gateway: None,
            decision: None,
            jti: random
                .chance(300)
                .then(|| Id([u8::try_from(random.below(30)).unwrap_or(0); 16])),
            unchecked: random.chance(100),
        };
        if !self.decisions.is_empty() && random.chance(700) {
            let (id, customer, of) = random.pick(&self.decisions);
            body.decision = Some(id);
            if rules.purpose(of).is_some() && random.chance(800) {
                body.customer = Some(customer);
                body.purpose = of;
            }
        }
        Body::DeclareContactMade(body)
    }

    pub(super) fn suppress(
        &self,
        rules: &Rules,
        customer: KeyHash,
        now: Timestamp,
        random: &mut Random,
    ) -> Body {
        let soon = i64::try_from(random.range(1..=7_200_000)).unwrap_or(1);
        Body::AddSuppression(AddSuppression {
            customer,
            purpose: purpose_or_any(rules, random),
            channel: random.chance(500).then(|| channel(rules, random)),
            reason: ReasonId::of(REASONS[random.index(REASONS.len())].0),
            until: random.chance(700).then(|| now.plus_ms(soon)),
            window: random
                .chance(400)
                .then(|| self.windows[random.index(self.windows.len())].window()),
            destination: customer.0.into(),
        })
    }
}

/// A paid call draws on the space's units, by what the edge reads in the rules.
pub(super) fn reserve(
    effect: EffectRef,
    rules: &Rules,
    object: KeyHash,
    random: &mut Random,
) -> ReserveEffect {
    let paid = effect.kind == EffectKind::PaidCall;
    ReserveEffect {
        effect,
        cost_units: if paid { random.pick(&[1, 1, 2, 5]) } else { 0 },
        draws_on: paid.then(|| Text::from(EFFECTS_DRAW_ON)),
        // The edge keeps a fact for the kinds that the rules list.
        fact: (rules.of_facts(effect.kind) && random.chance(900)).then_some(object),
    }
}

/// A message of a customer was seen, up to some hours ago or a little ahead of time.
pub(super) fn observe(
    rules: &Rules,
    customer: KeyHash,
    now: Timestamp,
    random: &mut Random,
) -> (Route, Body) {
    let ago = i64::try_from(random.below(4 * 3_600_000)).unwrap_or(0);
    let body = ObserveMessage {
        customer,
        channel: channel(rules, random),
        occurred_at: now.plus_ms(60_000 - ago),
    };
    (Route::Batch, Body::ObserveMessage(body))
}

pub(super) fn purpose(rules: &Rules, random: &mut Random) -> PurposeId {
    PurposeId::of(rules.purposes[random.index(rules.purposes.len())].name)
}

pub(super) fn purpose_or_any(rules: &Rules, random: &mut Random) -> PurposeId {
    if random.chance(150) {
        return PurposeId::ANY;
    }
    purpose(rules, random)
}

pub(super) fn channel(rules: &Rules, random: &mut Random) -> ChannelId {
    ChannelId::of(rules.channels[random.index(rules.channels.len())].name)
}
