//! Rules of all text files: one title in Markdown, no path of somebody's machine, one word per thing.

use super::Fault;
use super::source::occurrences;

/// Starts of paths that exist on one machine only; put together here so that this file has none.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/tmp", "/h-"),
    concat!("/Use", "rs/"),
];

/// The glossary's heading over the words that are not used.
const BANNED_HEADING: &str = "## Words we do not use";

/// Where the words of others stand, which are theirs to choose, and where this rule is tested.
const FOREIGN: [&str; 4] = [
    "docs/",
    "tests/conformance/",
    "GLOSSARY.md",
    "xtask/src/tidy/",
];

/// A word that is not used, and the one that is.
pub(super) type Synonym = (String, String);

/// All rules on one file.
pub(super) fn check(path: &str, text: &str, synonyms: &[Synonym]) -> Vec<Fault> {
    let mut faults = machine_paths(path, text);
    if path.ends_with(".md") {
        faults.extend(title(path, text));
    }
    let ours = [".rs", ".md", ".toml"]
        .iter()
        .any(|end| path.ends_with(end));
    if ours && !FOREIGN.iter().any(|place| path.starts_with(place)) {
        faults.extend(banned(path, text, synonyms));
    }
    faults
}

/// Reads the table under the heading: `| not this | but this |`.
pub(super) fn banned_words(glossary: &str) -> Vec<Synonym> {
    let section = glossary
        .split_once(BANNED_HEADING)
        .map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| -"));
    rows.skip(1)
        .filter_map(|row| {
            let mut cells = row.trim_matches('|').split('|').map(str::trim);
            Some((cells.next()?.to_lowercase(), cells.next()?.to_owned()))
        })
        .collect()
}

fn banned(path: &str, text: &str, synonyms: &[Synonym]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for (word, instead) in synonyms {
            if !occurrences(&line, word).is_empty() {
                let what = format!("`{word}`: the glossary calls it {instead}");
                faults.push(Fault::new(path, index + 1, what));
            }
        }
    }
    faults
}

fn machine_paths(path: &str, text: &str) -> Vec<Fault> {
    let starts_word = |line: &str, at: usize| {
        let before = line.get(..at).and_then(|start| start.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/".contains(c))
    };
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for start in MACHINE_PATHS {
            if line
                .match_indices(start)
                .any(|(at, _)| starts_word(line, at))
            {
                let what = format!("{start}… is a path of one machine");
                faults.push(Fault::new(path, index + 1, what));
            }
        }
    }
    faults
}

fn title(path: &str, text: &str) -> Option<Fault> {
    let mut fenced = false;
    let mut titles = 0;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with("# ") {
            titles += 1;
        }
    }
    let first = text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("# "));
    let right = first && titles == 1;
    (!right).then(|| Fault::new(path, 1, format!("{titles} titles; one, on the first line")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# G\n\n| a | b |\n| - | - |\n| shard | x |\n\n## Words we do not use\n\n\
                            | not | but |\n| - | - |\n| Tenant | space |\n| dedup key | key |\n";

    #[test]
    fn words_of_the_list_are_found_whole_and_in_any_case() {
        let synonyms = banned_words(GLOSSARY);
        assert_eq!(synonyms.len(), 2);
        let count = |path, text| check(path, text, &synonyms).len();
        assert_eq!(count("a.rs", "//! A tenant.\nlet dedup key"), 2);
        assert_eq!(count("a.rs", "let tenant_id = Tenants;"), 0);
        assert_eq!(count("GLOSSARY.md", "# Tenant"), 0);
        assert_eq!(count("docs/spec/a.md", "# Tenant"), 0);
    }

    #[test]
    fn a_markdown_file_has_one_title_on_its_first_line() {
        let count = |text| check("a.md", text, &[]).len();
        assert_eq!(count("# One\n\n## Two\n```\n# code\n```\n"), 0);
        assert_eq!(count("# One\n# Two\n"), 1);
        assert_eq!(count("text\n# One\n"), 1);
        assert_eq!(count(""), 1);
    }

    #[test]
    fn paths_of_a_machine_are_found_and_others_are_not() {
        let found = |text: &str| !check("a.toml", text, &[]).is_empty();
        for start in MACHINE_PATHS {
            assert!(found(&format!("see {start}x")), "{start}");
            assert!(!found(&format!("see a{start}x")), "{start}");
        }
    }
}
