//! The known name nearest to a mistyped one.
//!
//! Here: an edit distance and a choice by it. Pure. Called by `parse` and by `seed`'s readers of
//! refusals.

/// The candidate that is fewest edits away from `typed`, when it is near enough to be a guess worth
/// printing: at most a third of the longer name's characters, and at least 2.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(typed, candidate), candidate))
        .filter(|(edits, candidate)| {
            let longer = typed.chars().count().max(candidate.chars().count());
            *edits <= (longer / 3).max(2)
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements that turn `a` into `b`, letters compared without case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("listen", "LISTEN"), 0);
    }

    #[test]
    fn guesses_only_what_is_near() {
        let names = ["listen", "http_workers", "body_bytes_max"];
        assert_eq!(nearest("lsten", names), Some("listen"));
        assert_eq!(nearest("body_byte_max", names), Some("body_bytes_max"));
        assert_eq!(nearest("zzzzzzzz", names), None);
    }
}
