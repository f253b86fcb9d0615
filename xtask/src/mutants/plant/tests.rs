//! Small sources with faults: what they do, compiled and run, and where the faults lie.

use super::*;
use crate::shell;

/// Prints what each function answers.
const PROGRAM: &str = r#"mod planted;

#[derive(Default, Debug)]
struct Two {
    a: u8,
    b: u8,
}

const fn seven() -> u8 {
    7
}

fn sums(é: u8, b: u8) -> u8 {
    let mut sum = é - 1 /* ä */ + b * 2;
    sum += 1;
    sum
}

fn both(a: bool, b: bool, c: Option<u8>) -> bool {
    if let Some(1) = c && a {
        return false;
    }
    a && !b
}

fn matched(n: u8) -> &'static str {
    match n {
        1 => "one",
        2 if n > 9 => "two",
        _ => "many",
    }
}

fn two() -> Two {
    Two {
        a: seven() - 4,
        ..Two::default()
    }
}

const LIMIT: u8 = 2 | 4;

fn upto() -> impl Iterator<Item = u8> {
    0..LIMIT
}

fn main() {
    let two = two();
    print!("{} {} {} ", seven(), sums(3, 2), both(true, false, None));
    print!("{} {} {}{} {}", matched(1), matched(2), two.a, two.b, upto().count());
}
"#;

/// The fault that replaces a part of the program that is there once.
fn fault(genre: Genre, part: &str, replacement: &str) -> Fault {
    let (before, after) = PROGRAM.split_once(part).expect("it is there");
    assert!(!after.contains(part), "{part} is there once");
    let place = |text: &str| Place {
        line: text.matches('\n').count() + 1,
        column: text.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
    };
    Fault {
        name: format!("{part} becomes {replacement}"),
        file: "program.rs".to_owned(),
        span: Span {
            start: place(before),
            end: place(&format!("{before}{part}")),
        },
        replacement: replacement.to_owned(),
        genre,
    }
}

/// Each fault, and what the program prints that has it.
fn faults() -> Vec<(Fault, &'static str)> {
    use Genre::{BinaryOperator, FnValue, MatchArm, MatchArmGuard, StructField, UnaryOperator};
    vec![
        (fault(FnValue, "7\n", "9"), "9 7 true one many 50 6"),
        (fault(BinaryOperator, "+ b", "*"), "7 9 true one many 30 6"),
        (fault(BinaryOperator, "* 2", "/"), "7 4 true one many 30 6"),
        (
            fault(BinaryOperator, "+= 1", "-="),
            "7 5 true one many 30 6",
        ),
        (
            fault(BinaryOperator, "&& !", "||"),
            "7 7 true one many 30 6",
        ),
        (fault(UnaryOperator, "!b", ""), "7 7 false one many 30 6"),
        (
            fault(MatchArm, "1 => \"one\",", ""),
            "7 7 true many many 30 6",
        ),
        (
            fault(MatchArmGuard, "n > 9", "true"),
            "7 7 true one two 30 6",
        ),
        (fault(BinaryOperator, "> 9", "<"), "7 7 true one two 30 6"),
        (
            fault(StructField, "a: seven() - 4,", ""),
            "7 7 true one many 00 6",
        ),
        (fault(BinaryOperator, "- 4", "+"), "7 7 true one many 110 6"),
    ]
}

#[test]
fn a_program_has_the_fault_it_is_given_and_none_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let faults = faults();
    let numbered: Vec<(u32, &Fault)> = (1..).zip(faults.iter().map(|(fault, _)| fault)).collect();
    let planted = plant(PROGRAM, &numbered).expect("it parses");
    assert_eq!(planted.places.len(), faults.len());
    let source = folder.path().join("program.rs");
    std::fs::write(&source, &planted.text).expect("a file");
    std::fs::write(folder.path().join("planted.rs"), MODULE).expect("a file");
    let mut compiler = shell::command("rustc", ["--edition=2024", "-Awarnings"]);
    let binary = folder.path().join("program");
    compiler.arg(&source).arg("-o").arg(&binary);
    shell::read(&mut compiler).expect("it compiles");
    let run = |number: u32| {
        let mut program = shell::command(&binary, [""; 0]);
        shell::read(program.env(VARIABLE, number.to_string())).expect("it runs")
    };
    assert_eq!(run(0), "7 7 true one many 30 6");
    for ((number, fault), (_, prints)) in numbered.iter().zip(&faults) {
        assert_eq!(run(*number), *prints, "{}", fault.name);
    }
}

#[test]
fn no_line_moves_and_a_place_is_where_its_fault_is() {
    let fault = fault(Genre::BinaryOperator, "+ b", "*");
    let planted = plant(PROGRAM, &[(8, &fault)]).expect("it parses");
    assert_eq!(planted.text.lines().count(), PROGRAM.lines().count());
    let (number, place) = planted.places.first().expect("it is planted").clone();
    let text = planted.text.get(place);
    assert_eq!((number, text), (8, Some("(é - 1) * (b * 2)")));
}

#[test]
fn what_only_a_build_can_choose_is_left_and_replaced_alone() {
    let bound = fault(Genre::BinaryOperator, "&& a {", "||");
    let constant = fault(Genre::BinaryOperator, "| 4", "^");
    let typed = fault(Genre::FnValue, "0..LIMIT", "std::iter::empty()");
    let all = [(1, &bound), (2, &constant), (3, &typed)];
    let planted = plant(PROGRAM, &all).expect("it parses");
    assert_eq!(planted.text, PROGRAM);
    assert_eq!(planted.senseless, [1]);
    assert!(replaced(PROGRAM, &typed).contains("{\n    std::iter::empty()\n}"));
}
