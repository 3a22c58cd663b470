//! Pulls of images as people see them: a bar for each, or lines now and then where there is no terminal.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use sandbox::place::docker::{PullPhase, PullProgress, Pulls};
use tokio::time::{MissedTickBehavior, interval};

use super::{Printer, count, escape, size};
use crate::cli::arguments::Progress;

/// How often the bars look.
const REFRESH: Duration = Duration::from_millis(250);
/// How often lines are printed.
const LINES: Duration = Duration::from_secs(10);
/// Bars of single images; what more there is is added up in one.
const SHOWN: usize = 4;

/// Does some work and shows the pulls of `engines` meanwhile.
pub async fn beside<T>(printer: &Printer, engines: &[Pulls], work: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        done = work => done,
        never = show(printer, engines) => match never {},
    }
}

/// Until it is dropped.
async fn show(printer: &Printer, engines: &[Pulls]) -> Infallible {
    let all = || engines.iter().flat_map(Pulls::all).collect::<Vec<_>>();
    if let Some(multi) = printer.bars() {
        let mut bars = Bars::new(multi.clone());
        let mut tick = ticks(REFRESH);
        loop {
            tick.tick().await;
            bars.draw(&all());
        }
    }
    let mut tick = ticks(LINES);
    loop {
        tick.tick().await;
        if printer.progress() == Progress::Plain {
            for line in lines(&all()) {
                printer.note(&line);
            }
        }
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// What is said of pulls at one time: those that have just begun may end before anybody reads of them.
fn lines(pulls: &[PullProgress]) -> Vec<String> {
    let long: Vec<_> = pulls.iter().filter(|pull| pull.age >= LINES / 2).collect();
    if long.len() <= SHOWN {
        return long.into_iter().map(line).collect();
    }
    vec![together(&long)]
}

/// `pulling python:3.11: 12.0 MiB of 40.1 MiB, 3 of 7 layers, 20 s`.
fn line(pull: &PullProgress) -> String {
    let name = escape::short(&pull.image, 100);
    let seconds = pull.age.as_secs();
    match pull.phase {
        PullPhase::Waiting => format!("pulling {name}: waits for other pulls, {seconds} s"),
        PullPhase::Pausing => format!("pulling {name}: failed, is tried again, {seconds} s"),
        PullPhase::Pulling => format!("pulling {name}: {}, {seconds} s", amount(&[pull])),
    }
}

/// The same of many at once.
fn together(pulls: &[&PullProgress]) -> String {
    let waiting = pulls
        .iter()
        .filter(|pull| pull.phase != PullPhase::Pulling)
        .count();
    let images = count(pulls.len(), "image");
    format!(
        "pulling {images} ({waiting} of them wait): {}",
        amount(pulls)
    )
}

fn amount(pulls: &[&PullProgress]) -> String {
    let bytes = pulls.iter().map(|pull| pull.bytes).sum();
    let total = pulls.iter().map(|pull| pull.total).sum();
    let done: usize = pulls.iter().map(|pull| pull.layers_done).sum();
    let layers: usize = pulls.iter().map(|pull| pull.layers).sum();
    format!(
        "{} of {}, {done} of {}",
        size(bytes),
        size(total),
        count(layers, "layer")
    )
}

struct Bars {
    multi: MultiProgress,
    images: HashMap<String, ProgressBar>,
    /// There while more are pulled than are shown.
    rest: Option<ProgressBar>,
}

impl Bars {
    fn new(multi: MultiProgress) -> Self {
        Self {
            multi,
            images: HashMap::new(),
            rest: None,
        }
    }

    fn draw(&mut self, pulls: &[PullProgress]) {
        let shown = &pulls[..pulls.len().min(SHOWN)];
        self.images.retain(|image, bar| {
            let stays = shown.iter().any(|pull| pull.image == *image);
            if !stays {
                remove(&self.multi, bar);
            }
            stays
        });
        for pull in shown {
            let bar = self.images.entry(pull.image.clone());
            let bar = bar.or_insert_with(|| self.multi.insert(0, bar_of_bytes()));
            set(bar, pull.bytes, pull.total, &line(pull));
        }
        let more: Vec<_> = pulls.iter().skip(SHOWN).collect();
        if more.is_empty() {
            if let Some(bar) = self.rest.take() {
                remove(&self.multi, &bar);
            }
            return;
        }
        let bar = self
            .rest
            .get_or_insert_with(|| self.multi.insert(0, bar_of_bytes()));
        let bytes = more.iter().map(|pull| pull.bytes).sum();
        let total = more.iter().map(|pull| pull.total).sum();
        set(bar, bytes, total, &together(&more));
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        for bar in self.images.values().chain(&self.rest) {
            remove(&self.multi, bar);
        }
    }
}

fn remove(multi: &MultiProgress, bar: &ProgressBar) {
    bar.finish_and_clear();
    multi.remove(bar);
}

fn set(bar: &ProgressBar, bytes: u64, total: u64, text: &str) {
    bar.set_length(total.max(1));
    bar.set_position(bytes);
    bar.set_message(text.to_owned());
}

fn bar_of_bytes() -> ProgressBar {
    let style = ProgressStyle::with_template("  {bar:20.green/dim} {wide_msg}");
    ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(image: &str, phase: PullPhase, age: u64) -> PullProgress {
        PullProgress {
            image: image.to_owned(),
            phase,
            bytes: 12 << 20,
            total: 40 << 20,
            layers_done: 3,
            layers: 7,
            age: Duration::from_secs(age),
        }
    }

    #[test]
    fn a_few_pulls_are_told_one_by_one_and_many_together() {
        let few = [
            pull("a:1", PullPhase::Pulling, 20),
            pull("b:1", PullPhase::Pausing, 31),
            pull("c:1", PullPhase::Waiting, 9),
            pull("young:1", PullPhase::Pulling, 1),
        ];
        let many: Vec<_> = (0..6)
            .map(|number| pull(&number.to_string(), PullPhase::Pulling, 5 + number))
            .collect();
        assert_eq!(
            [lines(&few), lines(&many)].concat(),
            [
                "pulling a:1: 12.0 MiB of 40.0 MiB, 3 of 7 layers, 20 s",
                "pulling b:1: failed, is tried again, 31 s",
                "pulling c:1: waits for other pulls, 9 s",
                "pulling 6 images (0 of them wait): 72.0 MiB of 240.0 MiB, 18 of 42 layers",
            ]
        );
    }
}
