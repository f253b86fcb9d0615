//! `suppression.added`: a destination may not be contacted (`docs/spec/contact.md` §15, §17).
//!
//! Here: the identity of an entry and its end, for every command that adds one. It goes on when
//! memory is short: an opt-out that is not taken is a contact that should not be made. Not here:
//! what an entry stops (`check`), its number (`feed`), and that the subject has a destination at all
//! (the edge).

use crate::contact::claim::answer;
use crate::contact::command::{AddSuppression, Command};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::feed::Changes;
use crate::contact::name::{ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::note::{Facts, Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{DeclareReply, Member, Reply};
use crate::contact::suppression::Suppression;
use crate::contact::text::Text;
use crate::contact::window::Window;
use crate::contact::{Contact, key};
use crate::key::{KeyHash, Kind, SpaceId};
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// How many entries one customer keeps, lifted and ended ones included while they are remembered; an
/// entity must stay far below 1 MiB. Above it the one that is lifted or over for longest gives way.
pub(super) const SUPPRESSIONS_MAX: usize = 1_000;

/// How many entries with a window one source has with a customer. Windows are without number, where
/// purposes and channels are those of the rules: they must not take the room of an opt-out.
const WINDOWS_OF_A_SOURCE_MAX: usize = 64;

/// How many entries with a window all sources have with a customer.
const WINDOWS_MAX: usize = 256;

/// An entry that is wanted.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// Whose list.
    pub(super) space: SpaceId,
    /// Who adds it.
    pub(super) source: SourceId,
    /// Who may not be contacted.
    pub(super) customer: KeyHash,
    /// For which purpose; [`PurposeId::ANY`] for every one.
    pub(super) purpose: PurposeId,
    /// On which channel; `None` for every one.
    pub(super) channel: Option<ChannelId>,
    /// Why.
    pub(super) reason: ReasonId,
    /// Until when; `None`: the reason's interval, or no end.
    pub(super) until: Option<Timestamp>,
    /// In which local hours; `None`: in all.
    pub(super) window: Option<&'a Window>,
    /// The sealed destination.
    pub(super) destination: &'a [u8],
}

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    add: &AddSuppression,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let wanted = Wanted {
        space: command.space,
        source: command.source,
        customer: add.customer,
        purpose: add.purpose,
        channel: add.channel,
        reason: add.reason,
        until: add.until,
        window: add.window.as_ref(),
        destination: &add.destination,
    };
    let changes = match added(entities, &wanted, context) {
        Ok(changes) => changes,
        Err(Reply::Refused(refusal)) => {
            return answer::refused(command, refusal, Facts::new());
        }
        Err(reply) => return Decision::read(reply),
    };
    let (events, notices) = changes.end();
    Decision {
        events,
        reply: Reply::Declared(DeclareReply::TAKEN),
        note: Some(Note {
            purpose: Some(add.purpose),
            channel: add.channel,
            ..Note::new(command, Noted::Accepted)
        }),
        notices,
    }
}

/// The changes that adding an entry makes. The keys of the command name the customer and the feed
/// ([`feed_key`](crate::contact::feed::feed_key)).
///
/// # Errors
/// The reply, when the rules do not declare its names, or the customer has no room for one more.
pub(super) fn added(
    entities: &Entities<'_, ContactEntity>,
    wanted: &Wanted<'_>,
    context: &mut Context<'_, Policy>,
) -> Result<Changes, Reply> {
    let now = context.now;
    let policy = context.policy;
    let reason = policy.reason_rules(wanted.reason);
    let reason = reason.ok_or(Reply::Undeclared(Member::Reason))?;
    let reason_end = reason.days.map(|days| now.plus_s(i64::from(days) * 86_400));
    let purpose_name = policy.suppression_purpose_name(wanted.purpose);
    let purpose_name = purpose_name.ok_or(Reply::Undeclared(Member::Purpose))?;
    let channel_name = wanted.channel.map(|channel| {
        let name = policy.channel_name(channel);
        name.ok_or(Reply::Undeclared(Member::Channel))
    });
    let channel_name = channel_name.transpose()?;
    let entity = key(wanted.space, Kind::Customer, wanted.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let known = customer.map_or(&[][..], |customer| &customer.rare.suppressions);
    let mut entry = Suppression {
        entry: context.ids.next(now),
        source: wanted.source,
        purpose: wanted.purpose,
        channel: wanted.channel,
        reason: wanted.reason,
        since: now,
        until: wanted.until.or(reason_end),
        window: wanted.window.cloned(),
        number: 0,
        lifted: None,
        purpose_name: Text::from(purpose_name),
        channel_name: channel_name.map(Text::from),
        destination: wanted.destination.into(),
    };
    match known.iter().find(|known| known.same_identity(&entry)) {
        Some(known) => entry.entry = known.entry,
        None if !has_room(known, &entry, now) => {
            return Err(Reply::Refused(Refusal::TargetFull));
        }
        None => {}
    }
    let mut changes = Changes::new(entities, wanted.space, wanted.customer);
    changes.push(entry, |entry| {
        Event::SuppressionAdded(Box::new(entry.clone()))
    });
    Ok(changes)
}

/// Whether a customer takes one more entry. An entry without a window is refused only where a
/// thousand others are in force.
fn has_room(known: &[Suppression], entry: &Suppression, now: Timestamp) -> bool {
    let kept = || known.iter().filter(|entry| entry.is_kept(now));
    let in_force = kept().filter(|entry| !entry.is_over(now)).count();
    let windows = || kept().filter(|entry| entry.window.is_some());
    let own = windows().filter(|known| known.source == entry.source);
    let has_windows = entry.window.is_none()
        || (own.count() < WINDOWS_OF_A_SOURCE_MAX && windows().count() < WINDOWS_MAX);
    has_windows && in_force < SUPPRESSIONS_MAX
}
