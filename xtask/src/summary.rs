//! How many tests passed, failed and were skipped, over all runners.

use crate::shell::Outcome;

/// Counts of one runner or of all.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tests {
    /// Passed.
    pub(crate) passed: u64,
    /// Failed.
    pub(crate) failed: u64,
    /// Names of those that did not run.
    pub(crate) skipped: Vec<String>,
    /// What those that passed measured.
    pub(crate) figures: Vec<String>,
}

impl Tests {
    /// Adds another runner's.
    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend_from_slice(&other.skipped);
        self.figures.extend_from_slice(&other.figures);
    }

    /// Counts one outcome as a test.
    pub(crate) fn one(&mut self, title: &str, outcome: Outcome) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(error) => {
                self.failed += 1;
                eprintln!("   FAIL {title}: {error}");
            }
        }
    }

    /// The line other tools read: `N passed, N failed`, with `, N skipped` when there are any.
    pub(crate) fn line(&self) -> String {
        let skipped = match self.skipped.len() {
            0 => String::new(),
            count => format!(", {count} skipped"),
        };
        format!("{} passed, {} failed{skipped}", self.passed, self.failed)
    }

    /// Prints [`Self::line`] on the standard output and judges the counts.
    pub(crate) fn close(&self, gaps_count: bool) -> Outcome {
        println!("{}", self.line());
        self.verdict(gaps_count)
    }

    /// A failed test, no test at all and, where gaps count, a skipped test are failures.
    pub(crate) fn verdict(&self, gaps_count: bool) -> Outcome {
        if self.failed > 0 {
            return Err(format!("{} failed", self.failed));
        }
        if self.passed == 0 {
            return Err("no test ran".to_owned());
        }
        if gaps_count && !self.skipped.is_empty() {
            return Err(format!("skipped in CI: {}", self.skipped.join(" ")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(passed: u64, failed: u64, skipped: &[&str]) -> Tests {
        Tests {
            passed,
            failed,
            skipped: skipped.iter().map(|name| (*name).to_owned()).collect(),
            figures: Vec::new(),
        }
    }

    #[test]
    fn skipped_tests_fail_where_gaps_count_and_no_test_always() {
        assert!(tests(1, 0, &[]).verdict(true).is_ok());
        assert!(tests(1, 0, &["x"]).verdict(false).is_ok());
        assert!(tests(1, 0, &["x"]).verdict(true).is_err());
        assert!(tests(1, 1, &[]).verdict(false).is_err());
        assert!(tests(0, 0, &[]).verdict(false).is_err());
    }

    #[test]
    fn the_line_names_skipped_ones_only_when_there_are_some() {
        assert_eq!(tests(2, 0, &[]).line(), "2 passed, 0 failed");
        assert_eq!(tests(2, 1, &["x"]).line(), "2 passed, 1 failed, 1 skipped");
    }
}
