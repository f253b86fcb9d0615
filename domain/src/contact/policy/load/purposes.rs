//! Purposes with their budgets, and channels.

use crate::contact::budget;
use crate::contact::name::{ChannelId, IntentId, PurposeId};
use crate::contact::policy::document::{
    BudgetDocument, ChannelDocument, Fails, Named, PurposeDocument, SliceDocument,
};
use crate::contact::policy::load::{Loaded, bounded, distinct, hours, load_named, name, refuse};
use crate::contact::policy::{Budget, Channel, Purpose, Slice};
use crate::contact::text::Text;
use crate::contact::window::Window;

const SLICES_MAX: usize = 20;
const LIMIT_MAX: u32 = 1_000;
const DAY_MS: i64 = 86_400_000;

/// Contacts of one customer, over all purposes: about 40 bytes each, and an entity must stay
/// below 1 MiB.
const KEPT_CONTACTS_MAX: u32 = 20_000;

pub(super) fn standard_purposes() -> Vec<Purpose> {
    let purpose = |name: &str, guarded: bool| Purpose {
        id: PurposeId::of(name),
        name: Text::from(name),
        fails_closed: guarded,
        token: guarded,
        quiet_exempt: false,
        budget: None,
    };
    vec![
        purpose("collection", true),
        purpose("marketing", true),
        purpose("retention", true),
        purpose("service", false),
        purpose("transactional", false),
    ]
}

pub(super) fn load_purposes(named: Named<PurposeDocument>) -> Loaded<Vec<Purpose>> {
    let entries = load_named("purposes", Some(named), |field, document| {
        let budget = document
            .budget
            .map(|budget| load_budget(&format!("{field}.budget"), budget))
            .transpose()?;
        Ok((
            document.fails,
            document.token,
            document.quiet_exempt,
            budget,
        ))
    })?;
    let mut purposes = Vec::with_capacity(entries.len());
    for (name, (fails, token, quiet_exempt, budget)) in entries {
        if &*name == "any" {
            return Err(refuse(
                "purposes.any",
                "`any` means every purpose; it cannot be one",
            ));
        }
        purposes.push(Purpose {
            id: PurposeId::of(&name),
            name,
            fails_closed: fails == Fails::Closed,
            token,
            quiet_exempt,
            budget,
        });
    }
    distinct("purposes", purposes.iter().map(|purpose| purpose.id.0))?;
    let kept: u32 = purposes.iter().map(budget::kept_at_most).sum();
    if kept > KEPT_CONTACTS_MAX {
        let rule = format!(
            "budgets would keep {kept} contacts of one customer, above {KEPT_CONTACTS_MAX}; \
             lower limits or have fewer slices"
        );
        return Err(refuse("purposes", rule));
    }
    Ok(purposes)
}

fn load_budget(field: &str, document: BudgetDocument) -> Loaded<Budget> {
    let limit = bounded(&format!("{field}.limit"), document.limit, 1, LIMIT_MAX)?;
    let per_hours = hours(&format!("{field}.per_hours"), document.per_hours)?;
    let field = format!("{field}.slices");
    if document.slices.len() > SLICES_MAX {
        return Err(refuse(field, format!("at most {SLICES_MAX} slices")));
    }
    let mut slices: Vec<Slice> = Vec::with_capacity(document.slices.len());
    for (index, slice) in document.slices.into_iter().enumerate() {
        let slice = load_slice(&format!("{field}[{index}]"), slice)?;
        if slices.iter().any(|known| known.intent == slice.intent) {
            return Err(refuse(field, "an intent has at most one slice"));
        }
        slices.push(slice);
    }
    let sliced: u32 = slices.iter().map(|slice| slice.limit).sum();
    if sliced > limit {
        return Err(refuse(
            field,
            format!("limits add up to {sliced}, above the budget's limit of {limit}"),
        ));
    }
    Ok(Budget {
        limit,
        per_hours,
        slices,
    })
}

fn load_slice(field: &str, document: SliceDocument) -> Loaded<Slice> {
    let intent = name(&format!("{field}.intent"), &document.intent)?;
    let limit = bounded(&format!("{field}.limit"), document.limit, 1, LIMIT_MAX)?;
    let field = format!("{field}.spread_days");
    let spread_ms = match (document.spread, document.spread_days) {
        (true, None) => return Err(refuse(field, "a spread slice needs `spread_days`")),
        (false, Some(_)) => return Err(refuse(field, "needs `spread`: true")),
        (false, None) => None,
        (true, Some(spread_days)) => {
            let days = bounded(&field, spread_days, 1, 366)?;
            Some(i64::from(days) * DAY_MS / i64::from(limit))
        }
    };
    Ok(Slice {
        intent: IntentId::of(&intent),
        limit,
        spread_ms,
    })
}

pub(super) fn usual_channels() -> Vec<Channel> {
    let channel = |name: &str, free_form_hours, template_required| Channel {
        id: ChannelId::of(name),
        name: Text::from(name),
        free_form_hours,
        template_required,
        quiet_hours: None,
    };
    vec![
        channel("chat", None, false),
        channel("email", None, false),
        channel("push", None, false),
        channel("sms", None, false),
        channel("voice", None, false),
        channel("whatsapp", Some(24), true),
    ]
}

pub(super) fn load_channels(named: Named<ChannelDocument>) -> Loaded<Vec<Channel>> {
    let load = |field: &str, document: ChannelDocument| {
        let free_form_hours = document
            .free_form_hours
            .map(|value| hours(&format!("{field}.free_form_hours"), value))
            .transpose()?;
        let quiet_hours = document
            .quiet_hours
            .map(|hours| Window::new(&hours.from, &hours.to, &hours.tz, None))
            .transpose()
            .map_err(|why| refuse(format!("{field}.quiet_hours.{}", why.member()), why.rule()))?;
        Ok((free_form_hours, document.template_required, quiet_hours))
    };
    let entries = load_named("channels", Some(named), load)?;
    let mut channels = Vec::with_capacity(entries.len());
    for (name, (free_form_hours, template_required, quiet_hours)) in entries {
        channels.push(Channel {
            id: ChannelId::of(&name),
            name,
            free_form_hours,
            template_required,
            quiet_hours,
        });
    }
    distinct("channels", channels.iter().map(|channel| channel.id.0))?;
    Ok(channels)
}
