//! Places that texts point at must exist: a path in backquotes that starts with a folder of this
//! repository, and a relative link in Markdown. So a table of files cannot outlive the files.

use std::collections::BTreeSet;

use super::Fault;

/// Where backquoted paths may be another project's, or a test's.
const FOREIGN: [&str; 2] = ["docs/", "xtask/src/tidy/"];

/// Every file and folder of the repository.
#[derive(Debug)]
pub(super) struct Places {
    all: BTreeSet<String>,
    tops: BTreeSet<String>,
}

impl Places {
    pub(super) fn new<'a>(files: impl Iterator<Item = &'a str>) -> Self {
        let (mut all, mut tops) = (BTreeSet::new(), BTreeSet::new());
        for file in files {
            all.insert(file.to_owned());
            for (at, _) in file.match_indices('/') {
                all.extend(file.get(..at).map(str::to_owned));
            }
            tops.extend(file.split('/').next().map(str::to_owned));
        }
        Self { all, tops }
    }

    /// Paths in the text that lead nowhere.
    pub(super) fn check(&self, path: &str, text: &str) -> Vec<Fault> {
        let markdown = path.ends_with(".md");
        if !markdown && !path.ends_with(".rs") && !path.ends_with(".toml") {
            return Vec::new();
        }
        let foreign = FOREIGN.iter().any(|place| path.starts_with(place));
        let mut faults = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let mut wrong: Vec<&str> = quoted(line)
                .filter(|word| !foreign && self.is_lost(word))
                .collect();
            if markdown {
                wrong.extend(links(line).filter(|link| !self.all.contains(&resolve(path, link))));
            }
            for place in wrong {
                faults.push(Fault::new(
                    path,
                    index + 1,
                    format!("{place} does not exist"),
                ));
            }
        }
        faults
    }

    /// A path from a folder of this repository that is not there.
    fn is_lost(&self, word: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        let (top, rest) = word.split_once('/').unwrap_or((word, ""));
        let is_path = !rest.is_empty() && word.chars().all(plain) && self.tops.contains(top);
        is_path && !self.all.contains(word.trim_end_matches('/'))
    }
}

/// What stands between backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of Markdown links that are neither addresses nor places in the same file.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let targets = targets.filter_map(|target| target.split('#').next());
    targets.filter(|target| target.contains(".md") && !target.contains("://"))
}

/// A link's target, seen from the file it stands in.
fn resolve(path: &str, link: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(path: &str, text: &str) -> usize {
        let files = [
            "README.md",
            "docs/spec/contact.md",
            "docs/storage.md",
            "api/src/lib.rs",
        ];
        Places::new(files.into_iter()).check(path, text).len()
    }

    #[test]
    fn quoted_paths_of_this_repository_must_exist() {
        assert_eq!(
            lost(
                "api/src/lib.rs",
                "//! See `docs/spec/contact.md` and `api/src/`."
            ),
            0
        );
        assert_eq!(
            lost("api/src/lib.rs", "//! See `docs/gone.md` and `api/gone/`."),
            2
        );
        assert_eq!(
            lost(
                "README.md",
                "`target/venv/x` `/v1/check` `a/b` `cargo xtask`"
            ),
            0
        );
        assert_eq!(lost("x.json", "`docs/gone.md`"), 0);
    }

    #[test]
    fn links_resolve_from_their_own_file() {
        assert_eq!(
            lost(
                "docs/storage.md",
                "[a](spec/contact.md) [b](../README.md#x)"
            ),
            0
        );
        assert_eq!(
            lost("docs/storage.md", "[a](contact.md) [b](https://x.y/z.md)"),
            1
        );
    }
}
