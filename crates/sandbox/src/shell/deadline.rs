//! Ending a command and everything that it started, from the host: interrupt first, then stop and kill until nothing is left.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::processes::{self, Process};

/// How long an interrupted process may take to write out what it holds.
pub(super) const INTERRUPT: Duration = Duration::from_millis(300);
/// How often it is looked whether it has.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// Rounds of killing. More only help against a bomb, which the end of the whole tree is for.
const ROUNDS: u32 = 50;

/// What to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    /// Ancestor of all.
    pub(crate) keeper: u32,
    /// The process that runs the command, as it numbers itself; `None` when every descendant goes.
    pub(crate) worker: Option<u32>,
    /// Ticks at which the command was sent: what is older belongs to others.
    pub(crate) since: u64,
}

/// The processes of a command at one moment.
struct View {
    worker: Option<u32>,
    targets: Vec<Process>,
}

impl Command {
    fn look(&self) -> View {
        let table = processes::all();
        let tree = processes::descendants_in(&table, self.keeper);
        let worker = self.worker.and_then(|number| {
            tree.iter()
                .map(|process| process.pid)
                .find(|&pid| processes::inner_pid(pid) == Some(number))
        });
        let line = worker.map_or_else(BTreeSet::new, |worker| self.ancestors(&table, worker));
        let targets = tree
            .into_iter()
            .filter(|process| process.start >= self.since && !line.contains(&process.pid))
            .filter(|process| self.worker.is_none() || Some(process.pid) != worker)
            .collect();
        View { worker, targets }
    }

    /// The worker and the keepers above it.
    fn ancestors(&self, table: &[Process], worker: u32) -> BTreeSet<u32> {
        let mut line = BTreeSet::from([worker]);
        let mut current = worker;
        while let Some(process) = table.iter().find(|process| process.pid == current) {
            if !line.insert(process.parent) && process.parent != current {
                break;
            }
            if process.parent == self.keeper || process.parent == 0 {
                break;
            }
            current = process.parent;
        }
        line
    }

    /// Stops the worker, so that the compound command does not go on, and interrupts the rest. Who reads from a pipe is spared: it ends by itself
    /// once its writer is gone, and prints what it has.
    fn interrupt(&self) -> bool {
        let view = self.look();
        if let Some(worker) = view.worker {
            processes::signal(worker, Signal::STOP);
        }
        let mut any = false;
        for process in view.targets {
            if !processes::reads_from_pipe(process.pid) {
                processes::signal(process.pid, Signal::INT);
                any = true;
            }
        }
        any
    }

    fn is_over(&self) -> bool {
        self.look().targets.is_empty()
    }

    fn kill(&self) {
        for _ in 0..ROUNDS {
            let targets = self.look().targets;
            if targets.is_empty() {
                break;
            }
            for signal in [Signal::STOP, Signal::KILL] {
                for process in &targets {
                    processes::signal(process.pid, signal);
                }
            }
            std::thread::yield_now();
        }
        if let Some(worker) = self.look().worker {
            processes::signal(worker, Signal::KILL);
        }
    }

    /// Ends the command. Its output is to be read meanwhile, or writers that are interrupted cannot finish.
    pub(crate) async fn end(self) {
        let blocking = |work: fn(&Self) -> bool| async move {
            tokio::task::spawn_blocking(move || work(&self))
                .await
                .unwrap_or(false)
        };
        let started = Instant::now();
        if blocking(Self::interrupt).await {
            while started.elapsed() < INTERRUPT && !blocking(Self::is_over).await {
                tokio::time::sleep(LOOK).await;
            }
        }
        blocking(|command| {
            command.kill();
            true
        })
        .await;
    }
}
