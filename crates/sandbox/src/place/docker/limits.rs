//! What a container may use, as the engine is told.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{HostConfig, ResourcesUlimits};

use crate::error::Error;
use crate::limits::{Limit, Limits};
use crate::place::{Capabilities, PlaceSpec};

/// Shared memory where nothing asks for less, in bytes: the engine's own default.
const SHARED_MEMORY: u64 = 64 << 20;
/// The directory that can be had in memory.
const TEMPORARY: &str = "/tmp";
const NANO: f64 = 1e9;

/// Limits of one container.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    memory: Option<u64>,
    cpus: Option<f64>,
    pids: Option<u64>,
    disk: Option<u64>,
    /// Bytes of one file, where the disk as a whole cannot be limited.
    file_size: Option<u64>,
    shared_memory: u64,
    pub(super) temporary: Option<u64>,
    pub(super) enforced: Vec<String>,
    pub(super) unenforced: Vec<String>,
}

impl Plan {
    /// What of `limits` the engine can enforce.
    ///
    /// # Errors
    /// `Unsupported` when it cannot enforce one that the user set, and best effort was not asked for.
    pub(super) fn new(
        limits: &Limits,
        can: &Capabilities,
        processors: Option<f64>,
        best_effort: bool,
    ) -> Result<Self, Error> {
        let mut plan = Self::default();
        plan.memory = plan.take("memory", limits.memory, can.memory_limit, best_effort)?;
        plan.cpus = plan.take("cpus", limits.cpus, can.cpu_limit, best_effort)?;
        plan.pids = plan.take("pids", limits.pids, can.pids_limit, best_effort)?;
        plan.disk = plan.take("disk", limits.disk, can.disk_limit, best_effort)?;
        // The engine refuses more processors than it has; only the user's own number is worth an error.
        if let (Some(cpus), Some(has), Some(false)) = (
            plan.cpus,
            processors,
            limits.cpus.map(|limit| limit.explicit),
        ) {
            plan.cpus = Some(cpus.min(has));
        }
        if let (None, Some(limit)) = (plan.disk, limits.disk) {
            plan.file_size = Some(limit.value);
            plan.enforced.push(String::from("file_size"));
        }
        plan.size_memory_files(None);
        Ok(plan)
    }

    fn take<T: Copy>(
        &mut self,
        name: &str,
        limit: Option<Limit<T>>,
        can: bool,
        best_effort: bool,
    ) -> Result<Option<T>, Error> {
        match limit {
            None => Ok(None),
            Some(limit) if can => {
                self.enforced.push(name.to_owned());
                Ok(Some(limit.value))
            }
            Some(limit) if limit.explicit && !best_effort => Err(cannot(name)),
            Some(_) => {
                self.unenforced.push(name.to_owned());
                Ok(None)
            }
        }
    }

    /// Files in memory are nobody's to kill for: together they get half of it at most.
    pub(super) fn size_memory_files(&mut self, temporary: Option<u64>) {
        let half = self.memory.map(|memory| memory / 2);
        self.shared_memory = half.map_or(SHARED_MEMORY, |half| SHARED_MEMORY.min(half / 2));
        self.temporary =
            temporary.map(|asked| half.map_or(asked, |half| asked.min(half - self.shared_memory)));
    }

    /// Without the limit of the disk, after the engine has refused it.
    ///
    /// # Errors
    /// `Unsupported` when the user set it, and best effort was not asked for.
    pub(super) fn without_disk(&self, explicit: bool, best_effort: bool) -> Result<Self, Error> {
        if explicit && !best_effort {
            return Err(cannot("disk"));
        }
        let mut plan = self.clone();
        plan.file_size = plan.disk.take();
        plan.enforced.retain(|name| name != "disk");
        plan.enforced.push(String::from("file_size"));
        plan.unenforced.push(String::from("disk"));
        Ok(plan)
    }

    /// Without bounds of single files: the engine drops them.
    pub(super) fn give_up_bounds(&mut self) {
        self.file_size = None;
        let bound = self.enforced.iter().position(|name| name == "file_size");
        if let Some(index) = bound {
            self.unenforced.push(self.enforced.remove(index));
        }
    }

    /// Whether the disk is limited.
    pub(super) fn limits_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Writes them where the engine reads them.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "processors times a thousand million fit"
    )]
    pub(super) fn write(&self, host: &mut HostConfig) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        host.memory = self.memory.map(number);
        // The same value means none.
        host.memory_swap = host.memory;
        host.nano_cpus = self.cpus.map(|cpus| (cpus * NANO) as i64);
        host.pids_limit = self.pids.map(number);
        host.storage_opt = self
            .disk
            .map(|bytes| HashMap::from([(String::from("size"), bytes.to_string())]));
        host.shm_size = Some(number(self.shared_memory));
        host.tmpfs = self.temporary.map(|bytes| {
            let options = format!("rw,nosuid,nodev,exec,mode=1777,size={bytes}");
            HashMap::from([(String::from(TEMPORARY), options)])
        });
        let mut bounds = vec![bound("core", 0)];
        bounds.extend(self.file_size.map(|bytes| bound("fsize", number(bytes))));
        host.ulimits = Some(bounds);
    }
}

fn bound(name: &str, value: i64) -> ResourcesUlimits {
    ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(value),
        hard: Some(value),
    }
}

fn cannot(name: &str) -> Error {
    Error::Unsupported {
        message: format!(
            "this Docker engine cannot limit {name}: drop the limit, or accept it as best effort"
        ),
    }
}

/// Refuses a repository in files that are in memory: an engine's archives do not reach them, and its work would be lost with its processes.
pub(super) fn keeps_work(spec: &PlaceSpec, workdir: &str) -> Result<(), Error> {
    if spec.rights.temporary.is_none() || !Path::new(workdir).starts_with(TEMPORARY) {
        return Ok(());
    }
    Err(Error::Unsupported {
        message: format!(
            "the repository's directory {workdir} would be in memory by `--tmpfs`: leave that out, or name another directory (the row's `workdir`)"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit<T>(value: T, explicit: bool) -> Limit<T> {
        Limit { value, explicit }
    }

    fn capabilities(disk_limit: bool) -> Capabilities {
        Capabilities {
            backend: "docker",
            network_isolation: true,
            network_door: true,
            memory_limit: true,
            cpu_limit: true,
            pids_limit: true,
            disk_limit,
        }
    }

    fn limits(disk_explicit: bool) -> Limits {
        Limits {
            memory: Some(limit(128 << 20, true)),
            cpus: Some(limit(64.0, false)),
            pids: Some(limit(100, false)),
            disk: Some(limit(1 << 30, disk_explicit)),
        }
    }

    #[test]
    fn files_in_memory_get_half_of_it() {
        let mut plan = Plan::new(&limits(false), &capabilities(true), Some(2.0), false).unwrap();
        plan.size_memory_files(Some(1 << 30));
        let mut host = HostConfig::default();
        plan.write(&mut host);
        assert_eq!(host.memory_swap, host.memory);
        assert_eq!(host.shm_size, Some(32 << 20));
        assert!(host.tmpfs.unwrap()["/tmp"].ends_with(&format!("size={}", 32 << 20)));
        assert_eq!(host.nano_cpus, Some(2_000_000_000));
        assert_eq!(plan.enforced, ["memory", "cpus", "pids", "disk"]);
    }

    #[test]
    fn a_disk_that_cannot_be_limited_is_recorded_or_refused() {
        let refused = Plan::new(&limits(true), &capabilities(false), None, false);
        assert!(refused.unwrap_err().to_string().contains("disk"));
        let plan = Plan::new(&limits(false), &capabilities(false), None, false).unwrap();
        assert_eq!(plan.unenforced, ["disk"]);
        let mut host = HostConfig::default();
        plan.write(&mut host);
        assert_eq!(host.storage_opt, None);
        assert!(host.ulimits.unwrap().contains(&bound("fsize", 1 << 30)));
        let asked = Plan::new(&limits(true), &capabilities(true), None, false).unwrap();
        assert!(asked.without_disk(true, false).is_err());
        assert_eq!(asked.without_disk(true, true).unwrap(), {
            let mut expected =
                Plan::new(&limits(false), &capabilities(false), None, false).unwrap();
            expected.cpus = asked.cpus;
            expected
        });
    }
}
