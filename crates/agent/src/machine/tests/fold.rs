//! Folding: a log that ends anywhere goes on, and no sequence of inputs breaks what must hold.

use proptest::prelude::*;
use schema::event::{CheckVerdict, EffectId};
use schema::{Event, FailureKind, FinishReason, ModelFailureKind, Reply};

use super::rig::{DONE, LS, PWD, Rig, broken, calls, failure, reject, run, start, text};
use crate::condense::Window;
use crate::limits::Limits;
use crate::machine::{Effect, Input, Phase};

#[test]
fn a_fold_at_every_event_goes_on_to_the_same_decisions() {
    let mut rig = Rig::new(Limits::default());
    rig.reply(calls(&[("bash", "{"), LS, DONE]));
    rig.tool("x").verdict(broken()).verdict(reject());
    rig.fails(None);
    rig.reply(text("prose"));
    rig.reply(calls(&[PWD])).feed(Input::Cancel).tool("y");
    for events in 0..=rig.log.len() {
        let mut folded = rig.folded(events);
        let mut decided = Vec::new();
        folded
            .advance(rig.at, Input::Proceed, |event| {
                decided.push(event.clone());
                Ok::<_, ()>(event)
            })
            .unwrap();
        assert_eq!(
            decided,
            rig.log[events..events + decided.len()],
            "after {events}"
        );
    }
}

#[test]
fn resume_backfills_what_was_interrupted_and_what_stood_behind_it() {
    let mut rig = Rig::new(Limits::default());
    rig.reply(calls(&[LS, PWD, DONE, LS])).tool("x");
    rig.feed(Input::Resume);
    assert_eq!(rig.machine.phase(), Phase::AwaitingModel);
    let results = rig.last_results();
    assert_eq!(results[0].content, "x");
    assert!(results[1].content.contains("interrupted"), "{results:?}");
    assert!(results[2].content.contains("not started"), "{results:?}");
    assert!(results[3].content.contains("not started"), "{results:?}");
}

#[test]
fn resume_runs_what_was_never_started() {
    let mut rig = Rig::new(Limits::default());
    rig.reply(calls(&[LS]));
    let replied = rig
        .log
        .iter()
        .position(|event| matches!(event, Event::Replied { .. }));
    let mut folded = rig.folded(replied.unwrap() + 1);
    folded.advance(rig.at, Input::Resume, Ok::<_, ()>).unwrap();
    assert!(matches!(folded.pending()[0], Effect::RunTool { .. }));
}

#[test]
fn resume_checks_again_and_asks_again() {
    let mut rig = Rig::new(Limits::default());
    let before = rig.effect();
    rig.feed(Input::Resume);
    assert_eq!(rig.effect(), before);
    rig.reply(calls(&[DONE]));
    let before = rig.effect();
    rig.feed(Input::Resume);
    assert_eq!(rig.effect(), before);
}

/// Any input, right or wrong for where the machine stands; `id` is resolved against what is pending.
#[derive(Debug, Clone)]
enum Move {
    Reply(Reply),
    ModelFailed(Option<ModelFailureKind>),
    ToolDone(String),
    Checked(Vec<CheckVerdict>),
    EnvironmentFailed,
    Other(Input),
}

fn reply() -> impl Strategy<Value = Reply> {
    let names = prop_oneof![
        4 => Just("bash"),
        2 => Just("task_done"),
        1 => Just("search"),
        1 => Just(""),
        1 => Just("Bash"),
    ];
    let arguments = prop_oneof![
        4 => Just(r#"{"command": "ls"}"#),
        2 => Just("{}"),
        1 => Just("{"),
        1 => Just(r#"{"pattern": "x"}"#),
        1 => Just("\"{}\""),
    ];
    let reasons = prop_oneof![
        6 => Just(FinishReason::ToolCalls),
        1 => Just(FinishReason::Length),
        1 => Just(FinishReason::ContentFilter),
        1 => Just(FinishReason::Other),
    ];
    (
        prop::collection::vec((names, arguments), 0..4),
        reasons,
        prop_oneof![Just(""), Just("text")],
        0..100_u64,
    )
        .prop_map(|(made, finish_reason, said, waited_ms)| Reply {
            finish_reason,
            text: said.into(),
            waited_ms,
            ..calls(&made)
        })
}

fn moves() -> impl Strategy<Value = Move> {
    let kinds = prop_oneof![
        Just(None),
        Just(Some(ModelFailureKind::Refused)),
        Just(Some(ModelFailureKind::Timeout)),
    ];
    let verdicts = prop_oneof![Just(CheckVerdict::Accept), Just(reject()), Just(broken()),];
    prop_oneof![
        12 => reply().prop_map(Move::Reply),
        1 => kinds.prop_map(Move::ModelFailed),
        12 => "[a-c]{0,2}".prop_map(Move::ToolDone),
        4 => prop::collection::vec(verdicts, 0..3).prop_map(Move::Checked),
        1 => Just(Move::EnvironmentFailed),
        1 => prop_oneof![
            Just(Input::Cancel),
            Just(Input::Deadline),
            Just(Input::Resume),
            Just(Input::Abandon),
            Just(Input::Proceed),
            Just(start()),
            Just(Input::Fault { message: "f".into() }),
        ].prop_map(Move::Other),
    ]
}

fn input(rig: &Rig, chosen: Move, stale: bool) -> Input {
    let id = match rig.machine.pending().pop() {
        Some(
            Effect::Query { id, .. } | Effect::RunTool { id, .. } | Effect::RunChecks { id, .. },
        ) if !stale => id,
        _ => EffectId(1_000),
    };
    match chosen {
        Move::Reply(reply) => Input::Reply {
            id,
            reply: Box::new(reply),
        },
        Move::ModelFailed(kind) => Input::ModelFailed {
            id,
            failure: failure(kind),
        },
        Move::ToolDone(content) => Input::ToolDone {
            id,
            run: run(&content),
        },
        Move::Checked(verdicts) => Input::Checked { id, verdicts },
        Move::EnvironmentFailed => Input::EnvironmentFailed {
            id,
            kind: FailureKind::EnvironmentLost,
            message: "gone".into(),
        },
        Move::Other(input) => input,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_sequence_of_inputs_keeps_what_must_hold(
        window in prop_oneof![Just(None), Just(Some(200_u64))],
        chosen in prop::collection::vec((moves(), 0..20_u32, 0..40_000_u64), 0..80),
    ) {
        let window = Window { size: window, max_output: Some(10) };
        let mut rig = Rig::idle(Limits::default(), window);
        rig.start();
        for (chosen, stale, pause) in chosen {
            rig.at.0 += pause;
            let input = input(&rig, chosen, stale == 0);
            // `feed` checks the fold, the pairing, the number of ends and of pending effects.
            rig.feed(input);
            prop_assert!(!rig.machine.pending().is_empty(), "something always comes next");
        }
        rig.feed(Input::Cancel).feed(Input::Abandon);
        prop_assert!(rig.outcome().is_some());
    }

    #[test]
    fn any_events_in_any_order_fold_without_a_panic(
        seed in prop::collection::vec((0..200_usize, any::<bool>()), 0..60),
    ) {
        let mut rig = Rig::new(Limits::default());
        rig.reply(calls(&[LS, DONE, DONE])).tool("x").verdict(reject());
        rig.fails(None).reply(text("p")).reply(calls(&[LS])).feed(Input::Cancel).tool("y");
        let mut machine = super::rig::machine(Limits::default(), Window::default());
        for (position, skip) in seed {
            if !skip {
                machine.apply(&rig.log[position % rig.log.len()]);
                machine.pending();
            }
        }
    }
}
