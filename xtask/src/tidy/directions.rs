//! Who may depend on whom. Read from `cargo tree -e normal`, so that neither a manifest's features nor
//! a chain through somebody else's package hides an edge; dependencies of tests are free.

use super::Fault;
use crate::shell::{self, Outcome};

const OURS: &str = "interlock";

/// A package, the packages of ours it may name, and the foreign ones it may not even reach.
struct Rule {
    package: &'static str,
    may_use: &'static [&'static str],
    may_not_reach: &'static [&'static str],
}

const PURE: &[&str] = &[
    "tokio",
    "actix",
    "actix-web",
    "actix-rt",
    "sled",
    "getrandom",
    "rand",
    "mio",
];

const RULES: [Rule; 8] = [
    Rule {
        package: "interlock-domain",
        may_use: &["interlock-token"],
        may_not_reach: PURE,
    },
    Rule {
        package: "interlock-token",
        may_use: &[],
        may_not_reach: PURE,
    },
    Rule {
        package: "interlock-wire",
        may_use: &[],
        may_not_reach: &[],
    },
    Rule {
        package: "interlock-storage",
        may_use: &[],
        may_not_reach: &["actix", "actix-web"],
    },
    Rule {
        package: "interlock-actors",
        may_use: &["interlock-domain", "interlock-storage"],
        may_not_reach: &["actix-web"],
    },
    Rule {
        package: "interlock-api",
        may_use: &[
            "interlock-wire",
            "interlock-domain",
            "interlock-token",
            "interlock-actors",
        ],
        may_not_reach: &[],
    },
    Rule {
        package: "interlock-load",
        may_use: &[],
        may_not_reach: &[],
    },
    Rule {
        package: "xtask",
        may_use: &[],
        may_not_reach: &[],
    },
];

/// Checks every package.
pub(super) fn check() -> Outcome<Vec<Fault>> {
    let mut faults = Vec::new();
    for rule in &RULES {
        let tree = |depth: &str| {
            let arguments = [
                "tree", "-e", "normal", "--prefix", "none", "--depth", depth, "-p",
            ];
            shell::read(shell::cargo(arguments).arg(rule.package))
        };
        faults.extend(judge(rule, &tree("1")?, &tree("1000")?));
    }
    Ok(faults)
}

fn judge(rule: &Rule, direct: &str, all: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for name in names(direct).filter(|name| name.starts_with(OURS) && *name != rule.package) {
        if !rule.may_use.contains(&name) {
            faults.push(Fault::new(
                rule.package,
                0,
                format!("may not depend on {name}"),
            ));
        }
    }
    let mut reached: Vec<&str> = names(all)
        .filter(|name| rule.may_not_reach.contains(name))
        .collect();
    reached.sort_unstable();
    reached.dedup();
    for name in reached {
        let what = format!(
            "may not reach {name}; see cargo tree -e normal -p {} -i {name}",
            rule.package
        );
        faults.push(Fault::new(rule.package, 0, what));
    }
    faults
}

/// The package of each line: its first word.
fn names(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        package: "interlock-domain",
        may_use: &["interlock-token"],
        may_not_reach: PURE,
    };

    #[test]
    fn an_edge_of_ours_must_be_allowed() {
        let tree = "interlock-domain v0.1.0 (x)\ninterlock-token v0.1.0 (y)\nserde v1.0.0\n";
        assert_eq!(judge(&RULE, tree, tree), []);
        let tree = format!("{tree}interlock-storage v0.1.0 (z)\n");
        assert_eq!(judge(&RULE, &tree, &tree).len(), 1);
    }

    #[test]
    fn a_foreign_package_may_not_be_reached_through_another() {
        let direct = "interlock-domain v0.1.0 (x)\nuuid v1.0.0\n";
        let all = format!("{direct}getrandom v0.3.0\ngetrandom v0.3.0 (*)\n");
        assert_eq!(judge(&RULE, direct, &all).len(), 1);
    }
}
