//! A model that reads its requests and refuses what a strict server would refuse.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent::ports::{ELIDED_OUTPUT, Fragment, Head, Model, Request, Shape};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::{ModelFailureKind, Reply, Turn};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A request as the server reads it.
pub(crate) struct Conversation {
    pub(crate) index: u32,
    pub(crate) turns: Vec<Value>,
}

impl Conversation {
    /// Every result that the model sees.
    pub(crate) fn results(&self) -> impl Iterator<Item = &str> {
        self.turns
            .iter()
            .filter_map(|turn| turn["results"].as_array())
            .flatten()
            .filter_map(|result| result["content"].as_str())
    }
}

type Answer = dyn Fn(&Conversation) -> Result<Reply, ModelFailure> + Send + Sync;

pub(crate) struct StrictModel {
    answer: Box<Answer>,
    rejections: Mutex<Vec<String>>,
    /// Digest and bytes of every request.
    pub(crate) requests: Mutex<Vec<Vec<u8>>>,
    /// Where the turns of every request lie in memory.
    pub(crate) views: Mutex<Vec<usize>>,
    pub(crate) encoded: AtomicUsize,
    pub(crate) window: Option<u64>,
    /// Never answers, whatever the request says.
    pub(crate) deaf: bool,
    /// Panics when it encodes that turn, counted from 1.
    pub(crate) panics_at: Option<usize>,
    /// Waits for its turn that long before each reply.
    pub(crate) wait: Option<std::time::Duration>,
}

impl StrictModel {
    pub(crate) fn new(
        answer: impl Fn(&Conversation) -> Result<Reply, ModelFailure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Box::new(answer),
            rejections: Mutex::default(),
            requests: Mutex::default(),
            views: Mutex::default(),
            encoded: AtomicUsize::new(0),
            window: None,
            deaf: false,
            panics_at: None,
            wait: None,
        }
    }

    /// Answers request n with reply n, and the last one for ever.
    pub(crate) fn script(replies: Vec<Result<Reply, Option<ModelFailureKind>>>) -> Self {
        Self::new(move |conversation| {
            let position = (conversation.index as usize).min(replies.len() - 1);
            replies[position].clone().map_err(failure)
        })
    }

    pub(crate) fn replies(replies: Vec<Reply>) -> Self {
        Self::script(replies.into_iter().map(Ok).collect())
    }

    pub(crate) fn rejections(&self) -> Vec<String> {
        self.rejections.lock().unwrap().clone()
    }

    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn read(request: &Request) -> Result<Conversation, String> {
        let parse = |fragment: &Fragment| -> Result<Value, String> {
            let digest: [u8; 32] = Sha256::digest(&fragment.bytes).into();
            if digest != fragment.sha256 {
                return Err("a fragment was changed".into());
            }
            serde_json::from_slice(&fragment.bytes).map_err(|error| error.to_string())
        };
        let head = parse(&request.head)?;
        if head["system"].as_str().unwrap_or_default().is_empty() {
            return Err("the head is gone".into());
        }
        let turns: Vec<Value> = request.turns.iter().map(parse).collect::<Result<_, _>>()?;
        for turn in &turns {
            check(turn).map_err(|error| format!("{error}: {turn}"))?;
        }
        Ok(Conversation {
            index: request.index,
            turns,
        })
    }
}

/// What servers of today refuse: calls without results, results without calls, texts without text.
fn check(turn: &Value) -> Result<(), &'static str> {
    if let Some(text) = turn["user"].as_str() {
        return if text.is_empty() {
            Err("an empty message")
        } else {
            Ok(())
        };
    }
    let ids = |field: &str| -> Vec<Value> {
        let items = turn[field].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["id"].clone()).collect()
    };
    if ids("calls") != ids("results") {
        return Err("calls and results do not match");
    }
    let empty = |result: &Value| result["content"].as_str().unwrap_or_default().is_empty();
    if turn["results"]
        .as_array()
        .is_some_and(|results| results.iter().any(empty))
    {
        return Err("an empty result");
    }
    if ids("calls").is_empty() && turn["text"].as_str().unwrap_or_default().trim().is_empty() {
        return Err("an empty reply");
    }
    Ok(())
}

pub(crate) fn failure(kind: Option<ModelFailureKind>) -> ModelFailure {
    ModelFailure {
        kind,
        message: "made to fail".into(),
        retries: vec![],
        waited_ms: 0,
    }
}

fn fragment(value: &Value) -> Fragment {
    let bytes = value.to_string().into_bytes();
    Fragment {
        sha256: Sha256::digest(&bytes).into(),
        tokens: (bytes.len() as u64).div_ceil(4),
        bytes: bytes.into(),
    }
}

impl Model for StrictModel {
    fn head(&self, head: &Head) -> Fragment {
        let tools: Vec<Value> = head
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "about": tool.description, "schema": tool.parameters}))
            .collect();
        fragment(&json!({"system": head.system, "prompt": head.prompt, "tools": tools}))
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        let encoded = self.encoded.fetch_add(1, Ordering::Relaxed) + 1;
        assert_ne!(self.panics_at, Some(encoded), "an encoder that panics");
        fragment(&match turn {
            Turn::User { text } => json!({ "user": text }),
            Turn::Assistant { reply, results } => json!({
                "text": reply.text,
                "calls": reply.tool_calls.iter().map(|call| json!({
                    "id": call.id, "name": call.name, "arguments": call.arguments,
                })).collect::<Vec<_>>(),
                "results": results.iter().map(|result| json!({
                    "id": result.call_id,
                    "content": match shape {
                        Shape::Full => result.content.as_str(),
                        Shape::Elided => ELIDED_OUTPUT,
                    },
                })).collect::<Vec<_>>(),
            }),
        })
    }

    fn window(&self) -> Option<u64> {
        self.window
    }

    fn max_output(&self) -> Option<u64> {
        None
    }

    fn query<'a>(&'a self, request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        async move {
            let mut bytes = request.head.bytes.to_vec();
            for turn in request.turns.iter() {
                bytes.extend_from_slice(&turn.bytes);
            }
            self.requests.lock().unwrap().push(bytes);
            let view = std::sync::Arc::as_ptr(&request.turns).addr();
            self.views.lock().unwrap().push(view);
            if self.deaf {
                std::future::pending::<()>().await;
            }
            if let Some(wait) = self.wait {
                request.waits.during(tokio::time::sleep(wait)).await;
            }
            match Self::read(&request) {
                Ok(conversation) => (self.answer)(&conversation),
                Err(rejection) => {
                    self.rejections.lock().unwrap().push(rejection);
                    Err(failure(Some(ModelFailureKind::BadRequest)))
                }
            }
        }
        .boxed()
    }
}
