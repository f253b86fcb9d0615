//! Declaring an answer once: its struct, how it is written, and how it stands in the document.
//!
//! Here: [`Written`] and `answer!`. Not here: the answers. An absent optional and an empty list are
//! left out, so no client ever meets a `null`; a list or map that has to be there is written empty.

use crate::shape::Shape;

/// A shape, and how a `T` of that shape is written.
pub trait Written<T: ?Sized>: Shape {
    /// Appends it as JSON.
    fn write(out: &mut Vec<u8>, value: &T);
}

/// Declares an answer. Each member is a type of ours `as` the shape it is written in, and is
/// `required`, `optional` (an `Option`), `listed` (a list, left out when empty; `; N` bounds it), `present` (a list
/// that is always there), `mapped` (pairs of name and value, left out when empty) or `charted` (the
/// same, always there). Members are written in the order of the declaration.
macro_rules! answer {
    ($(#[doc = $about:literal])* derive($($derived:ident),*) $name:ident<$life:lifetime> {
        $($members:tt)+
    }) => {
        $crate::answer::answer!(
            @declare [$($about)*] [$($derived),*] $name [$name<$life>] [<$life>] $($members)+
        );
    };
    ($(#[doc = $about:literal])* derive($($derived:ident),*) $name:ident { $($members:tt)+ }) => {
        $crate::answer::answer!(
            @declare [$($about)*] [$($derived),*] $name [$name] [] $($members)+
        );
    };
    (@declare [$($about:literal)*] [$($derived:ident),*] $name:ident [$($whole:tt)+]
        [$($lives:tt)*] $(
        $(#[doc = $of:literal])* $field:ident: $kind:ident $type:ty as $shape:ty $(; $max:literal)?,
    )+) => {
        $(#[doc = $about])*
        #[derive($($derived),*)]
        pub struct $($whole)+ {
            $($(#[doc = $of])* pub $field: $crate::answer::answer!(@type $kind $type),)+
        }

        impl $($lives)* $($whole)+ {
            /// Writes it.
            pub fn write(&self, out: &mut Vec<u8>) {
                let mut object = $crate::json::Object::open(out);
                $(
                    let name = const { $crate::read::wire_name(stringify!($field)) };
                    $(debug_assert!(self.$field.len() <= $max, "more than are shown");)?
                    $crate::answer::answer!(@write $kind object name self.$field, $shape);
                )+
                object.close();
            }
        }

        impl $($lives)* $crate::answer::Written<Self> for $($whole)+ {
            fn write(out: &mut Vec<u8>, value: &Self) {
                value.write(out);
            }
        }

        impl $($lives)* $crate::shape::Members for $($whole)+ {
            fn members(into: &mut $crate::shape::Components) -> $crate::shape::Object {
                let object = $crate::shape::Closed::new(&[$($about),*]);
                $(
                    let name = const { $crate::read::wire_name(stringify!($field)) };
                    let shape = <$shape as $crate::shape::Shape>::shape(into);
                    let object = $crate::answer::answer!(
                        @member $kind object name shape [$($of),*] $($max)?
                    );
                )+
                object.build()
            }
        }

        impl $($lives)* $crate::shape::Shape for $($whole)+ {
            fn shape(
                into: &mut $crate::shape::Components,
            ) -> $crate::shape::RefOr<$crate::shape::Schema> {
                into.refer::<Self>(stringify!($name), |into| {
                    <Self as $crate::shape::Members>::members(into).into()
                })
            }
        }
    };
    (@type optional $type:ty) => { Option<$type> };
    (@type $kind:ident $type:ty) => { $type };
    (@write required $object:ident $name:ident $value:expr, $shape:ty) => {
        <$shape as $crate::answer::Written<_>>::write($object.member($name), &$value);
    };
    (@write optional $object:ident $name:ident $value:expr, $shape:ty) => {
        if let Some(value) = &$value {
            <$shape as $crate::answer::Written<_>>::write($object.member($name), value);
        }
    };
    (@write listed $object:ident $name:ident $value:expr, $shape:ty) => {
        if !$value.is_empty() {
            $crate::answer::answer!(@write present $object $name $value, $shape);
        }
    };
    (@write present $object:ident $name:ident $value:expr, $shape:ty) => {
        $object.list($name, $value.iter(), |out, item| {
            <$shape as $crate::answer::Written<_>>::write(out, item);
        });
    };
    (@write mapped $object:ident $name:ident $value:expr, $shape:ty) => {
        if !$value.is_empty() {
            $crate::answer::answer!(@write charted $object $name $value, $shape);
        }
    };
    (@write charted $object:ident $name:ident $value:expr, $shape:ty) => {
        {
            let mut map = $crate::json::Object::open($object.member($name));
            for (key, value) in $value.iter() {
                <$shape as $crate::answer::Written<_>>::write(map.entry(key), value);
            }
            map.close();
        }
    };
    (@member required $object:ident $name:ident $shape:ident [$($of:literal),*]) => {
        $object.required($name, &[$($of),*], $shape)
    };
    (@member optional $object:ident $name:ident $shape:ident [$($of:literal),*]) => {
        $object.optional($name, &[$($of),*], $shape)
    };
    (@member listed $object:ident $name:ident $shape:ident [$($of:literal),*] $max:literal) => {
        $object.optional($name, &[$($of),*], $crate::shape::list($shape, 0, $max))
    };
    (@member listed $object:ident $name:ident $shape:ident [$($of:literal),*]) => {
        $object.optional($name, &[$($of),*], $crate::shape::list($shape, 0, usize::MAX))
    };
    (@member present $object:ident $name:ident $shape:ident [$($of:literal),*]) => {
        $object.required($name, &[$($of),*], $crate::shape::list($shape, 0, usize::MAX))
    };
    (@member charted $object:ident $name:ident $shape:ident [$($of:literal),*]) => {
        $object.required($name, &[$($of),*], $crate::shape::map($shape))
    };
    (@member mapped $object:ident $name:ident $shape:ident [$($of:literal),*]) => {
        $object.optional($name, &[$($of),*], $crate::shape::map($shape))
    };
}

pub(crate) use answer;
