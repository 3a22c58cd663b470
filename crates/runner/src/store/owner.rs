//! Who writes: one directory below `writers/` for each runner, claimed by creating its owner file.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RunDirectory, atomic};
use crate::clock;
use crate::error::{At, Error};

/// A writer whose process cannot be seen is dead after this long without a heartbeat.
const HEARTBEAT_LIMIT: Duration = Duration::from_mins(1);

/// How often a living writer beats.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Name of the owner file in a writer's directory.
const OWNER_FILE: &str = "owner.json";

/// `owner.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Name of the machine.
    pub host: String,
    /// Its boot: a process id means nothing after the next one.
    pub boot_id: String,
    /// Inode of the namespace in which the process has its number; `None` where it is not known.
    #[serde(default)]
    pub namespace: Option<u64>,
    /// Process.
    pub pid: u32,
    /// When the process started, in clock ticks since boot: tells it from a later process with the same id.
    pub started: u64,
    /// Last sign of life, RFC 3339 in UTC.
    pub heartbeat: String,
    /// Whether the writer said good-bye.
    #[serde(default)]
    pub finished: bool,
}

impl Owner {
    /// This process.
    fn this() -> Self {
        let pid = std::process::id();
        Self {
            host: host(),
            boot_id: boot_id(),
            namespace: namespace(),
            pid,
            started: start_time(pid).unwrap_or_default(),
            heartbeat: clock::text(clock::now()),
            finished: false,
        }
    }

    /// Whether its process may still write.
    pub fn alive(&self, now: Timestamp) -> bool {
        if self.finished {
            return false;
        }
        // A process number means something on one boot, in one namespace: runners in containers may share all else, the host's name too.
        let same_boot = self.boot_id == boot_id();
        if same_boot && self.namespace == namespace() {
            return start_time(self.pid) == Some(self.started);
        }
        if !same_boot && self.host == host() {
            return false;
        }
        self.heartbeat
            .parse::<Timestamp>()
            .is_ok_and(|beat| now.duration_since(beat).unsigned_abs() < HEARTBEAT_LIMIT)
    }
}

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

fn namespace() -> Option<u64> {
    let namespace = fs::metadata("/proc/self/ns/pid").ok()?;
    Some(namespace.ino())
}

/// Start of a process in ticks since boot (field 22 of its `stat`), `None` when there is no such process or it is a zombie.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold anything, parentheses too: fields count from the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// A claimed writer's directory. The claim ends with [`Writer::finish`] or with the process.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    name: String,
    owner: Owner,
    follows_death: bool,
}

impl Writer {
    /// Claims a new writer of `run`.
    ///
    /// # Errors
    /// When another living process writes to the run, or the claim cannot be written.
    pub fn claim(run: &RunDirectory) -> Result<Self, Error> {
        let writers = run.writers();
        fs::create_dir_all(&writers).at("create", &writers)?;
        let _lock = lock(&writers)?;
        let now = clock::now();
        let mut last = 0;
        let mut follows_death = false;
        for (number, directory) in directories(&writers)? {
            last = last.max(number);
            match read_owner(&directory)? {
                Some(owner) if owner.alive(now) => {
                    return Err(Error::InUse {
                        path: run.root().to_owned(),
                        pid: owner.pid,
                        host: owner.host,
                    });
                }
                Some(owner) => follows_death = !owner.finished,
                None => {}
            }
        }
        let name = format!("w{}", last + 1);
        let directory = writers.join(&name);
        fs::create_dir(&directory).at("create", &directory)?;
        let writer = Self {
            owner: Owner::this(),
            directory,
            name,
            follows_death,
        };
        writer.create_owner_file()?;
        Ok(writer)
    }

    /// Whether the writer before it had no end.
    pub fn follows_death(&self) -> bool {
        self.follows_death
    }

    /// Its name below `writers/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its journal.
    pub fn journal(&self) -> PathBuf {
        self.directory.join("journal.jsonl")
    }

    /// Says that it lives.
    ///
    /// # Errors
    /// When the owner file cannot be replaced.
    pub fn beat(&mut self) -> Result<(), Error> {
        self.owner.heartbeat = clock::text(clock::now());
        self.replace_owner_file()
    }

    /// Gives the claim up: nothing will be written any more.
    ///
    /// # Errors
    /// When the owner file cannot be replaced.
    pub fn finish(mut self) -> Result<(), Error> {
        self.owner.finished = true;
        self.beat()
    }

    fn create_owner_file(&self) -> Result<(), Error> {
        let path = self.directory.join(OWNER_FILE);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&self.owner_text()))
            .at("create", path)
    }

    fn replace_owner_file(&self) -> Result<(), Error> {
        let path = self.directory.join(OWNER_FILE);
        atomic::replace_bytes(&path, &self.owner_text()).at("write", path)
    }

    fn owner_text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(&self.owner).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// Holds a short lock while writers are looked at and claimed.
fn lock(writers: &Path) -> Result<File, Error> {
    let path = writers.join("lock");
    let file = File::create(&path).at("create", &path)?;
    file.lock().at("lock", path)?;
    Ok(file)
}

/// Directories of a run's writers with their numbers, in order.
///
/// # Errors
/// When `writers/` cannot be listed.
pub fn directories(writers: &Path) -> Result<Vec<(u32, PathBuf)>, Error> {
    let entries = match fs::read_dir(writers) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("list", writers)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.at("list", writers)?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix('w'))
            .and_then(|number| number.parse().ok());
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

/// The living writer of a run, `None` when nobody writes.
///
/// # Errors
/// When owner files cannot be read.
pub fn living(run: &RunDirectory) -> Result<Option<Owner>, Error> {
    let now = clock::now();
    for (_, directory) in directories(&run.writers())? {
        if let Some(owner) = read_owner(&directory)?
            && owner.alive(now)
        {
            return Ok(Some(owner));
        }
    }
    Ok(None)
}

/// A writer that died between making its directory and its owner file has none, or half of one: it wrote nothing.
fn read_owner(directory: &Path) -> Result<Option<Owner>, Error> {
    let path = directory.join(OWNER_FILE);
    match fs::read(&path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("read", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_writer_keeps_others_out_and_a_finished_one_does_not() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        let first = Writer::claim(&run).unwrap();
        let refused = Writer::claim(&run).unwrap_err();
        assert!(
            matches!(&refused, Error::InUse { pid, .. } if *pid == std::process::id()),
            "{refused}"
        );
        assert!(living(&run).unwrap().is_some());
        first.finish().unwrap();
        assert!(living(&run).unwrap().is_none());
        assert_eq!(Writer::claim(&run).unwrap().name(), "w2");
    }

    #[test]
    fn a_reused_process_id_and_an_old_boot_are_dead() {
        let now = clock::now();
        let mut owner = Owner::this();
        assert!(owner.alive(now));
        owner.started += 1;
        assert!(!owner.alive(now));
        let mut owner = Owner::this();
        owner.boot_id.push('x');
        assert!(!owner.alive(now));
    }

    #[test]
    fn one_whose_process_cannot_be_seen_lives_by_its_heartbeat() {
        let now = clock::now();
        let mut machine = Owner::this();
        machine.host.push_str("-other");
        machine.boot_id.push('x');
        // In another container of this machine, which may have another name or the same.
        let mut container = Owner::this();
        container.namespace = container.namespace.map(|inode| inode + 1);
        container.started += 1;
        let mut named = container.clone();
        named.host.push_str("-other");
        for mut owner in [machine, container, named] {
            assert!(owner.alive(now));
            assert!(!owner.alive(now + Duration::from_secs(61)));
            owner.heartbeat = "never".into();
            assert!(!owner.alive(now));
        }
        let mut renamed = Owner::this();
        renamed.host.push_str("-other");
        assert!(renamed.alive(now + Duration::from_secs(61)));
    }
}
