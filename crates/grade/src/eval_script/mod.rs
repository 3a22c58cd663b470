//! The script that runs the tests, with marks that the tested code cannot forge.

mod recipe;

use std::borrow::Cow;

use schema::grading::GradingSpec;

pub(crate) use recipe::{Recipe, Tests, here_document};

use crate::log::{END, SCRIPT_EXIT, START, TEST_EXIT};

/// Makes the script that is run: the instance's own, between marks that carry a nonce, its standard error merged into its output so that
/// both keep their order, its input closed.
///
/// The script is one group, so bash has read all of it before the first test starts; feed it to bash through a pipe or an argument, never
/// through a file that the tests could read, and use a fresh nonce of letters and digits for each run. A script that has the official
/// harness's own marks keeps them where they are, with the nonce added. The exit code is that of the instance's script.
pub fn wrap(spec: &GradingSpec, nonce: &str) -> String {
    let script = with_newlines(&spec.eval_script);
    let mark = |mark: &str| format!("{mark} {nonce}");
    let marked = has_marks(&script);
    let body = if marked {
        let lines = script.split_inclusive('\n');
        lines.map(|line| with_nonce(line, nonce)).collect()
    } else {
        format!("printf '\\n%s\\n' '{}'\n{script}", mark(START))
    };
    // The whole script is the test command, so its exit code is that of the tests.
    let end = if marked {
        String::new()
    } else {
        let (end, exit) = (mark(END), mark(TEST_EXIT));
        format!("printf '\\n%s\\n%s: %s\\n' '{end}' '{exit}' \"$patchmill_code\"\n")
    };
    let exit = mark(SCRIPT_EXIT);
    format!(
        "#!/bin/bash\n{{\n(\n{body}\n\n)\npatchmill_code=$?\n{end}\
         printf '\\n%s: %s\\n' '{exit}' \"$patchmill_code\"\nexit \"$patchmill_code\"\n}} </dev/null 2>&1\n"
    )
}

/// The script without the carriage returns that a text editor gave all its lines. Those of some lines alone are part of a patch in it.
fn with_newlines(script: &str) -> Cow<'_, str> {
    let lines = || script.split_terminator('\n');
    if script.contains('\r') && lines().all(|line| line.ends_with('\r')) {
        return script.replace("\r\n", "\n").into();
    }
    script.into()
}

fn has_marks(script: &str) -> bool {
    let marked = |mark: &str| {
        script
            .lines()
            .any(|line| is_mark_line(line) && line.contains(mark))
    };
    marked(START) && marked(END)
}

/// Whether a line prints something: only there is a mark a mark, elsewhere it may be part of a test patch.
fn is_mark_line(line: &str) -> bool {
    let line = line.trim_start();
    [": ", "echo ", "printf "]
        .iter()
        .any(|command| line.starts_with(command))
}

fn with_nonce(line: &str, nonce: &str) -> String {
    if !is_mark_line(line) {
        return line.to_owned();
    }
    [START, END, TEST_EXIT]
        .iter()
        .fold(line.to_owned(), |line, mark| {
            line.replace(mark, &format!("{mark} {nonce}"))
        })
}
