//! Edges that end the attempt: each answers every call first and finishes once.

use std::time::Duration;

use schema::event::CheckVerdict;
use schema::{
    Event, FailureKind, FinishReason, ModelFailureKind, Outcome, Reply, StopReason, Usage,
};

use super::rig::{DONE, LS, PWD, Rig, broken, calls, reject, text};
use crate::limits::Limits;
use crate::machine::Input;

fn rig() -> Rig {
    Rig::new(Limits::default())
}

fn failed(rig: &Rig) -> Option<FailureKind> {
    match rig.outcome() {
        Some(Outcome::Failed { reason, .. }) => Some(*reason),
        _ => None,
    }
}

#[test]
fn max_steps_allows_exactly_that_many_requests() {
    let limits = Limits {
        max_steps: Some(3),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    for round in 0..3 {
        rig.reply(calls(&[LS])).tool(&round.to_string());
    }
    assert_eq!(
        (rig.stopped(), rig.asked()),
        (Some(StopReason::MaxSteps), 3)
    );
}

#[test]
fn task_done_in_the_last_step_still_completes() {
    let limits = Limits {
        max_steps: Some(1),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    rig.reply(calls(&[DONE])).verdict(CheckVerdict::Accept);
    assert_eq!(rig.outcome(), Some(&Outcome::Completed));
}

#[test]
fn max_cost_and_max_tokens() {
    let usage = Usage {
        input: 90,
        output: 10,
        cost: Some(0.5),
        ..Usage::default()
    };
    let limits = Limits {
        max_cost: Some(1.0),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    rig.reply(Reply {
        usage,
        ..calls(&[LS])
    })
    .tool("1");
    assert_eq!(rig.outcome(), None);
    rig.reply(Reply {
        usage,
        ..calls(&[LS])
    })
    .tool("2");
    assert_eq!(rig.stopped(), Some(StopReason::MaxCost));
    let limits = Limits {
        max_tokens: Some(100),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    rig.reply(Reply {
        usage,
        ..calls(&[LS])
    })
    .tool("1");
    assert_eq!(rig.stopped(), Some(StopReason::MaxTokens));
}

#[test]
fn a_reply_without_a_cost_does_not_switch_the_cost_limit_off() {
    let limits = Limits {
        max_cost: Some(1.0),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    rig.reply(calls(&[LS])).tool("1");
    let usage = Usage {
        cost: Some(1.5),
        ..Usage::default()
    };
    rig.reply(Reply {
        usage,
        ..calls(&[LS])
    })
    .tool("2");
    assert_eq!(rig.stopped(), Some(StopReason::MaxCost));
}

#[test]
fn max_wall_time_before_a_request_and_before_a_tool() {
    let limits = Limits {
        max_wall_time: Some(Duration::from_secs(1)),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits.clone());
    rig.reply(calls(&[LS, PWD]));
    rig.at.0 = 1_000;
    rig.tool("late");
    assert_eq!(rig.stopped(), Some(StopReason::MaxWallTime));
    assert_eq!(rig.last_results()[0].content, "late");
    assert!(
        rig.last_results()[1].content.contains("time"),
        "{:?}",
        rig.last_results()
    );

    let mut rig = Rig::new(limits);
    rig.at.0 = 1_000;
    rig.reply(text("late"));
    assert_eq!(rig.stopped(), Some(StopReason::MaxWallTime));
}

#[test]
fn a_request_that_ran_out_of_time_is_no_failure_of_the_model() {
    let limits = Limits {
        max_wall_time: Some(Duration::from_secs(1)),
        ..Limits::default()
    };
    let mut rig = Rig::new(limits.clone());
    rig.at.0 = 1_000;
    rig.fails(Some(ModelFailureKind::Timeout));
    assert_eq!(rig.stopped(), Some(StopReason::MaxWallTime));
    let mut rig = Rig::new(limits);
    rig.at.0 = 999;
    rig.fails(Some(ModelFailureKind::Timeout));
    assert_eq!(
        failed(&rig),
        Some(FailureKind::Model(ModelFailureKind::Timeout))
    );
}

#[test]
fn the_deadline_interrupts_a_tool_and_keeps_what_it_said() {
    let mut rig = rig();
    rig.reply(calls(&[LS, DONE])).feed(Input::Deadline);
    assert_eq!(rig.outcome(), None, "the tool is awaited");
    rig.tool("half");
    assert_eq!(rig.stopped(), Some(StopReason::MaxWallTime));
    assert_eq!(rig.last_results()[0].content, "half");
}

#[test]
fn cancel_at_any_point_leaves_every_call_answered() {
    let cancel = |rig: &mut Rig| {
        rig.feed(Input::Cancel);
    };
    let mut rigs = [rig(), rig(), rig(), rig(), rig()];
    rigs[1].reply(calls(&[LS, PWD, DONE]));
    rigs[2].reply(calls(&[LS, PWD, DONE])).tool("x");
    rigs[3].reply(calls(&[LS, DONE])).tool("x");
    rigs[4].reply(calls(&[DONE, DONE]));
    for (position, rig) in rigs.iter_mut().enumerate() {
        cancel(rig);
        if position > 0 {
            assert_eq!(rig.outcome(), None, "what runs is awaited");
            rig.feed(Input::Abandon);
        }
        assert_eq!(rig.outcome(), Some(&Outcome::Cancelled));
        if position > 0 {
            assert!(
                rig.last_results()
                    .iter()
                    .all(|result| !result.content.is_empty())
            );
        }
    }
    assert!(rigs[1].last_results()[0].content.contains("may have run"));
    assert!(rigs[1].last_results()[1].content.contains("not run"));
}

#[test]
fn a_check_that_passes_after_the_cancel_completes_nothing() {
    let mut rig = rig();
    rig.reply(calls(&[DONE])).feed(Input::Cancel);
    rig.verdict(CheckVerdict::Accept);
    assert_eq!(rig.outcome(), Some(&Outcome::Cancelled));
}

#[test]
fn failures_of_the_model_end_the_attempt_with_their_kind() {
    for kind in [
        ModelFailureKind::Auth,
        ModelFailureKind::Billing,
        ModelFailureKind::BadRequest,
        ModelFailureKind::Overloaded,
        ModelFailureKind::Timeout,
    ] {
        let mut rig = rig();
        rig.fails(Some(kind));
        assert_eq!(
            (failed(&rig), rig.asked()),
            (Some(FailureKind::Model(kind)), 1)
        );
    }
}

#[test]
fn a_second_refusal_ends_the_attempt() {
    let mut rig = rig();
    rig.fails(Some(ModelFailureKind::Refused));
    rig.reply(Reply {
        finish_reason: FinishReason::ContentFilter,
        ..text("no")
    });
    assert_eq!(
        failed(&rig),
        Some(FailureKind::Model(ModelFailureKind::Refused))
    );
}

#[test]
fn prose_for_ever() {
    let mut rig = rig();
    for _ in 0..4 {
        rig.reply(text("done"));
    }
    assert_eq!(
        (rig.stopped(), rig.notes()),
        (Some(StopReason::NoToolCalls), 3)
    );
}

#[test]
fn empty_replies_for_ever() {
    let mut rig = rig();
    for _ in 0..6 {
        rig.reply(text(""));
    }
    assert_eq!(
        (rig.stopped(), rig.asked()),
        (Some(StopReason::NoToolCalls), 6)
    );
}

#[test]
fn unreadable_calls_for_ever() {
    for arguments in ["{", "ls", "[]"] {
        let mut rig = rig();
        for round in 0..4 {
            rig.reply(calls(&[("bash", &format!("{arguments}{round}"))]));
        }
        assert_eq!(rig.stopped(), Some(StopReason::FormatErrors), "{arguments}");
    }
    let mut rig = rig();
    for _ in 0..4 {
        rig.reply(calls(&[("", "{}")]));
    }
    assert_eq!(rig.stopped(), Some(StopReason::FormatErrors));
}

#[test]
fn replies_cut_by_the_length_limit_for_ever() {
    for reply in [text("so long"), text(""), calls(&[LS])] {
        let mut rig = rig();
        for _ in 0..4 {
            rig.reply(Reply {
                finish_reason: FinishReason::Length,
                ..reply.clone()
            });
        }
        assert_eq!(rig.stopped(), Some(StopReason::FormatErrors));
    }
}

#[test]
fn rejections_stop_at_the_limit_and_all_are_in_the_log() {
    let mut rig = rig();
    for _ in 0..5 {
        rig.reply(calls(&[DONE])).verdict(reject());
    }
    assert_eq!(rig.stopped(), Some(StopReason::CompletionRejected));
    let rejected = rig
        .answers()
        .iter()
        .filter(|(_, text)| *text == "no")
        .count();
    assert_eq!(rejected, 5);
}

#[test]
fn a_check_that_breaks_twice_is_a_failure_never_an_empty_patch() {
    let mut rig = rig();
    rig.reply(calls(&[DONE]))
        .verdict(broken())
        .verdict(broken());
    assert_eq!(failed(&rig), Some(FailureKind::Check));
    assert!(rig.last_results()[0].is_error);
}

#[test]
fn a_lost_environment_answers_the_open_calls() {
    let lost = |rig: &mut Rig| {
        let id = rig.id();
        rig.feed(Input::EnvironmentFailed {
            id,
            kind: FailureKind::EnvironmentLost,
            message: "gone".into(),
        });
        assert_eq!(failed(rig), Some(FailureKind::EnvironmentLost));
    };
    let mut rig = rig();
    rig.reply(calls(&[LS, PWD, DONE]));
    lost(&mut rig);
    assert!(rig.last_results()[0].content.contains("may have run"));
    assert_eq!(rig.last_results().len(), 3);
    let mut rig = self::rig();
    rig.reply(calls(&[DONE]));
    lost(&mut rig);
}

#[test]
fn identical_calls_with_equal_results_stop_at_six() {
    let mut rig = rig();
    let mut rounds = 0;
    while rig.outcome().is_none() && rounds < 25 {
        rig.reply(calls(&[LS])).tool("same");
        rounds += 1;
    }
    assert_eq!(
        (rig.stopped(), rounds, rig.notes()),
        (Some(StopReason::Stuck), 6, 1)
    );
}

#[test]
fn identical_calls_in_one_reply_stop_too_and_the_rest_is_answered() {
    let mut rig = rig();
    rig.reply(calls(&[LS; 25]));
    for _ in 0..6 {
        rig.tool("same");
    }
    assert_eq!(rig.stopped(), Some(StopReason::Stuck));
    assert_eq!(rig.last_results().len(), 25);
}

#[test]
fn stuck_detection_can_be_switched_off() {
    let limits = Limits {
        stuck_detection: false,
        ..Limits::default()
    };
    let mut rig = Rig::new(limits);
    for _ in 0..25 {
        rig.reply(calls(&[LS])).tool("same");
    }
    assert_eq!((rig.outcome(), rig.notes()), (None, 0));
}

#[test]
fn overflows_without_anything_to_save_end_after_three() {
    let mut rig = rig();
    for _ in 0..3 {
        assert_eq!(rig.outcome(), None);
        rig.fails(None);
    }
    assert_eq!(
        (rig.stopped(), rig.asked()),
        (Some(StopReason::ContextExhausted), 3)
    );
}

#[test]
fn a_fault_ends_as_internal_with_every_call_answered() {
    let mut rig = rig();
    rig.reply(calls(&[LS, DONE]));
    rig.feed(Input::Fault {
        message: "panic".into(),
    });
    assert_eq!(failed(&rig), Some(FailureKind::Internal));
    assert_eq!(rig.last_results().len(), 2);
}

#[test]
fn nothing_follows_the_end() {
    let mut rig = rig();
    rig.feed(Input::Cancel);
    let end = rig.log.len();
    for input in [
        Input::Cancel,
        Input::Deadline,
        Input::Abandon,
        Input::Resume,
        Input::Proceed,
        Input::Fault {
            message: String::new(),
        },
        super::rig::start(),
    ] {
        rig.feed(input);
    }
    assert_eq!(rig.log.len(), end);
    assert!(matches!(rig.log.last(), Some(Event::Finished { .. })));
}
