//! Scripts and recordings.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent::ports::Model;
use model::{Choice, Error, Provider, Settings};
use schema::event::ModelFailure;
use schema::message::Retry;
use schema::{
    Elapsed, Event, FinishReason, FormatVersion, Header, InstanceId, ModelFailureKind, Record,
    Reply, Trajectory,
};

use crate::support::request;

fn open(choice: &str) -> Result<Arc<dyn Provider>, Error> {
    let client = || {
        assert!(choice.starts_with("openai:"), "files need no client");
        model::client(std::time::Duration::from_secs(1))
    };
    model::open(
        &Choice::parse(choice).unwrap(),
        &Settings::default(),
        client,
    )
}

fn model(provider: &Arc<dyn Provider>, id: &str, sample: u32) -> Arc<dyn Model> {
    provider.model(&InstanceId::new(id), sample).unwrap()
}

async fn answer(model: &Arc<dyn Model>, index: u32) -> Result<Reply, ModelFailure> {
    model.query(request(model, &[], index)).await
}

fn write(path: &Path, text: &str) -> String {
    fs::write(path, text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_script_is_read_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(
        &directory.path().join("s.jsonl"),
        concat!(
            "{\"text\": \"look\", \"tool_calls\": [{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}, {\"name\": \"bash\", \"arguments\": \"{\\\"comm\", \"id\": \"mine\"}]}\n",
            "\n",
            "{\"failure\": {\"message\": \"too long\"}}\n",
            "{\"tool_calls\": [{\"name\": \"task_done\"}], \"finish_reason\": \"length\", \"usage\": {\"input\": 5, \"output\": 2}}\n",
        ),
    );
    let provider = open(&format!("script:{path}")).unwrap();
    assert_eq!(provider.name(), format!("script:{path}"));
    assert!(provider.price_known());
    for _ in 0..2 {
        let model = model(&provider, "a", 1);
        let first = answer(&model, 0).await.unwrap();
        let calls: Vec<_> = first
            .tool_calls
            .iter()
            .map(|call| (call.id.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(
            calls,
            [("call_0_0", "{\"command\":\"ls\"}"), ("mine", "{\"comm")]
        );
        assert_eq!(first.finish_reason, FinishReason::ToolCalls);
        assert_eq!(first.usage.cost, Some(0.0));
        let second = answer(&model, 1).await.unwrap_err();
        assert_eq!((second.kind, second.message.as_str()), (None, "too long"));
        let third = answer(&model, 2).await.unwrap();
        assert_eq!(
            (third.finish_reason, third.usage.input),
            (FinishReason::Length, 5)
        );
        assert_eq!(third.tool_calls[0].arguments, "{}");
        let end = answer(&model, 3).await.unwrap_err();
        assert_eq!(end.kind, Some(ModelFailureKind::BadRequest));
        assert!(
            end.message
                .contains("has 3 replies and was asked for number 4"),
            "{}",
            end.message
        );
    }
}

#[tokio::test]
async fn a_directory_holds_a_file_for_each_instance() {
    let directory = tempfile::tempdir().unwrap();
    let id = InstanceId::new("Weird/../Id");
    write(
        &directory.path().join(format!("{}.jsonl", id.file_name())),
        "{\"text\": \"one\"}",
    );
    write(
        &directory
            .path()
            .join(format!("{}.s2.jsonl", id.file_name())),
        "{\"text\": \"two\"}",
    );
    let provider = open(&format!("script:{}", directory.path().display())).unwrap();
    for (sample, text) in [(1, "one"), (2, "two"), (3, "one")] {
        let model = model(&provider, id.as_str(), sample);
        assert_eq!(answer(&model, 0).await.unwrap().text, text);
    }
    let error = provider.model(&InstanceId::new("other"), 1).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("no model replies for instance `other`"),
        "{error}"
    );
    assert!(error.hints()[0].contains("other.jsonl"));
}

#[test]
fn mistakes_show_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let bad = write(
        &directory.path().join("bad.jsonl"),
        "{\"text\": \"x\"}\n\n{\"txet\": 1}\n",
    );
    let error = open(&format!("script:{bad}")).err().unwrap();
    assert!(
        error
            .to_string()
            .ends_with("bad.jsonl:3: not a scripted reply"),
        "{error}"
    );
    let empty = write(&directory.path().join("empty.jsonl"), "\n");
    assert!(matches!(
        open(&format!("script:{empty}")),
        Err(Error::NoReplies { .. })
    ));
    assert!(matches!(
        open("script:/no/such/file"),
        Err(Error::Read { .. })
    ));
    assert!(matches!(
        open(&format!("replay:{bad}")),
        Err(Error::Malformed { line: 1, .. })
    ));
    assert!(matches!(open("openai:gpt-4.1"), Err(Error::NoKey { .. })));
}

fn trajectory() -> Trajectory {
    let reply = |text: &str| Reply {
        text: text.into(),
        reasoning: None,
        tool_calls: Vec::new(),
        finish_reason: FinishReason::Stop,
        usage: schema::Usage::default(),
        model: None,
        raw: Some(schema::RawJson::parse("{\"content\": 1.50}".into()).unwrap()),
        retries: vec![Retry {
            error: "busy".into(),
            status: Some(503),
            waited_ms: 1,
        }],
        elapsed_ms: 3,
        waited_ms: 1,
    };
    let id = schema::event::EffectId(1);
    let events = [
        Event::Replied {
            id,
            reply: reply("first"),
        },
        Event::ModelFailed {
            id,
            failure: ModelFailure {
                kind: None,
                message: "too long".into(),
                retries: Vec::new(),
                waited_ms: 0,
            },
        },
        Event::DeadlinePassed,
        Event::Replied {
            id,
            reply: reply("second"),
        },
    ];
    Trajectory {
        header: Header {
            schema_version: FormatVersion::TRAJECTORY,
            instance_id: InstanceId::new("a"),
            sample: 1,
            attempt: 1,
            model: "openai:x".into(),
            config_sha256: String::new(),
            prompt_sha256: String::new(),
            tools: Vec::new(),
            sandbox: "local".into(),
            start_commit: String::new(),
            environment: std::collections::BTreeMap::new(),
            patchmill: "0".into(),
        },
        events: events
            .into_iter()
            .zip(1..)
            .map(|(event, seq)| Record {
                seq,
                at: Elapsed(0),
                event,
            })
            .collect(),
    }
}

#[tokio::test]
async fn a_recording_answers_as_it_did() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = trajectory();
    let document = write(
        &directory.path().join("t.json"),
        &serde_json::to_string_pretty(&recorded).unwrap(),
    );
    let mut log = serde_json::to_string(&recorded.header).unwrap() + "\n";
    for record in &recorded.events {
        log += &serde_json::to_string(record).unwrap();
        log += "\n";
    }
    log += "{\"seq\": 5, \"at\": 1, \"ev";
    let log = write(&directory.path().join("t.jsonl"), &log);
    fs::create_dir(directory.path().join("trajectories")).unwrap();
    fs::copy(&document, directory.path().join("trajectories/a.json")).unwrap();
    for path in [document, log, directory.path().display().to_string()] {
        let model = model(&open(&format!("replay:{path}")).unwrap(), "a", 1);
        let first = answer(&model, 0).await.unwrap();
        assert_eq!(first.text, "first");
        assert_eq!(first.raw.unwrap().get(), "{\"content\": 1.50}");
        assert_eq!(answer(&model, 1).await.unwrap_err().message, "too long");
        assert_eq!(answer(&model, 2).await.unwrap().text, "second");
        let end = answer(&model, 3).await.unwrap_err();
        assert_eq!(end.kind, Some(ModelFailureKind::BadRequest));
    }
}

#[test]
fn a_recording_of_another_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut recorded = trajectory();
    recorded.header.schema_version.major += 1;
    let document = serde_json::to_string(&recorded).unwrap();
    let log = serde_json::to_string(&recorded.header).unwrap() + "\n";
    for (name, text) in [("t.json", document), ("t.jsonl", log)] {
        let path = write(&directory.path().join(name), &text);
        let error = open(&format!("replay:{path}")).err().unwrap();
        assert!(matches!(error, Error::Version { .. }), "{error}");
        assert_eq!(error.hints().len(), 1);
    }
}
