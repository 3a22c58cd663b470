//! Serves the strict fake of Anthropic's messages until its input ends: `scripts/sdk/anthropic.py` drives it with the vendor's own client.
//!
//! What it says is chosen by the prompt. The address is its first line; what clients did wrong follows at the end, one a line.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example says where it listens, and ends when it cannot go on"
)]

use std::io::Read;

use serde_json::{Value, json};
use testkit::StrictAnthropic;
use testkit::strict_anthropic::{Fault, Said};

fn main() {
    let server = StrictAnthropic::start(script);
    println!("{}", server.base_url());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    for violation in server.violations() {
        println!("{violation}");
    }
}

fn script(prompt: &str) -> Vec<Said> {
    let (what, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
    match what {
        "tools" => vec![
            Said::thought("First, I look — 日本語.")
                .and_sealed("c2VhbGVk")
                .and_call("weather", &json!({ "city": "Köln", "days": [1, 2.5] }))
                .and_call("weather", &json!({ "city": "Oslo" })),
            Said::text("One more.").and_call("clock", &json!({})),
            Said::text("All done — ü."),
        ],
        "refuse" => vec![Said::default().stopping(
            "refusal",
            json!({ "type": "refusal", "category": "cyber", "explanation": "Not this." }),
        )],
        "stop" => {
            let reasons = ["max_tokens", "pause_turn", "model_context_window_exceeded"];
            let reason = reasons.iter().find(|reason| rest == **reason);
            vec![Said::text("cut").stopping(reason.unwrap(), Value::Null)]
        }
        "fail" => {
            let wanted = rest.split(' ').next().unwrap_or_default();
            let faults = FAULTS.iter().filter(|(name, _)| wanted == *name);
            vec![Said::text("at last").after(faults.map(|(_, fault)| *fault))]
        }
        _ => vec![Said::text(format!("You said: {prompt}"))],
    }
}

/// Failures by the words that ask for them, each before one answer.
const FAULTS: [(&str, Fault); 11] = [
    ("400", Fault::Status(400, "invalid_request_error")),
    ("401", Fault::Status(401, "authentication_error")),
    ("403", Fault::Status(403, "permission_error")),
    ("404", Fault::Status(404, "not_found_error")),
    ("413", Fault::Status(413, "request_too_large")),
    ("429", Fault::Status(429, "rate_limit_error")),
    ("500", Fault::Status(500, "api_error")),
    ("529", Fault::Status(529, "overloaded_error")),
    ("stream", Fault::InStream("overloaded_error")),
    ("billing", Fault::Status(402, "billing_error")),
    ("cut", Fault::Cut),
];
