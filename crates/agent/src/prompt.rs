//! The system prompt and the first message, from templates.
//!
//! Templates see the task and the names of the tools, never a clock, a date or a random value: two runs send the same bytes.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use schema::Task;

use crate::tools::output;

/// Bytes of a problem statement that are shown, head and tail: many times the longest seen in SWE-bench Lite (23,000).
const MAX_STATEMENT: usize = 200_000;

/// Templates of the two texts that every conversation begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Templates {
    /// System prompt.
    pub system: String,
    /// First user message.
    pub prompt: String,
}

impl Default for Templates {
    fn default() -> Self {
        Self {
            system: include_str!("prompts/system.md").to_owned(),
            prompt: include_str!("prompts/task.md").to_owned(),
        }
    }
}

/// A template that cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[error("render the {which} template")]
pub struct Error {
    /// `system` or `prompt`.
    pub which: &'static str,
    /// What is wrong with it, with its line.
    #[source]
    pub source: minijinja::Error,
}

/// Renders both templates.
///
/// They may use `task.id`, `task.statement`, `task.workdir`, `task.images` and `tools` (names); any other variable is an error.
///
/// # Errors
/// Names the template that is wrong.
pub fn render(
    templates: &Templates,
    task: &Task,
    tools: &[&str],
) -> Result<(String, String), Error> {
    let context = context! {
        task => context! {
            id => task.id.as_str(),
            statement => statement(task),
            workdir => task.workdir.as_str(),
            images => Value::from(Serde(&task.images)),
        },
        tools => Value::from(Serde(tools)),
    };
    let text = |which, template: &str| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment
            .render_str(template, &context)
            .map_err(|source| Error { which, source })
    };
    Ok((
        text("system", &templates.system)?,
        text("prompt", &templates.prompt)?,
    ))
}

/// The statement, or as much of it as fits: a dataset can hold anything.
fn statement(task: &Task) -> String {
    let whole = task.statement.as_str();
    if whole.len() > MAX_STATEMENT {
        tracing::warn!(
            instance = %task.id,
            bytes = whole.len(),
            "the problem statement is cut to {MAX_STATEMENT} bytes"
        );
    }
    output::cut(whole.as_bytes(), &[], whole.len() as u64, MAX_STATEMENT)
}

impl Templates {
    /// Renders with a made-up task, so that a wrong template is found before anything starts.
    ///
    /// # Errors
    /// As [`render`].
    pub fn check(&self) -> Result<(), Error> {
        let task = Task {
            id: schema::InstanceId::new("example"),
            statement: "Example.".to_owned(),
            images: Vec::new(),
            workdir: "/repository".to_owned(),
        };
        render(self, &task, &["bash", "task_done"]).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(statement: &str) -> Task {
        Task {
            id: schema::InstanceId::new("a__b-1"),
            statement: statement.to_owned(),
            images: vec![],
            workdir: "/srv/repo".to_owned(),
        }
    }

    #[test]
    fn the_default_prompts_hold_the_task_and_nothing_that_changes() {
        let templates = Templates::default();
        let once = render(&templates, &task("Fix {{ it }} & <that>."), &["bash"]).unwrap();
        let again = render(&templates, &task("Fix {{ it }} & <that>."), &["bash"]).unwrap();
        assert_eq!(once, again);
        assert!(once.1.contains("Fix {{ it }} & <that>."), "{}", once.1);
        assert!(once.1.contains("/srv/repo"), "{}", once.1);
        // Four bytes a token: the tools have the other half of a thousand.
        assert!(once.0.len() < 2_000, "{}", once.0.len());
    }

    #[test]
    fn a_huge_statement_is_cut_and_says_so() {
        let huge = "word ".repeat(1_000_000);
        let (_, prompt) = render(&Templates::default(), &task(&huge), &[]).unwrap();
        assert!(prompt.len() < MAX_STATEMENT + 2_000, "{}", prompt.len());
        assert!(prompt.contains("4800000 bytes"), "what is missing is said");
    }

    #[test]
    fn an_unknown_variable_is_an_error_that_names_the_template() {
        let templates = Templates {
            prompt: "{{ task.statment }}".to_owned(),
            ..Templates::default()
        };
        let error = templates.check().unwrap_err();
        assert_eq!(error.which, "prompt");
        let templates = Templates {
            system: "{{ date }}".to_owned(),
            ..Templates::default()
        };
        assert_eq!(templates.check().unwrap_err().which, "system");
    }
}
