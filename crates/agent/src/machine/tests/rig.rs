//! A machine with its log and the checks that hold after every event.

use std::sync::Arc;

use schema::event::{CheckVerdict, EffectId, ModelFailure, ToolRun};
use schema::message::check_pairing;
use schema::{
    Elapsed, Event, FinishReason, InstanceId, ModelFailureKind, Outcome, Reply, StopReason, Task,
    ToolCall, ToolResult, Turn, Usage,
};
use sha2::{Digest, Sha256};

use crate::catalog::Catalog;
use crate::condense::Window;
use crate::history::{Encode, tokens};
use crate::limits::Limits;
use crate::machine::{Effect, Input, Machine, Settings};
use crate::ports::{ELIDED_OUTPUT, Fragment, Head, Shape};

/// Encodes as readable text.
pub(super) struct PlainEncoder;

impl Encode for PlainEncoder {
    fn head(&self, head: &Head) -> Fragment {
        fragment(format!("{}\n{}\n", head.system, head.prompt))
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        fragment(match turn {
            Turn::User { text } => format!("user: {text}\n"),
            Turn::Assistant { reply, results } => {
                let mut text = format!("assistant: {}\n", reply.text);
                for (call, result) in reply.tool_calls.iter().zip(results) {
                    let content = match shape {
                        Shape::Full => &result.content,
                        Shape::Elided => ELIDED_OUTPUT,
                    };
                    text.extend([&call.id, ": ", content, "\n"]);
                }
                text
            }
        })
    }
}

pub(super) fn fragment(text: String) -> Fragment {
    Fragment {
        sha256: Sha256::digest(text.as_bytes()).into(),
        tokens: tokens(text.len()),
        bytes: text.into(),
    }
}

pub(super) fn machine(limits: Limits, window: Window) -> Machine {
    let catalog = Arc::new(Catalog::new(&crate::ToolName::ALL, &limits));
    Machine::new(Settings { limits, window }, catalog, Arc::new(PlainEncoder))
}

pub(super) struct Rig {
    pub(super) machine: Machine,
    pub(super) log: Vec<Event>,
    pub(super) at: Elapsed,
    limits: Limits,
    window: Window,
    /// Fed by the log alone.
    shadow: Machine,
}

impl Rig {
    pub(super) fn idle(limits: Limits, window: Window) -> Self {
        Self {
            machine: machine(limits.clone(), window),
            shadow: machine(limits.clone(), window),
            log: Vec::new(),
            at: Elapsed(0),
            limits,
            window,
        }
    }

    /// Started: the first query is out.
    pub(super) fn new(limits: Limits) -> Self {
        let mut rig = Self::idle(limits, Window::default());
        rig.start();
        rig
    }

    pub(super) fn start(&mut self) {
        self.feed(start());
    }

    pub(super) fn feed(&mut self, input: Input) -> &mut Self {
        let known = self.log.len();
        let log = &mut self.log;
        self.machine
            .advance(self.at, input, |event| {
                log.push(event.clone());
                Ok::<_, ()>(event)
            })
            .unwrap();
        for event in &self.log[known..] {
            self.shadow.apply(event);
        }
        self.check();
        self
    }

    /// What must hold between any two inputs.
    pub(super) fn check(&self) {
        assert_eq!(self.shadow, self.machine);
        check_pairing(self.machine.history().turns()).unwrap();
        self.check_alternation();
        let pending = self.machine.pending();
        assert!(pending.len() <= 1, "{pending:?}");
        let finishes = self
            .log
            .iter()
            .filter(|event| matches!(event, Event::Finished { .. }))
            .count();
        assert!(finishes <= 1);
        assert_eq!(finishes == 1, self.machine.outcome().is_some());
        if finishes == 1 {
            assert!(matches!(self.log.last(), Some(Event::Finished { .. })));
        }
    }

    /// A machine that was brought to the same point by the log alone.
    pub(super) fn folded(&self, events: usize) -> Machine {
        let mut folded = machine(self.limits.clone(), self.window);
        for event in &self.log[..events] {
            folded.apply(event);
        }
        folded
    }

    pub(super) fn effect(&self) -> Effect {
        self.machine.pending().pop().expect("something is pending")
    }

    pub(super) fn id(&self) -> EffectId {
        match self.effect() {
            Effect::Query { id, .. }
            | Effect::RunTool { id, .. }
            | Effect::RunChecks { id, .. } => id,
            Effect::Finish(outcome) => panic!("over: {outcome:?}"),
        }
    }

    pub(super) fn reply(&mut self, reply: Reply) -> &mut Self {
        let id = self.id();
        let reply = Box::new(reply);
        self.feed(Input::Reply { id, reply })
    }

    pub(super) fn fails(&mut self, kind: Option<ModelFailureKind>) -> &mut Self {
        let id = self.id();
        self.feed(Input::ModelFailed {
            id,
            failure: failure(kind),
        })
    }

    pub(super) fn tool(&mut self, content: &str) -> &mut Self {
        let id = self.id();
        self.feed(Input::ToolDone {
            id,
            run: run(content),
        })
    }

    pub(super) fn verdict(&mut self, verdict: CheckVerdict) -> &mut Self {
        let id = self.id();
        let verdicts = vec![verdict];
        self.feed(Input::Checked { id, verdicts })
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.machine.outcome()
    }

    pub(super) fn stopped(&self) -> Option<StopReason> {
        match self.outcome() {
            Some(Outcome::Stopped { reason }) => Some(*reason),
            _ => None,
        }
    }

    pub(super) fn asked(&self) -> usize {
        let asked = |event: &&Event| matches!(event, Event::Asked { .. });
        self.log.iter().filter(asked).count()
    }

    /// Two messages of ours never follow each other, and the view shows each turn once.
    fn check_alternation(&self) {
        let history = self.machine.history();
        let ours: Vec<bool> = history
            .turns()
            .map(|turn| matches!(turn, Turn::User { .. }))
            .collect();
        assert!(
            !ours.windows(2).any(|pair| pair == [true, true]),
            "{ours:?}"
        );
        assert_eq!(history.view().len(), ours.len());
    }

    pub(super) fn notes(&self) -> usize {
        let noted = |event: &&Event| matches!(event, Event::Nudged { .. });
        self.log.iter().filter(noted).count()
    }

    /// Answers and results in the order of the log, as `(call id, content)`.
    pub(super) fn answers(&self) -> Vec<(&str, &str)> {
        self.log
            .iter()
            .filter_map(|event| match event {
                Event::Answered { result }
                | Event::ToolDone {
                    run: ToolRun { result, .. },
                    ..
                } => Some((result.call_id.as_str(), result.content.as_str())),
                _ => None,
            })
            .collect()
    }

    /// Results of the last turn, in call order.
    pub(super) fn last_results(&self) -> Vec<ToolResult> {
        match self.machine.history().turns().last() {
            Some(Turn::Assistant { results, .. }) => results.clone(),
            other => panic!("no assistant turn: {other:?}"),
        }
    }
}

pub(super) fn start() -> Input {
    Input::Start {
        task: Task {
            id: InstanceId::new("a"),
            statement: "s".into(),
            images: vec![],
            workdir: "/w".into(),
        },
        system: "system".into(),
        prompt: "prompt".into(),
    }
}

pub(super) fn failure(kind: Option<ModelFailureKind>) -> ModelFailure {
    ModelFailure {
        kind,
        message: "failed".into(),
        retries: vec![],
        waited_ms: 0,
    }
}

pub(super) fn run(content: &str) -> ToolRun {
    ToolRun {
        result: ToolResult {
            call_id: "whatever".into(),
            content: content.into(),
            is_error: false,
        },
        exit_code: Some(0),
        timed_out: false,
        output_sha256: None,
        output_bytes: content.len() as u64,
        elapsed_ms: 1,
    }
}

pub(super) fn text(text: &str) -> Reply {
    Reply {
        text: text.into(),
        reasoning: None,
        tool_calls: vec![],
        finish_reason: FinishReason::Stop,
        usage: Usage::default(),
        model: None,
        raw: None,
        retries: vec![],
        elapsed_ms: 0,
        waited_ms: 0,
    }
}

pub(super) fn calls(calls: &[(&str, &str)]) -> Reply {
    let tool_calls = calls.iter().enumerate();
    Reply {
        tool_calls: tool_calls
            .map(|(position, (name, arguments))| ToolCall {
                id: format!("c{position}"),
                name: (*name).into(),
                arguments: (*arguments).into(),
            })
            .collect(),
        finish_reason: FinishReason::ToolCalls,
        ..text("")
    }
}

pub(super) const LS: (&str, &str) = ("bash", r#"{"command": "ls"}"#);
pub(super) const PWD: (&str, &str) = ("bash", r#"{"command": "pwd"}"#);
pub(super) const DONE: (&str, &str) = ("task_done", "{}");

pub(super) fn reject() -> CheckVerdict {
    CheckVerdict::Reject {
        message: "no".into(),
    }
}

pub(super) fn broken() -> CheckVerdict {
    CheckVerdict::Broken {
        message: "cannot".into(),
    }
}
