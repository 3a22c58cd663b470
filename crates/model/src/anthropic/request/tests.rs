use super::*;
use schema::{FinishReason, Reply, ToolCall, Usage};

fn head() -> Head {
    Head {
        system: "be brief".into(),
        prompt: "fix \"it\"\n".into(),
        images: Vec::new(),
        tools: vec![ToolSpec {
            name: "bash",
            description: "runs".into(),
            parameters: json!({ "type": "object" }),
        }],
    }
}

fn format(settings: &Settings) -> Format {
    Format::new("m", settings, 100).unwrap()
}

fn extra(body: &Value) -> Settings {
    Settings {
        extra_body: body.as_object().unwrap().clone(),
        ..Settings::default()
    }
}

fn body(format: &Format, head: &Head, turns: &[Fragment]) -> Value {
    let mut bytes = format.head(head).bytes.to_vec();
    for turn in turns {
        bytes.extend_from_slice(&turn.bytes);
    }
    bytes.extend_from_slice(TAIL);
    serde_json::from_slice(&bytes).unwrap()
}

fn reply(calls: &[&str]) -> Box<Reply> {
    Box::new(Reply {
        text: "look".into(),
        reasoning: None,
        tool_calls: calls
            .iter()
            .map(|id| ToolCall {
                id: (*id).into(),
                name: "bash".into(),
                arguments: "{\"command\":\"ls\"}".into(),
            })
            .collect(),
        finish_reason: FinishReason::ToolCalls,
        usage: Usage::default(),
        model: None,
        raw: None,
        retries: Vec::new(),
        elapsed_ms: 0,
        waited_ms: 0,
    })
}

fn answered(results: &[(&str, &str, bool)]) -> Turn {
    let calls: Vec<&str> = results.iter().map(|(id, ..)| *id).collect();
    Turn::Assistant {
        reply: reply(&calls),
        results: results
            .iter()
            .map(|(id, content, is_error)| ToolResult {
                call_id: (*id).into(),
                content: (*content).into(),
                is_error: *is_error,
            })
            .collect(),
    }
}

#[test]
fn parameters_stand_before_the_messages() {
    let settings = Settings {
        temperature: Some(0.0),
        stream: true,
        ..extra(&json!({ "top_p": 0.5, "temperature": null }))
    };
    let head = format(&settings).head(&head());
    assert_eq!(
        std::str::from_utf8(&head.bytes).unwrap(),
        "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"top_p\":0.5,\"tools\":[{\"name\":\"bash\",\"description\":\"runs\",\
         \"input_schema\":{\"type\":\"object\"}}],\"system\":[{\"type\":\"text\",\"text\":\"be brief\",\"cache_control\":{\"type\":\
         \"ephemeral\"}}],\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"fix \\\"it\\\"\\n\"}]}"
    );
}

#[test]
fn the_mark_of_the_head_stands_after_what_all_instances_share() {
    let no_system = Head {
        system: String::new(),
        ..head()
    };
    let sent = body(&format(&Settings::default()), &no_system, &[]);
    assert_eq!(sent["tools"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(sent.get("system"), None);
}

#[test]
fn a_user_who_names_the_mark_has_none_of_ours() {
    for (given, wanted) in [
        (Value::Null, Value::Null),
        (
            json!({ "type": "ephemeral", "ttl": "1h" }),
            json!({ "type": "ephemeral", "ttl": "1h" }),
        ),
    ] {
        let format = format(&extra(&json!({ "cache_control": given })));
        assert_eq!(format.mark(), None);
        let sent = body(&format, &head(), &[]);
        assert_eq!(sent["cache_control"], wanted);
        assert_eq!(sent["system"][0].get("cache_control"), None);
    }
}

#[test]
fn our_fields_cannot_be_set() {
    for field in RESERVED {
        let settings = extra(&json!({ *field: [] }));
        let error = Format::new("m", &settings, 1).unwrap_err();
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[test]
fn images_stand_before_the_prompt() {
    let head = Head {
        images: vec![
            "https://x/y.png".into(),
            "data:image/png;base64,aGk=".into(),
        ],
        ..head()
    };
    let sent = body(&format(&Settings::default()), &head, &[]);
    assert_eq!(
        sent["messages"][0]["content"],
        json!([
            { "type": "image", "source": { "type": "url", "url": "https://x/y.png" } },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
            { "type": "text", "text": "fix \"it\"\n" },
        ])
    );
}

#[test]
fn all_results_of_a_turn_are_one_message() {
    let turn = answered(&[("a", "x\ny", false), ("b:1", " ", true), ("c", "", false)]);
    let fragments = [
        super::turn(&turn, Shape::Full),
        super::turn(&turn, Shape::Elided),
    ];
    let sent = body(&format(&Settings::default()), &head(), &fragments);
    let messages = sent["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 5);
    assert_eq!(messages[1]["content"][2]["id"], "b_1");
    assert_eq!(
        messages[2],
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "content": "x\ny" },
            { "type": "tool_result", "tool_use_id": "b_1", "content": FAILED, "is_error": true },
            { "type": "tool_result", "tool_use_id": "c" },
        ]})
    );
    assert_eq!(messages[4]["content"][0]["content"], ELIDED_OUTPUT);
}

#[test]
fn messages_of_the_user_alone_have_a_hole() {
    let format = format(&Settings::default());
    let note = Turn::User { text: "}]}".into() };
    for (fragment, has_hole) in [
        (format.head(&head()), true),
        (turn(&answered(&[("a", "x", false)]), Shape::Full), true),
        (turn(&answered(&[]), Shape::Full), false),
        (turn(&note, Shape::Full), true),
    ] {
        assert_eq!(fragment.bytes.ends_with(ENDING), has_hole, "{fragment:?}");
    }
}
