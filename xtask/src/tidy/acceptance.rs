//! Every row of the acceptance table is a test: the rows' ids against the names of tests.
//!
//! A test claims rows by its name: it begins with their ids in lower case, each followed by an
//! underscore, as in `s4_s5_only_its_own_source_lifts`. An id further back in a name claims nothing,
//! so a law called C1 is no test of the row C1.

use std::collections::BTreeMap;

use super::Fault;
use super::source::Source;

/// Where the rows are.
pub(super) const TABLE: &str = "docs/spec/acceptance.md";

/// Rows without a test.
pub(super) fn check(table: &str, sources: &[Source]) -> Vec<Fault> {
    let mut rows: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (index, line) in table.lines().enumerate() {
        if let Some(id) = row(line) {
            rows.insert(id, (index + 1, false));
        }
    }
    if rows.is_empty() {
        return vec![Fault::new(TABLE, 0, "no row was found in the table")];
    }
    for source in sources {
        for name in source.test_names() {
            for id in claimed(&name) {
                if let Some((_, tested)) = rows.get_mut(id.as_str()) {
                    *tested = true;
                }
            }
        }
    }
    let untested = rows.iter().filter(|(_, (_, tested))| !tested);
    untested
        .map(|(id, (line, _))| {
            let what = format!(
                "no test is called `{}_…`; every row is one",
                id.to_lowercase()
            );
            Fault::new(TABLE, *line, what)
        })
        .collect()
}

/// The id of a row of the table: a capital letter and a number in its first cell.
fn row(line: &str) -> Option<&str> {
    let cell = line.strip_prefix("| ")?.split('|').next()?;
    let id = cell.split_whitespace().next()?;
    is_id(id, |first| first.is_ascii_uppercase()).then_some(id)
}

/// The ids that a test's name begins with, as the table writes them.
fn claimed(name: &str) -> Vec<String> {
    let parts = name.split('_');
    let ids = parts.take_while(|part| is_id(part, |first| first.is_ascii_lowercase()));
    ids.map(str::to_uppercase).collect()
}

fn is_id(word: &str, letter: impl Fn(char) -> bool) -> bool {
    let mut letters = word.chars();
    let first = letters.next().is_some_and(letter);
    let digits = letters.as_str();
    first && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str =
        "| id | do |\n| - | - |\n| S4 * | lifted | still |\n| S5 | its own | goes |\n";

    fn faults(rust: &str) -> Vec<String> {
        let found = check(ROWS, &[Source::new("api/tests/http/list.rs", rust)]);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_claims_the_ids_it_begins_with() {
        assert_eq!(claimed("s4_s5_only_its_own"), ["S4", "S5"]);
        assert_eq!(claimed("holds_c1_always"), Vec::<String>::new());
        assert_eq!(claimed("s4"), ["S4"]);
        assert_eq!(claimed("see_s4"), Vec::<String>::new());
    }

    #[test]
    fn a_row_without_a_test_is_a_fault() {
        let both = "#[test]\nfn s4_s5_lift() { assert!(true) }";
        assert_eq!(faults(both), Vec::<String>::new());
        let one = "#[test]\nfn s4_lift() {}\nfn s5_helper() {}";
        let text = "docs/spec/acceptance.md:4: no test is called `s5_…`; every row is one";
        assert_eq!(faults(one), [text]);
        assert_eq!(check("", &[]).len(), 1);
    }

    #[test]
    fn what_is_commented_out_is_no_test() {
        assert_eq!(faults("// #[test]\n// fn s4_s5_lift() {}").len(), 2);
    }
}
