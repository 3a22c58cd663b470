//! What went through a proxy, counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use schema::journal::NetworkUse;

/// Refused hosts that are remembered by name: whoever asks may make up as many as they like.
const NAMES: usize = 64;
/// Longest name that is remembered, in bytes: what a name and a port may have.
const NAME: usize = 260;

/// Counts of one proxy.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) connections: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    refused: Mutex<Refused>,
}

#[derive(Debug, Default)]
struct Refused {
    by_name: BTreeMap<String, u64>,
    others: u64,
}

impl Traffic {
    /// Remembers a refusal.
    pub(super) fn refuse(&self, target: &str) {
        let name: String = target
            .chars()
            .take(NAME)
            .filter(char::is_ascii_graphic)
            .collect();
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = refused.by_name.get_mut(&name) {
            *count += 1;
        } else if refused.by_name.len() < NAMES {
            refused.by_name.insert(name, 1);
        } else {
            refused.others += 1;
        }
    }

    /// Takes one refusal of a target back.
    pub(super) fn forgive(&self, target: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused.by_name.get_mut(target) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                refused.by_name.remove(target);
            }
            None => refused.others = refused.others.saturating_sub(1),
        }
    }

    /// The counts so far.
    pub(super) fn so_far(&self) -> NetworkUse {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        NetworkUse {
            connections: self.connections.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            refused: refused.by_name.clone(),
            refused_others: refused.others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_hosts_are_counted_without_end_and_remembered_up_to_a_bound() {
        let traffic = Traffic::default();
        for number in 0..100 {
            traffic.refuse(&format!("{number}.example:443"));
        }
        traffic.refuse("0.example:443");
        traffic.refuse(&"x".repeat(10_000));
        let so_far = traffic.so_far();
        assert_eq!(so_far.refused.len(), NAMES);
        assert_eq!(so_far.refused["0.example:443"], 2);
        assert_eq!(so_far.refused_others, 37);
        for target in ["0.example:443", "1.example:443", "99.example:443"] {
            traffic.forgive(target);
        }
        let so_far = traffic.so_far();
        assert_eq!(so_far.refused["0.example:443"], 1);
        assert!(!so_far.refused.contains_key("1.example:443"));
        assert_eq!(so_far.refused_others, 36);
    }
}
