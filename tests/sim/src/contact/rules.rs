//! The rules of a space as the model reads them, and the document the product reads.

mod handoffs;
mod hours;

pub(super) use self::handoffs::{Handoffs, OUTCOMES};
pub(super) use self::hours::Hours;

use std::fmt::Write;

use interlock_domain::contact::command::{Body, Command, EffectKind};
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::name::{ChannelId, IntentId, PurposeId, ReasonId};
use interlock_domain::contact::policy::{Policy, Vault};
use interlock_domain::contact::text::Text;

use super::paid::{Cap, EFFECTS_DRAW_ON};
use crate::random::Random;

/// Intents that clients use; the last two have slices.
pub(super) const INTENTS: [&str; 3] = ["follow_up", "first_notice", "reminder"];
/// Why something is suppressed, and for how many days when nothing else is said.
pub(super) const REASONS: [(&str, Option<u32>); 2] = [("opt_out", None), ("cooling_off", Some(2))];
/// The dispatch point.
pub(super) const GATEWAY: &str = "gate";
/// Levels, the strictest first. Some versions have dropped the last, so that no other's place ever
/// changes: what a claim of a level with another place is worth is left open.
const LEVELS: [&str; 4] = ["closed", "human_active", "soft_pause", "agent_active"];
/// Types of offers and how they agree; some versions have dropped the last.
const OFFERS: [(&str, Agree); 4] = [
    ("discount", Agree::First),
    ("offer", Agree::Best),
    ("contract", Agree::Exclusive),
    ("gift", Agree::First),
];
/// Ownership sources; some versions have dropped the last.
const OWNERSHIP_SOURCES: [&str; 2] = ["panel", "middleware"];
const KINDS: [&str; 6] = [
    "delivery",
    "document",
    "notice",
    "filing",
    "paid_call",
    "external_action",
];
/// How offers of a type agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agree {
    First,
    Best,
    Exclusive,
}

/// One version of a space's rules.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) purposes: Vec<Purpose>,
    pub(super) channels: Vec<Channel>,
    pub(super) lease_s: i64,
    /// Days a settled key is remembered, by kind.
    pub(super) days: [i64; 6],
    pub(super) levels: Vec<&'static str>,
    /// Ownership sources and how long what they say holds at most, in seconds.
    pub(super) owners: Vec<(&'static str, i64)>,
    /// The longest declared lease, in seconds.
    pub(super) longest_s: i64,
    /// What paid operations may cost.
    pub(super) caps: Vec<Cap>,
    /// Types of offers.
    pub(super) offers: Vec<(&'static str, Agree)>,
    pub(super) handoffs: Handoffs,
    /// Kinds whose keys live as long as a fact.
    facts: Vec<EffectKind>,
}

#[derive(Clone, Debug)]
pub(super) struct Purpose {
    pub(super) name: &'static str,
    pub(super) token: bool,
    pub(super) exempt: bool,
    pub(super) closed: bool,
    pub(super) budget: Option<Budget>,
}

#[derive(Clone, Debug)]
pub(super) struct Budget {
    pub(super) limit: usize,
    pub(super) hours: i64,
    pub(super) slices: Vec<Slice>,
}

#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub(super) intent: &'static str,
    pub(super) limit: usize,
    pub(super) spread_days: Option<i64>,
}

#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) name: &'static str,
    pub(super) free_form_hours: Option<i64>,
    pub(super) template: bool,
    pub(super) quiet: Option<Hours>,
}

impl Rules {
    /// Rules by chance: each version has limits, windows and slices of its own. A contact keeps the
    /// share it was drawn from, and what a longer window finds of earlier ones is left open.
    pub(super) fn new(random: &mut Random) -> Self {
        let mut purposes = purposes(random);
        let mut channels = channels(random);
        // Some versions have dropped a name that commands under way still carry.
        if random.chance(200) {
            purposes.remove(random.index(purposes.len()));
        }
        if random.chance(200) {
            channels.remove(random.index(channels.len()));
        }
        let mut levels = LEVELS.to_vec();
        if random.chance(150) {
            levels.pop();
        }
        let owners = owners(random);
        let longest_s = random.pick(&[3, 60, 86_400, 86_400]);
        let types = if random.chance(150) { 3 } else { 4 };
        let purpose_names: Vec<_> = purposes.iter().map(|purpose| purpose.name).collect();
        let channel_names: Vec<_> = channels.iter().map(|channel| channel.name).collect();
        let handoffs = Handoffs::some(&levels, &purpose_names, &channel_names, random);
        let mut day = || i64::try_from(random.range(1..=3)).unwrap_or(1);
        Self {
            purposes,
            channels,
            days: [day(), day(), day(), day(), day(), day()],
            lease_s: random.pick(&[2, 30, 600]),
            levels,
            owners,
            longest_s,
            caps: Cap::some(random),
            offers: OFFERS[..types].to_vec(),
            handoffs,
            facts: facts(random),
        }
    }

    /// Do the keys of a kind live as long as the fact they name?
    pub(super) fn of_facts(&self, kind: EffectKind) -> bool {
        self.facts.contains(&kind)
    }

    /// The cap of a paid operation.
    pub(super) fn cap(&self, operation: &str) -> Option<&Cap> {
        self.caps.iter().find(|cap| cap.name == operation)
    }

    /// How offers of a type agree; `None` when it is not declared.
    pub(super) fn agrees(&self, kind: &str) -> Option<Agree> {
        let mut offers = self.offers.iter();
        offers
            .find(|(name, _)| *name == kind)
            .map(|(_, agree)| *agree)
    }

    pub(super) fn purpose(&self, id: PurposeId) -> Option<&Purpose> {
        let mut purposes = self.purposes.iter();
        purposes.find(|purpose| PurposeId::of(purpose.name) == id)
    }

    /// Does a purpose wait where it cannot be decided?
    pub(super) fn fails_closed(&self, id: PurposeId) -> bool {
        self.purpose(id).is_none_or(|purpose| purpose.closed)
    }

    pub(super) fn channel(&self, id: ChannelId) -> Option<&Channel> {
        let mut channels = self.channels.iter();
        channels.find(|channel| ChannelId::of(channel.name) == id)
    }

    /// A level's place and name; without one the least strict.
    pub(super) fn level(&self, name: Option<&Text>) -> (u8, Text) {
        let last = self.levels.len() - 1;
        let named = |name: &Text| self.levels.iter().position(|level| *level == &**name);
        let place = name.map_or(Some(last), named).unwrap_or(usize::MAX);
        let name = self.levels.get(place).copied().unwrap_or("unknown");
        (u8::try_from(place).unwrap_or(u8::MAX), Text::from(name))
    }

    /// How long what an ownership source says holds at most, in seconds.
    pub(super) fn validity_s(&self, source: &Text) -> i64 {
        let mut owners = self.owners.iter();
        let found = owners.find(|(name, _)| *name == &**source);
        found.map_or(0, |(_, longest_s)| *longest_s)
    }

    /// Does it know every name of a command?
    pub(super) fn knows(&self, command: &Command) -> bool {
        let purpose = |id| self.purpose(id).is_some();
        let channel = |id: Option<ChannelId>| id.is_none_or(|id| self.channel(id).is_some());
        let level = |name: Option<&Text>| name.is_none_or(|name| self.levels.contains(&&**name));
        match &command.body {
            Body::Check(body) => purpose(body.purpose) && channel(body.channel),
            Body::DeclareContactMade(body) => purpose(body.purpose) && channel(Some(body.channel)),
            Body::AddSuppression(body) => {
                (body.purpose == PurposeId::ANY || purpose(body.purpose)) && channel(body.channel)
            }
            Body::LiftSuppression(body) => {
                (body.purpose == PurposeId::ANY || purpose(body.purpose)) && channel(body.channel)
            }
            Body::ObserveMessage(body) => channel(Some(body.channel)),
            Body::ClaimTarget(body) => level(body.level.as_ref()),
            Body::ObserveOwner(body) => {
                let mut owners = self.owners.iter();
                level(body.claim.level.as_ref())
                    && owners.any(|(name, _)| *name == &*body.claim.source)
            }
            Body::EndObservation(body) => {
                let mut owners = self.owners.iter();
                owners.any(|(name, _)| *name == &*body.source)
            }
            Body::LockTask(body) => level(body.level.as_ref()),
            Body::Admit(body) => self.cap(&body.operation).is_some(),
            Body::MakeCommitment(body) => self.agrees(&body.kind).is_some(),
            Body::Handoff(HandoffCommand::Close(body)) => {
                let outcome = body.outcome.as_ref();
                outcome.is_none_or(|outcome| self.handoffs.hears(outcome))
            }
            _ => true,
        }
    }

    /// The document of these rules, as the product reads it.
    pub(super) fn policy(&self, version: u32) -> Policy {
        let purposes = list(&self.purposes, |purpose| {
            let budget = purpose.budget.as_ref().map_or(String::new(), budget);
            format!(
                r#""{}":{{"fails":"{}","token":{},"quiet_exempt":{}{budget}}}"#,
                purpose.name,
                if purpose.closed { "closed" } else { "open" },
                purpose.token,
                purpose.exempt
            )
        });
        let channels = list(&self.channels, |channel| {
            let mut members = format!(r#""template_required":{}"#, channel.template);
            if let Some(hours) = channel.free_form_hours {
                write!(members, r#","free_form_hours":{hours}"#).expect("text grows");
            }
            if let Some(quiet) = &channel.quiet {
                let [from, to] = quiet.times();
                let tz = quiet.zone();
                let hours = format!(r#"{{"from":"{from}","to":"{to}","tz":"{tz}"}}"#);
                write!(members, r#","quiet_hours":{hours}"#).expect("text grows");
            }
            format!(r#""{}":{{{members}}}"#, channel.name)
        });
        let reasons = list(&REASONS, |(name, days)| match days {
            Some(days) => format!(r#""{name}":{{"days":{days}}}"#),
            None => format!(r#""{name}":{{}}"#),
        });
        let days: Vec<_> = KINDS.iter().zip(self.days).collect();
        let days = list(&days, |(kind, days)| format!(r#""{kind}":{days}"#));
        let levels = list(&self.levels, |level| format!(r#""{level}""#));
        let owners = list(&self.owners, |(name, longest_s)| {
            format!(r#""{name}":{{"max_validity_s":{longest_s},"holder_kind":"human"}}"#)
        });
        let offers = list(&self.offers, |(name, agree)| {
            let agree = match agree {
                Agree::First => "first_holds",
                Agree::Best => "best_wins",
                Agree::Exclusive => "exclusive",
            };
            format!(r#""{name}":"{agree}""#)
        });
        let longest_s = self.longest_s;
        let handoffs = self.handoffs.text();
        let facts = list(&self.facts, |kind| format!(r#""{}""#, kind.name()));
        let paid = list(&self.caps, Cap::text);
        let document = format!(
            r#"{{"purposes":{{{purposes}}},"channels":{{{channels}}},
                "gateways":{{"{GATEWAY}":{{"key_ref":"vault:{GATEWAY}"}}}},
                "ownership":{{"levels":[{levels}],"max_declared_lease_s":{longest_s},
                    "sources":{{{owners}}}}},
                "suppression":{{"reasons":{{{reasons}}}}},
                "paid":{{{paid}}},
                "commitments":{{{offers}}},
                "handoffs":{handoffs},
                "effects":{{"paid_call_operation":"{EFFECTS_DRAW_ON}","effect_key_of_fact":[{facts}],"effect_lease_s":{},"effect_key_days":{{{days}}}}}}}"#,
            self.lease_s
        );
        let vault = Vault::from([(GATEWAY.to_owned(), vec![b'k'; 32])]);
        Policy::load(version, &document, &vault)
            .unwrap_or_else(|error| panic!("the rules are valid: {error} in {document}"))
    }
}

fn budget(budget: &Budget) -> String {
    let slices = list(&budget.slices, |slice| {
        let spread = slice.spread_days.map_or(String::new(), |days| {
            format!(r#","spread":true,"spread_days":{days}"#)
        });
        format!(
            r#"{{"intent":"{}","limit":{}{spread}}}"#,
            slice.intent, slice.limit
        )
    });
    let Budget { limit, hours, .. } = budget;
    format!(r#","budget":{{"limit":{limit},"per_hours":{hours},"slices":[{slices}]}}"#)
}

fn list<T>(all: &[T], each: impl Fn(&T) -> String) -> String {
    all.iter().map(each).collect::<Vec<_>>().join(",")
}

impl Slice {
    /// The time from one unit to the next, where they are spread.
    pub(super) fn pause_ms(&self) -> Option<i64> {
        let limit = i64::try_from(self.limit).unwrap_or(1);
        self.spread_days.map(|days| days * 86_400_000 / limit)
    }
}

impl Budget {
    /// For how long a contact bears on it.
    pub(super) fn reach_ms(&self) -> i64 {
        let pauses = self.slices.iter().filter_map(Slice::pause_ms);
        pauses.max().unwrap_or(0).max(self.hours * 3_600_000)
    }

    /// The slice of an intent; without one it draws on what the slices leave.
    pub(super) fn slice(&self, intent: IntentId) -> Option<&Slice> {
        let mut slices = self.slices.iter();
        slices.find(|slice| IntentId::of(slice.intent) == intent)
    }
}

/// A suppression reason's own interval.
pub(super) fn reason_days(id: ReasonId) -> Option<u32> {
    let mut reasons = REASONS.iter();
    reasons
        .find(|(name, _)| ReasonId::of(name) == id)
        .and_then(|(_, days)| *days)
}

/// The purposes, before any is dropped.
fn purposes(random: &mut Random) -> Vec<Purpose> {
    let budget = |limit, hours, slices| {
        Some(Budget {
            limit,
            hours,
            slices,
        })
    };
    let slice = |intent, limit, spread_days| Slice {
        intent,
        limit,
        spread_days,
    };
    let purpose = |name, token, exempt, budget| Purpose {
        name,
        token,
        exempt,
        closed: true,
        budget,
    };
    let few = |random: &mut Random| random.index(3) + 1;
    let paced = |random: &mut Random| random.pick(&[None, Some(1), Some(2)]);
    let mut collection = vec![
        slice(INTENTS[1], random.index(2) + 1, None),
        slice(INTENTS[2], random.pick(&[2, 2, 1]), paced(random)),
    ];
    // Mostly as it was, so that a budget is used up between two changes.
    if random.chance(200) {
        collection.remove(random.index(2));
    }
    let sliced = collection.iter().map(|slice| slice.limit).sum::<usize>();
    let mut purposes = vec![
        purpose(
            "collection",
            true,
            false,
            budget(
                few(random) + sliced - 1,
                random.pick(&[48, 48, 24, 72]),
                collection,
            ),
        ),
        purpose(
            "marketing",
            random.chance(500),
            false,
            budget(few(random), random.pick(&[2, 2, 1, 4]), vec![]),
        ),
        purpose(
            "retention",
            true,
            random.chance(500),
            budget(random.index(2) + 1, random.pick(&[1, 1, 2]), vec![]),
        ),
        purpose("service", false, random.chance(500), None),
    ];
    for purpose in &mut purposes[2..] {
        purpose.closed = random.chance(600);
    }
    purposes
}

/// Ownership sources; the last may be missing.
fn owners(random: &mut Random) -> Vec<(&'static str, i64)> {
    let sources = if random.chance(150) { 1 } else { 2 };
    let owners = OWNERSHIP_SOURCES[..sources].iter();
    let owners = owners.map(|&name| (name, random.pick(&[2, 20, 3_600])));
    owners.collect()
}

/// Kinds whose keys may be of facts.
fn facts(random: &mut Random) -> Vec<EffectKind> {
    let kinds = EffectKind::ALL.into_iter();
    kinds.filter(|_| random.chance(600)).collect()
}

/// The channels, before any is dropped.
fn channels(random: &mut Random) -> Vec<Channel> {
    vec![
        Channel {
            name: "sms",
            free_form_hours: None,
            template: false,
            quiet: random.chance(700).then(|| Hours::new(random)),
        },
        Channel {
            name: "voice",
            free_form_hours: None,
            template: false,
            quiet: None,
        },
        Channel {
            name: "whatsapp",
            free_form_hours: Some(2),
            template: true,
            quiet: None,
        },
    ]
}
