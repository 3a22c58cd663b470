//! Container images that tests run in, built on demand by `scripts/images/build.sh`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::missing;

/// What this process has found or built.
static THERE: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The image called `name`, built first where it is missing: `base`, `busybox`, `empty`, `layout`, `layout-user`, `layout-app`, `pytest`, `awkward`, or `demo`, which is
/// the one of the demo's first row and stands for all of them. Tests of other processes that need the same image wait.
///
/// `None`, after saying so, where there is no engine or the image cannot be built; a panic instead where `PATCHMILL_REQUIRE` names `docker`.
pub fn docker_image(name: &str) -> Option<&'static str> {
    let (part, image) = named(name);
    let mut there = THERE.lock().unwrap_or_else(PoisonError::into_inner);
    if there.contains(&part) {
        return Some(image);
    }
    match build(part) {
        Ok(()) => {
            there.push(part);
            Some(image)
        }
        Err(problem) => {
            missing("docker", &problem);
            None
        }
    }
}

/// What the script calls it, and the image's own name, which is stable: rows and documents use it.
fn named(name: &str) -> (&'static str, &'static str) {
    match name {
        "base" => ("base", "patchmill-base:bookworm"),
        "busybox" => ("busybox", "patchmill-busybox:1"),
        "empty" => ("empty", "patchmill-empty:1"),
        "layout" => ("layout", "patchmill-layout:1"),
        "layout-user" => ("layout", "patchmill-layout-user:1"),
        "layout-app" => ("layout", "patchmill-layout-app:1"),
        "pytest" => ("pytest", "patchmill-pytest:1"),
        "awkward" => ("awkward", "patchmill-awkward:1"),
        "demo" => ("demo", "patchmill-demo:patchmill-demo__spanset-14"),
        other => panic!("no image is called {other}"),
    }
}

fn build(part: &str) -> Result<(), String> {
    let script = script();
    let output = Command::new("bash")
        .arg(&script)
        .args(["--missing", part])
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
