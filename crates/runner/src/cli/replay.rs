//! `runner replay`.

mod describe;
mod place;
mod report;
mod stage;

use std::path::PathBuf;

use super::arguments::{Once, Replay};
use super::error::Error;
use super::resolve::{self, Solver};
use crate::exit::Exit;
use crate::layers::{Options, Table};
use crate::lease::REMOVAL_LIMIT;
use crate::replay::{Acting, Recording};
use crate::settings::Identity;
use crate::signals::{Signal, Signals};
use crate::ui::Printer;
use report::Report;
use stage::Stage;

/// Runs the command.
pub(super) fn replay(command: &Replay, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let flags = Options {
        selection: crate::layers::options::Selection {
            dataset: command.dataset.clone(),
            repos: command.repos.clone(),
            ..Default::default()
        },
        sandbox: command.sandbox.clone(),
        acting: command.acting.clone(),
        ..Options::default()
    };
    let flags = resolve::flags(&flags, negated)?;
    let resolved = super::load(&command.config, flags, printer)?;
    let options = resolved.options()?;
    let recordings = command
        .files
        .iter()
        .map(|path| Recording::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let settled = resolve::settle(
        &resolved,
        &options,
        &Once::default(),
        Solver::Named("replay"),
    )?;
    let mut settings = settled.at(PathBuf::from("replay"));
    settings.operation.best_effort_limits = true;
    let repositories = recordings
        .iter()
        .map(|recording| place::repository(command, &options, recording, printer))
        .collect::<Result<Vec<_>, _>>()?;
    let identities: Vec<Identity> = recordings
        .iter()
        .map(|recording| {
            let mut identity = settings.identity.clone();
            if let Some(acting) = Acting::recorded(&recording.trajectory.header) {
                acting.put(&mut identity, |key| resolved.is_given(key));
            }
            identity
        })
        .collect();
    super::block_on(async {
        let mut signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
        let stage = Stage::new(settings, printer).await?;
        let mut reports = Vec::new();
        let mut interrupted = None;
        let places = identities.iter().zip(&repositories);
        for (recording, (identity, (path, commit))) in recordings.iter().zip(places) {
            let replayed = stage.replay(recording, identity, path, commit.as_deref());
            tokio::pin!(replayed);
            let report = tokio::select! {
                report = &mut replayed => report,
                signal = signals.next() => {
                    interrupted = signal;
                    stage.cancel.cancel();
                    replayed.await
                }
            };
            if interrupted.is_some() {
                break;
            }
            let report = report?;
            if !printer.is_json() {
                printer.data(&describe::text(&report, printer));
            }
            reports.push(report);
        }
        stage.leases.clean(REMOVAL_LIMIT).await;
        if printer.is_json() {
            let object = serde_json::json!({"replays": reports});
            printer.data(&format!("{object:#}"));
        }
        Ok(exit(&reports, interrupted))
    })
}

fn exit(reports: &[Report], interrupted: Option<Signal>) -> Exit {
    let replays = reports.iter().map(|report| match report {
        report if report.broke() => Exit::Infrastructure,
        report if report.is_same() => Exit::Success,
        _ => Exit::Gate,
    });
    let signal = match interrupted {
        Some(Signal::Interrupt) => Exit::Interrupted,
        Some(Signal::Terminate) => Exit::Terminated,
        None => Exit::Success,
    };
    replays.fold(signal, Exit::or)
}
