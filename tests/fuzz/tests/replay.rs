//! Every input that is kept is judged again, with the compiler everybody has.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use interlock_fuzz::{Outcome, TARGETS, Target};

/// What the corpora may hold in all, so that the repository stays small.
const FILES_MAX: usize = 220;
const BYTES_MAX: usize = 500_000;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let name = |entry: Result<fs::DirEntry, _>| entry.expect("it can be read").file_name();
    let names = entries.map(|entry| name(entry).into_string().expect("a name is UTF-8"));
    names.collect()
}

/// The inputs of a target by file name.
fn inputs(target: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = corpus().join(target);
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).expect("it can be read");
        (name, bytes)
    };
    names(&folder).into_iter().map(read).collect()
}

/// Judges the inputs of a target; a broken property names its file.
fn replay(target: &Target) -> HashSet<Outcome> {
    let inputs = inputs(target.name);
    let judged = inputs.iter().map(|(name, bytes)| {
        let judged = std::panic::catch_unwind(|| (target.judge)(bytes));
        judged.unwrap_or_else(|_| panic!("{}/{name} breaks a property", target.name))
    });
    judged.collect()
}

macro_rules! replayed {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                let target = TARGETS.iter().find(|target| target.name == name);
                let outcomes = replay(target.expect("it is a target"));
                assert_eq!(outcomes.len(), 2, "one of both is not reached: {outcomes:?}");
            }
        )+

        /// What is replayed above.
        const REPLAYED: &[&str] = &[$(stringify!($name)),+];
    };
}

replayed! { check batch declare configuration journal snapshot token destination cursor }

#[test]
fn every_target_has_a_corpus_a_program_and_a_replay() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|one| one.name.to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "names are distinct");
    assert_eq!(names(&corpus()), targets);
    let replayed: BTreeSet<String> = REPLAYED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(replayed, targets);
}

#[test]
fn the_corpora_stay_small() {
    let all: Vec<Vec<u8>> = TARGETS
        .iter()
        .flat_map(|target| inputs(target.name).into_values())
        .collect();
    let bytes: usize = all.iter().map(Vec::len).sum();
    assert!(all.len() <= FILES_MAX, "{} files", all.len());
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
}
