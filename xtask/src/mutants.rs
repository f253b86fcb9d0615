//! Does the net catch fish? Known faults are planted one by one in a copy of the tree, and the cheapest
//! simulation or test that must see each is run, and must complain of what the fault breaks. A fault
//! that passes is a hole in the net, and so is one that something else stumbles over.
//!
//! Here: the run over all faults and its report. In `mutants/`: the table (`table`), the copy and what
//! runs in it (`tree`), and faults that a program makes up (`generated`), many in one text (`plant`), in
//! the crate (`bed`) and before its tests (`judge`). Nothing here runs in CI but
//! the test that every patch still applies.

mod bed;
mod generated;
mod judge;
mod plant;
mod table;
mod tree;

use std::time::{Duration, Instant};

use clap::Args;

use crate::shell::{self, Outcome, took};
use crate::soak::Bound;
use table::{Area, Fault, Table};
use tree::{Complaint, Seen, Tree};

/// Plants known faults in a copy of the tree and shows that each is caught.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Plants this fault alone
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Plants the faults of this area alone
    #[arg(long, value_enum)]
    area: Option<Area>,
    /// Plants so many, other ones each day
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Prints the table and plants nothing
    #[arg(long)]
    list: bool,
    /// Leaves the known faults and makes up others in the deciding files
    #[arg(long, conflicts_with_all = ["only", "area", "sample", "list"])]
    generated: bool,
    /// Makes up faults in this file alone
    #[arg(long, value_name = "FILE", requires = "generated")]
    file: Option<String>,
    /// Minutes after which no other fault is judged, 1 to 1,440
    #[arg(long, requires = "generated", default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=1_440))]
    minutes: u64,
}

impl Options {
    /// Every known fault.
    pub(crate) const fn all() -> Self {
        Self {
            only: None,
            area: None,
            sample: None,
            list: false,
            generated: false,
            file: None,
            minutes: 60,
        }
    }

    /// Faults that are made up, for so long.
    pub(crate) fn generated(bound: Bound) -> Self {
        Self {
            generated: true,
            minutes: bound.minutes,
            ..Self::all()
        }
    }
}

/// Runs what was asked for; a fault that nothing caught is a failure.
pub(crate) fn run(options: &Options) -> Outcome {
    if options.generated {
        let bound = Duration::from_secs(options.minutes * 60);
        return generated::run(options.file.as_deref(), bound);
    }
    let table = Table::read(&shell::root())?;
    let faults = chosen(&table, options)?;
    if options.list {
        for fault in &faults {
            eprintln!("{fault}");
        }
        eprintln!("mutants: {} faults", faults.len());
        return Ok(());
    }
    plant(&faults)
}

/// The faults that the options leave.
fn chosen<'a>(table: &'a Table, options: &Options) -> Outcome<Vec<&'a Fault>> {
    let named = |fault: &&Fault| {
        options.only.as_ref().is_none_or(|name| *name == fault.name)
            && options.area.is_none_or(|area| area == fault.area)
    };
    let mut faults: Vec<&Fault> = table.faults.iter().filter(named).collect();
    if faults.is_empty() {
        return Err("no fault of the table is meant".to_owned());
    }
    if let Some(count) = options.sample {
        faults = sample(&faults, count, day());
    }
    Ok(faults)
}

/// Every so many-th fault from a place that moves with the day.
fn sample<'a>(faults: &[&'a Fault], count: usize, day: usize) -> Vec<&'a Fault> {
    let count = count.min(faults.len());
    let mut places: Vec<usize> = (0..count)
        .map(|one| (day + one * faults.len() / count.max(1)) % faults.len())
        .collect();
    places.sort_unstable();
    places.into_iter().map(|place| faults[place]).collect()
}

/// Days since 1970.
fn day() -> usize {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |since| {
        usize::try_from(since.as_secs() / 86_400).unwrap_or(0)
    })
}

/// Plants the faults one by one. One that is caught for another reason than its row names is not
/// caught: what it shows is a guard that nobody meant, or none.
fn plant(faults: &[&Fault]) -> Outcome {
    let start = Instant::now();
    let tree = Tree::copy()?;
    for fault in faults {
        tree.check(&fault.patch())?;
    }
    whole(&tree, faults)?;
    let mut missed = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let began = Instant::now();
        tree.apply(&fault.patch())?;
        let seen = tree
            .build(&fault.judge)
            .and_then(|()| tree.judge(&fault.judge));
        tree.revert(&fault.patch())?;
        let at = format!("[{}/{}] {}", number + 1, faults.len(), fault.name);
        let in_all = took(began.elapsed());
        let Fault { judge, sees, .. } = fault;
        match seen {
            Ok(Seen::Wrong(complaint)) if complaint.says(sees) => {
                let Complaint { by, after, .. } = complaint;
                let after = took(after);
                eprintln!("{at}: caught by {by} after {after} ({in_all} with its build)");
                continue;
            }
            Ok(Seen::Wrong(complaint)) => {
                let by = complaint.by;
                eprintln!("{at}: caught for another reason than `{sees}`: {by} ({in_all})");
            }
            Ok(Seen::Fine) => eprintln!("{at}: NOT caught by {judge} ({in_all})"),
            Err(error) => eprintln!("{at}: could not be judged: {error}"),
        }
        missed.push(fault.name.as_str());
    }
    eprintln!(
        "mutants: {} planted, {} caught in {}",
        faults.len(),
        faults.len() - missed.len(),
        took(start.elapsed())
    );
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("nothing caught {} as it must", missed.join(", ")))
    }
}

/// Without a fault every judge must be content: one that always complains catches nothing.
fn whole(tree: &Tree, faults: &[&Fault]) -> Outcome {
    let mut judges: Vec<&table::Judge> = faults.iter().map(|fault| &fault.judge).collect();
    judges.sort_unstable();
    judges.dedup();
    for judge in judges {
        tree.build(judge)?;
        match tree.judge(judge)? {
            Seen::Fine => {}
            Seen::Wrong(complaint) => {
                let by = complaint.by;
                return Err(format!("without a fault, {judge} complains: {by}"));
            }
        }
    }
    eprintln!("mutants: without a fault every judge is content");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_each_fault_once_and_moves() {
        let table = Table::read(&shell::root()).expect("the table is there");
        let all: Vec<&Fault> = table.faults.iter().collect();
        for day in 0..all.len() {
            let mut names: Vec<&str> = sample(&all, 7, day)
                .iter()
                .map(|fault| fault.name.as_str())
                .collect();
            assert_eq!(names.len(), 7);
            names.dedup();
            assert_eq!(names.len(), 7);
        }
        let first = |day| sample(&all, 1, day)[0].name.clone();
        assert_ne!(first(0), first(1));
        assert_eq!(sample(&all, 1_000, 3).len(), all.len());
    }
}
