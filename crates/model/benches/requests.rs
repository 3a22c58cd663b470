//! What asking costs: many short conversations at once, and one long one.
//!
//! `CHAT_URL=http://127.0.0.1:8399/v1 CHAT_MODEL=stub-s500-l0-o0-cd0-fn cargo bench -p model` uses a server in another
//! process, so that the processor time is ours alone; without `CHAT_URL` a fake in this process answers, whose time is included.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends when it cannot go on"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::ports::{Fragment, Head, Model, Request, Shape, ToolSpec, Waits};
use model::{Choice, Provider, Settings};
use schema::{InstanceId, ToolResult, Turn};
use serde_json::json;
use testkit::{Answer, FakeServer};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Conversations, their steps, and how many go on at once.
const MANY: (usize, u32, usize) = (128, 20, 64);
/// Steps of the long conversation, and the bytes that each adds.
const LONG: (u32, usize) = (500, 9_900);

#[tokio::main]
async fn main() {
    let fake = FakeServer::start(|_| {
        Answer::json(
            &json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "bash", "arguments": "{\"command\":\"ls\"}" } }
        ]}, "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 1, "completion_tokens": 1 } }),
        )
    });
    let url = std::env::var("CHAT_URL").unwrap_or_else(|_| fake.base_url());
    let name = std::env::var("CHAT_MODEL").unwrap_or_else(|_| "stub-s500-l0-o0-cd0-fn".to_owned());
    for stream in [false, true] {
        let settings = Settings {
            base_url: Some(url.clone()),
            stream,
            ..Settings::default()
        };
        let choice = Choice::parse(&format!("openai:{name}")).unwrap();
        let client = model::client(Duration::from_secs(5)).unwrap();
        let provider = model::open(&choice, &settings, || Ok(client)).unwrap();
        println!("stream: {stream}");
        many(&provider).await;
        long(&provider).await;
    }
}

async fn many(provider: &Arc<dyn Provider>) {
    let (conversations, steps, workers) = MANY;
    let started = (Instant::now(), processor_time());
    let mut running = JoinSet::new();
    for worker in 0..workers {
        let provider = Arc::clone(provider);
        running.spawn(async move {
            for conversation in (worker..conversations).step_by(workers) {
                let id = InstanceId::new(format!("c-{conversation}"));
                let model = provider.model(&id, 1).unwrap();
                let mut talk = Talk::new(model, 300);
                for _ in 0..steps {
                    talk.step().await;
                }
            }
        });
    }
    while let Some(worker) = running.join_next().await {
        worker.unwrap();
    }
    let requests = u32::try_from(conversations).unwrap() * steps;
    let (wall, busy) = since(started);
    println!(
        "  {conversations} x {steps} steps, {workers} at once: {:.2} s, {:.3} ms of processor time a request",
        wall.as_secs_f64(),
        milliseconds(busy / requests)
    );
}

async fn long(provider: &Arc<dyn Provider>) {
    let (steps, bytes) = LONG;
    let model = provider.model(&InstanceId::new("long"), 1).unwrap();
    let mut talk = Talk::new(model, bytes);
    for part in 0..5 {
        let started = (Instant::now(), processor_time());
        for _ in 0..steps / 5 {
            talk.step().await;
        }
        let (wall, busy) = since(started);
        let count = steps / 5;
        println!(
            "  steps {}-{}: {:.2} ms a step, {:.2} ms of processor time, body {} KB",
            part * count,
            (part + 1) * count,
            milliseconds(wall / count),
            milliseconds(busy / count),
            talk.size() / 1000
        );
    }
}

/// A conversation whose every call gets the same output.
struct Talk {
    model: Arc<dyn Model>,
    head: Fragment,
    turns: Arc<Vec<Fragment>>,
    output: String,
    index: u32,
}

impl Talk {
    fn new(model: Arc<dyn Model>, output: usize) -> Self {
        let head = model.head(&Head {
            system: "You fix bugs. ".repeat(100),
            prompt: "Fix this one. ".repeat(100),
            images: Vec::new(),
            tools: vec![ToolSpec {
                name: "bash",
                description: "Runs a command. ".repeat(50),
                parameters: json!({ "type": "object", "properties": { "command": { "type": "string" } } }),
            }],
        });
        Self {
            model,
            head,
            turns: Arc::default(),
            output: "x".repeat(output),
            index: 0,
        }
    }

    async fn step(&mut self) {
        let request = Request {
            head: self.head.clone(),
            turns: Arc::clone(&self.turns),
            index: self.index,
            time_left: None,
            cancel: CancellationToken::new(),
            waits: Waits::default(),
        };
        let reply = self.model.query(request).await.unwrap();
        let result = |call: &schema::ToolCall| ToolResult {
            call_id: call.id.clone(),
            content: self.output.clone(),
            is_error: false,
        };
        let results = reply.tool_calls.iter().map(result).collect();
        let turn = Turn::Assistant {
            reply: Box::new(reply),
            results,
        };
        let fragment = self.model.turn(&turn, Shape::Full);
        Arc::make_mut(&mut self.turns).push(fragment);
        self.index += 1;
    }

    fn size(&self) -> usize {
        self.head.bytes.len()
            + self
                .turns
                .iter()
                .map(|turn| turn.bytes.len())
                .sum::<usize>()
    }
}

fn since((wall, busy): (Instant, Duration)) -> (Duration, Duration) {
    (wall.elapsed(), processor_time().saturating_sub(busy))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// User and system time of this process, from clock ticks of 10 ms.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(ticks * 10)
}
