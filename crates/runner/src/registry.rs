//! Registries that give no images for a while: pulls wait for them by themselves, and people are told why nothing happens.

use std::collections::{BTreeMap, HashMap};

use sandbox::place::{RegistryState, RegistryWatch};
use tokio::time::Instant;

use crate::dispatcher::Reports;

/// Tells of each registry's outages as they come, and of their ends.
pub async fn watch(mut registries: RegistryWatch, reports: Reports) {
    let wait = registries.wait.as_secs();
    let mut known = BTreeMap::new();
    let mut since = HashMap::new();
    while registries.states.changed().await.is_ok() {
        let states = registries.states.borrow_and_update().clone();
        for (host, state) in &states {
            if known.get(host) == Some(state) {
                continue;
            }
            let began = *since.entry(host.clone()).or_insert_with(Instant::now);
            if *state == RegistryState::Giving {
                since.remove(host);
            }
            let seconds = began.elapsed().as_secs();
            reports.warn(message(host, state, wait, seconds)).await;
        }
        known = states;
    }
}

fn message(host: &str, state: &RegistryState, wait: u64, seconds: u64) -> String {
    match state {
        RegistryState::Away { problem } => format!(
            "the registry {host} gives no images ({problem}): instances that need one of them wait; it is asked again for {wait} s (--registry-wait)"
        ),
        RegistryState::Giving => {
            format!("the registry {host} gives images again after {seconds} s")
        }
        RegistryState::GivenUp { problem } => format!(
            "the registry {host} gave no images for {wait} s ({problem}): instances that need one of them fail until it does, and --resume tries them again"
        ),
    }
}
