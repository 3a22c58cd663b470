//! A server that is not ours, when one is there: `scripts/foreign-chat-server.sh` starts it and says where.

use agent::ports::{Fragment, Head};
use model::Settings;
use schema::{FinishReason, ModelFailureKind};

use crate::support::{answered, attempt, head, provider, request, settings};

#[tokio::test]
async fn a_foreign_server_is_understood() {
    let Ok(url) = std::env::var("FOREIGN_CHAT_URL") else {
        eprintln!("skipped: FOREIGN_CHAT_URL is not set, see scripts/foreign-chat-server.sh");
        return;
    };
    for stream in [false, true] {
        let settings = Settings {
            stream,
            temperature: Some(0.0),
            ..settings(url.clone())
        };
        let model = attempt(&provider(&settings));
        let prompt = |text: &str| {
            model.head(&Head {
                prompt: format!("{text} (stream: {stream}, process {})", std::process::id()),
                ..head()
            })
        };
        let start = prompt("Go.");
        let mut turns: Vec<Fragment> = Vec::new();
        let mut said = Vec::new();
        for index in 0..4 {
            let mut asked = request(&model, &turns, index);
            asked.head = start.clone();
            let reply = model.query(asked).await.unwrap();
            assert!(reply.retries.is_empty(), "{reply:?}");
            assert_eq!(
                reply.usage.input > 0,
                !stream,
                "it reports usage only when it answers whole"
            );
            turns.push(answered(&model, &reply));
            let calls: Vec<_> = reply
                .tool_calls
                .iter()
                .map(|call| format!("{} {}", call.name, call.arguments))
                .collect();
            said.push((reply.text, calls, reply.finish_reason));
        }
        let call = |name: &str, arguments: &str| format!("{name} {arguments}");
        assert_eq!(
            said,
            [
                (
                    String::new(),
                    vec![
                        call("bash", "{\"command\": \"ls -la | grep '\\u00fc'\"}"),
                        call("bash", "{\"command\": \"pwd\", \"timeout\": 5}"),
                    ],
                    FinishReason::ToolCalls
                ),
                (
                    String::new(),
                    vec![call("bash", "{\"command\": \"echo \\\"a\\\\tb\\\"\"}")],
                    FinishReason::ToolCalls
                ),
                (
                    "Nearly there — nur noch ein Schritt.".to_owned(),
                    vec![],
                    FinishReason::Stop
                ),
                (
                    String::new(),
                    vec![call("task_done", "{}")],
                    FinishReason::ToolCalls
                ),
            ]
        );
        // It knows no errors in streams.
        if !stream {
            let mut failing = request(&model, &[], 0);
            failing.head = prompt("Please fail.");
            let failure = model.query(failing).await.unwrap_err();
            assert_eq!(failure.kind, Some(ModelFailureKind::Overloaded));
            assert_eq!(failure.retries.len(), 3);
        }
    }
}
