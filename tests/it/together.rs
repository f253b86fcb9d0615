//! Several at one data directory, and things in it that are not what they should be.
//!
//! Here: starts, imports and `compact` that come together, in both orders, the first one stopped at a
//! step that matters; links and pipes in the place of files; what a cut-off import leaves. Not here: what
//! an export holds (`backup`), damage (`damage`).

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, fcntl_setfl, flock, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use crate::backup::bloated;
use crate::harness::{Server, Setup, until};
use crate::verbs::{Said, verb};

fn say(setup: &Setup, words: &str) -> Said {
    verb(setup, &words.split_whitespace().collect::<Vec<_>>())
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
}

/// A stopped node, an export of it in `export`, its secret in `kept`.
fn exported() -> Setup {
    let server = Setup::new().start();
    let setup = server.setup();
    say(&setup, "export --to export --without-secret").done();
    let home = setup.data().home();
    fs::copy(setup.data().path().join("secret"), home.join("kept")).expect("a copy");
    assert_eq!(server.terminate().code, Some(0));
    setup
}

/// Names in a directory; none when it is not there.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.flatten().map(name).collect();
    names.sort_unstable();
    names
}

fn start_in(setup: &Setup, data: &str) -> Setup {
    setup.clone().argument("--data").argument(data)
}

/// Takes a directory as a start, an import and `compact` do first of all.
fn taken(data: &Path) -> File {
    let file = File::open(data).expect("a directory");
    flock(&file, FlockOperation::NonBlockingLockExclusive).expect("nobody has it");
    file
}

/// The other end of a pipe, once somebody reads it.
fn writer(path: &Path) -> File {
    let file = until("a reader", || {
        let mut options = OpenOptions::new();
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("a flag");
        options.write(true).custom_flags(flags).open(path).ok()
    });
    fcntl_setfl(&file, OFlags::empty()).expect("a pipe");
    file
}

/// An import into `new` that has the directory, has made its part of it, and waits for its file.
struct Paused {
    child: Child,
    pipe: PathBuf,
    whole: PathBuf,
}

impl Paused {
    fn new(setup: &Setup) -> Self {
        let home = setup.data().home();
        let (at, whole) = (home.join("pipe"), home.join("export"));
        pipe(&at);
        let child = Command::new(env!("CARGO_BIN_EXE_interlock"))
            .current_dir(home)
            .args("import --data new --from pipe --secret kept".split(' '))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let paused = Self {
            child: child.expect("the built program runs"),
            pipe: at,
            whole,
        };
        // It judges the file first.
        let bytes = fs::read(&paused.whole).expect("an export");
        writer(&paused.pipe).write_all(&bytes).expect("a reader");
        until("the import", || {
            home.join("new/log.importing").exists().then_some(())
        });
        paused
    }

    /// Lets it go on to its end; answers its code.
    fn finish(mut self) -> Option<i32> {
        let mut file = writer(&self.pipe);
        let bytes = fs::read(&self.whole).expect("an export");
        // What it opens once more is the file itself.
        fs::rename(&self.whole, &self.pipe).expect("a name");
        file.write_all(&bytes).expect("a reader");
        drop(file);
        self.child.wait().expect("it has ended").code()
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const IMPORT: &str = "import --data new --from export --secret kept";

/// The second of two is refused before it makes anything, whichever the first is.
#[test]
fn beside_one_that_has_just_come_nothing_is_made() {
    let setup = exported();
    let new = setup.data().home().join("new");
    fs::create_dir(&new).expect("a directory");
    let first = taken(&new);
    let second = start_in(&setup, "new").start_refused();
    assert_eq!(second.code, Some(5), "{second:?}");
    assert!(second.refusal().contains("stop it, or name another"));
    let second = say(&setup, IMPORT);
    assert!(second.line(5).contains("in use"), "{second:?}");
    assert_eq!(names(&new), [""; 0]);
    drop(first);
    say(&setup, IMPORT).done();
}

#[test]
fn beside_an_import_a_start_and_another_import_end_with_5() {
    let setup = exported();
    let new = setup.data().home().join("new");
    let first = Paused::new(&setup);
    let before = names(&new);
    assert_eq!(before, ["log.importing"]);
    let second = start_in(&setup, "new").start_refused();
    assert_eq!(second.code, Some(5), "{second:?}");
    assert!(say(&setup, IMPORT).line(5).contains("in use"));
    assert_eq!(names(&new), before);
    assert_eq!(first.finish(), Some(0));
    say(&setup, "verify --data new").done();
    start_in(&setup, "new").start();
}

#[test]
fn beside_a_server_an_import_ends_with_5_and_leaves_it_its_files() {
    let setup = exported();
    let server = start_in(&setup, "new").start();
    let new = setup.data().home().join("new");
    let files = || ["secret", "run"].map(|name| fs::read(new.join(name)).expect("a file"));
    let before = (names(&new), files()[0].clone());
    say(&setup, IMPORT).line(5);
    assert_eq!((names(&new), files()[0].clone()), before);
    // What it answers from here on is kept: its mark and its secret are the ones it has open.
    say(
        &setup,
        "keys create --data new --space default --source late --new-source",
    )
    .done();
    let setup = server.kill();
    let server = setup.start();
    let keys = say(&setup, "keys list --data new --space default").done();
    assert!(keys.contains("late"), "{keys}");
    drop(server);
    assert!(say(&setup, IMPORT).line(10).contains("a node already"));
}

#[test]
fn of_first_starts_that_come_together_one_is_ready_and_the_others_end_with_5() {
    let setup = Setup::new();
    let came: Vec<_> = std::thread::scope(|scope| {
        let each: Vec<_> = (0..3).map(|_| scope.spawn(|| setup.try_start())).collect();
        each.into_iter()
            .map(|one| one.join().expect("a start"))
            .collect()
    });
    let ready: Vec<&Server> = came.iter().flatten().collect();
    assert_eq!(ready.len(), 1, "{came:?}");
    for ended in came.iter().filter_map(|one| one.as_ref().err()) {
        assert_eq!(ended.code, Some(5), "{ended:?}");
        assert!(ended.refusal().contains("stop it, or name another"));
    }
}

/// Stops a `compact` in the middle; nothing when it was too quick.
fn stopped_compact(setup: &Setup) -> Option<Child> {
    let child = Command::new(env!("CARGO_BIN_EXE_interlock"))
        .current_dir(setup.data().home())
        .arg("compact")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.expect("the built program runs");
    let data = setup.data().path();
    until("a step of compact", || {
        let ended = child.try_wait().expect("it can be asked").is_some();
        (ended || data.join("log.compact").exists()).then_some(())
    });
    signal(&child, Signal::STOP);
    let ended = child.try_wait().expect("it can be asked");
    ended.is_none().then_some(child)
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // One that has ended and was not waited for takes it without a word.
    kill_process(pid.expect("a child has an id"), signal).ok();
}

#[test]
fn beside_a_compact_a_start_ends_with_5() {
    let (setup, _) = bloated();
    let mut child = until("a compact to stop", || stopped_compact(&setup));
    let second = setup.start_refused();
    let third = say(&setup, "verify");
    signal(&child, Signal::CONT);
    assert_eq!(child.wait().expect("it has ended").code(), Some(0));
    assert_eq!(second.code, Some(5), "{second:?}");
    assert!(second.refusal().contains("stop it, or name another"));
    third.line(5);
    setup.start();
}

/// Whatever works on a directory refuses a link or a pipe in it, by its name, and follows none.
#[test]
fn links_and_pipes_in_the_directory_are_refused() {
    let setup = exported();
    let data = setup.data().path();
    let away = setup.data().home().join("away");
    let all = |name: &str| {
        let refused = setup.start_refused();
        assert_eq!(refused.code, Some(10), "{name}: {refused:?}");
        let said = ["verify", "compact", "export --to x --without-secret"]
            .map(|words| say(&setup, words).line(10).to_owned());
        let import = IMPORT.replace("new", "data");
        let said = [
            said.to_vec(),
            vec![say(&setup, &import).line(10).to_owned()],
        ]
        .concat();
        for line in said.iter().chain([&refused.refusal().to_owned()]) {
            assert!(line.contains(&format!("`{name}` is ")), "{name}: {line}");
            assert!(line.contains("--data"), "{line}");
        }
    };
    for name in ["log", "log/db", "run", "secret"] {
        let path = data.join(name);
        fs::rename(&path, &away).expect("a name");
        symlink(&away, &path).expect("a link");
        all(name);
        assert!(path.is_symlink() && away.exists());
        fs::remove_file(&path).expect("a link");
        if name != "log" {
            pipe(&path);
            all(name);
            let kind = fs::symlink_metadata(&path).expect("a pipe").file_type();
            assert!(kind.is_fifo());
            fs::remove_file(&path).expect("a pipe");
        }
        fs::rename(&away, &path).expect("a name");
    }
    setup.start();
}

/// What a killed import leaves, whichever step it came to, is told with a command that leads out, by a
/// start too, and a start makes nothing beside it.
#[test]
fn a_cut_off_import_leaves_a_way_out() {
    let setup = exported();
    let new = setup.data().home().join("new");
    for files in [&[][..], &["run"], &["run", "secret"]] {
        fs::create_dir_all(new.join("log.importing/blobs")).expect("a directory");
        for file in files {
            fs::copy(setup.data().path().join(file), new.join(file)).expect("a copy");
        }
        let before = names(&new);
        let started = start_in(&setup, "new").start_refused();
        assert_eq!(started.code, Some(10), "{started:?}");
        assert_eq!(names(&new), before);
        let again = say(&setup, IMPORT);
        for line in [started.refusal(), again.line(10)] {
            let (_, way) = line.split_once("import again: ").expect("a way out");
            assert!(way.starts_with("rm -r "), "{way}");
        }
        let (_, way) = again.stderr.split_once("import again: ").expect("a way");
        let done = Command::new("sh")
            .current_dir(setup.data().home())
            .args(["-c", way])
            .status();
        assert!(done.expect("a shell").success(), "{way}");
        say(&setup, IMPORT).done();
        assert_eq!(start_in(&setup, "new").start().terminate().code, Some(0));
        fs::remove_dir_all(&new).expect("a directory");
    }
}

/// A log that is gone is told before anything is made in its place.
#[test]
fn a_log_that_is_gone_is_told_and_nothing_is_made() {
    let setup = exported();
    let data = setup.data().path();
    fs::remove_dir_all(data.join("log")).expect("a log");
    fs::remove_file(data.join("reserve")).ok();
    for _ in 0..2 {
        let before = names(&data);
        let refused = setup.start_refused();
        assert_eq!(refused.code, Some(6), "{refused:?}");
        for part in ["put the log back", "interlock import", "--data"] {
            assert!(refused.refusal().contains(part), "{refused:?}");
        }
        assert_eq!(names(&data), before);
        fs::remove_file(data.join("run")).ok();
    }
}
