//! Sizes: a file has at most 500 lines, a function at most 70. What is larger stands in
//! `xtask/ratchet.toml` with its size and may only shrink: growing is a fault, and so is an entry that
//! could be lower, which `cargo xtask tidy --bless` lowers. A new entry is written by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Fault;
use super::source::Source;
use crate::shell::Outcome;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const HEAD: &str = "# Files over 500 lines and functions over 70, with the size they may not pass. May \
                    only shrink:\n# `cargo xtask tidy --bless` lowers what has become smaller.\n\n";

/// Sizes by place.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    #[serde(default)]
    files: BTreeMap<String, usize>,
    #[serde(default)]
    functions: BTreeMap<String, usize>,
}

/// Compares what is there with the ratchet.
pub(super) fn check(path: &Path, sources: &[Source], bless: bool) -> Outcome<Vec<Fault>> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| told(&error))?;
    let mut allowed: Sizes = toml::from_str(&text).map_err(|error| told(&error))?;
    let found = measure(sources);
    if bless {
        allowed = lowered(&allowed, &found);
        let text = toml::to_string(&allowed).map_err(|error| told(&error))?;
        fs::write(path, format!("{HEAD}{text}")).map_err(|error| told(&error))?;
    }
    let mut faults = compare(&allowed.files, &found.files, FILE_LINES_MAX);
    faults.extend(compare(
        &allowed.functions,
        &found.functions,
        FUNCTION_LINES_MAX,
    ));
    Ok(faults)
}

fn measure(sources: &[Source]) -> Sizes {
    let mut sizes = Sizes::default();
    for source in sources {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            sizes.files.insert(source.path.clone(), lines);
        }
        for function in source.functions() {
            if function.lines > FUNCTION_LINES_MAX {
                let place = format!("{} {}", source.path, function.name);
                let size = sizes.functions.entry(place).or_default();
                *size = function.lines.max(*size);
            }
        }
    }
    sizes
}

/// The ratchet with every entry at what is there now, never higher, and none for what is gone.
fn lowered(allowed: &Sizes, found: &Sizes) -> Sizes {
    let lower = |allowed: &BTreeMap<String, usize>, found: &BTreeMap<String, usize>| {
        let still = allowed.iter().filter_map(|(place, size)| {
            found.get(place).map(|now| (place.clone(), *now.min(size)))
        });
        still.collect()
    };
    Sizes {
        files: lower(&allowed.files, &found.files),
        functions: lower(&allowed.functions, &found.functions),
    }
}

fn compare(
    allowed: &BTreeMap<String, usize>,
    found: &BTreeMap<String, usize>,
    limit: usize,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (place, now) in found {
        let may = allowed.get(place).copied().unwrap_or(limit);
        if *now > may {
            faults.push(Fault::new(
                place,
                0,
                format!("{now} lines, {may} are allowed"),
            ));
        }
    }
    for (place, may) in allowed {
        let now = found.get(place).copied().unwrap_or(0);
        if now < *may {
            let what = format!("may have {may} lines and needs fewer: cargo xtask tidy --bless");
            faults.push(Fault::new(place, 0, what));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(files: &[(&str, usize)]) -> BTreeMap<String, usize> {
        files
            .iter()
            .map(|(place, size)| ((*place).to_owned(), *size))
            .collect()
    }

    #[test]
    fn growing_and_new_offenders_are_faults_and_so_is_slack() {
        let count = |allowed: &[_], found: &[_]| compare(&sizes(allowed), &sizes(found), 500).len();
        assert_eq!(count(&[], &[]), 0);
        assert_eq!(count(&[("a", 600)], &[("a", 600)]), 0);
        assert_eq!(count(&[("a", 600)], &[("a", 601)]), 1);
        assert_eq!(count(&[("a", 600)], &[("a", 599)]), 1);
        assert_eq!(count(&[("a", 600)], &[]), 1);
        assert_eq!(count(&[], &[("b", 501)]), 1);
    }

    #[test]
    fn blessing_lowers_and_removes_and_never_adds() {
        let allowed = Sizes {
            files: sizes(&[("a", 600), ("b", 600)]),
            ..Sizes::default()
        };
        let found = Sizes {
            files: sizes(&[("a", 550), ("c", 700)]),
            ..Sizes::default()
        };
        assert_eq!(lowered(&allowed, &found).files, sizes(&[("a", 550)]));
    }

    #[test]
    fn files_and_functions_are_measured() {
        let long = format!("fn long() {{\n{}}}\n", "x();\n".repeat(70));
        let source = Source::new("a.rs", &(long + &"\n".repeat(500)));
        let found = measure(&[source]);
        assert_eq!(found.functions, sizes(&[("a.rs long", 72)]));
        assert_eq!(found.files, sizes(&[("a.rs", 572)]));
    }
}
