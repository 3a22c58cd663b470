//! What tests need and a machine may lack: a loud skip, or a failure where it is required.

/// Says that `problem` keeps the tests that need `what` from running here.
///
/// # Panics
/// Where `PATCHMILL_REQUIRE`, a list of words with commas between them, names it.
#[expect(clippy::print_stderr, reason = "a skip must be loud")]
pub fn missing(what: &str, problem: &str) {
    let required = std::env::var("PATCHMILL_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|word| word.trim() == what),
        "{what} is required: {problem}"
    );
    eprintln!("SKIPPED for {what}: {problem}");
}
