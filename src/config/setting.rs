//! What a setting is: its name, kind, default, bound and sentence.
//!
//! Here: the table's types and the one macro that writes a section as a struct and as a table at
//! once, so that a setting is added in one line of one file. Not here: reading a file (`parse`)
//! and printing one (`document`). Called by the section files beside this one.

/// A group of settings under one `[name]` of the file.
#[derive(Debug)]
pub(crate) struct Section {
    /// The name in brackets.
    pub(crate) name: &'static str,
    /// What it is about, line by line.
    pub(crate) about: &'static [&'static str],
    /// Its settings, in the order of the file.
    pub(crate) settings: &'static [Setting],
}

/// One line of the file.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The name, with its unit and bound last.
    pub(crate) name: &'static str,
    /// What it does, line by line.
    pub(crate) doc: &'static [&'static str],
    /// What it may be.
    pub(crate) kind: Kind,
}

/// What a setting may be, and its default.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A whole number between two bounds, both allowed.
    Integer {
        /// Where nothing is said.
        default: u64,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// One of a few words.
    Choice {
        /// Where nothing is said.
        default: &'static str,
        /// The words.
        of: &'static [&'static str],
    },
    /// An address and a port.
    Address {
        /// Where nothing is said.
        default: &'static str,
    },
    /// Any text of at most 1,024 bytes.
    Text {
        /// Where nothing is said.
        default: &'static str,
    },
}

/// The longest text a setting takes.
pub(crate) const TEXT_BYTES_MAX: usize = 1_024;

/// A value of a setting, checked against its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Of [`Kind::Integer`].
    Integer(u64),
    /// Of [`Kind::Choice`], [`Kind::Address`] and [`Kind::Text`].
    Text(String),
}

/// A whole number from `min` to `max`.
pub(crate) const fn integer(default: u64, min: u64, max: u64) -> Kind {
    assert!(
        min <= default && default <= max,
        "a default lies in its bounds"
    );
    Kind::Integer { default, min, max }
}

/// One of a few words.
pub(crate) const fn choice(default: &'static str, of: &'static [&'static str]) -> Kind {
    Kind::Choice { default, of }
}

/// An address and a port.
pub(crate) const fn address(default: &'static str) -> Kind {
    Kind::Address { default }
}

/// Any text.
pub(crate) const fn text(default: &'static str) -> Kind {
    Kind::Text { default }
}

impl Kind {
    /// The value where the file says nothing.
    pub(crate) fn default_value(&self) -> Value {
        match self {
            Self::Integer { default, .. } => Value::Integer(*default),
            Self::Choice { default, .. } | Self::Address { default } | Self::Text { default } => {
                Value::Text((*default).to_owned())
            }
        }
    }
}

/// A field of a section's struct, taken out of a checked value.
pub(crate) trait Field {
    /// The field. A value of another kind is a bug of the section file, which a test finds.
    fn take(value: Value) -> Self;
}

impl Field for u64 {
    fn take(value: Value) -> Self {
        match value {
            Value::Integer(number) => number,
            Value::Text(_) => unreachable!("a number field is declared with `integer`"),
        }
    }
}

impl Field for String {
    fn take(value: Value) -> Self {
        match value {
            Value::Text(text) => text,
            Value::Integer(_) => unreachable!("a text field is declared with `text` or `choice`"),
        }
    }
}

/// Writes a section: a struct with one field per setting, its table, and how one becomes the other.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $type:ident = $section:literal {
            $($(#[doc = $doc:literal])+ $field:ident: $value:ty = $kind:expr,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub(crate) struct $type {
            $($(#[doc = $doc])+ pub(crate) $field: $value,)+
        }

        impl $type {
            /// The section's table.
            pub(super) const SECTION: $crate::config::setting::Section =
                $crate::config::setting::Section {
                    name: $section,
                    about: &[$($about),+],
                    settings: &[$($crate::config::setting::Setting {
                        name: stringify!($field),
                        doc: &[$($doc),+],
                        kind: $kind,
                    }),+],
                };

            /// The section out of checked values.
            pub(super) fn read(values: &$crate::config::parse::Values) -> Self {
                Self {
                    $($field: $crate::config::setting::Field::take(
                        values.get($section, stringify!($field)),
                    ),)+
                }
            }
        }
    };
}
pub(crate) use section;
