//! Customers in memory and on disk: the fields of format 1 in their order, and few bytes a customer.

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use super::{NOON, claim_of};
use crate::contact::claim::Claim;
use crate::contact::commitment::{Commitment, CommitmentState};
use crate::contact::customer::{
    Contact, ContactState, Customer, Details, LastMessage, Rare, SeenToken,
};
use crate::contact::dealings::{Dealings, KnownHandoff};
use crate::contact::effect::Effect;
use crate::contact::entity::ContactEntity;
use crate::contact::name::{ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::paid::Meters;
use crate::contact::suppression::Suppression;
use crate::contact::text::Text;
use crate::ids::Id;

/// A customer as format 1 began with it, when it lay in memory as it is stored.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Format1 {
    contacts: Vec<Contact>,
    suppressions: Vec<Suppression>,
    claims: Vec<Claim>,
    messages: Vec<LastMessage>,
    tokens: Vec<SeenToken>,
    commitments: Vec<Commitment>,
    tokens_reused: u32,
    legal_holds: u32,
    paid: Option<Box<Meters>>,
    effects: Vec<[u8; 32]>,
    dealings: Option<Box<Dealings>>,
}

impl From<&Customer> for Format1 {
    fn from(known: &Customer) -> Self {
        let rare: &Details = &known.rare;
        Self {
            contacts: known.contacts.to_vec(),
            suppressions: rare.suppressions.clone(),
            claims: rare.claims.clone(),
            messages: rare.messages.clone(),
            tokens: rare.tokens.clone(),
            commitments: rare.commitments.clone(),
            tokens_reused: rare.tokens_reused,
            legal_holds: rare.legal_holds,
            paid: rare.paid.clone(),
            effects: known.effects.to_vec(),
            dealings: rare.dealings.clone(),
        }
    }
}

/// A customer who has one of everything.
fn with_details() -> Details {
    Details {
        suppressions: vec![Suppression {
            entry: Id([1; 16]),
            source: SourceId(3),
            purpose: PurposeId::ANY,
            channel: None,
            reason: ReasonId(8),
            since: NOON,
            until: None,
            window: None,
            number: 9,
            lifted: None,
            purpose_name: Text::from("any"),
            channel_name: None,
            destination: Box::from([0xef; 2]),
        }],
        claims: vec![claim_of("h", 4)],
        messages: vec![LastMessage {
            channel: ChannelId(6),
            at: NOON,
            keep_hours: 24,
        }],
        tokens: vec![SeenToken {
            jti: Id([2; 16]),
            at: NOON,
        }],
        commitments: vec![Commitment {
            id: Text::from("a"),
            kind: Text::from("offer"),
            score: None,
            until: None,
            state: CommitmentState::Made,
            turned_at: NOON,
        }],
        tokens_reused: 5,
        legal_holds: 7,
        paid: Some(Box::default()),
        dealings: Some(Box::new(Dealings {
            promises: Vec::new(),
            handoffs: vec![KnownHandoff {
                id: Id([3; 16]),
                until: NOON,
            }],
        })),
    }
}

fn contact(id: u8) -> Contact {
    Contact {
        at: NOON,
        share: 1,
        id: Id([id; 16]),
        purpose: PurposeId(5),
        keep_hours: 24,
        state: ContactState::Made,
    }
}

#[test]
fn a_customer_keeps_the_bytes_of_format_1() {
    let usual = Customer {
        contacts: smallvec![contact(1)],
        effects: smallvec![[8; 32]],
        rare: Rare::default(),
    };
    let with_all = Customer {
        contacts: smallvec![contact(1), contact(2)],
        effects: smallvec![[8; 32], [9; 32]],
        rare: with_details().into(),
    };
    for customer in [Customer::default(), usual, with_all] {
        let old = Format1::from(&customer);
        let bytes = postcard::to_allocvec(&customer).expect("it encodes");
        assert_eq!(bytes, postcard::to_allocvec(&old).expect("it encodes"));
        let read: Customer = postcard::from_bytes(&bytes).expect("it decodes");
        assert_eq!(read, customer);
        let old_read: Format1 = postcard::from_bytes(&bytes).expect("it decodes");
        assert_eq!(old_read, old);
    }
}

/// Details that are empty again are none: what replay makes of a customer is what the decisions
/// made of it.
#[test]
fn emptied_details_are_as_good_as_none() {
    let mut emptied = Rare::from(with_details());
    *emptied = Details::default();
    assert_eq!(emptied, Rare::default());
    assert_ne!(Rare::from(with_details()), Rare::default());
}

/// Each of these lives in memory a million times.
#[test]
fn the_many_are_small() {
    assert_eq!(size_of::<Effect>(), 32);
    assert_eq!(size_of::<ContactEntity>(), 32);
    assert_eq!(size_of::<Customer>(), 96);
}
