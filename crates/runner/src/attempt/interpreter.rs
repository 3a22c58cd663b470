//! Which interpreter the agent's shell finds first: where the image's environment did not come up, another one runs the tests.

use std::time::Duration;

use sandbox::{End, Kept, RunOptions, Sandbox};
use schema::Header;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::Life;
use super::context::Entry;

/// Asked in a subshell: nothing of it stays in the agent's. Images without Python answer nothing.
const QUESTION: &str = r#"(p=$(command -v python || command -v python3) && printf '%s\n' "$p" &&
"$p" -c 'import sys; print(sys.prefix); print(sys.version.split()[0])')"#;
/// How long the answer may take; a busy machine starts Python slowly.
const ANSWER: Duration = Duration::from_secs(20);
/// Bytes of the answer that are read.
const LENGTH: usize = 4096;

/// A Python and where it has its packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Interpreter {
    path: String,
    prefix: String,
    version: String,
}

impl Interpreter {
    /// The one that the agent's shell finds; `None` when there is none or it does not say what it is.
    async fn ask(sandbox: &Sandbox) -> Option<Self> {
        let options = RunOptions {
            timeout: ANSWER,
            kept: Kept {
                memory: LENGTH,
                stored: 0,
            },
            ..RunOptions::default()
        };
        let never = CancellationToken::new();
        let captured = sandbox.run(QUESTION, &options, &never).await.ok()?;
        if captured.end != End::Exited(0) {
            return None;
        }
        Self::read(&String::from_utf8_lossy(&captured.head))
    }

    fn read(said: &str) -> Option<Self> {
        // What a shell says on the way comes first.
        let mut lines = said.lines().rev();
        let mut line = || lines.next().map(str::to_owned);
        let (version, prefix, path) = (line()?, line()?, line()?);
        Some(Self {
            path,
            prefix,
            version,
        })
    }
}

impl Life<'_> {
    /// The interpreter, where an image or the user says how shells start; on the machine itself nothing is asked.
    pub(super) async fn interpreter(
        &self,
        entry: &Entry,
        sandbox: &Sandbox,
    ) -> Option<Interpreter> {
        let context = self.context;
        if context.image(entry).is_none() && context.shell_init(entry).is_empty() {
            return None;
        }
        let found = Interpreter::ask(sandbox).await;
        self.log.line(match &found {
            Some(found) => format!(
                "python {} at {}, prefix {}",
                found.version, found.path, found.prefix
            ),
            None => "no python is found".to_owned(),
        });
        found
    }

    /// Puts the image's name, where it is from, and the interpreter into the head of the trajectory.
    pub(super) fn record_image(
        &self,
        entry: &Entry,
        interpreter: Option<&Interpreter>,
        header: &mut Header,
    ) {
        let mut put = |name: &str, value: serde_json::Value| {
            header.environment.insert(name.to_owned(), value);
        };
        if let Some(image) = self.context.image(entry) {
            put("image", image.name.clone().into());
            put("image_origin", image.origin.to_string().into());
        }
        if let Some(interpreter) = interpreter
            && let Ok(value) = serde_json::to_value(interpreter)
        {
            put("interpreter", value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_three_lines_are_the_answer() {
        let read = Interpreter::read("hello\n/opt/env/bin/python\n/opt/env\n3.11.2\n").unwrap();
        assert_eq!(read.path, "/opt/env/bin/python");
        assert_eq!(read.prefix, "/opt/env");
        assert_eq!(read.version, "3.11.2");
        assert_eq!(Interpreter::read("3.11.2\n"), None);
    }
}
