//! Many faults in one text, each behind its number.
//!
//! Here: from a source and the faults of it to a text that does as the source does, but for the fault
//! whose number the process was given. An expression becomes a choice between itself and its faulty
//! forms, an arm gets a guard, a body an early return. Nothing is rewritten that has no fault, and no
//! line moves. Not here: whether the text compiles.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::shell::Outcome;

/// The file that the copy of the crate gets beside its others.
pub(super) const MODULE: &str = "\
//! The number of the fault that this process has; 0 is none.

use std::sync::LazyLock;

static NUMBER: LazyLock<u32> = LazyLock::new(|| {
    let number = std::env::var(\"INTERLOCK_FAULT\").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
});

#[inline]
pub(crate) fn is(number: u32) -> bool {
    *NUMBER == number
}
";
/// What gives a process its fault.
pub(super) const VARIABLE: &str = "INTERLOCK_FAULT";

/// A fault that `cargo mutants` makes up: the text of a span and what it becomes.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Fault {
    /// Where and what, in a line for people.
    pub(super) name: String,
    /// Below the workspace's folder.
    pub(super) file: String,
    span: Span,
    replacement: String,
    genre: Genre,
}

#[derive(Debug, Clone, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Both count from 1; a column is a character.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// A text with faults in it.
#[derive(Debug)]
pub(super) struct Planted {
    /// The text.
    pub(super) text: String,
    /// The bytes of it that each planted fault's own text takes.
    pub(super) places: Vec<(u32, Range<usize>)>,
    /// Faults that no compiler takes, whatever stands around them.
    pub(super) senseless: Vec<u32>,
}

/// Plants the numbered faults of a file. Those that are neither planted nor senseless cannot be
/// chosen while the process runs: constants, and bodies whose type only they know.
///
/// # Errors
/// The source does not parse.
pub(super) fn plant(source: &str, faults: &[(u32, &Fault)]) -> Outcome<Planted> {
    let file = syn::parse_file(source).map_err(|error| error.to_string())?;
    let mut planter = Planter {
        source,
        faults: BTreeMap::new(),
        edits: Vec::new(),
        senseless: Vec::new(),
    };
    for &(number, fault) in faults {
        let start = byte(source, fault.span.start);
        let same = planter.faults.entry((start, fault.genre)).or_default();
        same.push((number, fault));
    }
    planter.visit_file(&file);
    Ok(planter.written())
}

/// The source with the one fault in place of what it replaces.
pub(super) fn replaced(source: &str, fault: &Fault) -> String {
    let span = byte(source, fault.span.start)..byte(source, fault.span.end);
    cut(source, 0..source.len(), span, &fault.replacement)
}

/// The byte at which a place begins.
fn byte(source: &str, place: Place) -> usize {
    let mut lines = source.split_inclusive('\n');
    let before: usize = lines.by_ref().take(place.line - 1).map(str::len).sum();
    let line = lines.next().unwrap_or_default();
    let inside: usize = line
        .chars()
        .take(place.column - 1)
        .map(char::len_utf8)
        .sum();
    before + inside
}

/// The text of `whole` with `text` in place of `part`.
fn cut(source: &str, whole: Range<usize>, part: Range<usize>, text: &str) -> String {
    let before = source.get(whole.start..part.start).unwrap_or_default();
    let after = source.get(part.end..whole.end).unwrap_or_default();
    format!("{before}{text}{after}")
}

/// A change of the source at a place.
struct Edit {
    at: Range<usize>,
    /// What goes first where several begin at one place.
    rank: Rank,
    text: String,
    /// The parts of the text that are faults.
    faults: Vec<(u32, Range<usize>)>,
}

/// What ends goes before what begins; what began last ends first, and what ends last begins first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    End { began: std::cmp::Reverse<usize> },
    Begin { ends: std::cmp::Reverse<usize> },
}

struct Planter<'a> {
    source: &'a str,
    /// By where they begin.
    faults: BTreeMap<(usize, Genre), Vec<(u32, &'a Fault)>>,
    edits: Vec<Edit>,
    senseless: Vec<u32>,
}

impl<'a> Planter<'a> {
    fn text(&self, node: Range<usize>) -> &'a str {
        self.source.get(node).unwrap_or_default()
    }

    fn taken(&mut self, start: usize, genre: Genre) -> Vec<(u32, &'a Fault)> {
        self.faults.remove(&(start, genre)).unwrap_or_default()
    }

    /// Puts texts before a node, each fault's between those of `around`.
    fn begin(&mut self, node: &Range<usize>, around: [&str; 2], faults: &[(u32, String)]) {
        let [before, after] = around;
        let mut text = String::new();
        let mut places = Vec::new();
        for (number, fault) in faults {
            text += &before.replace("{}", &chosen(*number));
            places.push((*number, text.len()..text.len() + fault.len()));
            text += fault;
            text += after;
        }
        self.edits.push(Edit {
            at: node.start..node.start,
            rank: Rank::Begin {
                ends: std::cmp::Reverse(node.end),
            },
            text,
            faults: places,
        });
    }

    /// Makes a node a choice between itself and its faulty forms.
    fn choose(&mut self, node: &Range<usize>, faults: &[(u32, String)]) {
        if faults.is_empty() {
            return;
        }
        self.begin(node, ["(if {} { ", " } else { "], faults);
        let ends = " })".repeat(faults.len());
        self.edits.push(Edit {
            at: node.end..node.end,
            rank: Rank::End {
                began: std::cmp::Reverse(node.start),
            },
            text: ends,
            faults: Vec::new(),
        });
    }

    /// Plants what replaces a body, and then what is inside. A function that chooses is not constant.
    fn function(
        &mut self,
        signature: &syn::Signature,
        block: &syn::Block,
        inside: impl FnOnce(&mut Self),
    ) {
        let before = self.edits.len();
        let known = !self
            .text(signature.output.span().byte_range())
            .contains("impl ");
        if let (Some(first), true) = (block.stmts.first(), known) {
            let body = first.span().byte_range().start..block.span().byte_range().end;
            let faults = self.taken(body.start, Genre::FnValue);
            let values = faults
                .into_iter()
                .map(|(n, fault)| (n, fault.replacement.clone()));
            let values: Vec<(u32, String)> = values.collect();
            if !values.is_empty() {
                self.begin(&body, ["if {} { return ", "; } "], &values);
            }
        }
        inside(self);
        if let (Some(constant), true) = (&signature.constness, self.edits.len() > before) {
            let at = constant.span().byte_range();
            let ends = std::cmp::Reverse(at.end);
            self.edits.push(Edit {
                at,
                rank: Rank::Begin { ends },
                text: String::new(),
                faults: Vec::new(),
            });
        }
    }

    /// Applies the edits in the order of their places.
    fn written(mut self) -> Planted {
        self.edits
            .sort_by(|a, b| (a.at.start, &a.rank).cmp(&(b.at.start, &b.rank)));
        let (mut text, mut places, mut done) = (String::new(), Vec::new(), 0);
        for edit in self.edits {
            text += self.source.get(done..edit.at.start).unwrap_or_default();
            let moved = |part: Range<usize>| part.start + text.len()..part.end + text.len();
            let faults = edit.faults.into_iter();
            places.extend(faults.map(|(number, part)| (number, moved(part))));
            text += &edit.text;
            done = edit.at.end;
        }
        text += self.source.get(done..).unwrap_or_default();
        Planted {
            text,
            places,
            senseless: self.senseless,
        }
    }
}

impl<'ast> Visit<'ast> for Planter<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block, |all| {
            visit::visit_item_fn(all, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block, |all| {
            visit::visit_impl_item_fn(all, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block, |all| {
                visit::visit_trait_item_fn(all, item);
            });
        }
    }

    /// A constant is the same in every process.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type_array(&mut self, _: &'ast syn::TypeArray) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let faults = self.taken(binary.op.span().byte_range().start, Genre::BinaryOperator);
        if binds(&binary.left) || binds(&binary.right) {
            // What it binds is bound in a chain of `&&` only.
            self.senseless
                .extend(faults.iter().map(|(number, _)| number));
        } else {
            let [left, right] =
                [&binary.left, &binary.right].map(|side| self.text(side.span().byte_range()));
            let faulty = |(number, fault): (u32, &Fault)| {
                (number, format!("({left}) {} ({right})", fault.replacement))
            };
            let faults: Vec<(u32, String)> = faults.into_iter().map(faulty).collect();
            self.choose(&binary.span().byte_range(), &faults);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let node = unary.span().byte_range();
        let inner = self.text(unary.expr.span().byte_range()).to_owned();
        let faults = self.taken(node.start, Genre::UnaryOperator);
        let faulty = |(number, _): (u32, &Fault)| (number, inner.clone());
        let faults: Vec<(u32, String)> = faults.into_iter().map(faulty).collect();
        self.choose(&node, &faults);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let gone = self.taken(arm.span().byte_range().start, Genre::MatchArm);
        let end = arm.pat.span().byte_range().end;
        for (number, _) in gone {
            let unless = format!(" if !{}", chosen(number));
            self.begin(&(end..end), ["", ""], &[(number, unless)]);
        }
        if let Some((_, guard)) = &arm.guard {
            let node = guard.span().byte_range();
            let faults = self.taken(node.start, Genre::MatchArmGuard).into_iter();
            let faulty = |(number, fault): (u32, &Fault)| (number, fault.replacement.clone());
            let faults: Vec<(u32, String)> = faults.map(faulty).collect();
            self.choose(&node, &faults);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, value: &'ast syn::ExprStruct) {
        let node = value.span().byte_range();
        let mut faults = Vec::new();
        for field in &value.fields {
            let start = field.span().byte_range().start;
            for (number, fault) in self.taken(start, Genre::StructField) {
                let part = start..byte(self.source, fault.span.end);
                faults.push((number, cut(self.source, node.clone(), part, "")));
            }
        }
        self.choose(&node, &faults);
        visit::visit_expr_struct(self, value);
    }
}

/// Whether the process has the fault.
fn chosen(number: u32) -> String {
    format!("crate::planted::is({number})")
}

/// Is it a `let` in a chain?
fn binds(side: &syn::Expr) -> bool {
    if let syn::Expr::Binary(binary) = side {
        return binds(&binary.left) || binds(&binary.right);
    }
    matches!(side, syn::Expr::Let(_))
}
