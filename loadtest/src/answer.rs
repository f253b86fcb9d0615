//! Is an answer one the contract allows? Checks every result of every answer while scanning it once:
//! the decision is a known one, its reasons fit it, ids are UUIDs and distinct, an effect is reserved
//! exactly when the decision is `allow`, no list or map is `null`, and the places that share an
//! effect key come back in the order they were asked.

use crate::scan::{Malformed, Scanner};
use crate::template::Probe;

/// The decisions of an outbound check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The agent may go.
    Allow,
    /// Later, perhaps.
    Defer,
    /// No.
    Deny,
}

/// Decisions by index, as reports name them.
pub(crate) const DECISIONS: [&str; 3] = ["allow", "defer", "deny"];

/// The reasons a server may send, in report order.
pub(crate) const REASONS: [&str; 12] = [
    "template_required",
    "effect_done",
    "effect_in_flight",
    "effect_unknown_outcome",
    "suppressed",
    "contact_window",
    "owner_active",
    "lock_held",
    "budget_exhausted",
    "budget_paced",
    "quiet_hours",
    "rebuilding",
];

/// The reason of a decision that could not be made in time; sent with `defer`.
pub(crate) const UNAVAILABLE: &str = "unavailable";
const UNAVAILABLE_INDEX: usize = REASONS.len();
const TEMPLATE_REQUIRED: usize = 0;
const EFFECT_IN_FLIGHT: usize = 2;

/// Members that are lists or maps and so may never be `null`.
const NEVER_NULL: [&[u8]; 6] = [
    b"reasons",
    b"locks",
    b"suppressions",
    b"commitments_active",
    b"promises_open",
    b"contact_budget",
];

/// What is wrong with an answer, and at which place of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// Not the JSON the contract describes.
    Malformed(Malformed),
    /// Another number of results than of checks.
    Count {
        /// Checks asked.
        asked: usize,
        /// Results received.
        got: usize,
    },
    /// A result that breaks a rule.
    Result {
        /// Its place.
        index: usize,
        /// The rule.
        rule: &'static str,
    },
}

impl From<Malformed> for Invalid {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(it) => it.fmt(f),
            Self::Count { asked, got } => write!(f, "{got} results for {asked} checks"),
            Self::Result { index, rule } => write!(f, "result {index}: {rule}"),
        }
    }
}

/// How often each decision and reason came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// By place in [`DECISIONS`].
    pub(crate) decisions: [u64; DECISIONS.len()],
    /// By place in [`REASONS`], then `unavailable`.
    pub(crate) reasons: [u64; REASONS.len() + 1],
    /// Answers that carried a token.
    pub(crate) tokens: u64,
    /// Tokens whose signature was verified.
    pub(crate) tokens_verified: u64,
    /// Pairs of places whose order was proved.
    pub(crate) ordered: u64,
}

impl Counts {
    /// Adds another count to this one.
    pub(crate) fn add(&mut self, other: &Self) {
        let pairs = self.decisions.iter_mut().zip(other.decisions);
        pairs.for_each(|(mine, theirs)| *mine += theirs);
        let pairs = self.reasons.iter_mut().zip(other.reasons);
        pairs.for_each(|(mine, theirs)| *mine += theirs);
        self.tokens += other.tokens;
        self.tokens_verified += other.tokens_verified;
        self.ordered += other.ordered;
    }

    /// Checks that were answered in time but not decided.
    pub(crate) const fn undecided(&self) -> u64 {
        self.reasons[UNAVAILABLE_INDEX]
    }

    /// Reasons that came at least once, with their counts.
    pub(crate) fn reasons_seen(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let names = REASONS.iter().copied().chain([UNAVAILABLE]);
        names.zip(self.reasons).filter(|(_, count)| *count > 0)
    }
}

/// What the rules of one batch need of a result.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    decision: Decision,
    reason: Option<usize>,
    id: u128,
}

/// Validates answers; one per connection, its memory is reused.
#[derive(Debug)]
pub(crate) struct Validator {
    ids: IdSet,
    outcomes: Vec<Outcome>,
    wants_tokens: bool,
    keyless: bool,
    /// The place of the last answer whose token is kept, and that token.
    kept: Option<(usize, Vec<u8>)>,
}

impl Validator {
    /// A validator for batches of up to `checks`.
    pub(crate) fn new(checks: usize) -> Self {
        Self {
            ids: IdSet::new(checks),
            outcomes: Vec::with_capacity(checks),
            wants_tokens: false,
            keyless: false,
            kept: None,
        }
    }

    /// From now on an allow without a token is wrong.
    pub(crate) const fn want_tokens(&mut self) {
        self.wants_tokens = true;
    }

    /// From now on no check names an effect.
    pub(crate) const fn want_no_effects(&mut self) {
        self.keyless = true;
    }

    /// Whether the check at a place of the last answer was allowed.
    pub(crate) fn allowed(&self, index: usize) -> bool {
        self.outcomes[index].decision == Decision::Allow
    }

    /// The reason at a place of the last answer, by its place in [`REASONS`].
    pub(crate) fn reason(&self, index: usize) -> Option<&'static str> {
        let reason = self.outcomes[index].reason?;
        Some(REASONS.get(reason).copied().unwrap_or(UNAVAILABLE))
    }

    /// The id of the decision at a place of the last answer.
    pub(crate) fn id(&self, index: usize) -> u128 {
        self.outcomes[index].id
    }

    /// Keeps the token of that place of the next answer.
    pub(crate) fn keep_token(&mut self, index: usize) {
        let mut room = self.kept.take().map_or_else(Vec::new, |(_, room)| room);
        room.clear();
        self.kept = Some((index, room));
    }

    /// The token that was to be kept; empty when the place had none.
    pub(crate) fn token(&self) -> &[u8] {
        self.kept.as_ref().map_or(&[], |(_, token)| token)
    }

    /// Validates the answer of a batch and counts its results.
    pub(crate) fn batch(
        &mut self,
        body: &[u8],
        asked: usize,
        probes: &[Probe],
    ) -> Result<Counts, Invalid> {
        let mut counts = Counts::default();
        self.start();
        let mut scanner = Scanner::new(body);
        let mut lists = 0_usize;
        scanner.object(|scanner, name| {
            if name != b"results" {
                return scanner.skip().map_err(Invalid::from);
            }
            lists += 1;
            scanner.list(|scanner| self.result(scanner, &mut counts))
        })?;
        scanner.end()?;
        let got = self.outcomes.len();
        if got != asked || lists != 1 {
            return Err(Invalid::Count { asked, got });
        }
        for probe in probes {
            counts.ordered += u64::from(self.probe(*probe)?);
        }
        Ok(counts)
    }

    /// Validates the answer of one bare check.
    pub(crate) fn single(&mut self, body: &[u8]) -> Result<Counts, Invalid> {
        let mut counts = Counts::default();
        self.start();
        let mut scanner = Scanner::new(body);
        self.result(&mut scanner, &mut counts)?;
        scanner.end()?;
        Ok(counts)
    }

    fn start(&mut self) {
        self.ids.clear();
        self.outcomes.clear();
    }

    /// The later place of a pair must be held by the earlier one when that was allowed.
    fn probe(&self, probe: Probe) -> Result<bool, Invalid> {
        let (first, second) = (self.outcomes[probe.first], self.outcomes[probe.second]);
        if first.decision != Decision::Allow {
            return Ok(false);
        }
        match (second.decision, second.reason) {
            (Decision::Deny, Some(EFFECT_IN_FLIGHT)) => Ok(true),
            (Decision::Defer, Some(UNAVAILABLE_INDEX)) => Ok(false),
            _ => Err(Invalid::Result {
                index: probe.second,
                rule: "an earlier place of the batch holds its effect key, yet it was not denied",
            }),
        }
    }

    fn result(&mut self, scanner: &mut Scanner<'_>, counts: &mut Counts) -> Result<(), Invalid> {
        let index = self.outcomes.len();
        let wrong = |rule| Invalid::Result { index, rule };
        let mut seen = Seen::default();
        scanner.object(|scanner, name| seen.member(scanner, name, index))?;
        let id = seen.id.ok_or_else(|| wrong("no decision_id"))?;
        if !self.ids.insert(id) {
            return Err(wrong("its decision_id came before in this answer"));
        }
        let decision = seen.decision.ok_or_else(|| wrong("no decision"))?;
        if !seen.valid_for {
            return Err(wrong("no valid_for_s"));
        }
        seen.fits(decision, self.keyless).map_err(wrong)?;
        if self.wants_tokens && decision == Decision::Allow && seen.token.is_none() {
            return Err(wrong("an allow without its token"));
        }
        if let (Some((place, room)), Some(token)) = (&mut self.kept, seen.token)
            && *place == index
        {
            room.extend_from_slice(token);
        }
        counts.decisions[decision as usize] += 1;
        if let Some(reason) = seen.reason {
            counts.reasons[reason] += 1;
        }
        counts.tokens += u64::from(seen.token.is_some());
        self.outcomes.push(Outcome {
            decision,
            reason: seen.reason,
            id,
        });
        Ok(())
    }
}

/// The members of one result that the rules compare.
#[derive(Debug, Default)]
struct Seen<'a> {
    decision: Option<Decision>,
    id: Option<u128>,
    reason: Option<usize>,
    reasons: usize,
    reserved: bool,
    held: bool,
    attempt: bool,
    token: Option<&'a [u8]>,
    valid_for: bool,
}

impl<'a> Seen<'a> {
    fn member(
        &mut self,
        scanner: &mut Scanner<'a>,
        name: &[u8],
        index: usize,
    ) -> Result<(), Invalid> {
        let wrong = |rule| Invalid::Result { index, rule };
        if scanner.peek() == Some(b'n') {
            if NEVER_NULL.contains(&name) {
                return Err(wrong("a list or map is null"));
            }
            return scanner.skip().map_err(Invalid::from);
        }
        match name {
            b"decision" => {
                self.decision = Some(match scanner.string()? {
                    b"allow" => Decision::Allow,
                    b"defer" => Decision::Defer,
                    b"deny" => Decision::Deny,
                    _ => return Err(wrong("a decision that no outbound check may get")),
                });
            }
            b"decision_id" => {
                let id = uuid(scanner.string()?).ok_or_else(|| wrong("decision_id is no UUID"))?;
                self.id = Some(id);
            }
            b"reasons" => scanner.list(|scanner| self.reason(scanner, index))?,
            b"effect" => scanner.object(|scanner, name| self.effect(scanner, name, index))?,
            b"valid_for_s" => {
                scanner.whole()?;
                self.valid_for = true;
            }
            b"contact_token" => {
                let token = scanner.string()?;
                if !token.starts_with(b"nct1.") {
                    return Err(wrong("contact_token does not start with nct1."));
                }
                self.token = Some(token);
            }
            _ => scanner.skip()?,
        }
        Ok(())
    }

    fn reason(&mut self, scanner: &mut Scanner<'a>, index: usize) -> Result<(), Invalid> {
        let text = scanner.string()?;
        let known = REASONS.iter().position(|name| name.as_bytes() == text);
        let unavailable = || (text == UNAVAILABLE.as_bytes()).then_some(UNAVAILABLE_INDEX);
        let Some(reason) = known.or_else(unavailable) else {
            return Err(Invalid::Result {
                index,
                rule: "an unknown reason",
            });
        };
        self.reason = Some(reason);
        self.reasons += 1;
        Ok(())
    }

    fn effect(
        &mut self,
        scanner: &mut Scanner<'a>,
        name: &[u8],
        index: usize,
    ) -> Result<(), Invalid> {
        match name {
            b"state" => match scanner.string()? {
                b"none" => self.reserved = true,
                b"in_flight" | b"done" | b"unknown_outcome" => self.held = true,
                _ => {
                    return Err(Invalid::Result {
                        index,
                        rule: "an unknown effect.state",
                    });
                }
            },
            b"attempt" if !scanner.null() => self.attempt = scanner.whole()? >= 1,
            b"attempt" => {}
            _ => scanner.skip()?,
        }
        Ok(())
    }

    /// Do the members fit the decision? Every check carries an effect key, unless all are `keyless`.
    fn fits(&self, decision: Decision, keyless: bool) -> Result<(), &'static str> {
        if decision != Decision::Allow {
            return match () {
                () if self.reserved => Err("an effect was reserved without an allow"),
                () if self.token.is_some() => Err("a token without an allow"),
                () if self.reasons != 1 => Err("a refusal names exactly one reason"),
                () if self.reason == Some(TEMPLATE_REQUIRED) => {
                    Err("template_required is no reason to refuse")
                }
                () => Ok(()),
            };
        }
        let advice = self.reasons == 0 || self.reason == Some(TEMPLATE_REQUIRED);
        match () {
            () if keyless && (self.held || self.attempt) => Err("an effect that nobody named"),
            () if !keyless && (!self.reserved || self.held) => {
                Err("an allow that did not reserve its effect")
            }
            () if !keyless && !self.attempt => Err("a reserved effect without an attempt"),
            () if self.reasons > 1 || !advice => Err("an allow with a reason to refuse"),
            () => Ok(()),
        }
    }
}

/// Reads a hyphenated UUID.
pub(crate) fn uuid(text: &[u8]) -> Option<u128> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut value = 0_u128;
    for group in [0..8, 9..13, 14..18, 19..23, 24..36] {
        let mut part = 0_u64;
        let width = group.len() * 4;
        for byte in &text[group] {
            part = part << 4 | u64::from(hex(*byte)?);
        }
        value = value << width | u128::from(part);
    }
    let hyphens = [8, 13, 18, 23].into_iter().all(|at| text[at] == b'-');
    hyphens.then_some(value)
}

const fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The ids of one answer: open addressing, emptied by raising a mark instead of writing.
#[derive(Debug)]
struct IdSet {
    slots: Vec<(u64, u128)>,
    mark: u64,
}

impl IdSet {
    fn new(ids: usize) -> Self {
        Self {
            slots: vec![(0, 0); (ids * 4).next_power_of_two()],
            mark: 1,
        }
    }

    const fn clear(&mut self) {
        self.mark += 1;
    }

    /// False when the id was there.
    fn insert(&mut self, id: u128) -> bool {
        let mask = self.slots.len() - 1;
        let folded = (id ^ (id >> 64)) as u64;
        let mut at = (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & mask;
        // An answer with too many results fills the table: it counts as a repeat and is refused.
        for _ in 0..self.slots.len() {
            match self.slots[at] {
                (mark, seen) if mark == self.mark && seen == id => return false,
                (mark, _) if mark == self.mark => at = (at + 1) & mask,
                _ => {
                    self.slots[at] = (self.mark, id);
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
