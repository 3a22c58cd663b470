//! Container images that tests run in, built on demand by `scripts/images/build.sh`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Names that were found or built by this process.
static THERE: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The image that the script calls `name` (`base`, `busybox`, …), built first where it is missing. Tests of other processes that need the same image wait.
///
/// `None`, after saying so, where there is no engine or the image cannot be built; a panic instead where `PATCHMILL_REQUIRE` names `docker`.
pub fn docker_image(name: &'static str) -> Option<&'static str> {
    let image = named(name);
    let mut there = THERE.lock().unwrap_or_else(PoisonError::into_inner);
    if there.contains(&name) {
        return Some(image);
    }
    match build(name) {
        Ok(()) => {
            there.push(name);
            Some(image)
        }
        Err(problem) => {
            let required = std::env::var("PATCHMILL_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|word| word.trim() == "docker"),
                "docker is required: {problem}"
            );
            skipped(&problem);
            None
        }
    }
}

/// The names are stable: they are written in rows and documents.
fn named(name: &str) -> &'static str {
    match name {
        "base" => "patchmill-base:bookworm",
        "busybox" => "patchmill-busybox:1",
        "empty" => "patchmill-empty:1",
        other => panic!("no image is called {other}"),
    }
}

fn build(name: &str) -> Result<(), String> {
    let script = script();
    let output = Command::new("bash")
        .arg(&script)
        .args(["--missing", name])
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", script.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/images/build.sh")
}

#[expect(clippy::print_stderr, reason = "a skip must be loud")]
fn skipped(problem: &str) {
    eprintln!("SKIPPED for docker: {problem}");
}
