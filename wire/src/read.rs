//! Reading a request body in one pass: parse, judge, and say what is wrong.
//!
//! Here: the reader of objects and lists (`request!`) and the words of a refusal.
//! Not here: the single values ([`value`](crate::value)). A refusal names members and rules and
//! never repeats what was sent; serde's own messages do, so they are dropped.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use crate::shape::{self, Components, RefOr, Schema, Shape};

/// Something that can be read from a body.
pub trait Read<'de>: Sized {
    /// What it must be, to follow "must be".
    const RULE: &'static str;

    /// Reads it; notes in `trouble` what is wrong inside it.
    ///
    /// # Errors
    /// What it must be is not what was sent, or it is not JSON.
    fn read<D: Deserializer<'de>>(from: D, trouble: &Trouble) -> Result<Self, D::Error>;
}

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not JSON.
    NotJson,
    /// It is JSON and breaks the contract: the sentence for the client.
    Contract(String),
}

/// Reads a whole body.
///
/// # Errors
/// Why it is refused.
pub fn body<'de, T: Read<'de>>(bytes: &'de [u8]) -> Result<T, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::NotJson)?;
    text_at(text, None)
}

/// Reads a part of a body that was kept as text until its shape was known; `member` is where it
/// stood.
///
/// # Errors
/// Why it is refused.
pub fn text_at<'de, T: Read<'de>>(
    text: &'de str,
    member: Option<&'static str>,
) -> Result<T, Refusal> {
    let trouble = Trouble::in_text(text);
    let mut json = serde_json::Deserializer::from_str(text);
    let read = T::read(&mut json, &trouble).and_then(|value| json.end().map(|()| value));
    read.map_err(|_| {
        // Reading stops at the first fault, so only now is it known whether the rest is JSON. The
        // look at the whole does not recurse and builds nothing.
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Refusal::Contract(trouble.into_sentence(member, T::RULE)),
            Err(_) => Refusal::NotJson,
        }
    })
}

/// Where a body breaks the contract, and how; filled from the inside out.
#[derive(Debug, Default)]
pub struct Trouble {
    found: RefCell<Found>,
    /// Bytes that no list has been given room for yet.
    bytes: Cell<usize>,
}

#[derive(Debug, Default)]
struct Found {
    /// Innermost first.
    path: Vec<Step>,
    fault: Option<Fault>,
}

#[derive(Debug)]
enum Step {
    Member(&'static str),
    Item(usize),
}

#[derive(Debug)]
enum Fault {
    MustBe(&'static str),
    Missing(&'static str),
    Twice,
    Unknown(&'static [&'static str]),
    Length { min: usize, max: usize },
}

/// Bytes of an item that the first list of a large body usually has at least.
const ITEM_BYTES_USUAL: usize = 192;

impl Trouble {
    fn in_text(text: &str) -> Self {
        Self {
            found: RefCell::default(),
            bytes: Cell::new(text.len()),
        }
    }

    /// How many items a list that begins now is given room for, so that the list of a batch does not
    /// grow step by step. The first list of a body is most of it; those inside have few items, and
    /// room for as many each would be a multiple of the body.
    fn items_likely(&self) -> usize {
        self.bytes.take() / ITEM_BYTES_USUAL
    }

    /// Passes on what was read of a member, noting where it was when it failed.
    ///
    /// # Errors
    /// The one handed in.
    pub fn member<T, E>(
        &self,
        name: &'static str,
        rule: &'static str,
        read: Result<T, E>,
    ) -> Result<T, E> {
        if read.is_err() {
            self.note(Some(Step::Member(name)), Fault::MustBe(rule));
        }
        read
    }

    /// The error of a member that appears twice.
    pub fn twice<E: Error>(&self, name: &'static str) -> E {
        self.note(Some(Step::Member(name)), Fault::Twice);
        E::custom("twice")
    }

    /// The error of a member that is not there.
    pub fn missing<E: Error>(&self, name: &'static str, rule: &'static str) -> E {
        self.note(Some(Step::Member(name)), Fault::Missing(rule));
        E::custom("missing")
    }

    /// The error of a member the contract does not list.
    pub fn unknown<E: Error>(&self, known: &'static [&'static str]) -> E {
        self.note(None, Fault::Unknown(known));
        E::custom("unknown")
    }

    fn note(&self, step: Option<Step>, fault: Fault) {
        let mut found = self.found.borrow_mut();
        found.path.extend(step);
        // The innermost fault is noted first and is the one to tell.
        found.fault.get_or_insert(fault);
    }

    fn into_sentence(self, root: Option<&'static str>, rule: &'static str) -> String {
        let Found { mut path, fault } = self.found.into_inner();
        path.extend(root.map(Step::Member));
        let mut place = String::new();
        for step in path.iter().rev() {
            match step {
                Step::Member(name) if place.is_empty() => place.push_str(name),
                Step::Member(name) => place.extend([".", name]),
                Step::Item(index) => place.push_str(&format!("[{index}]")),
            }
        }
        let place = if place.is_empty() {
            Cow::Borrowed("the body")
        } else {
            Cow::Owned(format!("`{place}`"))
        };
        match fault.unwrap_or(Fault::MustBe(rule)) {
            Fault::MustBe(rule) => format!("{place} must be {rule}"),
            Fault::Missing(rule) => format!("{place} is missing; it must be {rule}"),
            Fault::Twice => format!("{place} appears twice; send it once"),
            Fault::Length { min, max } => format!("{place} must have {min} to {max} items"),
            Fault::Unknown(known) => {
                let known = known.join("`, `");
                format!("{place} has a member the contract does not list; send only `{known}`")
            }
        }
    }
}

/// Carries [`Trouble`] down to a member or an item.
pub struct Seed<'t, T>(&'t Trouble, PhantomData<T>);

impl<'t, T> Seed<'t, T> {
    /// A seed that notes faults in `trouble`.
    #[must_use]
    pub fn new(trouble: &'t Trouble) -> Self {
        Self(trouble, PhantomData)
    }
}

impl<T> fmt::Debug for Seed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
    }
}

impl<'de, T: Read<'de>> DeserializeSeed<'de> for Seed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::read(from, self.0)
    }
}

/// An optional member that may also be sent as `null`.
impl<'de, T: Read<'de>> Read<'de> for Option<T> {
    const RULE: &'static str = T::RULE;

    fn read<D: Deserializer<'de>>(from: D, trouble: &Trouble) -> Result<Self, D::Error> {
        struct Maybe<'t, T>(&'t Trouble, PhantomData<T>);

        impl<'de, T: Read<'de>> Visitor<'de> for Maybe<'_, T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::RULE)
            }

            fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
                T::read(from, self.0).map(Some)
            }
        }

        from.deserialize_option(Maybe(trouble, PhantomData))
    }
}

/// A list whose length is bounded while it is read, so that a long one is never built.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct List<T, const MIN: usize, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> Default for List<T, 0, MAX> {
    /// An empty list.
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Read<'de>, const MIN: usize, const MAX: usize> Read<'de> for List<T, MIN, MAX> {
    const RULE: &'static str = "a list";

    fn read<D: Deserializer<'de>>(from: D, trouble: &Trouble) -> Result<Self, D::Error> {
        struct Items<'t, T, const MIN: usize, const MAX: usize>(&'t Trouble, PhantomData<T>);

        impl<'de, T: Read<'de>, const MIN: usize, const MAX: usize> Visitor<'de>
            for Items<'_, T, MIN, MAX>
        {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::with_capacity(MAX.min(self.0.items_likely()));
                loop {
                    let item = items.next_element_seed(Seed::<T>::new(self.0));
                    if item.is_err() {
                        self.0
                            .note(Some(Step::Item(list.len())), Fault::MustBe(T::RULE));
                    }
                    let Some(item) = item? else { break };
                    if list.len() == MAX {
                        return Err(self.wrong_length());
                    }
                    list.push(item);
                }
                if list.len() < MIN {
                    return Err(self.wrong_length());
                }
                Ok(list)
            }
        }

        impl<T, const MIN: usize, const MAX: usize> Items<'_, T, MIN, MAX> {
            fn wrong_length<E: Error>(&self) -> E {
                self.0.note(None, Fault::Length { min: MIN, max: MAX });
                E::custom("length")
            }
        }

        from.deserialize_seq(Items::<T, MIN, MAX>(trouble, PhantomData))
            .map(Self)
    }
}

impl<T: Shape, const MIN: usize, const MAX: usize> Shape for List<T, MIN, MAX> {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        shape::list(T::shape(into), MIN, MAX)
    }
}

/// Declares a request object once: its struct, its reader, its schema, and by serialising it its
/// canonical form. A member is `required`, `optional` (may be left out or `null`) or `defaulted` (may be left
/// out). Members the declaration does not list, and members sent twice, are refused.
macro_rules! request {
    ($(#[doc = $about:literal])* $name:ident<$life:lifetime> { $($members:tt)+ }) => {
        $crate::read::request!(
            @declare [$($about)*] $name [$name<$life>] [<$life>] $life { $($members)+ }
        );
    };
    ($(#[doc = $about:literal])* $name:ident { $($members:tt)+ }) => {
        $crate::read::request!(@declare [$($about)*] $name [$name] [] 'de { $($members)+ });
    };
    (@declare [$($about:literal)*] $ident:ident [$($name:tt)+] [$($lives:tt)*] $life:lifetime { $(
        $(#[doc = $of:literal])* $field:ident: $kind:ident $type:ty,
    )+ }) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
        pub struct $($name)+ {
            $($(#[doc = $of])* pub $field: $crate::read::request!(@type $kind $type),)+
        }

        impl<$life> $crate::read::Read<$life> for $($name)+ {
            const RULE: &'static str = "an object";

            fn read<D: ::serde::Deserializer<$life>>(
                from: D,
                trouble: &$crate::read::Trouble,
            ) -> Result<Self, D::Error> {
                $crate::read::request!(@visitor $life [$($name)+] $($field $kind $type,)+);
                from.deserialize_map(Members(trouble))
            }
        }

        impl $($lives)* $crate::shape::Members for $($name)+ {
            fn members(into: &mut $crate::shape::Components) -> $crate::shape::Object {
                let object = $crate::shape::Closed::new(&[$($about),*]);
                $(
                    let name = const { $crate::read::wire_name(stringify!($field)) };
                    let shape = <$type as $crate::shape::Shape>::shape(into);
                    let object = $crate::read::request!(
                        @shown $kind object name shape [$($of),*] $type
                    );
                )+
                object.build()
            }
        }

        impl $($lives)* $crate::shape::Shape for $($name)+ {
            fn shape(
                into: &mut $crate::shape::Components,
            ) -> $crate::shape::RefOr<$crate::shape::Schema> {
                into.refer::<Self>(stringify!($ident), |into| {
                    <Self as $crate::shape::Members>::members(into).into()
                })
            }
        }
    };
    (@shown required $object:ident $name:ident $shape:ident [$($of:literal),*] $type:ty) => {
        $object.required($name, &[$($of),*], $shape)
    };
    (@shown optional $object:ident $name:ident $shape:ident [$($of:literal),*] $type:ty) => {
        $object.optional($name, &[$($of),*], $crate::shape::nullable($shape))
    };
    (@shown defaulted $object:ident $name:ident $shape:ident [$($of:literal),*] $type:ty) => {
        $object.defaulted(
            $name,
            &[$($of),*],
            $shape,
            ::serde_json::json!(<$type as Default>::default()),
        )
    };
    (@visitor $life:lifetime [$($name:tt)+] $($field:ident $kind:ident $type:ty,)+) => {
        struct Members<'t>(&'t $crate::read::Trouble);

        impl<$life> ::serde::de::Visitor<$life> for Members<'_> {
            type Value = $($name)+;

            fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: ::serde::de::MapAccess<$life>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let trouble = self.0;
                $(let mut $field: Option<$crate::read::request!(@type $kind $type)> = None;)+
                while let Some(member) = map.next_key_seed($crate::value::AnyText)? {
                    $(
                        if member == const { $crate::read::wire_name(stringify!($field)) } {
                            $crate::read::request!(
                                @member trouble map $field
                                [$crate::read::request!(@type $kind $type)]
                            );
                            continue;
                        }
                    )+
                    return Err(trouble.unknown(
                        const { &[$($crate::read::wire_name(stringify!($field))),+] },
                    ));
                }
                Ok($crate::read::request!(
                    @built trouble $life [$($name)+] $($field $kind $type,)+
                ))
            }
        }
    };
    (@member $trouble:ident $map:ident $field:ident [$type:ty]) => {
        let name = const { $crate::read::wire_name(stringify!($field)) };
        if $field.is_some() {
            return Err($trouble.twice(name));
        }
        let value = $map.next_value_seed($crate::read::Seed::<$type>::new($trouble));
        let rule = <$type as $crate::read::Read<'_>>::RULE;
        $field = Some($trouble.member(name, rule, value)?);
    };
    (@built $trouble:ident $life:lifetime [$name:ident $($lives:tt)*] $(
        $field:ident $kind:ident $type:ty,
    )+) => {
        $name { $($field: $crate::read::request!(@take $kind $trouble $field $type),)+ }
    };
    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type defaulted $type:ty) => { $type };
    (@take required $trouble:ident $field:ident $type:ty) => {
        match $field {
            Some(value) => value,
            None => {
                let name = const { $crate::read::wire_name(stringify!($field)) };
                let rule = <$type as $crate::read::Read<'_>>::RULE;
                return Err($trouble.missing(name, rule));
            }
        }
    };
    (@take optional $trouble:ident $field:ident $type:ty) => { $field.flatten() };
    (@take defaulted $trouble:ident $field:ident $type:ty) => { $field.unwrap_or_default() };
}

pub(crate) use request;

/// The wire name of a field: its own, without the mark of a raw identifier (`r#type`).
#[must_use]
pub const fn wire_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(name) => name,
            Err(_) => field,
        },
        _ => field,
    }
}
