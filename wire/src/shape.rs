//! How the types of this crate stand in the published document (OpenAPI 3.1).
//!
//! Here: [`Shape`], which every value, request and answer has, and the few forms of schema they are
//! made of. Not here: routes, statuses and headers (`api`), and any bound: a type shows the one it
//! enforces. Built once per process, so nothing here is fast.

use std::any::type_name;
use std::collections::BTreeMap;

pub use utoipa::openapi::schema::Object;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Type,
};
pub use utoipa::openapi::{Ref, RefOr, Schema};

/// A type that can be shown.
pub trait Shape {
    /// Its schema, or a reference to its component, which is added to `into`.
    fn shape(into: &mut Components) -> RefOr<Schema>;
}

/// An object, whose members can be shown one by one.
pub trait Members {
    /// Its schema; what its members refer to is added to `into`.
    fn members(into: &mut Components) -> Object;
}

/// The components a document refers to, by name.
#[derive(Clone, Debug, Default)]
pub struct Components(BTreeMap<&'static str, (&'static str, RefOr<Schema>)>);

impl Components {
    /// A reference to the component of type `T`; `build` makes it when it is not there yet.
    ///
    /// # Panics
    /// Another type has the name already: a bug.
    pub fn refer<T: ?Sized>(
        &mut self,
        name: &'static str,
        build: impl FnOnce(&mut Self) -> Schema,
    ) -> RefOr<Schema> {
        let reference = RefOr::Ref(Ref::from_schema_name(name));
        match self.0.get(name) {
            Some((known, _)) => assert_eq!(*known, type_name::<T>(), "two components are {name}"),
            None => {
                // The place is taken first, so that a type inside itself comes to an end.
                self.0.insert(name, (type_name::<T>(), reference.clone()));
                let schema = RefOr::T(build(self));
                self.0.insert(name, (type_name::<T>(), schema));
            }
        }
        reference
    }

    /// All of them.
    pub fn into_schemas(self) -> impl Iterator<Item = (&'static str, RefOr<Schema>)> {
        self.0.into_iter().map(|(name, (_, schema))| (name, schema))
    }
}

/// An object under construction. It is closed: a member it does not list is not of it.
#[derive(Debug)]
pub struct Closed(ObjectBuilder);

impl Closed {
    /// An object without members; `about` are the lines that describe it.
    #[must_use]
    pub fn new(about: &[&str]) -> Self {
        let object = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(prose(about)))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        Self(object)
    }

    /// A member that is always there.
    #[must_use]
    pub fn required(self, name: &str, about: &[&str], shape: RefOr<Schema>) -> Self {
        Self(
            self.0
                .property(name, described(shape, about))
                .required(name),
        )
    }

    /// A member that may be left out.
    #[must_use]
    pub fn optional(self, name: &str, about: &[&str], shape: RefOr<Schema>) -> Self {
        Self(self.0.property(name, described(shape, about)))
    }

    /// A member that means `default` when it is left out.
    #[must_use]
    pub fn defaulted(
        self,
        name: &str,
        about: &[&str],
        shape: RefOr<Schema>,
        default: serde_json::Value,
    ) -> Self {
        let shape = with_default(shape, default);
        Self(self.0.property(name, described(shape, about)))
    }

    /// The object.
    #[must_use]
    pub fn build(self) -> Object {
        self.0.build()
    }
}

/// Lines of a doc comment as one text.
#[must_use]
pub fn prose(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim().to_owned()
}

/// An object with these members and any others; `required` are the ones that have to be there.
#[must_use]
pub fn open<'m>(
    about: &str,
    required: &[&str],
    members: impl IntoIterator<Item = (&'m str, RefOr<Schema>)>,
) -> Schema {
    let object = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(about))
        .additional_properties(Some(AdditionalProperties::FreeForm(true)));
    let object = required
        .iter()
        .fold(object, |object, name| object.required(*name));
    let with = |object: ObjectBuilder, (name, shape)| object.property(name, shape);
    members.into_iter().fold(object, with).build().into()
}

/// A text of `min` to `max` characters.
#[must_use]
pub fn text(min: Option<usize>, max: Option<usize>) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.min_length(min).max_length(max).into()
}

/// A text of a pattern.
#[must_use]
pub fn pattern(pattern: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.pattern(Some(pattern)).into()
}

/// A text of a pattern with at most `max` characters.
#[must_use]
pub fn text_of(pattern: &str, max: usize) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let text = text.pattern(Some(pattern)).max_length(Some(max));
    text.into()
}

/// A text of a format JSON Schema names.
#[must_use]
pub fn format(name: &str) -> RefOr<Schema> {
    let format = utoipa::openapi::SchemaFormat::Custom(name.to_owned());
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.format(Some(format)).into()
}

/// A whole number; the largest `u64` is no bound.
#[must_use]
pub fn integer(min: u64, max: u64) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    let bound = |bound: u64| utoipa::Number::UInt(usize::try_from(bound).unwrap_or(usize::MAX));
    let max = (max < u64::MAX).then(|| bound(max));
    number.minimum(Some(bound(min))).maximum(max).into()
}

/// Any whole number.
#[must_use]
pub fn any_integer() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Integer).into()
}

/// Any number.
#[must_use]
pub fn number() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Number).into()
}

/// `true` or `false`.
#[must_use]
pub fn boolean() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Boolean).into()
}

/// Any value. Its types are named: readers of documents stumble on a schema without one.
#[must_use]
pub fn anything() -> RefOr<Schema> {
    let any = vec![
        Type::Null,
        Type::Boolean,
        Type::Number,
        Type::String,
        Type::Array,
        Type::Object,
    ];
    let any = utoipa::openapi::schema::SchemaType::Array(any);
    ObjectBuilder::new().schema_type(any).into()
}

/// An object of any members.
#[must_use]
pub fn any_object() -> RefOr<Schema> {
    let any = AdditionalProperties::FreeForm(true);
    let object = ObjectBuilder::new().schema_type(Type::Object);
    object.additional_properties(Some(any)).into()
}

/// An object that is a map from any name to values of one shape.
#[must_use]
pub fn map(of: RefOr<Schema>) -> RefOr<Schema> {
    let values = AdditionalProperties::RefOr(of);
    let object = ObjectBuilder::new().schema_type(Type::Object);
    object.additional_properties(Some(values)).into()
}

/// A list of `min` to `max` items; the largest `usize` is no bound.
#[must_use]
pub fn list(of: RefOr<Schema>, min: usize, max: usize) -> RefOr<Schema> {
    ArrayBuilder::new()
        .items(of)
        .min_items((min > 0).then_some(min))
        .max_items((max < usize::MAX).then_some(max))
        .into()
}

/// One of some words.
#[must_use]
pub fn words<'w>(about: &str, words: impl IntoIterator<Item = &'w str>) -> Schema {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .enum_values(Some(words))
        .into()
}

/// The same, or `null`.
#[must_use]
pub fn nullable(shape: RefOr<Schema>) -> RefOr<Schema> {
    let null = ObjectBuilder::new().schema_type(Type::Null);
    AnyOfBuilder::new().item(shape).item(null).into()
}

/// The same with a description of its own, unless there is nothing to say.
#[must_use]
pub fn described(shape: RefOr<Schema>, about: &[&str]) -> RefOr<Schema> {
    let about = prose(about);
    if about.is_empty() {
        return shape;
    }
    let mut shape = shape;
    match &mut shape {
        RefOr::Ref(reference) => reference.description = about,
        RefOr::T(schema) => *slots(schema).0 = Some(about),
    }
    shape
}

/// The same with a default value. A reference cannot carry one in every reader, so it is wrapped.
#[must_use]
pub fn with_default(shape: RefOr<Schema>, default: serde_json::Value) -> RefOr<Schema> {
    match shape {
        RefOr::Ref(_) => AllOfBuilder::new()
            .item(shape)
            .default(Some(default))
            .into(),
        RefOr::T(mut schema) => {
            *slots(&mut schema).1 = Some(default);
            RefOr::T(schema)
        }
    }
}

/// Where a schema keeps its description and its default.
fn slots(schema: &mut Schema) -> (&mut Option<String>, &mut Option<serde_json::Value>) {
    match schema {
        Schema::Object(it) => (&mut it.description, &mut it.default),
        Schema::Array(it) => (&mut it.description, &mut it.default),
        Schema::OneOf(it) => (&mut it.description, &mut it.default),
        Schema::AllOf(it) => (&mut it.description, &mut it.default),
        Schema::AnyOf(it) => (&mut it.description, &mut it.default),
        // The library may add kinds; none of ours is another.
        _ => unreachable!("a kind of schema this crate does not build"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_component_is_built_once_and_may_hold_itself() {
        let mut components = Components::default();
        for _ in 0..2 {
            let reference = components.refer::<u8>("Tree", |into| {
                let inner = into.refer::<u8>("Tree", |_| unreachable!("it is there"));
                let leaf = Closed::new(&[" A tree."]).optional("left", &[], inner);
                leaf.build().into()
            });
            let shown = serde_json::to_value(&reference).unwrap();
            assert_eq!(shown, json!({"$ref": "#/components/schemas/Tree"}));
        }
        assert_eq!(components.into_schemas().count(), 1);
    }

    #[test]
    #[should_panic(expected = "two components are Tree")]
    fn two_types_cannot_share_a_name() {
        let mut components = Components::default();
        let _first = components.refer::<u8>("Tree", |_| words("", ["a"]));
        let _second = components.refer::<u16>("Tree", |_| words("", ["b"]));
    }

    #[test]
    fn a_reference_takes_its_default_from_outside() {
        let reference = RefOr::Ref(Ref::from_schema_name("Kind"));
        let shown = described(with_default(reference, json!("a")), &[" What", " kind."]);
        assert_eq!(
            serde_json::to_value(&shown).unwrap(),
            json!({"allOf": [{"$ref": "#/components/schemas/Kind"}], "default": "a",
                "description": "What kind."})
        );
    }
}
