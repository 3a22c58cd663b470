//! Bodies of requests kept as files, so that vendors' own types can judge them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::Captured;

/// Names the directory, which must exist; without it nothing is kept.
const VARIABLE: &str = "PATCHMILL_KEEP_BODIES";

/// Keeps the body of a request as `<last part of the path>-<process>-<number>.json`.
pub(crate) fn keep(request: &Captured) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Some(directory) = std::env::var_os(VARIABLE) else {
        return;
    };
    let path = request.path.split('?').next().unwrap_or_default();
    let call = path.rsplit('/').next().unwrap_or_default();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{call}-{}-{number}.json", std::process::id());
    std::fs::write(Path::new(&directory).join(name), &request.body).expect("keep a request's body");
}
