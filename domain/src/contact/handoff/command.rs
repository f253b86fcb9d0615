//! What a client wants of handoffs, after the edge has parsed, validated and hashed it.
//!
//! Here: the commands, their keys, and which of them frees something. Not here: what they do (the
//! files beside this one).

use crate::contact::command::{ClaimPlace, Command};
use crate::contact::entity::ContactEntity;
use crate::contact::feed::feed_key;
use crate::contact::handoff::{
    EffectSeen, accept, close, create, effects, find, handoff_key, note, read,
};
use crate::contact::policy::Policy;
use crate::contact::text::Text;
use crate::contact::{Contact, key, place_key};
use crate::ids::Id;
use crate::key::{KeyHash, KeyList, Kind, SpaceId};
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// One command about handoffs.
#[derive(Clone, Debug, PartialEq)]
pub enum HandoffCommand {
    /// A customer is handed over.
    Create(Box<CreateHandoff>),
    /// The target takes it over.
    Accept(AcceptHandoff),
    /// It has an outcome.
    Close(CloseHandoff),
    /// A declaration that moves nothing: that a handoff was made, or about one we cannot hold.
    Note,
    /// A handoff as it is.
    Read(ReadHandoff),
    /// Whose handoff it is: the look-up before an outcome.
    Find(FindHandoff),
    /// Which effects a customer was checked with.
    ListEffects(ListEffects),
    /// One effect as a package shows it.
    SeeEffect(SeeEffect),
}

/// A customer is handed over.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateHandoff {
    /// The handoff's id, given by the edge, so that it is one of the command's keys. The hold has it
    /// too.
    pub id: Id,
    /// Whom.
    pub customer: KeyHash,
    /// To whom.
    pub target: Text,
    /// When the outcome is due; `None`: after the space's wait.
    pub expected_by: Option<Timestamp>,
    /// Its texts, sealed by the edge.
    pub sealed: Vec<u8>,
    /// The sealed destination; empty when the handle is none.
    pub destination: Box<[u8]>,
    /// The conversation it comes from.
    pub conversation: Option<KeyHash>,
    /// The effects to show, read just before.
    pub effects: Vec<EffectSeen>,
}

/// The target takes a customer over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptHandoff {
    /// Which handoff.
    pub handoff: Id,
    /// Whose a declaration says it is; `None`: it does not say.
    pub subject: Option<KeyHash>,
}

/// A handoff has an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseHandoff {
    /// Which handoff.
    pub handoff: Id,
    /// How it ended, a word of the space's vocabulary; a declaration may leave it out.
    pub outcome: Option<Text>,
    /// Whose a declaration says it is; `None`: it does not say.
    pub subject: Option<KeyHash>,
    /// Whose it is.
    pub place: ClaimPlace,
}

/// A handoff as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadHandoff {
    /// Which.
    pub handoff: Id,
}

/// Whose handoff it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindHandoff {
    /// Which.
    pub handoff: Id,
}

/// Which effects a customer was checked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListEffects {
    /// Of whom.
    pub customer: KeyHash,
}

/// One effect as a package shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeeEffect {
    /// The first 16 bytes of its id.
    pub effect: KeyHash,
}

impl HandoffCommand {
    /// The entities it touches.
    pub(in crate::contact) fn keys(&self, space: SpaceId) -> KeyList {
        let mut keys = KeyList::new();
        match self {
            Self::Create(create) => {
                keys.push(handoff_key(space, create.id));
                keys.push(key(space, Kind::Customer, create.customer));
            }
            Self::Accept(accept) => keys.push(handoff_key(space, accept.handoff)),
            Self::Close(close) => {
                keys.push(handoff_key(space, close.handoff));
                keys.extend(place_key(space, close.place));
                // The outcome may be mapped to a suppression, which the list numbers.
                keys.push(feed_key(space));
            }
            Self::Note => {}
            Self::Read(read) => keys.push(handoff_key(space, read.handoff)),
            Self::Find(find) => keys.push(handoff_key(space, find.handoff)),
            Self::ListEffects(list) => keys.push(key(space, Kind::Customer, list.customer)),
            Self::SeeEffect(see) => keys.push(key(space, Kind::Effect, see.effect)),
        }
        keys
    }

    /// Whether it ends something; such a command goes on where nothing new is kept.
    pub(in crate::contact) const fn frees(&self) -> bool {
        match self {
            Self::Close(_) => true,
            Self::Create(_)
            | Self::Accept(_)
            | Self::Note
            | Self::Read(_)
            | Self::Find(_)
            | Self::ListEffects(_)
            | Self::SeeEffect(_) => false,
        }
    }

    /// Decides it.
    pub(in crate::contact) fn decide(
        &self,
        entities: &Entities<'_, ContactEntity>,
        command: &Command,
        context: &mut Context<'_, Policy>,
    ) -> Decision<Contact> {
        match self {
            Self::Create(body) => create::decide(entities, command, body, context),
            Self::Accept(body) => accept::decide(entities, command, *body, context),
            Self::Close(body) => close::decide(entities, command, body, context),
            Self::Note => note::decide(command),
            Self::Read(body) => read::decide(entities, command, *body, context.now),
            Self::Find(body) => find::decide(entities, command, *body, context.now),
            Self::ListEffects(body) => effects::list(entities, command, *body),
            Self::SeeEffect(body) => effects::see(entities, command, *body, context.now),
        }
    }
}
