//! A run as the list of its steps, to keep, to shorten and to replay.
//!
//! Here: how a seed chooses its steps, and how a list of them is written and read. Each step has a
//! seed of its own to draw from, so leaving some out changes nothing about what the others draw.
//! Not here: what a step does (`world`), which of them a failure needs (`shrink`).

use std::fmt;
use std::str::FromStr;

use crate::machine::Violation;
use crate::random::Random;
use crate::swarm::{Habits, Step};
use crate::world::Options;

/// Groups of equal steps that a trace shows of itself.
const SHOWN: usize = 60;
/// The first line of a trace's text; the number is its format's.
const TITLE: &str = "# interlock-sim trace 1; `cargo xtask sim --trace FILE` replays it";

/// One step and the seed of everything that it draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What is done.
    pub step: Step,
    /// Its seed.
    pub draw: u64,
}

/// The steps that a seed chooses, moments of rest among them.
#[derive(Debug)]
pub struct Choices {
    habits: Habits,
    random: Random,
    left: u64,
    until_rest: u64,
    over: bool,
}

impl Choices {
    /// All steps of a run.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let habits = Habits::new(&mut Random::new(options.seed).fork()).with(&options.faults);
        let mut random = Random::new(!options.seed);
        let until_rest = random.range(1..=habits.rest_every);
        Self {
            habits,
            random,
            left: options.steps,
            until_rest,
            over: false,
        }
    }
}

impl Iterator for Choices {
    type Item = Choice;

    fn next(&mut self) -> Option<Choice> {
        if self.over {
            return None;
        }
        let step = if self.left == 0 {
            self.over = true;
            Step::Rest
        } else if self.until_rest == 0 {
            self.until_rest = self.random.range(1..=self.habits.rest_every);
            Step::Rest
        } else {
            self.left -= 1;
            self.until_rest -= 1;
            self.habits.step(&mut self.random)
        };
        let draw = self.random.draw();
        Some(Choice { step, draw })
    }
}

/// A run that failed: what it was made of, the steps that lead there, and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The machine's name.
    pub machine: String,
    /// What the world is made of; the number of steps is that of the list.
    pub options: Options,
    /// The id of the invariant.
    pub invariant: String,
    /// What was seen, on one line.
    pub seen: String,
    /// The steps.
    pub choices: Vec<Choice>,
}

impl Trace {
    /// A failure of these steps.
    #[must_use]
    pub fn new(
        machine: &str,
        options: &Options,
        choices: Vec<Choice>,
        violation: &Violation,
    ) -> Self {
        let steps = choices.iter().filter(|choice| choice.step != Step::Rest);
        let steps = steps.count() as u64;
        Self {
            machine: machine.to_owned(),
            options: Options {
                steps,
                ..options.clone()
            },
            invariant: violation.invariant.to_owned(),
            seen: violation.seen.replace('\n', " "),
            choices,
        }
    }

    /// The text that [`Self::from_str`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let Options {
            seed,
            shards,
            faults,
            ..
        } = &self.options;
        let mut text = format!(
            "{TITLE}\nmachine {}\nseed {seed}\nshards {shards}\nfaults {faults}\ninvariant \
             {}\nseen {}\n",
            self.machine, self.invariant, self.seen
        );
        for Choice { step, draw } in &self.choices {
            text.push_str(step.name());
            text.push_str(&format!(" {draw:016x}\n"));
        }
        text
    }
}

impl FromStr for Trace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return Err(format!("the first line is not `{TITLE}`"));
        }
        let mut field = |name: &str| {
            let line = lines.next().unwrap_or_default();
            let value = line.split_once(' ').filter(|(word, _)| *word == name);
            let value = value.map(|(_, value)| value.to_owned());
            value.ok_or_else(|| format!("`{name}` is missing where `{line}` is"))
        };
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|error| format!("{text}: {error}"))
        };
        let machine = field("machine")?;
        let seed = number(field("seed")?)?;
        let shards = number(field("shards")?)?;
        let faults = field("faults")?.parse()?;
        let (invariant, seen) = (field("invariant")?, field("seen")?);
        let choices = lines.map(choice).collect::<Result<Vec<_>, _>>()?;
        let steps = choices.iter().filter(|choice| choice.step != Step::Rest);
        let options = Options {
            seed,
            steps: steps.count() as u64,
            shards: u16::try_from(shards).map_err(|error| error.to_string())?,
            faults,
        };
        Ok(Self {
            machine,
            options,
            invariant,
            seen,
            choices,
        })
    }
}

fn choice(line: &str) -> Result<Choice, String> {
    let read = || {
        let (name, draw) = line.split_once(' ')?;
        let draw = u64::from_str_radix(draw, 16).ok()?;
        Step::of(name).map(|step| Choice { step, draw })
    };
    read().ok_or_else(|| format!("`{line}` is no step"))
}

/// The steps in a few words: equal ones that follow each other are counted.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<_> = self
            .choices
            .chunk_by(|left, right| left.step == right.step)
            .collect();
        let hidden = groups.len().saturating_sub(SHOWN);
        if hidden > 0 {
            write!(f, "({hidden} groups before), ")?;
        }
        for (number, group) in groups[hidden..].iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{}", group[0].step.name())?;
            if group.len() > 1 {
                write!(f, " {}x", group.len())?;
            }
        }
        Ok(())
    }
}
