//! The table of planted faults: what each breaks, and who must see it.
//!
//! Here: reading it, and what must hold of it without building anything. Not here: planting.

use std::fmt;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use serde::Deserialize;

use crate::shell::Outcome;

/// Where the table and the patches lie.
pub(super) const FOLDER: &str = "tests/faults";

/// All planted faults, in the order that keeps builds short: by crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    #[serde(rename = "fault")]
    pub(super) faults: Vec<Fault>,
}

/// One fault.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    /// Its name, and its patch's.
    pub(super) name: String,
    /// The row whose patch it plants too, for another judge.
    patch: Option<String>,
    /// What it breaks, in words.
    pub(super) breaks: String,
    /// Which part of the product it is in.
    pub(super) area: Area,
    /// The cheapest that must see it.
    #[serde(flatten)]
    pub(super) judge: Judge,
    /// What the judge's complaint must say: of a simulation the invariant and words of what was seen, of
    /// a test its name or its assertion's words, with ` … ` for what differs from run to run. A panic's
    /// message only where the panic is the guard.
    pub(super) sees: String,
}

/// A part of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Area {
    /// Entities that visit other shards
    Loans,
    /// Snapshots, purges and recovery from them
    Snapshots,
    /// Commits, fencing, replay and truncation
    Commits,
    /// What is decided
    Decide,
    /// Requests and answers
    Edge,
}

/// Who must see a fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Judge {
    /// A simulation.
    Sim(Sim),
    /// Tests.
    Test(Test),
}

/// Seeds of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sim {
    /// Which machine.
    pub(super) machine: String,
    /// Seeds, from 1 on.
    pub(super) seeds: u32,
    /// Steps of each.
    pub(super) steps: u64,
}

/// The tests of a package whose name contains a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// Which package.
    pub(super) package: String,
    /// Its test target; without one the library's own tests.
    pub(super) target: Option<String>,
    /// The text.
    pub(super) name: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let area = self.area.to_possible_value();
        let area = area.as_ref().map_or("", |value| value.get_name());
        let Self {
            name, breaks, sees, ..
        } = self;
        write!(f, "{name} ({area}): {breaks}\n    {}: {sees}", self.judge)
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sim(Sim {
                machine,
                seeds,
                steps,
            }) => write!(f, "{seeds} seeds × {steps} steps of {machine}"),
            Self::Test(Test {
                package,
                target,
                name,
            }) => {
                let target = target.as_deref().unwrap_or("lib");
                write!(f, "{package} {target} {name}")
            }
        }
    }
}

impl Fault {
    /// Its patch, from the workspace's folder on.
    pub(super) fn patch(&self) -> String {
        format!("{FOLDER}/{}.patch", self.planted())
    }

    /// Its patch's name.
    fn planted(&self) -> &str {
        self.patch.as_deref().unwrap_or(&self.name)
    }

    /// Does it say what must be seen, in words that nothing else would say?
    fn is_precise(&self) -> bool {
        match self.judge {
            Judge::Sim(_) => {
                let seen = self.sees.split_once(": ");
                seen.is_some_and(|(invariant, words)| !invariant.is_empty() && !words.is_empty())
            }
            Judge::Test(_) => {
                self.sees.len() > 8
                    && !["FAILED", "panicked", "assertion failed"].contains(&&*self.sees)
            }
        }
    }
}

impl Table {
    /// Reads the table and holds it to the patches that are there.
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let folder = root.join(FOLDER);
        let path = folder.join("faults.toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{FOLDER}: {error}"))?;
        let table: Self = toml::from_str(&text).map_err(|error| format!("faults.toml: {error}"))?;
        let mut rows: Vec<&str> = table.faults.iter().map(|row| row.name.as_str()).collect();
        rows.sort_unstable();
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("faults.toml has {} twice", pair[0]));
        }
        let mut patches = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| error.to_string())? {
            let name = entry.map_err(|error| error.to_string())?.file_name();
            let name = name.to_string_lossy();
            patches.extend(name.strip_suffix(".patch").map(str::to_owned));
        }
        patches.sort_unstable();
        let planted = || table.faults.iter().map(Fault::planted);
        if let Some(row) = planted().find(|row| !patches.iter().any(|one| one == row)) {
            return Err(format!("{row} has no patch in {FOLDER}"));
        }
        if let Some(patch) = patches.iter().find(|one| planted().all(|row| row != *one)) {
            return Err(format!("{patch}.patch has no row in faults.toml"));
        }
        if let Some(vague) = table.faults.iter().find(|fault| !fault.is_precise()) {
            let Fault { name, sees, .. } = vague;
            return Err(format!("{name} does not say what must be seen: `{sees}`"));
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn table() -> Table {
        Table::read(&shell::root()).expect("the table agrees with the patches")
    }

    /// As code moves, a patch that no longer fits would be a fault nobody plants.
    #[test]
    fn every_patch_still_applies() {
        for fault in &table().faults {
            let words = ["apply", "--check", "--unidiff-zero", &fault.patch()];
            shell::read(&mut shell::command("git", words))
                .unwrap_or_else(|error| panic!("{} has to be made anew: {error}", fault.name));
        }
    }

    #[test]
    fn every_judge_is_there() {
        let described = shell::metadata().expect("cargo describes the workspace");
        let packages = described["packages"].as_array().expect("packages");
        for fault in &table().faults {
            assert!(!fault.breaks.is_empty(), "{} says nothing", fault.name);
            let Judge::Test(test) = &fault.judge else {
                continue;
            };
            let manifest = packages
                .iter()
                .find(|package| package["name"] == test.package.as_str())
                .and_then(|package| package["manifest_path"].as_str())
                .unwrap_or_else(|| panic!("{}: no package {}", fault.name, test.package));
            let folder = Path::new(manifest).parent().expect("a folder");
            let function = test.name.rsplit("::").next().unwrap_or_default();
            let found = ["src", "tests"].iter().any(|part| {
                let words = ["-rq", &format!("fn {function}"), part];
                shell::works(shell::command("grep", words).current_dir(folder))
            });
            assert!(found, "{}: no test {}", fault.name, test.name);
        }
    }

    #[test]
    fn there_are_enough_of_them_where_it_matters() {
        let table = table();
        let inner = table.faults.iter().filter(|fault| match fault.area {
            Area::Loans | Area::Snapshots | Area::Commits => true,
            Area::Decide | Area::Edge => false,
        });
        assert!(inner.count() >= 10);
        assert!(table.faults.len() >= 25);
    }
}
