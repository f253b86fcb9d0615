//! What advice must say (§18): what a check would show of a customer or an object, decided by nobody.
//!
//! No record tells when it was read. What it shows changes with time only at known moments, so it is
//! judged at the last change of its entity and at each of those after it.

use interlock_domain::contact::command::Advise;
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::reply::AdviceReply;
use interlock_domain::key::{EntityKey, KeyHash, Kind};
use interlock_domain::time::Timestamp;

use super::budget::forgettings;
use super::judge::Moment;
use super::model::{Asked, ContactModel};
use super::rules::Rules;
use super::{check, claims, offers};

impl ContactModel {
    /// Was there a moment since the question at which this was to be said?
    pub(super) fn may_advise(&self, asked: &Asked, body: Advise, reply: &AdviceReply) -> bool {
        let space = asked.command.space;
        let key = body.target.key(space);
        let rules = self.rules.range((space, 0)..=(space, u32::MAX));
        let rules: Vec<&Rules> = rules.rev().map(|(_, rules)| rules).collect();
        self.books.moments(key, asked.since).any(|(before, from)| {
            rules.iter().any(|rules| {
                let mut moment = Moment {
                    books: &self.books,
                    rules,
                    space,
                    record: before,
                    now: from,
                    epoch: None,
                    run: None,
                    erased: None,
                    made: None,
                    full: false,
                    suspect: false,
                    forgotten: Timestamp(0),
                };
                let mut times = self.turns(&moment, key);
                times.retain(|time| from < *time && *time <= self.latest);
                times.push(from);
                times.into_iter().any(|now| {
                    moment.now = now;
                    let mut far = forgettings(&moment, Some(key)).into_iter();
                    far.any(|forgotten| {
                        moment.forgotten = forgotten;
                        advises(&moment, body.target, reply)
                    })
                })
            })
        })
    }

    /// When what is shown changes by time alone.
    fn turns(&self, moment: &Moment<'_>, key: EntityKey) -> Vec<Timestamp> {
        let (books, before) = (&self.books, moment.record);
        let mut times = Vec::new();
        if let Some(all) = books.claims(key) {
            let live = all.live(before, moment.now);
            times.extend(live.iter().map(|claim| claim.until));
        }
        if key.kind != Kind::Customer {
            return times;
        }
        for entry in books.entries(key, before) {
            times.push(entry.since);
            times.extend(entry.until);
        }
        for contact in books.contacts(key, before) {
            let purpose = moment.rules.purpose(contact.purpose);
            let budget = purpose.and_then(|purpose| purpose.budget.as_ref());
            times.extend(budget.map(|budget| contact.at.plus_ms(budget.hours * 3_600_000)));
        }
        let offers = books.offers.holding(key, before, moment.now);
        times.extend(offers.iter().filter_map(|offer| offer.valid_until));
        times.sort_unstable();
        times.dedup();
        times
    }
}

fn advises(moment: &Moment<'_>, target: Target, reply: &AdviceReply) -> bool {
    let (customer, object): (Option<KeyHash>, _) = match target {
        Target::Customer(hash) => (Some(hash), None),
        Target::Object(hash) => (None, Some(hash)),
        Target::Space(_) => return false,
    };
    let owner = claims::governing(moment, customer, object);
    let mut suppressions = reply.suppressions.to_vec();
    suppressions.sort_unstable();
    let mut commitments = reply.commitments.clone();
    commitments.sort_by(|one, other| one.id.cmp(&other.id));
    let mut promises = reply.promises.clone();
    promises.sort_by(|one, other| one.id.cmp(&other.id));
    let suppressed = customer.map_or_else(Vec::new, |customer| {
        check::suppressed_on(moment, customer, None)
    });
    let budgets = customer.map_or_else(Vec::new, |customer| {
        check::budgets_of(moment, customer, moment.record, |_| None)
    });
    reply.owner == owner[0].map(claims::owner)
        && suppressions == suppressed
        && reply.budgets.to_vec() == budgets
        && (commitments, promises) == offers::shown(moment, customer)
}
