//! Closed sets of words, declared once: the enum, its reader, its writer, its schema.

/// Declares a closed set of words.
macro_rules! one_of {
    ($(#[doc = $about:literal])* $name:ident: $rule:literal {
        $($(#[doc = $of:literal])* $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize)]
        pub enum $name { $($(#[doc = $of])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// All of them, in the contract's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// How it is spelled.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl<'de> $crate::read::Read<'de> for $name {
            const RULE: &'static str = $rule;

            fn read<D: ::serde::Deserializer<'de>>(
                from: D,
                _: &$crate::read::Trouble,
            ) -> Result<Self, D::Error> {
                let word = from.deserialize_str($crate::value::AnyText)?;
                match &*word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(::serde::de::Error::custom("word")),
                }
            }
        }

        impl $crate::shape::Shape for $name {
            fn shape(
                into: &mut $crate::shape::Components,
            ) -> $crate::shape::RefOr<$crate::shape::Schema> {
                into.refer::<Self>(stringify!($name), |_| {
                    let about = $crate::shape::prose(&[
                        $($about,)* $(concat!("`", $word, "`:"), $($of,)*)+
                    ]);
                    $crate::shape::words(&about, Self::ALL.iter().map(|word| word.word()))
                })
            }
        }

        /// A word of the set; which one was chosen elsewhere.
        impl $crate::answer::Written<&'static str> for $name {
            fn write(out: &mut Vec<u8>, value: &&'static str) {
                debug_assert!(
                    Self::ALL.iter().any(|known| known.word() == *value),
                    "{value} is no word of {}", stringify!($name),
                );
                $crate::json::word(out, value);
            }
        }

        impl $crate::answer::Written<Self> for $name {
            fn write(out: &mut Vec<u8>, value: &Self) {
                $crate::json::word(out, value.word());
            }
        }
    };
}

pub(crate) use one_of;
