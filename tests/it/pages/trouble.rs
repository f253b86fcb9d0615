//! The chapters for trouble of `docs/operate.md` do what they say: backup, drill, a refused start, a
//! full disk, another machine.
//!
//! Here: their shell blocks as they stand, on a small machine of its own: the paths of the unit lie in
//! a directory, and `sudo`, `systemctl` and what else needs an operator's machine are functions of the
//! shell that the blocks run in. Between the chapters it is damaged, and asked what it knows. Not here:
//! what an export holds (`backup`), how a full disk behaves (`disk`).

use std::process::Command;

use super::{OPERATE, blocks, part};

/// What stands in for the operator's machine. The paths in it are replaced as those of the blocks are.
const MACHINE: &str = r#"
set -eu
declare -A running
sudo() { if [ "$1" = -u ]; then shift 2; fi; "$@"; }
interlock() { "$INTERLOCK" "$@"; }
chown() { :; }
install() {
  local words=()
  while [ $# -gt 0 ]; do
    case "$1" in -o|-g) shift 2 ;; *) words+=("$1"); shift ;; esac
  done
  command install "${words[@]}"
}
unit_start() {
  local unit=$1; shift
  "$INTERLOCK" "$@" >"$ROOT/$unit.out" 2>&1 &
  running[$unit]=$!
}
unit_stop() {
  kill "${running[$1]}"
  wait "${running[$1]}"
  unset "running[$1]"
}
systemctl() {
  local verb=$1 unit=${!#}
  case "$verb" in
    start|enable) unit_start "$unit" serve --data /var/lib/interlock/data --listen 127.0.0.1:0 ;;
    stop|disable) if [ -n "${running[$unit]-}" ]; then unit_stop "$unit"; fi ;;
    *) echo "no systemctl $verb" >&2; exit 1 ;;
  esac
}
systemd-run() {
  local unit=${1#--unit=}
  expect "$2" --uid=interlock
  expect "$3" /usr/local/bin/interlock
  shift 3
  unit_start "$unit" "$@"
}
# Nothing until it listens; the blocks ask until they are answered.
url() { sed -n 's/^listening \(http[^ ]*\).*/\1/p' "$ROOT/$1.out"; }
curl() {
  local unit words=() word
  for word in "$@"; do
    case "$word" in
      http://127.0.0.1:7440/*) unit=interlock ;;
      http://127.0.0.1:7441/*)
        unit=interlock-drill
        if [ -n "${running[interlock-once]-}" ]; then unit=interlock-once; fi ;;
      *) words+=("$word"); continue ;;
    esac
    kill -0 "${running[$unit]}" || { cat "$ROOT/$unit.out" >&2; exit 1; }
    words+=("$(url "$unit")/${word#http://127.0.0.1:744?/}")
  done
  command curl "${words[@]}"
}
expect() { if [ "$1" != "$2" ]; then echo "$1 is not $2" >&2; exit 1; fi; }
ready() { until curl -fsS http://127.0.0.1:7440/readyz; do sleep 0.1; done; }
reserve() {
  expect "$3" "$(command curl -sS -o "$ROOT/answer" -w '%{http_code}' -H "Authorization: Bearer $KEY" \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $1-$2" \
    "$(url interlock)/v1/coordination/effects" -d "{\"effect_key\": \"$1\", \"kind\": \"filing\"}")"
}
damage_day() {
  local day code=0 told
  for day in /var/lib/interlock/data/log/history/*/; do
    head -c 90000 /dev/zero | tr '\0' x > "$day/db"
  done
  told=$(interlock serve --data /var/lib/interlock/data --listen 127.0.0.1:0 2>&1) || code=$?
  expect 6 "$code"
  case "$told" in *"only reports of that day"*--accept-truncation*) ;; *) echo "$told" >&2; exit 1 ;; esac
}
damage() {
  truncate --size 100 /var/lib/interlock/data/log/db
  local code=0
  interlock serve --data /var/lib/interlock/data --listen 127.0.0.1:0 || code=$?
  expect 6 "$code"
}
trap 'kill $(jobs -p) 2>/dev/null' EXIT
systemctl start interlock
ready
KEY=$(sed -n 's/^  source key *//p' "$ROOT/interlock.out")
"#;

/// The shell blocks from one heading of the page to another.
fn chapter(from: &str, to: &str) -> Vec<&'static str> {
    let blocks = blocks(part(OPERATE, from, to)).into_iter();
    let shell = blocks.filter(|(language, _)| *language == "sh");
    shell.map(|(_, text)| text).collect()
}

/// Runs blocks, and what the test does between them, as one script on a machine.
fn run(steps: &[&str]) {
    let root = tempfile::tempdir().expect("a directory for a test");
    for place in ["var/lib/interlock", "etc/interlock"] {
        std::fs::create_dir_all(root.path().join(place)).expect("a directory for a test");
    }
    let home = root.path().display().to_string();
    let script = [&[MACHINE], steps].concat().join("\n");
    let script = script
        .replace("/var/lib/interlock", &format!("{home}/var/lib/interlock"))
        .replace("/etc/interlock", &format!("{home}/etc/interlock"))
        .replace("--listen 127.0.0.1:7441", "--listen 127.0.0.1:0");
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("ROOT", root.path())
        .env("INTERLOCK", env!("CARGO_BIN_EXE_interlock"))
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn backup_drill_restoring_and_moving_run_as_written() {
    let backup = chapter("## Backup", "\n## Restoring").join("\n");
    let drill = chapter("## Restoring", "\n## A start was refused").join("\n");
    let first = chapter("## A start was refused", "\n### From a copy").join("\n");
    let import = chapter("### From an export", "\n### Without what").join("\n");
    let moving = chapter("## Moving to another machine", "\n## What is kept");
    let [away, here] = moving.as_slice() else {
        panic!("what is done on the old machine, and on the new one: {moving:?}");
    };
    run(&[
        "reserve before first 201",
        &backup,
        "reserve after first 201",
        &drill,
        "systemctl stop interlock\ndamage",
        &first,
        &import,
        // What was answered after the export is forgotten, and only that.
        "ready\nreserve before again 409\nreserve after again 201",
        away,
        "mv /var/lib/interlock/data /var/lib/interlock/the-old-machine",
        here,
        "reserve before moved 409\nreserve after moved 409",
    ]);
}

#[test]
fn a_refused_start_is_mended_from_a_copy_as_written() {
    let first = chapter("## A start was refused", "\n### From a copy").join("\n");
    let copy = chapter("### From a copy", "\n### From an export").join("\n");
    let look = chapter("## The disk is full", "\n## Moving").join("\n");
    let day = chapter("### A day of history", "\n## The disk").join("\n");
    run(&[
        "reserve before first 201\nsystemctl stop interlock",
        "cp -a /var/lib/interlock/data /var/lib/interlock/copy\ndamage",
        &first,
        &copy,
        "ready\nreserve before again 409\nmkdir -p /var/lib/interlock/backup",
        &look,
        "systemctl stop interlock\ndamage_day",
        &day,
        "ready\nreserve before again 409\nsystemctl stop interlock",
        "interlock verify --data /var/lib/interlock/data\nsystemctl start interlock",
    ]);
}
