//! From the text of `config.toml` to checked values.
//!
//! Here: every refusal names the file's line, the setting and what would be right. Not here: what
//! a setting means. Called by `config` only.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::setting::{Kind, Section, Setting, TEXT_BYTES_MAX, Value};

/// What is wrong with the file, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong, without the line.
    pub(crate) what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// The values of all settings: what the file says, else the default.
#[derive(Debug)]
pub(crate) struct Values {
    by_name: BTreeMap<(&'static str, &'static str), Value>,
}

impl Values {
    /// The value of a setting.
    ///
    /// # Panics
    /// When the section or the setting is not in the table: a bug of the section file.
    pub(crate) fn get(&self, section: &'static str, name: &'static str) -> Value {
        self.by_name
            .get(&(section, name))
            .cloned()
            .expect("every setting of the table has a value")
    }

    /// All defaults.
    fn defaults(table: &'static [Section]) -> Self {
        let by_name = table
            .iter()
            .flat_map(|section| section.settings.iter().map(move |set| (section.name, set)))
            .map(|(section, set)| ((section, set.name), set.kind.default_value()))
            .collect();
        Self { by_name }
    }
}

/// Reads a file's text.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn parse(text: &str, table: &'static [Section]) -> Result<Values, Wrong> {
    let file = DeTable::parse(text).map_err(|error| Wrong {
        line: line_of(text, error.span()),
        what: error.message().replace('\n', ", "),
    })?;
    let mut values = Values::defaults(table);
    for (key, value) in file.get_ref() {
        let at = |what| Wrong {
            line: line_of(text, Some(key.span())),
            what,
        };
        let section = find_section(key.get_ref(), table).map_err(at)?;
        let DeValue::Table(settings) = value.get_ref() else {
            return Err(at(format!("[{}] is a section, not a value", section.name)));
        };
        for (key, value) in settings {
            let at = |what| Wrong {
                line: line_of(text, Some(key.span())),
                what,
            };
            let setting = find_setting(key.get_ref(), section, table).map_err(at)?;
            let value = check(value, section, setting).map_err(at)?;
            values.by_name.insert((section.name, setting.name), value);
        }
    }
    Ok(values)
}

/// The line a span starts in, from 1.
fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start).min(text.len());
    let before = text.as_bytes().iter().take(start);
    1 + before.filter(|byte| **byte == b'\n').count()
}

fn find_section(name: &str, table: &'static [Section]) -> Result<&'static Section, String> {
    if let Some(section) = table.iter().find(|section| section.name == name) {
        return Ok(section);
    }
    if let Some(home) = table
        .iter()
        .find(|section| section.settings.iter().any(|set| set.name == name))
    {
        return Err(format!("`{name}` belongs under [{}]", home.name));
    }
    let known = table.iter().map(|section| section.name);
    Err(match nearest(name, known) {
        Some(near) => format!("unknown section [{name}]; did you mean [{near}]?"),
        None => format!("unknown section [{name}]"),
    })
}

fn find_setting(
    name: &str,
    section: &'static Section,
    table: &'static [Section],
) -> Result<&'static Setting, String> {
    if let Some(setting) = section.settings.iter().find(|set| set.name == name) {
        return Ok(setting);
    }
    let unknown = format!("unknown setting `{name}` in [{}]", section.name);
    if let Some(home) = table
        .iter()
        .find(|other| other.settings.iter().any(|set| set.name == name))
    {
        return Err(format!("{unknown}; it belongs under [{}]", home.name));
    }
    let here = nearest(name, section.settings.iter().map(|set| set.name));
    if let Some(near) = here {
        return Err(format!("{unknown}; did you mean `{near}`?"));
    }
    let elsewhere = table
        .iter()
        .flat_map(|other| other.settings.iter().map(move |set| (other.name, set.name)));
    let near = nearest(name, elsewhere.clone().map(|(_, set)| set));
    let home = elsewhere.into_iter().find(|(_, set)| Some(*set) == near);
    Err(match home {
        Some((home, near)) => format!("{unknown}; did you mean `{near}` under [{home}]?"),
        None => unknown,
    })
}

fn check(
    value: &Spanned<DeValue<'_>>,
    section: &Section,
    setting: &Setting,
) -> Result<Value, String> {
    let name = format!("[{}] {}", section.name, setting.name);
    match &setting.kind {
        Kind::Integer { min, max, .. } => {
            let DeValue::Integer(number) = value.get_ref() else {
                return Err(format!("{name} is a whole number from {min} to {max}"));
            };
            let read = i128::from_str_radix(&number.as_str().replace('_', ""), number.radix())
                .map_err(|_| format!("{name} is a whole number from {min} to {max}"))?;
            match u64::try_from(read) {
                Ok(read) if (*min..=*max).contains(&read) => Ok(Value::Integer(read)),
                _ => Err(format!("{name} = {read} is outside {min} to {max}")),
            }
        }
        Kind::Choice { of, .. } => {
            let words = of.join("`, `");
            let DeValue::String(word) = value.get_ref() else {
                let is = kind(value.get_ref());
                return Err(format!("{name} is one of `{words}`, not {is}"));
            };
            if of.contains(&word.as_ref()) {
                return Ok(Value::Text(word.as_ref().to_owned()));
            }
            let what = format!("{name} = \"{word}\" is none of `{words}`");
            Err(match nearest(word, of.iter().copied()) {
                Some(near) => format!("{what}; did you mean `{near}`?"),
                None => what,
            })
        }
        Kind::Address { .. } => {
            let rule = "is an address and a port, such as \"127.0.0.1:7440\"";
            let DeValue::String(text) = value.get_ref() else {
                return Err(format!("{name} {rule}, not {}", kind(value.get_ref())));
            };
            match text.parse::<SocketAddr>() {
                Ok(_) => Ok(Value::Text(text.as_ref().to_owned())),
                Err(_) => Err(format!("{name} = {text:?}: it {rule}")),
            }
        }
        Kind::Text { .. } => {
            let DeValue::String(text) = value.get_ref() else {
                let is = kind(value.get_ref());
                return Err(format!("{name} is a text in quotes, not {is}"));
            };
            if text.len() > TEXT_BYTES_MAX {
                return Err(format!("{name} is longer than {TEXT_BYTES_MAX} bytes"));
            }
            Ok(Value::Text(text.as_ref().to_owned()))
        }
    }
}

/// What a value is, in TOML's words.
const fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TABLE;

    fn wrong(text: &str) -> String {
        parse(text, TABLE).unwrap_err().to_string()
    }

    #[test]
    fn says_where_and_what_would_be_right() {
        let unknown = "[server]\n# a comment\nlissten = \"x\"\n";
        assert_eq!(
            wrong(unknown),
            "line 3: unknown setting `lissten` in [server]; did you mean `listen`?"
        );
        assert_eq!(
            wrong("\n[sever]\nlisten = \"x\""),
            "line 2: unknown section [sever]; did you mean [server]?"
        );
        assert_eq!(
            wrong("[server]\nengine = \"sled\""),
            "line 2: unknown setting `engine` in [server]; it belongs under [storage]"
        );
        assert_eq!(
            wrong("listen = \"x\""),
            "line 1: `listen` belongs under [server]"
        );
        assert_eq!(
            wrong("server = 1"),
            "line 1: [server] is a section, not a value"
        );
    }

    #[test]
    fn refuses_what_is_out_of_bounds_or_of_another_kind() {
        assert_eq!(
            wrong("[shards]\ncount = 1_000"),
            "line 2: [shards] count = 1000 is outside 0 to 256"
        );
        assert_eq!(
            wrong("[shards]\ncount = -1"),
            "line 2: [shards] count = -1 is outside 0 to 256"
        );
        assert_eq!(
            wrong("[shards]\ncount = \"two\""),
            "line 2: [shards] count is a whole number from 0 to 256"
        );
        assert_eq!(
            wrong("[server]\nlisten = \"x\""),
            "line 2: [server] listen = \"x\": it is an address and a port, such as \"127.0.0.1:7440\""
        );
        assert_eq!(
            wrong("[server]\nlisten = 7440"),
            "line 2: [server] listen is an address and a port, such as \"127.0.0.1:7440\", not a whole \
             number"
        );
        assert_eq!(
            wrong("[storage]\nengine = \"sledd\""),
            "line 2: [storage] engine = \"sledd\" is none of `sled`, `memory`; did you mean `sled`?"
        );
    }

    #[test]
    fn names_the_line_of_broken_toml() {
        let broken = wrong("[server]\nlisten = \n");
        assert!(broken.starts_with("line 2: "), "{broken}");
        assert!(!broken.contains('\n'), "{broken}");
    }

    #[test]
    fn takes_hexadecimal_and_grouped_numbers() {
        let values = parse("[shards]\ncount = 0x1_0", TABLE).unwrap();
        assert_eq!(values.get("shards", "count"), Value::Integer(16));
    }
}
