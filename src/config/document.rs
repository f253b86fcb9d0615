//! The file `config.toml` with every setting, printed from the table.
//!
//! Here: what `interlock config` prints; a test holds the file in the repository to it. Called by
//! the verb and the test.

use std::fmt::Write as _;

use super::setting::{Kind, Section, Setting};

const HEAD: &str = "\
# Every setting of `interlock serve`, with its default. A line that is left out keeps its default;
# a name that is not here is refused. The unit is in the name. This file is what `interlock config`
# prints.
";

/// The whole file.
pub(crate) fn render(table: &[Section]) -> String {
    let mut file = HEAD.to_owned();
    for section in table {
        file.push('\n');
        comment(&mut file, section.about);
        line(&mut file, &format!("[{}]", section.name));
        for setting in section.settings {
            file.push('\n');
            render_setting(&mut file, setting);
        }
    }
    file
}

fn render_setting(file: &mut String, setting: &Setting) {
    comment(file, setting.doc);
    match &setting.kind {
        Kind::Integer { default, min, max } => {
            line(
                file,
                &format!("# From {} to {}.", grouped(*min), grouped(*max)),
            );
            line(file, &format!("{} = {}", setting.name, grouped(*default)));
        }
        Kind::Choice { default, of } => {
            line(file, &format!("# One of \"{}\".", of.join("\", \"")));
            line(file, &format!("{} = \"{default}\"", setting.name));
        }
        Kind::Address { default } | Kind::Text { default } => {
            line(file, &format!("{} = \"{default}\"", setting.name));
        }
    }
}

fn comment(file: &mut String, lines: &[&str]) {
    for text in lines {
        line(file, format!("#{text}").trim_end());
    }
}

fn line(file: &mut String, text: &str) {
    // Writing to a String cannot fail.
    writeln!(file, "{text}").ok();
}

/// A number with `_` between its thousands, as TOML takes it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TABLE;
    use crate::config::parse::parse;

    #[test]
    fn the_file_in_the_repository_is_what_the_table_says() {
        let committed = include_str!("../../config.toml");
        assert_eq!(
            committed,
            render(TABLE),
            "write it again: cargo run -- config > config.toml"
        );
    }

    #[test]
    fn the_printed_file_is_the_defaults() {
        let printed = parse(&render(TABLE), TABLE).unwrap();
        let empty = parse("", TABLE).unwrap();
        for section in TABLE {
            for setting in section.settings {
                assert_eq!(
                    printed.get(section.name, setting.name),
                    empty.get(section.name, setting.name)
                );
            }
        }
    }

    #[test]
    fn groups_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1_000");
        assert_eq!(grouped(67_108_864), "67_108_864");
    }
}
