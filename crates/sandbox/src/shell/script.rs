//! The sources of the two shell programs: the keeper, which owns the stream, and the worker, which runs the commands.

/// What stands for the nonce, the state file and the word before a built-in in the sources.
const NONCE: &str = "@N";
const STATE: &str = "@F";
const BUILTIN: &str = "@B";

/// The file that holds the state after the command of this number, beside the one of the command before: a worker that dies while it writes one leaves the
/// other whole. Each is written in place, since a file system may put a file on disk at once when it was cut to nothing first, and ends with a `return`
/// before the rest of a longer earlier state.
pub(super) fn state_file(state: &str, sequence: u64) -> String {
    format!("{state}{}", sequence & 1)
}

/// The first program: takes the stream away from descriptors 0, 1 and 2, and becomes the keeper.
const OPENING: &str = "exec 8<&0 9>&1 </dev/null 2>/dev/null; eval \"$1\"";

/// Arguments that start a keeper whose worker is bash where there is one, else sh.
pub(super) fn arguments(nonce: &str, state: &str) -> Vec<String> {
    // Single quotes around the path are the script's.
    let state = state.replace('\'', r"'\''");
    let worker = |builtin| {
        include_str!("worker.sh")
            .replace(NONCE, nonce)
            .replace(STATE, &state)
            .replace(BUILTIN, builtin)
    };
    let keeper = include_str!("keeper.sh").replace(NONCE, nonce);
    // Commands may define functions that are named like what the worker itself uses, and these are to live on. Also a syntax error ends dash and
    // busybox in a plain `eval`.
    let (bash, sh) = (worker("builtin"), worker("command"));
    ["/bin/sh", "-c", OPENING, "keeper", &keeper, &bash, &sh]
        .map(str::to_owned)
        .to_vec()
}
