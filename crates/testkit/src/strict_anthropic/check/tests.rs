use super::*;
use crate::strict_anthropic::say::signature;
use serde_json::json;

fn request(messages: &Value) -> Value {
    json!({
        "model": "m", "max_tokens": 10,
        "tools": [{ "name": "bash", "input_schema": { "type": "object" } }],
        "messages": messages,
    })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "bash", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "x" })
}

fn thought() -> Value {
    json!({ "type": "thinking", "thinking": "t", "signature": signature("t") })
}

#[test]
fn a_paired_conversation_passes() {
    let good = json!([
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": [thought(), call("a"), call("b")] },
        { "role": "user", "content": [result("b"), result("a"), { "type": "text", "text": "both" }] },
        { "role": "user", "content": "and this" },
        { "role": "assistant", "content": [{ "type": "redacted_thinking", "data": "d" }, { "type": "text", "text": "done" }] },
        { "role": "user", "content": [{ "type": "text", "text": "go on", "cache_control": { "type": "ephemeral", "ttl": "1h" } }] },
    ]);
    assert_eq!(check(&request(&good)), Ok(()));
}

fn says(blocks: &[Value]) -> Value {
    json!({ "role": "assistant", "content": blocks })
}

fn hears(blocks: &[Value]) -> Value {
    json!({ "role": "user", "content": blocks })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn refused(messages: &Value, why: &str) {
    let error = check(&request(messages)).unwrap_err();
    assert!(error.contains(why), "{messages}: {error}");
}

#[test]
fn orders_that_the_service_refuses_are_refused() {
    let user = json!({ "role": "user", "content": "x" });
    for (bad, why) in [
        (json!([]), "at least one"),
        (json!([says(&[text("x")]), user]), "first message"),
        (json!([{ "role": "system", "content": "x" }]), "no role"),
        (
            json!([{ "role": "user", "content": "x", "name": "y" }]),
            "name: Extra",
        ),
        (json!([user, says(&[text("x")])]), "prefill"),
        (json!([user, says(&[]), user]), "non-empty"),
        (json!([hears(&[text(" \n")])]), "non-whitespace"),
        (
            json!([user, says(&[call("a")]), user]),
            "immediately after: a",
        ),
        (
            json!([
                user,
                says(&[call("a"), call("b")]),
                hears(&[result("a")]),
                hears(&[result("b")])
            ]),
            "immediately after: b",
        ),
        (
            json!([user, says(&[call("a")]), hears(&[text("x"), result("a")])]),
            "immediately after: a",
        ),
        (json!([hears(&[result("a")])]), "unexpected `tool_use_id`"),
        (
            json!([
                user,
                says(&[call("a")]),
                hears(&[result("a")]),
                says(&[call("a")]),
                hears(&[result("a")])
            ]),
            "unique",
        ),
    ] {
        refused(&bad, why);
    }
}

#[test]
fn blocks_that_the_service_refuses_are_refused() {
    let user = json!({ "role": "user", "content": "x" });
    for (bad, why) in [
        (
            json!([user, says(&[call("a:1")]), hears(&[result("a:1")])]),
            "id: String should match",
        ),
        (
            json!([
                user,
                says(&[{
                    let mut call = call("a");
                    call["input"] = "{}".into();
                    call
                }]),
                user
            ]),
            "input: Input",
        ),
        (
            json!([user, says(&[thought()]), user]),
            "cannot be `thinking`",
        ),
        (
            json!([
                user,
                says(&[json!({ "type": "thinking", "thinking": "t" }), text("x")]),
                user
            ]),
            "signature: Field required",
        ),
        (
            json!([
                user,
                says(&[
                    json!({ "type": "thinking", "thinking": "u", "signature": signature("t") }),
                    text("x")
                ]),
                user
            ]),
            "Invalid `signature`",
        ),
        (
            json!([
                user,
                says(&[
                    {
                        let mut thought = thought();
                        thought["cache_control"] = json!({ "type": "ephemeral" });
                        thought
                    },
                    text("x")
                ]),
                user
            ]),
            "cache_control: Extra",
        ),
        (
            json!([
                user,
                says(&[call("a")]),
                hears(&[json!({ "type": "tool_result", "tool_use_id": "a", "is_error": true })])
            ]),
            "cannot be empty",
        ),
        (
            json!([
                user,
                says(&[call("a")]),
                hears(&[json!({ "type": "tool_result", "tool_use_id": "a", "content": 3 })])
            ]),
            "neither text",
        ),
        (
            json!([hears(&[
                json!({ "type": "image", "source": { "type": "url", "url": "y.png" } })
            ])]),
            "not an address",
        ),
        (json!([hears(&[thought()])]), "a user cannot say"),
        (
            json!([hears(&[json!({ "type": "video" })])]),
            "no kind of block",
        ),
    ] {
        refused(&bad, why);
    }
}

#[test]
fn parameters_that_the_service_refuses_are_refused() {
    let good = request(&json!([{ "role": "user", "content": "x" }]));
    assert_eq!(check(&good), Ok(()));
    let mark = json!({ "type": "ephemeral" });
    let marked = json!({ "type": "text", "text": "s", "cache_control": mark });
    for (field, value, why) in [
        ("n", json!(2), "n: Extra"),
        ("model", json!(""), "model"),
        ("max_tokens", Value::Null, "max_tokens: Field required"),
        ("temperature", json!(1.5), "from 0 to 1"),
        ("stream", json!("yes"), "boolean"),
        (
            "thinking",
            json!({ "type": "enabled", "budget_tokens": 2000 }),
            "budget_tokens",
        ),
        ("thinking", json!({ "type": "on" }), "thinking.type"),
        ("output_config", json!({ "effort": "huge" }), "effort"),
        (
            "tools",
            json!([{ "name": "a b", "input_schema": { "type": "object" } }]),
            "name",
        ),
        (
            "tools",
            json!([{ "name": "a", "parameters": {} }]),
            "parameters: Extra",
        ),
        ("tools", json!([{ "name": "a" }]), "input_schema"),
        (
            "tool_choice",
            json!({ "type": "tool", "name": "unknown" }),
            "not among the tools",
        ),
        ("system", json!([{ "type": "image" }]), "is not `text`"),
        (
            "system",
            json!([marked, marked, marked, marked, marked]),
            "maximum of 4",
        ),
        (
            "cache_control",
            json!({ "type": "forever" }),
            "cache_control",
        ),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        let error = check(&bad).unwrap_err();
        assert!(error.contains(why), "{bad}: {error}");
    }
}

#[test]
fn calls_need_tools_and_thoughts_that_were_asked_for() {
    let mut body = request(&json!([
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": [call("a")] },
        { "role": "user", "content": [result("a")] },
    ]));
    body["max_tokens"] = 4000.into();
    body["thinking"] = json!({ "type": "enabled", "budget_tokens": 2000 });
    assert!(
        check(&body)
            .unwrap_err()
            .contains("must start with a thinking block")
    );
    body["messages"][1]["content"] = json!([thought(), call("a")]);
    assert_eq!(check(&body), Ok(()));
    body["tools"] = json!([]);
    assert!(check(&body).unwrap_err().contains("must define tools"));
}
