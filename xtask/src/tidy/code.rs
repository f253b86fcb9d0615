//! Rules of Rust files: what may not be shared, called, left over or misnamed.

use super::Fault;
use super::exceptions::Exceptions;
use super::source::Source;

/// Words that a part of the house may not use.
struct Ban {
    /// Its name in `xtask/tidy.toml`.
    rule: &'static str,
    folders: &'static [&'static str],
    words: &'static [&'static str],
    why: &'static str,
    tests_too: bool,
}

const BANS: [Ban; 5] = [
    Ban {
        rule: "shared",
        folders: &["domain/", "actors/"],
        words: &[
            "Mutex",
            "RwLock",
            "Condvar",
            "DashMap",
            "DashSet",
            "SkipMap",
            "SkipSet",
            "ArcSwap",
            "parking_lot",
            "scc",
            "papaya",
        ],
        why: "state belongs to one owner; others send a message",
        tests_too: false,
    },
    Ban {
        rule: "files",
        folders: &["actors/"],
        words: &[
            "std::fs",
            "fs::File",
            "File::open",
            "File::create",
            "OpenOptions",
            "sync_data",
        ],
        why: "no file call runs on a shard; storage does it, on threads of its own",
        tests_too: false,
    },
    Ban {
        rule: "pure",
        folders: &["domain/"],
        words: &[
            "SystemTime",
            "Instant",
            "std::thread",
            "std::fs",
            "std::net",
            "std::env",
            "HashMap",
            "HashSet",
            "async",
            "getrandom",
            "thread_rng",
        ],
        why: "the domain has no clock, randomness, threads or IO, and its maps are ordered",
        tests_too: false,
    },
    Ban {
        rule: "products",
        folders: &["actors/"],
        words: &[
            "interlock_domain::contact",
            "interlock_domain::fleet",
            "interlock_domain::project",
        ],
        why: "actors are generic over the machine contract and name no product",
        tests_too: false,
    },
    Ban {
        rule: "routes",
        folders: &["api/", "src/"],
        words: &[
            "App::new",
            "ServiceConfig",
            "Resource::new",
            "Scope::new",
            "web::resource",
            "web::scope",
            "web::route",
            "web::method",
            "web::get",
            "web::head",
            "web::post",
            "web::put",
            "web::patch",
            "web::delete",
        ],
        why: "a route is registered by `api/src/router.rs` alone, which lists it for the test of all routes",
        tests_too: false,
    },
];

/// Left-overs, in code.
const LEFT_OVERS: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];
/// Left-overs, in comments as well; put together here so that this file has none.
const LEFT_OVER_NOTES: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const SLEEPS: [&str; 2] = ["thread::sleep", "time::sleep"];
const EMPTY_NAMES: [&str; 6] = ["mod", "utils", "util", "common", "helpers", "misc"];

/// All rules on one file.
pub(super) fn check(source: &Source, exceptions: &Exceptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    for ban in &BANS {
        faults.extend(banned(source, ban, exceptions));
    }
    faults.extend(header(source));
    faults.extend(name(source));
    faults.extend(left_overs(source));
    faults.extend(sleeping_tests(source, exceptions));
    faults
}

fn banned(source: &Source, ban: &Ban, exceptions: &Exceptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !ban
        .folders
        .iter()
        .any(|folder| source.path.starts_with(folder))
    {
        return faults;
    }
    for word in ban.words {
        for line in source.lines_with(word) {
            let exempt = source.is_test(line) && !ban.tests_too;
            if !exempt && !exceptions.allow(ban.rule, &source.path, word) {
                let what = format!("{word} ({}): {}", ban.rule, ban.why);
                faults.push(Fault::new(&source.path, line, what));
            }
        }
    }
    faults
}

fn header(source: &Source) -> Option<Fault> {
    let first = source.text.lines().find(|line| !line.trim().is_empty())?;
    let missing = !first.starts_with("//!");
    missing.then(|| Fault::new(&source.path, 1, "no `//!` header that says what is here"))
}

fn name(source: &Source) -> Option<Fault> {
    let file = source.path.rsplit('/').next()?.strip_suffix(".rs")?;
    let folder_named = source
        .path
        .split('/')
        .rev()
        .skip(1)
        .any(|part| EMPTY_NAMES.contains(&part) && part != "mod");
    let empty = EMPTY_NAMES.contains(&file) || folder_named;
    empty.then(|| {
        Fault::new(
            &source.path,
            0,
            "a name that says nothing of what is inside",
        )
    })
}

fn left_overs(source: &Source) -> Vec<Fault> {
    let fault = |line, word: &str| Fault::new(&source.path, line, format!("left over: {word}"));
    let mut faults = Vec::new();
    for word in LEFT_OVERS {
        faults.extend(
            source
                .lines_with(word)
                .into_iter()
                .map(|line| fault(line, word)),
        );
    }
    for (index, line) in source.text.lines().enumerate() {
        let noted = LEFT_OVER_NOTES.iter().find(|word| line.contains(*word));
        faults.extend(noted.map(|word| fault(index + 1, word)));
    }
    for (index, line) in source.code.lines().enumerate() {
        if line.contains("#[ignore") {
            faults.push(Fault::new(
                &source.path,
                index + 1,
                "an ignored test is no test",
            ));
        }
    }
    faults
}

fn sleeping_tests(source: &Source, exceptions: &Exceptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    for word in SLEEPS {
        for line in source.lines_with(word) {
            if source.is_test(line) && !exceptions.allow("sleep", &source.path, word) {
                let what = format!("{word} in a test: wait for what should happen instead");
                faults.push(Fault::new(&source.path, line, what));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path, &format!("//! Header.\n{text}"));
        let found = check(&source, &Exceptions::default());
        found.into_iter().map(|fault| fault.to_string()).collect()
    }

    fn has(path: &str, text: &str, wanted: &str) -> bool {
        faults(path, text)
            .iter()
            .any(|fault| fault.contains(wanted))
    }

    #[test]
    fn shared_state_is_refused_in_domain_and_actors_alone() {
        for word in ["Mutex", "RwLock", "DashMap"] {
            let text = format!("use x::{word};");
            assert!(has("domain/src/a.rs", &text, "shared"), "{word}");
            assert!(has("actors/src/a.rs", &text, "shared"), "{word}");
            assert_eq!(faults("api/src/a.rs", &text), Vec::<String>::new());
        }
        assert!(!has("actors/src/a.rs", "// no Mutex here", "shared"));
        assert!(!has(
            "actors/src/a.rs",
            "#[cfg(test)]\nmod t { use x::Mutex; }",
            "shared"
        ));
    }

    #[test]
    fn an_exception_lets_one_word_of_one_file_pass() {
        let list = "[[allow]]\nrule = \"shared\"\npath = \"actors/src/a.rs\"\nword = \"Mutex\"\n\
                    reason = \"held before any shard starts\"\n";
        let exceptions = Exceptions::parse(list).expect("reads");
        let source = |path| Source::new(path, "//! H.\nuse x::Mutex;");
        assert_eq!(check(&source("actors/src/a.rs"), &exceptions), []);
        assert_eq!(check(&source("actors/src/b.rs"), &exceptions).len(), 1);
    }

    #[test]
    fn file_calls_clocks_and_products_stay_where_they_belong() {
        assert!(has("actors/src/a.rs", "std::fs::read(x);", "files"));
        assert!(!has("storage/src/a.rs", "std::fs::read(x);", "files"));
        assert!(has("domain/src/a.rs", "let x = Instant::now();", "pure"));
        assert!(has("domain/src/a.rs", "x: HashMap<u8, u8>", "pure"));
        assert!(!has("actors/src/a.rs", "x: HashMap<u8, u8>", "pure"));
        assert!(has(
            "actors/src/a.rs",
            "use interlock_domain::contact::Check;",
            "products"
        ));
    }

    #[test]
    fn left_overs_are_found_in_code_and_notes_also_in_comments() {
        assert!(has("a.rs", "fn a() { todo!() }", "left over"));
        assert!(has("a.rs", "fn a() { dbg!(1); }", "left over"));
        assert!(has(
            "a.rs",
            &format!("// {} later", LEFT_OVER_NOTES[0]),
            "left over"
        ));
        assert!(!has("a.rs", "// nothing is todo! here", "left over"));
        assert!(has(
            "a.rs",
            "#[test]\n#[ignore = \"slow\"]\nfn a() {}",
            "ignored"
        ));
    }

    #[test]
    fn tests_do_not_sleep() {
        let sleep = "fn a() { std::thread::sleep(x); }";
        assert!(has("tests/it/a.rs", sleep, "in a test"));
        assert!(has(
            "a.rs",
            &format!("#[cfg(test)]\nmod tests {{ {sleep} }}"),
            "in a test"
        ));
        assert!(!has("a.rs", sleep, "in a test"));
    }

    #[test]
    fn routes_are_registered_in_one_place() {
        let wanted = "is registered by `api/src/router.rs` alone";
        for code in [
            "fn f() { web::resource(1); }",
            "fn f(a: &mut web::ServiceConfig) {}",
            "fn f() { App::new(); }",
            "fn f() { web::get().to(f); }",
        ] {
            assert!(has("api/src/a.rs", code, wanted), "{code}");
            assert!(has("src/a.rs", code, wanted), "{code}");
            assert!(!has("api/tests/http/a.rs", code, wanted), "{code}");
        }
        assert!(!has(
            "api/src/a.rs",
            "fn f() { web::Data::new(1); }",
            wanted
        ));
    }

    #[test]
    fn names_and_headers() {
        assert!(has("a/src/mod.rs", "", "a name"));
        assert!(has("a/src/utils.rs", "", "a name"));
        assert!(has("tests/common/a.rs", "", "a name"));
        assert!(!has("a/src/model.rs", "", "a name"));
        let bare = Source::new("a.rs", "fn a() {}");
        assert_eq!(check(&bare, &Exceptions::default()).len(), 1);
    }
}
