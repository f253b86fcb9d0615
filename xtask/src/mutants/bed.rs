//! The crate of the domain with faults in it, in the copy of the tree.
//!
//! Here: writing its files with all faults that compile, which those are, by what the compiler says of
//! the others, and with one fault alone. Not here: how a fault is written, and what its tests say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plant::{self, Fault};
use super::tree::Tree;
use crate::shell::Outcome;

/// So often the compiler is asked which faults it does not take. It names most of them at once, and
/// some only when others are gone.
const ROUNDS: usize = 12;
const CRATE: &str = "domain/src";

/// The crate, its files as they were, and the faults made up for them.
pub(super) struct Bed<'a> {
    tree: &'a Tree,
    /// The first has number 1.
    faults: &'a [Fault],
    sources: BTreeMap<&'a str, String>,
}

/// The crate with many faults, by their numbers.
pub(super) struct Grown {
    /// The tests of the crate.
    pub(super) tests: PathBuf,
    /// Behind their numbers.
    pub(super) planted: Vec<u32>,
    /// Those that do not compile.
    pub(super) refused: Vec<u32>,
    /// Those that cannot be chosen while a process runs.
    pub(super) alone: Vec<u32>,
}

/// Where each fault lies: its file and its bytes there.
type Places = BTreeMap<u32, (String, Range<usize>)>;

impl<'a> Bed<'a> {
    /// The crate of a fresh copy.
    pub(super) fn new(tree: &'a Tree, faults: &'a [Fault]) -> Outcome<Self> {
        let mut sources = BTreeMap::new();
        for fault in faults {
            let path = tree.path(&fault.file);
            let read = fs::read_to_string(&path);
            let text = read.map_err(|error| format!("{}: {error}", path.display()))?;
            sources.insert(fault.file.as_str(), text);
        }
        let root = format!("{CRATE}/lib.rs");
        let read = fs::read_to_string(tree.path(&root));
        let text = read.map_err(|error| format!("{root}: {error}"))?;
        tree.write(&root, &format!("{text}\nmod planted;\n"))?;
        tree.write(&format!("{CRATE}/planted.rs"), plant::MODULE)?;
        Ok(Self {
            tree,
            faults,
            sources,
        })
    }

    /// Plants all faults that compile.
    pub(super) fn grow(&self) -> Outcome<Grown> {
        let mut refused = BTreeSet::new();
        let mut all = BTreeSet::new();
        for round in 1..=ROUNDS {
            let places = self.write(&mut refused)?;
            all.extend(places.keys().copied());
            let errors = match self.build()? {
                Built::Tests(tests) => {
                    let known = |number: &u32| all.contains(number) || refused.contains(number);
                    let numbers = (1_u32..).take(self.faults.len());
                    return Ok(Grown {
                        tests,
                        alone: numbers.filter(|number| !known(number)).collect(),
                        planted: places.into_keys().collect(),
                        refused: refused.into_iter().collect(),
                    });
                }
                Built::Errors(errors) => errors,
            };
            let before = refused.len();
            refused.extend(errors.iter().flat_map(|error| named(error, &places)));
            eprintln!(
                "mutants: round {round}: {} do not compile",
                refused.len() - before
            );
            if refused.len() == before {
                let first = errors.first().and_then(|error| error["rendered"].as_str());
                let first = first.unwrap_or("no error is told");
                return Err(format!("it does not compile, by no fault:\n{first}"));
            }
        }
        Err(format!("it does not compile after {ROUNDS} rounds"))
    }

    /// Builds the crate with this fault alone; nothing when it does not compile.
    pub(super) fn alone(&self, number: u32) -> Outcome<Option<PathBuf>> {
        let fault = self.fault(number);
        let source = &self.sources[fault.file.as_str()];
        self.tree
            .write(&fault.file, &plant::replaced(source, fault))?;
        let built = self.build();
        self.tree.write(&fault.file, source)?;
        Ok(match built? {
            Built::Tests(tests) => Some(tests),
            Built::Errors(_) => None,
        })
    }

    /// The fault of a number.
    pub(super) fn fault(&self, number: u32) -> &'a Fault {
        &self.faults[number as usize - 1]
    }

    /// Writes every file with its faults but those that are refused.
    fn write(&self, refused: &mut BTreeSet<u32>) -> Outcome<Places> {
        let mut places = Places::new();
        for (file, source) in &self.sources {
            let numbered = (1_u32..).zip(self.faults);
            let faults: Vec<(u32, &Fault)> = numbered
                .filter(|(number, fault)| fault.file == *file && !refused.contains(number))
                .collect();
            let planted =
                plant::plant(source, &faults).map_err(|error| format!("{file}: {error}"))?;
            self.tree.write(file, &planted.text)?;
            refused.extend(planted.senseless);
            for (number, part) in planted.places {
                places.insert(number, ((*file).to_owned(), part));
            }
        }
        Ok(places)
    }

    fn build(&self) -> Outcome<Built> {
        let words = ["test", "--package", "interlock-domain", "--lib", "--no-run"];
        let mut cargo = self.tree.cargo(&words);
        cargo.args(["--quiet", "--message-format=json"]);
        // The tests run a thousand times: what they save is more than what this costs once.
        cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        let output = cargo.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let told: Vec<Value> = said
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if !output.status.success() {
            let errors = told.into_iter().map(|mut one| one["message"].take());
            let errors = errors.filter(|message| message["level"] == "error");
            return Ok(Built::Errors(errors.collect()));
        }
        let tests = told.iter().find_map(|one| one["executable"].as_str());
        let tests = tests.ok_or("cargo names no tests of the domain")?;
        Ok(Built::Tests(Path::new(tests).to_path_buf()))
    }
}

/// What became of a build.
enum Built {
    Tests(PathBuf),
    /// As the compiler writes them.
    Errors(Vec<Value>),
}

/// The faults that an error points into; it has a first place, and others that explain.
fn named(error: &Value, places: &Places) -> Vec<u32> {
    let spans = error["spans"].as_array().map_or(&[][..], Vec::as_slice);
    let (first, others): (Vec<&Value>, Vec<&Value>) =
        spans.iter().partition(|span| span["is_primary"] == true);
    let within = |spans: &[&Value]| -> Vec<u32> {
        let holds = |(file, part): &(String, Range<usize>)| {
            spans.iter().any(|span| {
                let [start, end] = ["byte_start", "byte_end"].map(|end| span[end].as_u64());
                span["file_name"] == file.as_str()
                    && start.is_some_and(|start| part.start as u64 <= start)
                    && end.is_some_and(|end| end <= part.end as u64)
            })
        };
        let held = places.iter().filter(|(_, place)| holds(place));
        held.map(|(&number, _)| number).collect()
    };
    match within(&first) {
        none if none.is_empty() => within(&others),
        some => some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_faults_it_points_into() {
        let place = |part| ("a.rs".to_owned(), part);
        let places = Places::from([(1, place(10..20)), (2, place(30..40))]);
        let span = |file: &str, start: u64, end: u64, first: bool| {
            serde_json::json!({
                "file_name": file, "byte_start": start, "byte_end": end, "is_primary": first,
            })
        };
        let cases = [
            (vec![span("a.rs", 12, 20, true)], vec![1]),
            (vec![span("b.rs", 12, 20, true)], vec![]),
            (vec![span("a.rs", 12, 21, true)], vec![]),
            (
                vec![span("a.rs", 12, 20, true), span("a.rs", 30, 31, false)],
                vec![1],
            ),
            (
                vec![span("a.rs", 0, 50, true), span("a.rs", 30, 31, false)],
                vec![2],
            ),
            (vec![], vec![]),
        ];
        for (spans, numbers) in cases {
            let error = serde_json::json!({ "spans": spans });
            assert_eq!(named(&error, &places), numbers, "{error}");
        }
    }
}
