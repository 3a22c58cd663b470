//! What a machine lets tests do.

use std::process::Command;

/// Whether a program works here. Where `PATCHMILL_REQUIRE` names `what` it must; elsewhere the skip is loud.
///
/// # Panics
/// When it must and does not.
#[expect(clippy::print_stderr, reason = "a skip must be loud")]
pub fn permitted(what: &str, program: &[&str]) -> bool {
    let tried = program
        .split_first()
        .map(|(name, arguments)| Command::new(name).args(arguments).output());
    if matches!(tried, Some(Ok(output)) if output.status.success()) {
        return true;
    }
    let words = program.join(" ");
    let required = std::env::var("PATCHMILL_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == what),
        "{what} is required: `{words}` does not work here"
    );
    eprintln!("SKIPPED for {what}: `{words}` does not work here");
    false
}
