//! Tables: of at most 80 columns on a terminal, a line for each row elsewhere.
//!
//! Here: widths, and cells that go on below when they are wider than their column: nothing is cut
//! off, so what was printed can be copied. The first column is broken last.

use std::io::{IsTerminal, stdout};

/// Columns of a terminal.
const WIDTH: usize = 80;
/// Between two columns.
const GAP: usize = 2;
/// No column gets narrower than this.
const COLUMN_MIN: usize = 6;

/// A table with a line of headings; `none` when there are no rows.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    within(room(), headings, rows)
}

/// A text in lines of a terminal's width.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text, room()).join("\n")
}

/// What a line may take: elsewhere than on a terminal, programs read lines and search for words.
fn room() -> usize {
    match stdout().is_terminal() {
        true => WIDTH,
        false => usize::MAX,
    }
}

fn within(width: usize, headings: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return "none".to_owned();
    }
    let headings: Vec<String> = headings.iter().map(|&text| text.to_owned()).collect();
    let widths = widths(width, &headings, rows);
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        push_row(&mut text, row, &widths);
    }
    text.truncate(text.trim_end().len());
    text
}

fn widths(width: usize, headings: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let columns = headings.len();
    let (mut widths, mut words) = (vec![0; columns], vec![COLUMN_MIN; columns]);
    for row in rows.iter().map(Vec::as_slice).chain([headings]) {
        for (at, cell) in row.iter().enumerate().take(columns) {
            widths[at] = widths[at].max(length(cell));
            let word = cell.split(' ').map(length).max();
            words[at] = words[at].max(word.unwrap_or_default());
        }
    }
    let room = width.saturating_sub(GAP * columns.saturating_sub(1));
    // Cells go on below between words; a word is broken only where that is not enough.
    if !narrowed(&mut widths, room, &words) {
        narrowed(&mut widths, room, &vec![COLUMN_MIN; columns]);
    }
    widths
}

/// Takes from the widest until all have room, none below its least; whether that was enough.
fn narrowed(widths: &mut [usize], room: usize, least: &[usize]) -> bool {
    while widths.iter().sum::<usize>() > room {
        let wide = |(width, least): &(&mut usize, &usize)| **width > **least;
        // The first column names the row and is what people copy: it gives way last.
        let others = widths.iter_mut().zip(least).skip(1).filter(wide);
        if let Some((width, _)) = others.max_by_key(|(width, _)| **width) {
            *width -= 1;
        } else if let Some((width, _)) = widths.iter_mut().zip(least).next().filter(wide) {
            *width -= 1;
        } else {
            return false;
        }
    }
    true
}

fn push_row(text: &mut String, row: &[String], widths: &[usize]) {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| wrapped(cell, *width))
        .collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..lines {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let part = cell.get(at).map_or("", String::as_str);
            line.push_str(part);
            let rest = width.saturating_sub(length(part)) + GAP;
            line.extend(std::iter::repeat_n(' ', rest));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A cell in lines of at most `width`, broken at a space where there is one.
fn wrapped(cell: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left: Vec<char> = cell.chars().map(printable).collect();
    while left.len() > width {
        let space = left[..=width].iter().rposition(|&one| one == ' ');
        let (at, skip) = match space {
            Some(at) if at > 0 => (at, 1),
            Some(_) | None => (width, 0),
        };
        let rest = left.split_off(at);
        lines.push(left.into_iter().collect());
        left = rest.into_iter().skip(skip).collect();
    }
    lines.push(left.into_iter().collect());
    lines
}

/// Nothing that is printed moves the cursor.
fn printable(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn columns_line_up() {
        let text = within(
            WIDTH,
            &["a", "name"],
            &[row(&["1", "x"]), row(&["22", "y"])],
        );
        assert_eq!(text, "a   name\n1   x\n22  y");
        assert_eq!(within(WIDTH, &["a"], &[]), "none");
    }

    #[test]
    fn a_wide_table_keeps_within_80_columns_and_loses_nothing() {
        let long = "é".repeat(70);
        let words = "some words that are many and go on and on for a while";
        let text = within(WIDTH, &["one", "two"], &[row(&[&long, words])]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.chars().filter(|&one| one == 'é').count(), 70);
        assert!(words.split(' ').all(|word| text.contains(word)));
    }

    #[test]
    fn what_names_a_row_stays_in_one_piece_while_the_others_can_give() {
        let id = "AAAAAAAAAAAAAAAAAAAAAA";
        let cells = [
            id,
            "12 days",
            "external_action",
            "agents",
            "1",
            "lease over",
            "a long name",
        ];
        let text = within(
            WIDTH,
            &[
                "short id", "age", "kind", "source", "attempt", "because", "space",
            ],
            &[row(&cells)],
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(text.contains(id), "{text}");
    }

    #[test]
    fn words_stay_in_one_piece_where_they_can() {
        let stamp = "2026-11-30 12:17:29.007Z";
        let why = "the second edit, which both roles agreed to after a long talk";
        let cells = ["coordination", "12", stamp, "operator", "-", why];
        let headings = ["document", "version", "since", "by", "agreed", "why"];
        let text = within(WIDTH, &headings, &[row(&cells)]);
        assert!(text.lines().all(|line| length(line) <= WIDTH), "{text}");
        let words = cells.iter().flat_map(|cell| cell.split(' '));
        for word in words.chain(headings) {
            assert!(text.contains(word), "{word} in {text}");
        }
        // There is no room for both: one of them is broken.
        let long = ["a".repeat(50), "b".repeat(50)];
        let text = within(WIDTH, &["one", "two"], &[long.to_vec()]);
        assert!(text.lines().all(|line| length(line) <= WIDTH), "{text}");
        assert!(text.contains(&long[0]), "what names the row: {text}");
        let long = format!("{} {}", "x".repeat(70), "y".repeat(70));
        assert_eq!(wrapped(&long, WIDTH).join("\n"), long.replace(' ', "\n"));
    }

    #[test]
    fn without_a_terminal_each_row_is_a_line() {
        let long = "features: coordination ".repeat(9);
        let rows = [row(&["1", long.trim_end(), "x"]), row(&["2", "y", "z"])];
        let text = within(usize::MAX, &["id", "what", "more"], &rows);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.contains(long.trim_end()))
        );
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(within(WIDTH, &["a"], &[row(&["x\u{1b}[2J"])]), "a\nx [2J");
    }
}
