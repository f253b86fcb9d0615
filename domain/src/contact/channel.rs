//! A channel at an instant: may free-form messages go, is it quiet?
//!
//! Here: the free-form window and the quiet hours (`docs/spec/contact.md` §12). Not here: what a
//! check makes of them.

use crate::contact::customer::Customer;
use crate::contact::policy::{Channel, Purpose};
use crate::contact::reply::ChannelView;
use crate::contact::window::Cover;
use crate::time::Timestamp;

/// A channel as a check sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// What the answer shows.
    pub view: ChannelView,
    /// An outbound contact waits for the end of the quiet hours.
    pub is_quiet: bool,
}

/// The channel at `now`, for contacts of `purpose` with `customer`.
#[must_use]
pub fn state(
    channel: &Channel,
    purpose: &Purpose,
    customer: Option<&Customer>,
    now: Timestamp,
) -> ChannelState {
    let free_form_until = channel.free_form_hours.and_then(|hours| {
        let last = customer?.last_message(channel.id)?;
        let until = last.plus_s(i64::from(hours) * 3_600);
        (now < until).then_some(until)
    });
    let quiet = channel
        .quiet_hours
        .as_ref()
        .filter(|_| !purpose.quiet_exempt);
    let (is_quiet, quiet_until) = match quiet.map(|window| window.cover(now)) {
        Some(Cover::Inside(until)) => (true, until),
        Some(Cover::Outside) | None => (false, None),
    };
    ChannelState {
        view: ChannelView {
            free_form_until,
            template_required: channel.template_required && free_form_until.is_none(),
            quiet_until,
        },
        is_quiet,
    }
}
