//! What people see while a dataset comes from the hub.

use std::sync::{Arc, Mutex, PoisonError};

use dataset::hub::{Event, Listener};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{Printer, escape};

/// Hears what the hub's client does, and shows it: bars where bars are shown, else lines.
pub fn downloads(printer: &Printer) -> Listener {
    let printer = printer.clone();
    let bar: Mutex<Option<ProgressBar>> = Mutex::default();
    Arc::new(move |event| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        show(&printer, &mut bar, event);
    })
}

fn show(printer: &Printer, bar: &mut Option<ProgressBar>, event: Event) {
    match event {
        Event::Started { file, from, size } => match printer.bars() {
            Some(bars) => *bar = Some(started(bars, &file, from, size)),
            None => printer.note(&line(&file, from, size)),
        },
        Event::Received { bytes, .. } => {
            if let Some(bar) = bar {
                bar.set_position(bytes);
            }
        }
        Event::Finished { .. } => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        }
        Event::Waiting { file } => printer.note(&format!(
            "waiting for another program that downloads {}",
            escape::line(&file)
        )),
        Event::Retry { reason, after } => printer.warn(&format!(
            "{reason}; trying again in {:.1} s",
            std::time::Duration::from_millis(after).as_secs_f64()
        )),
        Event::Stale { reason } => printer.warn(&format!(
            "the hub cannot be asked, so the dataset is taken as the cache holds it: {reason}"
        )),
        // New events of a client that is newer than this.
        _ => {}
    }
}

fn started(bars: &MultiProgress, file: &str, from: u64, size: Option<u64>) -> ProgressBar {
    let bar = match size {
        Some(size) => ProgressBar::new(size),
        None => ProgressBar::no_length(),
    };
    let style =
        ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    let bar = bars.add(bar);
    bar.set_message(escape::line(file).into_owned());
    bar.set_position(from);
    bar
}

fn line(file: &str, from: u64, size: Option<u64>) -> String {
    let size = size.map_or_else(|| "size not known".to_owned(), super::size);
    let file = escape::line(file);
    match from {
        0 => format!("downloading {file} ({size})"),
        from => format!(
            "downloading {file} ({size}, going on after {})",
            super::size(from)
        ),
    }
}
