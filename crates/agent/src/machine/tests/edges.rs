//! Edges that go on.

use std::time::Duration;

use schema::event::{CheckVerdict, EffectId};
use schema::{Event, FinishReason, ModelFailureKind, Outcome, Reply, Turn, Usage};

use super::rig::{DONE, LS, PWD, Rig, calls, reject, run, start, text};
use crate::condense::Window;
use crate::limits::Limits;
use crate::machine::{Effect, Input, Phase};

fn rig() -> Rig {
    Rig::new(Limits::default())
}

#[test]
fn start_asks_the_model() {
    let rig = rig();
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
    assert!(matches!(rig.effect(), Effect::Query { index: 0, .. }));
    assert!(matches!(
        rig.log[..],
        [Event::Started { .. }, Event::Asked { .. }]
    ));
}

#[test]
fn a_second_start_is_ignored() {
    let mut rig = rig();
    rig.start();
    assert_eq!(rig.log.len(), 2);
}

#[test]
fn calls_run_one_after_the_other_and_are_answered_in_call_order() {
    let mut rig = rig();
    rig.reply(calls(&[LS, PWD]));
    assert_eq!(rig.machine.phase(), Phase::RunningTools);
    assert!(rig.machine.history().turns().len() == 0);
    rig.tool("one").tool("two");
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
    let results = rig.last_results();
    let contents: Vec<_> = results
        .iter()
        .map(|result| result.content.as_str())
        .collect();
    assert_eq!(contents, ["one", "two"]);
    assert_eq!(results[1].call_id, "c1");
}

#[test]
fn an_empty_result_gets_text() {
    let mut rig = rig();
    rig.reply(calls(&[LS])).tool("");
    assert_eq!(rig.last_results()[0].content, "[no output]");
}

#[test]
fn unknown_tools_and_bad_arguments_are_answered_at_once() {
    let mut rig = rig();
    rig.reply(calls(&[("Bash", "{}"), ("bash", r#"{"cmd": "ls"}"#), LS]));
    let answers = rig.answers();
    assert!(answers[0].1.contains("Did you mean `bash`?"), "{answers:?}");
    assert!(answers[1].1.contains("`command` is missing"), "{answers:?}");
    rig.tool("x");
    assert!(rig.last_results()[0].is_error);
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
}

#[test]
fn siblings_of_task_done_run_first_wherever_it_stands() {
    let mut rig = rig();
    rig.reply(calls(&[DONE, LS]));
    assert!(matches!(rig.effect(), Effect::RunTool { .. }));
    rig.tool("x");
    assert!(matches!(rig.effect(), Effect::RunChecks { .. }));
    rig.verdict(CheckVerdict::Accept);
    assert_eq!(rig.outcome(), Some(&Outcome::Completed));
    let results = rig.last_results();
    assert_eq!(
        (results[0].is_error, results[1].content.as_str()),
        (false, "x")
    );
}

#[test]
fn a_second_task_done_is_a_duplicate() {
    let mut rig = rig();
    rig.reply(calls(&[DONE, LS, DONE, DONE])).tool("x");
    assert!(matches!(rig.effect(), Effect::RunChecks { .. }));
    let answered: Vec<_> = rig
        .answers()
        .into_iter()
        .map(|(id, _)| id.to_owned())
        .collect();
    // Results carry the machine's ids in the turn; a tool's own id is not looked at.
    assert_eq!(answered, ["whatever", "c3", "c2"]);
    rig.verdict(CheckVerdict::Accept);
    let errors: Vec<_> = rig
        .last_results()
        .iter()
        .map(|result| result.is_error)
        .collect();
    assert_eq!(errors, [false, false, true, true]);
}

#[test]
fn a_rejection_is_the_result_of_the_call() {
    let mut rig = rig();
    rig.reply(calls(&[DONE])).verdict(reject());
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
    let results = rig.last_results();
    assert_eq!(
        (results[0].content.as_str(), results[0].is_error),
        ("no", true)
    );
}

#[test]
fn a_check_that_cannot_run_is_run_once_more() {
    let mut rig = rig();
    rig.reply(calls(&[DONE]));
    let first = rig.id();
    rig.verdict(super::rig::broken());
    assert_ne!(rig.id(), first);
    rig.verdict(CheckVerdict::Accept);
    assert_eq!(rig.outcome(), Some(&Outcome::Completed));
}

#[test]
fn task_done_with_cut_arguments_is_no_completion() {
    let mut rig = rig();
    rig.reply(calls(&[("task_done", r#"{"summary": "#)]));
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
    assert!(rig.last_results()[0].content.contains("cut off"));
}

#[test]
fn prose_is_nudged_and_a_call_resets_the_count() {
    let mut rig = rig();
    for _ in 0..3 {
        rig.reply(text("I am done."));
    }
    assert_eq!(rig.notes(), 3);
    rig.reply(calls(&[LS])).tool("1");
    for _ in 0..3 {
        rig.reply(text("I am done."));
    }
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
}

#[test]
fn an_empty_reply_is_asked_again_without_a_word_and_never_kept() {
    let mut rig = rig();
    rig.reply(calls(&[LS])).tool("1");
    rig.reply(text("")).reply(text(" \n"));
    assert_eq!((rig.notes(), rig.machine.history().turns().len()), (0, 1));
    rig.reply(text(""));
    assert_eq!(rig.notes(), 1);
    assert!(matches!(
        rig.machine.history().turns().last(),
        Some(Turn::User { .. })
    ));
}

#[test]
fn two_notes_in_a_row_are_one_message() {
    let mut rig = rig();
    rig.reply(calls(&[LS])).tool("1");
    for _ in 0..3 {
        rig.reply(text(""));
    }
    let before = rig.machine.history().clone();
    rig.reply(Reply {
        finish_reason: FinishReason::Length,
        ..text("")
    });
    assert_eq!(rig.notes(), 2);
    let history = rig.machine.history();
    let turns: Vec<_> = history.turns().collect();
    let [_, Turn::User { text }] = turns[..] else {
        panic!("{turns:?}");
    };
    assert!(text.contains("called no tool"), "{text}");
    assert!(text.contains("was cut"), "{text}");
    assert!(history.estimate() > before.estimate());
    assert_ne!(history.request_sha256(), before.request_sha256());
}

#[test]
fn a_note_that_follows_the_prompt_is_part_of_it() {
    let mut rig = rig();
    let before = rig.machine.history().clone();
    for _ in 0..3 {
        rig.reply(text(""));
    }
    assert_eq!(rig.notes(), 1);
    let history = rig.machine.history();
    assert_eq!(history.turns().len(), 0);
    let (old, new) = (before.head().unwrap(), history.head().unwrap());
    let new = String::from_utf8_lossy(&new.bytes);
    assert!(new.contains("called no tool"), "{new}");
    assert!(new.len() > old.bytes.len());
    assert!(history.estimate() > before.estimate());
    assert_ne!(history.request_sha256(), before.request_sha256());
}

#[test]
fn a_reply_without_usage_makes_the_cost_unknown_for_good() {
    let paid = |reply: Reply| Reply {
        usage: Usage {
            input: 1,
            cost: Some(1.0),
            ..Usage::default()
        },
        ..reply
    };
    for [first, second] in [[true, false], [false, true]] {
        let mut rig = rig();
        for known in [first, second, true] {
            let reply = calls(&[LS]);
            rig.reply(if known { paid(reply) } else { reply }).tool("x");
        }
        assert_eq!(rig.machine.spent().usage.cost, None);
    }
}

#[test]
fn calls_of_a_reply_that_was_cut_are_answered_and_never_run() {
    let mut rig = rig();
    rig.reply(Reply {
        finish_reason: FinishReason::Length,
        ..calls(&[LS, DONE])
    });
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
    assert!(rig.last_results().iter().all(|result| result.is_error));
    assert!(
        !rig.log
            .iter()
            .any(|event| matches!(event, Event::ToolStarted { .. }))
    );
}

#[test]
fn calls_of_a_withheld_reply_are_never_run() {
    let mut rig = rig();
    rig.reply(Reply {
        finish_reason: FinishReason::ContentFilter,
        ..calls(&[LS])
    });
    assert!(matches!(rig.effect(), Effect::Query { index: 1, .. }));
    assert_eq!(rig.machine.history().turns().len(), 0);
    rig.reply(calls(&[LS]));
    assert!(matches!(rig.effect(), Effect::RunTool { .. }));
}

#[test]
fn a_refusal_is_retried_once() {
    let mut rig = rig();
    rig.fails(Some(ModelFailureKind::Refused));
    assert!(matches!(rig.effect(), Effect::Query { index: 1, .. }));
    rig.reply(calls(&[LS])).tool("x");
    rig.fails(Some(ModelFailureKind::Refused));
    assert!(rig.outcome().is_none(), "a good reply resets the count");
}

#[test]
fn format_errors_are_forgotten_after_a_good_call() {
    let mut rig = rig();
    for round in 0..10 {
        rig.reply(calls(&[("bash", "{")]));
        rig.reply(calls(&[LS])).tool(&round.to_string());
    }
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
}

#[test]
fn one_readable_call_makes_the_reply_readable() {
    let mut rig = rig();
    for round in 0..10 {
        rig.reply(calls(&[("bash", "{"), LS]))
            .tool(&round.to_string());
    }
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
}

#[test]
fn stale_answers_are_ignored() {
    let mut rig = rig();
    rig.reply(calls(&[LS]));
    let before = rig.log.len();
    let reply = Box::new(text("late"));
    rig.feed(Input::Reply {
        id: EffectId(0),
        reply,
    });
    rig.feed(Input::ToolDone {
        id: EffectId(99),
        run: run("x"),
    });
    rig.feed(Input::Checked {
        id: rig.id(),
        verdicts: vec![],
    });
    rig.feed(Input::Proceed);
    assert_eq!(rig.log.len(), before);
}

#[test]
fn overflow_condenses_and_asks_again() {
    let mut rig = rig();
    for round in 0..4 {
        rig.reply(calls(&[LS]))
            .tool(&format!("{round}{}", "x".repeat(40_000)));
    }
    let before = rig.machine.history().estimate();
    rig.fails(None);
    assert!(matches!(rig.effect(), Effect::Query { index: 5, .. }));
    assert!(rig.machine.history().elided_before() > 0);
    assert!(rig.machine.history().estimate() < before);
}

#[test]
fn a_full_window_condenses_in_blocks_and_keeps_the_end() {
    let window = Window {
        size: Some(100_000),
        max_output: Some(8_000),
    };
    let mut rig = Rig::idle(Limits::default(), window);
    rig.feed(start());
    let mut elisions = Vec::new();
    for round in 0..60 {
        rig.reply(calls(&[LS]))
            .tool(&format!("{round}{}", "x".repeat(16_000)));
        let now = rig.machine.history().elided_before();
        if elisions.last() != Some(&now) {
            elisions.push(now);
        }
        assert!(rig.machine.history().estimate() <= 91_000);
        assert!(
            now + 5 <= rig.machine.history().turns().len().max(5),
            "the end is whole"
        );
    }
    assert!((3..=8).contains(&elisions.len()), "{elisions:?}");
}

#[test]
fn what_the_server_counted_wins_over_the_estimate() {
    let mut rig = rig();
    let usage = Usage {
        input: 5_000,
        output: 100,
        ..Usage::default()
    };
    rig.reply(Reply {
        usage,
        ..calls(&[LS])
    })
    .tool("four");
    assert_eq!(rig.machine.history().estimate(), 5_101);
}

#[test]
fn the_third_equal_result_brings_a_note() {
    let mut rig = rig();
    for _ in 0..2 {
        rig.reply(calls(&[LS])).tool("same");
    }
    assert_eq!(rig.notes(), 0);
    rig.reply(calls(&[LS])).tool("same");
    assert_eq!(rig.notes(), 1);
    rig.reply(calls(&[LS])).tool("same");
    assert_eq!(rig.notes(), 1, "once for each streak");
}

#[test]
fn deadlines_move_with_the_waits() {
    let limits = Limits {
        max_wall_time: Some(Duration::from_secs(10)),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    rig.at.0 = 14_000;
    rig.reply(Reply {
        waited_ms: 5_000,
        ..calls(&[LS])
    });
    let Effect::RunTool { deadline, .. } = rig.effect() else {
        panic!("no tool runs");
    };
    assert_eq!(deadline.unwrap().0, 15_000);
}

#[test]
fn effects_have_ids_that_count_up_over_all_kinds() {
    let mut rig = rig();
    rig.reply(calls(&[LS, DONE])).tool("x").verdict(reject());
    let ids: Vec<u32> = rig
        .log
        .iter()
        .filter_map(|event| match event {
            Event::Asked { id, .. }
            | Event::ToolStarted { id, .. }
            | Event::CheckStarted { id } => Some(id.0),
            _ => None,
        })
        .collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn an_overflow_by_the_last_turn_alone_leaves_out_its_outputs() {
    let mut rig = rig();
    rig.reply(calls(&[LS, PWD]))
        .tool(&"x".repeat(400_000))
        .tool("y");
    rig.fails(None);
    assert_eq!(rig.machine.history().elided_before(), 1);
    assert!(rig.machine.history().estimate() < 1_000);
}
