//! Does a peer hold the rules it is compared by? A short list of facts and checks with the one answer
//! each must get, asked of a fresh peer in every form before any load. A figure of a peer that skips
//! a rule would say nothing.

use super::judge::Verdict;
use super::keys::Check;
use super::server::{Fact, Form, Link, Rules, Server, Target};

/// Customers and objects from here on are never drawn by the load.
const CUSTOMER_FIRST: u64 = 90_000_000;
/// Objects of the proof: the last hundred of seven digits.
pub(crate) const OBJECT_FIRST: u64 = 9_999_900;
/// Room for each form's own customers, objects and effects.
const STRIDE: u64 = 30;
const HOUR_MS: u64 = 3_600_000;
/// The run in the effect keys of the proof; no run of a load has it.
const RUN: u32 = u32::MAX;

/// Proves the rules in every form; the number of answers that were judged.
pub(crate) fn prove(server: &dyn Server, rules: &Rules) -> Result<usize, String> {
    let mut judged = 0;
    for (index, form) in (0..).zip(server.forms()) {
        let mut proof = Proof::new(server, *form, index, rules)?;
        let outcome = proof
            .effects()
            .and_then(|()| proof.suppressions())
            .and_then(|()| proof.owners())
            .and_then(|()| proof.locks())
            .and_then(|()| proof.budgets());
        outcome.map_err(|error| format!("{} breaks a rule ({form}): {error}", server.name()))?;
        judged += proof.judged;
    }
    Ok(judged)
}

struct Proof<'a> {
    server: &'a dyn Server,
    form: Form,
    link: Box<dyn Link>,
    rules: &'a Rules,
    offset: u64,
    judged: usize,
}

impl<'a> Proof<'a> {
    fn new(
        server: &'a dyn Server,
        form: Form,
        index: u64,
        rules: &'a Rules,
    ) -> Result<Self, String> {
        Ok(Self {
            server,
            form,
            link: server.connect(form, RUN, 1)?,
            rules,
            offset: index * STRIDE,
            judged: 0,
        })
    }

    const fn customer(&self, number: u64) -> u64 {
        CUSTOMER_FIRST + self.offset + number
    }

    const fn object(&self, number: u64) -> u64 {
        OBJECT_FIRST + self.offset + number
    }

    /// Agent 1 asks for a customer, with an object nobody has.
    const fn check(&self, effect: u64, customer: u64) -> Check {
        Check {
            agent: 1,
            customer: self.customer(customer),
            object: self.object(0),
            effect: self.offset * 100 + effect,
            task: false,
        }
    }

    fn expect(&mut self, check: Check, wanted: Verdict, rule: &str) -> Result<(), String> {
        let mut verdicts = Vec::new();
        self.link.ask(&[check], &mut verdicts)?;
        self.judged += 1;
        if verdicts == [wanted] {
            Ok(())
        } else {
            Err(format!("{rule}: {verdicts:?} and not {wanted:?}"))
        }
    }

    fn tell(&mut self, fact: &Fact, wanted: bool, rule: &str) -> Result<(), String> {
        if self.link.tell(fact)? == wanted {
            Ok(())
        } else {
            Err(format!("{rule}: {fact:?} was not answered {wanted}"))
        }
    }

    fn settle(&mut self, effect: u64, state: &'static str, wanted: bool) -> Result<(), String> {
        let effect = self.offset * 100 + effect;
        self.tell(&Fact::Settled { effect, state }, wanted, "a settlement")
    }

    fn effects(&mut self) -> Result<(), String> {
        let first = self.check(1, 1);
        self.expect(first, Verdict::Allow(1), "a fresh effect key is reserved")?;
        self.expect(first, Verdict::EffectInFlight, "an effect is reserved once")?;
        let other = self.check(1, 2);
        self.expect(other, Verdict::EffectInFlight, "whoever the customer is")?;
        self.settle(1, "done", true)?;
        self.expect(first, Verdict::EffectDone, "a done effect stays done")?;
        self.settle(1, "failed", false)?;
        self.expect(first, Verdict::EffectDone, "done is final")?;
        let second = self.check(2, 2);
        self.expect(second, Verdict::Allow(1), "a second key")?;
        self.settle(2, "unknown_outcome", true)?;
        self.expect(
            second,
            Verdict::EffectUnknown,
            "an ambiguous effect is not opened",
        )?;
        self.settle(2, "failed", true)?;
        let third = self.check(2, 3);
        self.expect(
            third,
            Verdict::Allow(2),
            "a failed effect opens the next attempt",
        )
    }

    fn suppressions(&mut self) -> Result<(), String> {
        let suppress = |proof: &mut Self, customer, purpose| {
            let customer = proof.customer(customer);
            proof.tell(
                &Fact::Suppressed { customer, purpose },
                true,
                "a suppression",
            )
        };
        suppress(self, 4, "another")?;
        self.expect(
            self.check(4, 4),
            Verdict::Allow(1),
            "another purpose's suppression",
        )?;
        suppress(self, 5, "any")?;
        self.expect(
            self.check(5, 5),
            Verdict::Suppressed,
            "a suppression for any purpose",
        )?;
        self.expect(
            self.check(5, 6),
            Verdict::Allow(1),
            "a refusal reserves nothing",
        )?;
        self.expect(
            self.check(5, 5),
            Verdict::EffectInFlight,
            "the effect is asked first",
        )
    }

    fn owners(&mut self) -> Result<(), String> {
        let own = |proof: &mut Self, target, holder, rank, lease_ms, wanted| {
            let fact = Fact::Owned {
                target,
                holder,
                rank,
                lease_ms,
            };
            proof.tell(&fact, wanted, "a claim")
        };
        let customer = Target::Customer(self.customer(7));
        own(self, customer, 7, 5, HOUR_MS, true)?;
        self.expect(
            self.check(7, 7),
            Verdict::OwnerActive,
            "another has the customer",
        )?;
        let owner = Check {
            agent: 7,
            ..self.check(7, 7)
        };
        self.expect(owner, Verdict::Allow(1), "the owner may go")?;
        own(self, customer, 8, 5, HOUR_MS, false)?;
        own(self, customer, 8, 4, HOUR_MS, true)?;
        let replaced = Check {
            agent: 7,
            ..self.check(8, 7)
        };
        self.expect(
            replaced,
            Verdict::OwnerActive,
            "a stricter claim takes over",
        )?;
        own(self, Target::Customer(self.customer(8)), 7, 5, 0, true)?;
        self.expect(
            self.check(9, 8),
            Verdict::Allow(1),
            "a claim ends with its lease",
        )?;
        own(self, Target::Object(self.object(1)), 7, 5, HOUR_MS, true)?;
        let object = Check {
            object: self.object(1),
            ..self.check(10, 9)
        };
        self.expect(object, Verdict::OwnerActive, "another has the object")
    }

    fn locks(&mut self) -> Result<(), String> {
        let object = self.object(2);
        let lock = Fact::Locked {
            object,
            holder: 7,
            lease_ms: HOUR_MS,
        };
        self.tell(&lock, true, "a task lock")?;
        let asked = Check {
            object,
            task: true,
            ..self.check(11, 10)
        };
        self.expect(asked, Verdict::LockHeld, "another has the task")?;
        let holder = Check { agent: 7, ..asked };
        self.expect(holder, Verdict::Allow(1), "the lock's holder may go")?;
        let no_task = Check {
            object,
            ..self.check(12, 13)
        };
        self.expect(
            no_task,
            Verdict::Allow(1),
            "a lock holds the task, not the object",
        )
    }

    fn budgets(&mut self) -> Result<(), String> {
        let limit = u64::from(self.rules.limit);
        let contacts: Vec<Check> = (1000..1000 + limit)
            .map(|effect| self.check(effect, 11))
            .collect();
        let mut verdicts = Vec::new();
        let mut many = self.server.connect(self.form, RUN, contacts.len())?;
        many.ask(&contacts, &mut verdicts)?;
        self.judged += contacts.len();
        if verdicts != vec![Verdict::Allow(1); contacts.len()] {
            return Err(format!("a contact is left: {verdicts:?}"));
        }
        let over = self.check(1000 + limit, 11);
        self.expect(over, Verdict::BudgetExhausted, "no contact is left")?;
        let elsewhere = self.check(1000 + limit, 12);
        self.expect(
            elsewhere,
            Verdict::Allow(1),
            "the refused one reserved nothing",
        )?;
        let purpose = "any";
        let customer = self.customer(11);
        self.tell(
            &Fact::Suppressed { customer, purpose },
            true,
            "a suppression",
        )?;
        let both = self.check(1001 + limit, 11);
        self.expect(
            both,
            Verdict::Suppressed,
            "a suppression comes before the budget",
        )
    }
}
