//! What a machine lets tests do.

use std::process::Command;

use super::missing;

/// Whether a program works here. Where `PATCHMILL_REQUIRE` names `what` it must; elsewhere the skip is loud.
///
/// # Panics
/// When it must and does not.
pub fn permitted(what: &str, program: &[&str]) -> bool {
    let tried = program
        .split_first()
        .map(|(name, arguments)| Command::new(name).args(arguments).output());
    if matches!(tried, Some(Ok(output)) if output.status.success()) {
        return true;
    }
    let problem = format!("`{}` does not work here", program.join(" "));
    missing(what, &problem);
    false
}
