//! Rows as a table of at most 80 columns, and as Markdown.

use super::Row;
use super::judge::Claim;

const COLUMNS: usize = 80;
/// Columns of an id and of a line's name.
const INDENT: usize = 5;
const NAME: usize = 10;

/// All rows.
pub(super) fn table(rows: &[Row]) -> String {
    rows.iter().map(row).collect()
}

/// One row: what it is, and below it the target, what was measured and the command.
pub(super) fn row(row: &Row) -> String {
    let mut text = String::new();
    line(&mut text, row.id, "", row.what);
    line(&mut text, "", "target", row.target);
    line(&mut text, "", "measured", &measured(row));
    line(&mut text, "", "command", &row.command);
    text
}

/// What was found, with what does not keep its bound, or why nothing was.
fn measured(row: &Row) -> String {
    if let Some(failed) = &row.failed {
        return format!("NOTHING: {failed}");
    }
    let claims: Vec<String> = row.measured.iter().map(said).collect();
    claims.join("; ")
}

fn said(claim: &Claim) -> String {
    let missed = if claim.holds() { "" } else { " (missed)" };
    format!("{}{missed}", claim.said)
}

/// A line that goes on below itself where it is long.
fn line(text: &mut String, id: &str, name: &str, value: &str) {
    let named = if name.is_empty() { 0 } else { NAME };
    let width = COLUMNS - INDENT - named;
    for (index, part) in wrapped(value, width).iter().enumerate() {
        let (id, name) = if index == 0 { (id, name) } else { ("", "") };
        let line = format!("{id:<INDENT$}{name:<named$}{part}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// The rows as a table of Markdown.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| id | what | target | measured | met | command |\n| - | - | - | - | - | - |\n",
    );
    for row in rows {
        let met = match (&row.failed, row.measured.iter().any(Claim::is_bound)) {
            (Some(_), _) => "not measured",
            (None, false) => "",
            (None, true) if row.met => "yes",
            (None, true) => "no",
        };
        let cells = [
            row.id,
            row.what,
            row.target,
            &measured(row),
            met,
            &format!("`{}`", row.command),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::judge;

    fn found() -> Row {
        let document =
            serde_json::json!({"signing": {"ratio": 1.0, "tokens_per_second": 51_000.0}});
        Row {
            id: "T2",
            what: "the same with a token for each allow, over what one core signs in a tight loop of its own",
            target: "110 %",
            measured: judge::claims("T2", &document).expect("figures"),
            met: false,
            command:
                "interlock-load tokens --spawn --closed --seconds 10 --connections 4 --batch 500"
                    .to_owned(),
            failed: None,
        }
    }

    #[test]
    fn no_line_is_longer_than_a_terminal() {
        let failed = Row {
            failed: Some("nothing could be measured: exit status: 2, and more words".repeat(3)),
            ..found()
        };
        let text = table(&[found(), failed]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.starts_with("T2   the same with a token"), "{text}");
        assert!(
            text.contains("     measured  100 % (51,000 tokens/s) (missed)\n"),
            "{text}"
        );
        assert!(
            text.contains("     measured  NOTHING: nothing could"),
            "{text}"
        );
    }

    #[test]
    fn a_row_of_markdown_says_whether_the_target_is_met() {
        let text = markdown(&[found()]);
        let last = text.lines().last().unwrap_or_default();
        assert!(last.starts_with("| T2 | the same"), "{last}");
        assert!(
            last.contains("(missed) | no | `interlock-load tokens "),
            "{last}"
        );
    }
}
