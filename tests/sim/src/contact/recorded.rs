//! Whether a record is what a command must leave: what it notes, what it changes, what is kept for
//! repeats.

use interlock_domain::contact::command::{
    Body, Command, Direction, NoteMessage, ObserveMessage, Route,
};
use interlock_domain::contact::event::Event;
use interlock_domain::contact::note::{Mark, MessageNoted, Noted};
use interlock_domain::contact::receipt::Receipt;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::EntityKey;
use interlock_domain::time::Timestamp;

use super::change::{Change, fits};
use super::judge::Moment;
use super::limits::{CHECK_OUTCOME_S, OUTCOME_S};
use super::model::Line;

/// Does the record note this and change this?
pub(super) fn noted_and_done(
    moment: &Moment<'_>,
    line: &Line,
    (command, reply): (&Command, &Reply),
    mut changes: Vec<Change>,
    noted: Option<Noted>,
) -> Result<(), String> {
    let notes = line.note.as_ref().map(|note| note.decision);
    // What is taken and changes nothing may be noted either way.
    let idle = |noted| noted == Some(Noted::NothingToChange) || noted == Some(Noted::Accepted);
    if notes != noted && !(changes.is_empty() && idle(notes) && idle(noted)) {
        return Err(format!("it notes {notes:?}, not {noted:?}"));
    }
    let (receipts, others): (Vec<_>, Vec<_>) = line
        .events
        .iter()
        .partition(|(_, event)| matches!(event, Event::ReceiptKept(_)));
    if let Body::NoteMessage(message) = &command.body
        && !is_noted_as_sent(message, line)
    {
        return Err("its note is of another message".to_owned());
    }
    if let Body::ObserveMessage(message) = &command.body {
        if !is_noted(message, line) {
            return Err("its note is of another message".to_owned());
        }
        // A message older than anything asks for need not be remembered.
        if others.is_empty() {
            changes.clear();
        }
    }
    changed(moment, &changes, &others)?;
    receipted(command, reply, &receipts, line.time)
}

/// Is the record's note of this customer's message? Each has one, also when nothing changes by it.
fn is_noted(message: &ObserveMessage, line: &Line) -> bool {
    let Some(note) = &line.note else {
        return false;
    };
    let Some(Mark::Message(noted)) = &note.mark else {
        return false;
    };
    let occurred_at = message.occurred_at.min(line.time);
    note.channel == Some(message.channel)
        && (noted.customer, noted.occurred_at) == (message.customer, occurred_at)
}

/// Is the record's note of this message, in all its parts?
fn is_noted_as_sent(message: &NoteMessage, line: &Line) -> bool {
    let Some(note) = &line.note else {
        return false;
    };
    let due = MessageNoted {
        customer: message.customer,
        occurred_at: message.occurred_at.min(line.time),
        agent: Some(message.agent),
        name: message.name.clone(),
        intent: message.intent,
        jti: message.jti,
        template: message.template,
    };
    note.mark == Some(Mark::Message(Box::new(due)))
        && (note.channel, note.purpose) == (message.channel, message.purpose)
        && note.direction == Some(Direction::Outbound)
}

/// Are these changes the record's, all and no other?
fn changed(
    moment: &Moment<'_>,
    changes: &[Change],
    others: &[&(EntityKey, Event)],
) -> Result<(), String> {
    let is_sure = |change: &&Change| !matches!(change, Change::Perhaps(_));
    let sure = changes.iter().filter(is_sure).count();
    let made = |change: &Change| others.iter().any(|event| fits(moment, change, event));
    let due =
        |event: &&(EntityKey, Event)| changes.iter().any(|change| fits(moment, change, event));
    let fit = (sure..=changes.len()).contains(&others.len())
        && changes.iter().filter(is_sure).all(made)
        && others.iter().all(due);
    if fit {
        Ok(())
    } else {
        Err(format!("changes {changes:?}, in the record {others:?}"))
    }
}

/// Is the outcome kept, where it must be, for as long as it must be?
fn receipted(
    command: &Command,
    reply: &Reply,
    receipts: &[&(EntityKey, Event)],
    now: Timestamp,
) -> Result<(), String> {
    let stored = command.receipt.is_some() && !matches!(reply, Reply::NotFound);
    let kept_s = if matches!(command.body, Body::Check(_)) {
        CHECK_OUTCOME_S
    } else {
        OUTCOME_S
    };
    match (receipts, command.receipt) {
        ([(key, Event::ReceiptKept(kept))], Some(receipt)) if stored => {
            if command.route == Route::Declare {
                small(kept)?;
            }
            let fine = key.hash == receipt.hash
                && kept.fingerprint == receipt.fingerprint
                && kept.until == now.plus_s(kept_s);
            fine.then_some(()).ok_or_else(|| format!("keeps {kept:?}"))
        }
        ([], _) if !stored => Ok(()),
        _ => Err(format!("keeps {receipts:?}")),
    }
}

/// The most bytes a declaration's outcome takes where it is kept.
const DECLARED_BYTES_MAX: usize = 64;

/// Receipts are many: is a declaration's small?
fn small(kept: &Receipt) -> Result<(), String> {
    let bytes = postcard::to_allocvec(kept).map_err(|error| error.to_string())?;
    if bytes.len() <= DECLARED_BYTES_MAX {
        return Ok(());
    }
    Err(format!("{} bytes of a receipt", bytes.len()))
}
