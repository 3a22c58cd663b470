//! The tools on offer, and what a call to one of them means.

use std::fmt::Write as _;
use std::time::Duration;

use schema::ToolCall;
use serde_json::{Map, Value};

use super::action::{Action, Bash, Edit, EditCommand, Search, Thought};
use super::arguments::{Fields, Unreadable, nearest, read};
use super::specs;
use crate::ports::ToolSpec;

/// A tool that Patchmill has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolName {
    /// The shell.
    Bash,
    /// The edit tool.
    Edit,
    /// Searching files.
    Search,
    /// Noting thoughts.
    SequentialThinking,
    /// Saying that the work is done.
    TaskDone,
}

impl ToolName {
    /// Every tool, in the order of the default catalog.
    pub const ALL: [Self; 5] = [
        Self::Bash,
        Self::Edit,
        Self::Search,
        Self::SequentialThinking,
        Self::TaskDone,
    ];

    /// The name that the model uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Edit => "str_replace_based_edit_tool",
            Self::Search => "search",
            Self::SequentialThinking => "sequential_thinking",
            Self::TaskDone => "task_done",
        }
    }
}

impl std::str::FromStr for ToolName {
    type Err = UnknownTool;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|tool| tool.name() == name)
            .ok_or_else(|| UnknownTool {
                name: name.to_owned(),
                nearest: nearest(name, &Self::ALL.map(Self::name)),
            })
    }
}

/// A configured tool does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool `{name}`{}", nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownTool {
    /// Name as given.
    pub name: String,
    /// The tool with the most similar name.
    pub nearest: Option<&'static str>,
}

/// A call that was understood.
pub type Checked = Action;

/// A call that was not: what the model reads instead of a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Complaint {
    /// Text for the model.
    pub text: String,
    /// Whether the call could not even be read (no name, no JSON object): such replies count towards `max_format_errors`.
    pub unreadable: bool,
}

/// The tools of one attempt, in a fixed order.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    tools: Vec<ToolName>,
    specs: Vec<ToolSpec>,
    longest_timeout: Duration,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(&ToolName::ALL, &crate::limits::Limits::default())
    }
}

impl Catalog {
    /// Offers `tools` in the order given, each once. `task_done` is added where it is missing, since nothing completes without it.
    pub fn new(tools: &[ToolName], limits: &crate::limits::Limits) -> Self {
        let mut offered: Vec<ToolName> = Vec::new();
        for tool in tools.iter().chain(&[ToolName::TaskDone]) {
            if !offered.contains(tool) {
                offered.push(*tool);
            }
        }
        Self {
            specs: offered
                .iter()
                .map(|tool| specs::of(*tool, limits))
                .collect(),
            tools: offered,
            longest_timeout: limits.max_command_timeout,
        }
    }

    /// What the model is told about each tool.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Names in the order offered.
    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.name()).collect()
    }

    /// Whether the call names `task_done`, exactly.
    pub fn is_done(call: &ToolCall) -> bool {
        call.name == ToolName::TaskDone.name()
    }

    /// Reads a call. Nothing is ever run on a guess: a name must match exactly, cut arguments are never completed.
    ///
    /// # Errors
    /// What the model should do differently.
    pub fn check(&self, call: &ToolCall) -> Result<Checked, Complaint> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == call.name) else {
            return Err(self.unknown(&call.name));
        };
        let spec = self.specs.iter().find(|spec| spec.name == call.name);
        let signature = || spec.map(signature).unwrap_or_default();
        let map = read(&call.arguments).map_err(|error| Complaint {
            text: format!(
                "`{}` was not run: {}\n{}",
                call.name,
                unreadable(&error),
                signature()
            ),
            unreadable: true,
        })?;
        self.action(*tool, map).map_err(|problems| Complaint {
            text: format!(
                "`{}` was not run: {}.\n{}",
                call.name,
                problems.join("; "),
                signature()
            ),
            unreadable: false,
        })
    }

    fn unknown(&self, name: &str) -> Complaint {
        let names = self.names();
        let mut text = if name.trim().is_empty() {
            "The call names no tool, so nothing was run.".to_owned()
        } else {
            format!("There is no tool `{name}`, so nothing was run.")
        };
        if let Some(near) = nearest(name, &names) {
            let _ = write!(text, " Did you mean `{near}`?");
        }
        let _ = write!(text, " The tools are: {}.", names.join(", "));
        Complaint {
            text,
            unreadable: name.trim().is_empty(),
        }
    }

    fn action(&self, tool: ToolName, map: Map<String, Value>) -> Result<Action, Vec<String>> {
        let known = self
            .specs
            .iter()
            .find(|spec| spec.name == tool.name())
            .map(known_fields)
            .unwrap_or_default();
        let mut fields = Fields::new(unwrapped(map, &known));
        let action = match tool {
            ToolName::Bash => self.bash(&mut fields),
            ToolName::Edit => edit(&mut fields),
            ToolName::Search => search(&mut fields),
            ToolName::SequentialThinking => thought(&mut fields),
            // Whatever a model adds to the end of its work, it is the end of its work.
            ToolName::TaskDone => return Ok(Action::Done),
        };
        let problems = fields.finish(&known);
        if problems.is_empty() {
            Ok(action)
        } else {
            Err(problems)
        }
    }

    fn bash(&self, fields: &mut Fields) -> Action {
        let timeout = fields
            .optional_positive("timeout")
            .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(self.longest_timeout));
        if fields.optional_flag("restart") == Some(true) {
            fields.ignore("command");
            return Action::Bash(Bash::Restart);
        }
        let command = fields.plain_text("command");
        Action::Bash(Bash::Run { command, timeout })
    }
}

/// `{"arguments": {…}}` and its like, where the tool has no such field.
fn unwrapped(mut map: Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    if map.len() == 1 {
        for wrapper in ["arguments", "parameters", "input"] {
            if known.contains(&wrapper) || !map.get(wrapper).is_some_and(Value::is_object) {
                continue;
            }
            if let Some(Value::Object(inner)) = map.remove(wrapper) {
                return inner;
            }
        }
    }
    map
}

fn edit(fields: &mut Fields) -> Action {
    let name = fields.text("command");
    let path = fields.plain_text("path");
    if path.is_empty() {
        fields.complain("`path` must not be empty");
    }
    // Fields of other commands are let pass: models often send all of them.
    let file_text = fields.optional_text("file_text");
    let old = fields.optional_text("old_str");
    let new = fields.optional_text("new_str");
    let insert_text = fields.optional_text("insert_text");
    let after = fields.optional_whole("insert_line");
    let range = fields.optional_pair("view_range");
    let mut need = |value: Option<String>, field: &str| {
        value.unwrap_or_else(|| {
            fields.complain(format!("`{name}` needs `{field}`"));
            String::new()
        })
    };
    let command = match name.as_str() {
        "view" => EditCommand::View {
            range: view_range(fields, range),
        },
        "create" => EditCommand::Create {
            text: need(file_text, "file_text"),
        },
        "str_replace" => EditCommand::Replace {
            old: need(old, "old_str"),
            new: new.unwrap_or_default(),
        },
        "insert" => {
            let text = need(insert_text.or(new), "new_str");
            if after.is_none() {
                fields.complain("`insert` needs `insert_line`");
            }
            EditCommand::Insert {
                after: after.unwrap_or_default(),
                text,
            }
        }
        "undo_edit" => EditCommand::Undo,
        "" => EditCommand::View { range: None },
        other => {
            let near = nearest(other, &specs::EDIT_COMMANDS);
            let near = near.map(|near| format!(" (did you mean `{near}`?)"));
            fields.complain(format!(
                "`command` must be one of {}, not `{other}`{}",
                specs::EDIT_COMMANDS.join(", "),
                near.unwrap_or_default()
            ));
            EditCommand::Undo
        }
    };
    Action::Edit(Edit { path, command })
}

fn view_range(fields: &mut Fields, range: Option<(i64, i64)>) -> Option<(u64, Option<u64>)> {
    let (first, last) = range?;
    let start = u64::try_from(first).ok().filter(|first| *first > 0);
    let end = u64::try_from(last).ok();
    match (start, last, end) {
        (Some(start), -1, _) => Some((start, None)),
        (Some(start), _, Some(end)) if end >= start => Some((start, Some(end))),
        _ => {
            fields.complain(format!(
                "`view_range` [{first}, {last}] is no range: the first line counts from 1, the last must not come before it, and -1 as the last means the end of the file"
            ));
            None
        }
    }
}

fn search(fields: &mut Fields) -> Action {
    let pattern = fields.plain_text("pattern");
    if pattern.is_empty() {
        fields.complain("`pattern` must not be empty");
    }
    if pattern.contains('\n') {
        fields.complain("`pattern` must be one line");
    }
    let path = fields.optional_plain_text("path");
    let glob = fields.optional_plain_text("glob");
    let max_results = fields
        .optional_whole("max_results")
        .map_or(specs::SEARCH_RESULTS, |wanted| {
            u32::try_from(wanted).unwrap_or(u32::MAX)
        })
        .clamp(1, specs::MAX_SEARCH_RESULTS);
    Action::Search(Search {
        pattern,
        path: path.filter(|path| !path.is_empty()),
        glob: glob.filter(|glob| !glob.is_empty()),
        max_results,
    })
}

fn thought(fields: &mut Fields) -> Action {
    let thought = Thought {
        thought: fields.text("thought"),
        next_thought_needed: fields.flag("next_thought_needed"),
        thought_number: fields.whole("thought_number"),
        total_thoughts: fields.whole("total_thoughts"),
        // A zero stands for "none": models that must send every field send it.
        revises_thought: fields.optional_whole("revises_thought").filter(|n| *n > 0),
        branch_from_thought: fields
            .optional_whole("branch_from_thought")
            .filter(|n| *n > 0),
        branch_id: fields
            .optional_text("branch_id")
            .filter(|id| !id.is_empty()),
    };
    fields.optional_flag("is_revision");
    fields.optional_flag("needs_more_thoughts");
    for (name, number) in [
        ("thought_number", thought.thought_number),
        ("total_thoughts", thought.total_thoughts),
    ] {
        if number == 0 {
            fields.complain(format!("`{name}` must be at least 1"));
        }
    }
    Action::Think(thought)
}

fn unreadable(error: &Unreadable) -> String {
    match error {
        Unreadable::Truncated => "its arguments are cut off: the JSON ends before it is complete. Send the call again, whole; if the text is very long, do it in smaller parts.".to_owned(),
        Unreadable::Malformed(error) => {
            format!("its arguments are not valid JSON ({error}). Send one JSON object.")
        }
        Unreadable::NotAnObject(found) => {
            format!("its arguments must be one JSON object, not {found}.")
        }
    }
}

fn properties(spec: &ToolSpec) -> Option<&Map<String, Value>> {
    spec.parameters.get("properties")?.as_object()
}

fn known_fields(spec: &ToolSpec) -> Vec<&str> {
    properties(spec)
        .map(|fields| fields.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// The schema in one short line.
fn signature(spec: &ToolSpec) -> String {
    let required: Vec<&str> = spec
        .parameters
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let fields = properties(spec).map(|properties| {
        properties
            .iter()
            .map(|(name, schema)| {
                let optional = if required.contains(&name.as_str()) {
                    ""
                } else {
                    ", optional"
                };
                format!("\"{name}\": {}{optional}", type_of(schema))
            })
            .collect::<Vec<_>>()
            .join("; ")
    });
    format!(
        "Arguments of `{}`: {{{}}}",
        spec.name,
        fields.unwrap_or_default()
    )
}

fn type_of(schema: &Value) -> String {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join("|");
    }
    let name = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    match schema.get("items").map(type_of) {
        Some(items) => format!("{name} of {items}"),
        None => name.to_owned(),
    }
}
