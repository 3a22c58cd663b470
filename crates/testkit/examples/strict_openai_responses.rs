//! Serves Responses until standard input ends; the first line of its output is the base URL. What it says depends on the words of the prompt.
//! `scripts/sdk/openai_responses.py` lets the maker's own client loose on it.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool for people, which stops at what is wrong"
)]

use std::io::Read;

use serde_json::json;
use testkit::StrictResponses;
use testkit::strict_openai_responses::Said;

fn main() {
    let server = StrictResponses::start(script);
    println!("{}", server.base_url());
    let mut rest = Vec::new();
    std::io::stdin()
        .read_to_end(&mut rest)
        .expect("read standard input");
}

fn script(prompt: &str) -> Vec<Said> {
    let words: Vec<&str> = prompt.split(' ').collect();
    match words.as_slice() {
        ["fail", code] => vec![Said::failed(*code)],
        ["refuse", status, code] => {
            vec![Said::refused(status.parse().expect("a status"), *code)]
        }
        ["decline"] => vec![Said::refusal("I cannot.")],
        ["long"] => vec![
            Said::text("The beginning of")
                .after_reasoning("Much to say.")
                .incomplete("max_output_tokens"),
        ],
        _ => vec![
            Said::call("bash", &json!({ "command": "ls | grep 'ü'" }))
                .and_call("bash", &json!({ "command": "pwd" }))
                .after_reasoning("**Looking** around."),
            Said::text("One more — 日本語.")
                .and_call("bash", &json!({ "command": "true" }))
                .after_reasoning(""),
            Said::text("All is well."),
        ],
    }
}
