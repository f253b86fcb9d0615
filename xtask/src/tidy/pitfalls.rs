//! The pages that say which test shows what: `docs/pitfalls.md` and `docs/security.md`.
//!
//! Here: every pitfall has a row, every test a page cites exists, and a test cited for a pitfall says
//! so itself. Not here: whether a test shows what the page says of it.
//!
//! A test names a pitfall in its name (`pitfall_21_…`) or in the lines of comment right above it
//! (`Pitfall 21`); several numbers follow one another (`pitfall_7_8_…`, `Pitfalls 7, 8`).

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::source::Source;

/// The table of pitfalls.
pub(super) const TABLE: &str = "docs/pitfalls.md";
/// What is protected, and which test shows it.
pub(super) const SECURITY: &str = "docs/security.md";
/// How many pitfalls there are.
const COUNT: u32 = 35;
/// How a row begins its last cell when no test can show it.
const NONE: &str = "cannot apply:";

/// Faults of the table of pitfalls.
pub(super) fn check(table: &str, sources: &[Source]) -> Vec<Fault> {
    let tests = tests(sources);
    let mut missing: BTreeSet<u32> = (1..=COUNT).collect();
    let mut faults = Vec::new();
    for (index, line) in table.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, number, _, _, shown, _] = cells.as_slice() else {
            continue;
        };
        let Ok(number) = number.parse::<u32>() else {
            continue;
        };
        let mut fault = |what: String| faults.push(Fault::new(TABLE, index + 1, what));
        if !missing.remove(&number) {
            fault(format!("{number} is there twice or is no pitfall"));
        }
        let cited = quoted(shown);
        if cited.is_empty() && !shown.starts_with(NONE) {
            fault(format!(
                "{number} cites no test and does not begin with `{NONE}`"
            ));
        }
        for name in cited {
            match tests.get(name) {
                None => fault(format!("there is no test `{name}`")),
                Some(named) if named.contains(&number) => {}
                Some(_) => fault(format!("the test `{name}` does not name pitfall {number}")),
            }
        }
    }
    let missing = missing.into_iter();
    faults
        .extend(missing.map(|number| Fault::new(TABLE, 0, format!("no row for pitfall {number}"))));
    faults
}

/// Tests that the page on security cites and nobody wrote. A name of a test is what is in backticks
/// and has three underscores or more; settings and labels have fewer or a dot.
pub(super) fn cited(page: &str, sources: &[Source]) -> Vec<Fault> {
    let tests = tests(sources);
    let mut faults = Vec::new();
    for (index, line) in page
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with('|'))
    {
        let names = quoted(line);
        let names = names.into_iter().filter(|name| is_test_name(name));
        let unknown = names.filter(|name| !tests.contains_key(*name));
        faults.extend(
            unknown
                .map(|name| Fault::new(SECURITY, index + 1, format!("there is no test `{name}`"))),
        );
    }
    faults
}

fn is_test_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(is_word)
        && text.matches('_').count() >= 3
        && !text.starts_with("interlock_")
        && !text.ends_with("_max")
}

/// What is in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Every test by its name, with the pitfalls it names.
fn tests(sources: &[Source]) -> BTreeMap<String, BTreeSet<u32>> {
    let mut tests: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for source in sources {
        for name in source.test_names() {
            let mut named = numbers(&name.replace('_', " "));
            named.extend(numbers(&above(&source.text, &name)));
            tests.entry(name).or_default().extend(named);
        }
    }
    tests
}

/// The lines of comment above a function, as one text.
fn above(text: &str, name: &str) -> String {
    let declared = format!("fn {name}(");
    let Some((before, _)) = text.split_once(&declared) else {
        return String::new();
    };
    let lines = before.lines().rev().map(str::trim);
    // The last one is the beginning of the declaration itself.
    let own = lines.skip_while(|line| !line.starts_with("#["));
    let own = own.take_while(|line| line.starts_with("#[") || line.starts_with("///"));
    let mut own: Vec<&str> = own.filter_map(|line| line.strip_prefix("///")).collect();
    own.reverse();
    own.join(" ").to_lowercase()
}

/// The numbers that follow `pitfall` or `pitfalls`.
fn numbers(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for after in text.split("pitfall").skip(1) {
        let after = after.strip_prefix('s').unwrap_or(after);
        let words = after.split([' ', ',']).filter(|word| !word.is_empty());
        let parsed = words.map_while(|word| word.trim_end_matches([':', '.']).parse::<u32>().ok());
        found.extend(parsed);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "/// Pitfalls 2, 3: both.\n#[test]\nfn one() {}\n\n\
        #[test]\nfn e1_pitfall_4_5_other() {}\n";

    fn rows(from: u32, shown: impl Fn(u32) -> &'static str) -> String {
        let rows = (from..=COUNT).map(|number| {
            let shown = shown(number);
            format!("| {number} | a fault | what is done | {shown} |\n")
        });
        rows.collect()
    }

    fn said(table: &str) -> Vec<String> {
        let sources = [Source::new("api/src/a.rs", RUST)];
        let faults = check(table, &sources);
        faults.iter().map(|fault| fault.what.clone()).collect()
    }

    #[test]
    fn a_test_names_its_pitfalls_in_its_name_or_above_it() {
        let good = rows(1, |number| match number {
            2 | 3 => "`one`",
            4 | 5 => "`e1_pitfall_4_5_other`",
            _ => "cannot apply: there is none",
        });
        assert_eq!(said(&good), Vec::<String>::new());
        let wrong = rows(1, |number| match number {
            6 => "`one`",
            7 => "`two`",
            8 => "nothing",
            _ => "cannot apply: there is none",
        });
        assert_eq!(
            said(&wrong),
            [
                "the test `one` does not name pitfall 6",
                "there is no test `two`",
                "8 cites no test and does not begin with `cannot apply:`",
            ]
        );
    }

    #[test]
    fn every_pitfall_has_one_row() {
        let none = "cannot apply: no";
        assert_eq!(said(&rows(2, |_| none)), ["no row for pitfall 1"]);
        let twice = format!("{}| 1 | a | b | {none} |\n", rows(1, |_| none));
        assert_eq!(said(&twice), ["1 is there twice or is no pitfall"]);
    }

    #[test]
    fn a_page_cites_tests_that_exist() {
        let sources = [Source::new("api/src/a.rs", RUST)];
        let page = "| `keep_days` | `e1_pitfall_4_5_other`, `not_a_known_test` |\n";
        let faults = cited(page, &sources);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].what, "there is no test `not_a_known_test`");
    }
}
