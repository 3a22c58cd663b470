//! The sources of the two shell programs: the keeper, which owns the stream, and the worker, which runs the commands.

use super::marker::Flavour;

/// What stands in the sources for the nonce, the state file, the word before a built-in, the kind of shell, and what only some have.
const NONCE: &str = "@N";
const STATE: &str = "@F";
const BUILTIN: &str = "@B";
const FLAVOUR: &str = "@S";
const PLAIN: &str = "@P";
/// What stands for [`GROWTH`].
const NUMBER: &str = "@G";
/// A place that holds so many more processes than before the last command may be filling up, by a bomb or a build in the background.
const GROWTH: u32 = 8;

/// The file that holds the state after the command of this number, beside the one of the command before: a worker that dies while it writes one leaves the
/// other whole. Each is written in place, since a file system may put a file on disk at once when it was cut to nothing first, and ends with a `return`
/// before the rest of a longer earlier state.
pub(super) fn state_file(state: &str, sequence: u64) -> String {
    format!("{state}{}", sequence & 1)
}

/// Text that gives a worker the state in a file. What bash wrote is no other shell's language.
pub(super) fn restore(file: &str, flavour: Flavour) -> String {
    let source = format!("command . '{}'", file.replace('\'', r"'\''"));
    match flavour {
        Flavour::Bash => source,
        Flavour::Sh | Flavour::Plain => format!(
            "declare() {{ shift; export \"$@\"; }}; {source}; _pm_x=$?; unset -f declare; [ \"$_pm_x\" = 0 ]"
        ),
    }
}

/// The first program: takes the stream away from descriptors 0, 1 and 2, and becomes the keeper.
const OPENING: &str = "exec 8<&0 9>&1 </dev/null 2>/dev/null; eval \"$1\"";

/// Arguments that start a keeper whose worker is bash where there is one, else sh; or, `plain`, a copy of the keeper itself.
pub(super) fn arguments(nonce: &str, state: &str, plain: bool) -> Vec<String> {
    // Single quotes around the path are the script's.
    let state = state.replace('\'', r"'\''");
    let worker = |builtin: &str, flavour: Flavour, number: &str| {
        include_str!("worker.sh")
            .replace(NONCE, nonce)
            .replace(STATE, &state)
            .replace(BUILTIN, builtin)
            .replace(FLAVOUR, flavour.name())
            .replace(PLAIN, number)
            .replace(NUMBER, &GROWTH.to_string())
    };
    let keeper = include_str!("keeper.sh")
        .replace(NONCE, nonce)
        .replace(PLAIN, if plain { "1" } else { "" });
    // Commands may define functions that are named like what the worker itself uses, and these are to live on. Also a syntax error ends dash and
    // busybox in a plain `eval`.
    let bash = worker("builtin", Flavour::Bash, ":");
    let sh = worker("command", Flavour::Sh, ":");
    // A copy's own number is not what it takes for it.
    let number = "IFS=' ' read -r _pm_m _pm_x </proc/self/stat";
    let copy = worker("command", Flavour::Plain, number);
    let words = [
        "/bin/sh", "-c", OPENING, "keeper", &keeper, &bash, &sh, &copy,
    ];
    words.map(str::to_owned).to_vec()
}
