//! The node without HTTP, short: with a log that keeps nothing and with one on disk, every new effect
//! is allowed. Nothing here is about speed.

use std::process::Command;

use serde_json::Value;

#[test]
fn the_node_answers_without_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("a path");
    let output = Command::new(env!("CARGO_BIN_EXE_interlock-load"))
        .args([
            "direct",
            "--batch",
            "20",
            "--shards",
            "2",
            "--requests",
            "12",
        ])
        .args(["--data", data, "--json"])
        .output()
        .expect("the built harness runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(output.status.code(), Some(0), "{told}\n{document}");
    for run in 0..2 {
        assert_eq!(document["runs"][run]["count"], 240, "{document}");
        assert_eq!(
            document["runs"][run]["faults"]["wrong_answers"], 0,
            "{document}"
        );
    }
    assert_eq!(
        document["words"].as_array().map(Vec::len),
        Some(1),
        "{document}"
    );
    assert_eq!(std::fs::read_dir(data).expect("a list").count(), 0);
}
