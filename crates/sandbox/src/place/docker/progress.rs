//! How far pulls are, for whoever shows it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bollard::models::CreateImageInfo;

/// Layers of one image that are followed: no image has as many, and what a registry says must not fill the memory.
const LAYERS: usize = 1024;

/// What a pull is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPhase {
    /// Waiting until other pulls have ended.
    Waiting,
    /// Fetching and unpacking layers.
    Pulling,
    /// Waiting before it is tried again.
    Pausing,
}

/// A pull that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    /// Name of the image.
    pub image: String,
    /// What it is at.
    pub phase: PullPhase,
    /// Bytes that came, compressed.
    pub bytes: u64,
    /// Bytes of all layers whose size is known so far.
    pub total: u64,
    /// Layers that are there.
    pub layers_done: usize,
    /// Layers heard of.
    pub layers: usize,
    /// Time since it was asked for.
    pub age: Duration,
}

#[derive(Debug, Default)]
struct Layer {
    bytes: u64,
    total: u64,
    done: bool,
}

#[derive(Debug)]
struct State {
    phase: PullPhase,
    layers: HashMap<String, Layer>,
    started: Instant,
}

impl State {
    fn progress(&self, image: &str) -> PullProgress {
        let layers = self.layers.values();
        // A registry may state any size.
        let sum = |size: fn(&Layer) -> u64| layers.clone().map(size).fold(0, u64::saturating_add);
        PullProgress {
            image: image.to_owned(),
            phase: self.phase,
            bytes: sum(|layer| layer.bytes),
            total: sum(|layer| layer.total),
            layers_done: layers.clone().filter(|layer| layer.done).count(),
            layers: self.layers.len(),
            age: self.started.elapsed(),
        }
    }
}

/// The pulls of one engine that go on.
#[derive(Debug, Clone, Default)]
pub struct Pulls {
    states: Arc<Mutex<BTreeMap<String, State>>>,
}

impl Pulls {
    /// All of them, those that have begun first, then by name.
    pub fn all(&self) -> Vec<PullProgress> {
        let states = self.states();
        let mut all: Vec<_> = states
            .iter()
            .map(|(image, state)| state.progress(image))
            .collect();
        all.sort_by_key(|pull| pull.phase == PullPhase::Waiting);
        all
    }

    /// Lists a pull until it is dropped.
    pub(super) fn begin(&self, image: &str) -> Listed {
        let state = State {
            phase: PullPhase::Waiting,
            layers: HashMap::new(),
            started: Instant::now(),
        };
        self.states().insert(image.to_owned(), state);
        Listed {
            image: image.to_owned(),
            pulls: self.clone(),
        }
    }

    fn states(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pull on the list.
pub(super) struct Listed {
    image: String,
    pulls: Pulls,
}

impl Listed {
    pub(super) fn enter(&self, phase: PullPhase) {
        if let Some(state) = self.pulls.states().get_mut(&self.image) {
            state.phase = phase;
        }
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Option<PullProgress> {
        let states = self.pulls.states();
        states
            .get(&self.image)
            .map(|state| state.progress(&self.image))
    }

    /// Takes in what the engine says of one layer.
    pub(super) fn hear(&self, line: &CreateImageInfo) {
        let (Some(id), Some(status)) = (&line.id, &line.status) else {
            return;
        };
        // The line that begins a pull has the tag for an identifier.
        if status.starts_with("Pulling from") {
            return;
        }
        let mut states = self.pulls.states();
        let Some(state) = states.get_mut(&self.image) else {
            return;
        };
        if !state.layers.contains_key(id) && state.layers.len() >= LAYERS {
            return;
        }
        let detail = line.progress_detail.as_ref();
        let size = |bytes: Option<i64>| bytes.and_then(|bytes| u64::try_from(bytes).ok());
        let layer = state.layers.entry(id.clone()).or_default();
        match status.as_str() {
            "Downloading" => {
                layer.bytes = size(detail.and_then(|detail| detail.current)).unwrap_or(layer.bytes);
                layer.total = size(detail.and_then(|detail| detail.total))
                    .unwrap_or(layer.total)
                    .max(layer.bytes);
            }
            "Pull complete" | "Already exists" => {
                layer.bytes = layer.total;
                layer.done = true;
            }
            "Verifying Checksum" | "Download complete" | "Extracting" => layer.bytes = layer.total,
            _ => {}
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.pulls.states().remove(&self.image);
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::ProgressDetail;

    use super::*;

    fn line(id: &str, status: &str, detail: Option<(i64, i64)>) -> CreateImageInfo {
        CreateImageInfo {
            id: Some(id.to_owned()),
            status: Some(status.to_owned()),
            progress_detail: detail.map(|(current, total)| ProgressDetail {
                current: Some(current),
                total: Some(total),
            }),
            ..CreateImageInfo::default()
        }
    }

    #[test]
    fn layers_add_up_and_what_ended_is_not_listed() {
        let pulls = Pulls::default();
        let listed = pulls.begin("a:1");
        listed.enter(PullPhase::Pulling);
        listed.hear(&line("1", "Pulling from a", None));
        for id in ["x", "y", "z"] {
            listed.hear(&line(id, "Pulling fs layer", None));
        }
        listed.hear(&line("x", "Downloading", Some((30, 100))));
        listed.hear(&line("y", "Downloading", Some((5, 50))));
        listed.hear(&line("y", "Download complete", None));
        listed.hear(&line("z", "Already exists", None));
        let all = pulls.all();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].bytes, all[0].total), (80, 150));
        assert_eq!((all[0].layers_done, all[0].layers), (1, 3));
        assert_eq!(all[0].phase, PullPhase::Pulling);
        for id in ["v", "w", "x"] {
            listed.hear(&line(id, "Downloading", Some((i64::MAX, i64::MAX))));
        }
        assert_eq!(
            (pulls.all()[0].bytes, pulls.all()[0].total),
            (u64::MAX, u64::MAX)
        );
        drop(listed);
        assert!(pulls.all().is_empty());
    }
}
