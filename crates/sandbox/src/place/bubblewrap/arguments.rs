//! What `bwrap` is told: which parts of the host are seen, which are hidden, and what is writable.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{HOME_INSIDE, TEMPORARY_INSIDE};
use crate::limits::Network;
use crate::place::host::{EMPTY, HOME, HostSettings, TEMPORARY, WORKSPACE};

/// Entries of the host's root that the inside has its own of, or none.
const OWN: [&str; 6] = ["proc", "dev", "run", "tmp", "lost+found", "agent"];

/// Directories that nothing may be mounted over.
const SYSTEM: [&str; 14] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "root", "run", "sbin", "sys",
    "usr", "var",
];

/// What lies in a home and is nobody else's business. Entries that end with `*` stand for all with that start.
const SECRETS: [&str; 37] = [
    ".ssh",
    ".aws",
    ".azure",
    ".config",
    ".netrc",
    ".docker",
    ".kube",
    ".gnupg",
    ".cargo/credentials*",
    ".git-credentials",
    ".gitconfig",
    ".npmrc",
    ".yarnrc*",
    ".pypirc",
    ".gem/credentials",
    ".m2/settings*",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".huggingface",
    ".cache/huggingface/token*",
    ".local/share/keyrings",
    ".password-store",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".mozilla",
    ".thunderbird",
    ".claude*",
    ".codex",
    ".anthropic",
    ".openai",
    ".env",
    "*_history",
];

/// The mounts of one place.
pub(super) struct Binds {
    before_directory: Vec<OsString>,
}

impl Binds {
    /// The mounts without a place's own directories, to see whether they work.
    pub(super) fn trial(settings: &HostSettings, network: &Network, user_namespace: bool) -> Self {
        let mut list = Arguments::new(Path::new("/dev/null"));
        list.host(settings, network, user_namespace);
        list.words(["--tmpfs", TEMPORARY_INSIDE]);
        Self {
            before_directory: list.words,
        }
    }

    pub(super) fn new(
        settings: &HostSettings,
        directory: &Path,
        workdir: &str,
        network: &Network,
        user_namespace: bool,
    ) -> Self {
        let empty = directory.join(EMPTY);
        let mut list = Arguments::new(&empty);
        list.host(settings, network, user_namespace);
        list.bind(&directory.join(TEMPORARY), TEMPORARY_INSIDE);
        list.bind(&directory.join(HOME), HOME_INSIDE);
        list.bind(&directory.join(WORKSPACE), workdir);
        Self {
            before_directory: list.words,
        }
    }

    /// All arguments up to the program, which starts in `directory`.
    pub(super) fn arguments(&self, directory: &str) -> Vec<OsString> {
        let mut arguments = self.before_directory.clone();
        arguments.extend(["--chdir", directory, "--"].map(OsString::from));
        arguments
    }
}

/// The directory that a row names, where nothing of the host lies there; else the usual one.
pub(super) fn workdir(wanted: Option<&str>, usual: &str) -> String {
    let usable = |path: &&str| {
        let mut names = path.split('/').skip(1);
        let first = names.next().unwrap_or_default();
        path.starts_with('/')
            && !first.is_empty()
            && path
                .split('/')
                .skip(1)
                .all(|name| !matches!(name, "" | "." | ".."))
            && !SYSTEM.contains(&first)
            && !OWN.contains(&first)
            && fs::symlink_metadata(format!("/{first}")).is_err()
    };
    wanted.filter(usable).unwrap_or(usual).to_owned()
}

struct Arguments<'a> {
    words: Vec<OsString>,
    /// What stands in the place of a hidden file.
    empty: &'a Path,
}

impl<'a> Arguments<'a> {
    fn new(empty: &'a Path) -> Self {
        Self {
            words: Vec::new(),
            empty,
        }
    }

    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.words.extend(words.map(OsString::from));
    }

    fn path(&mut self, path: impl Into<OsString>) {
        self.words.push(path.into());
    }

    fn bind(&mut self, from: &Path, to: &str) {
        self.words(["--bind"]);
        self.path(from);
        self.words([to]);
    }

    fn read_only(&mut self, path: &Path) {
        self.words(["--ro-bind"]);
        self.path(path);
        self.path(path);
    }

    /// Everything but the place's own directories.
    fn host(&mut self, settings: &HostSettings, network: &Network, user_namespace: bool) {
        self.words([
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--hostname",
            "sandbox",
        ]);
        if user_namespace {
            self.words(["--unshare-user"]);
        }
        if *network == Network::None {
            self.words(["--unshare-net"]);
        }
        self.root();
        self.words(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run"]);
        if Path::new("/var/run").is_dir() && !Path::new("/var/run").is_symlink() {
            self.words(["--tmpfs", "/var/run"]);
        }
        if Path::new("/var/tmp").is_dir() {
            self.words(["--tmpfs", "/var/tmp"]);
        }
        if *network == Network::Full {
            self.name_servers();
        }
        for home in homes() {
            self.mask_secrets(&home);
        }
        for path in outermost(&settings.root, &settings.hidden) {
            self.mask(&path);
        }
    }

    /// Each entry of the host's root on its own, so that the new root can have directories that the host has not.
    fn root(&mut self) {
        let mut names: Vec<_> = fs::read_dir("/")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| !OWN.iter().any(|own| name == own))
            .collect();
        names.sort();
        for name in names {
            let path = Path::new("/").join(&name);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_symlink() => {
                    if let Ok(target) = fs::read_link(&path) {
                        self.words(["--symlink"]);
                        self.path(target);
                        self.path(&path);
                    }
                }
                Ok(metadata) if metadata.is_dir() => self.read_only(&path),
                _ => {}
            }
        }
    }

    /// With the network, names must be resolved: the file that tells how may lie in the hidden `/run`.
    fn name_servers(&mut self) {
        if let Ok(path) = fs::canonicalize("/etc/resolv.conf")
            && path.starts_with("/run")
        {
            self.read_only(&path);
        }
    }

    fn mask_secrets(&mut self, home: &Path) {
        for secret in SECRETS {
            let path = home.join(secret);
            if secret.contains('*') {
                for path in matching(&path) {
                    self.mask(&path);
                }
            } else {
                self.mask(&path);
            }
        }
    }

    /// Hides a directory behind an empty one, and a file behind nothing; what is not there, or is in a part that is not seen, needs no hiding.
    fn mask(&mut self, path: &Path) {
        // A link is hidden where it leads.
        let Ok(path) = path.canonicalize() else {
            return;
        };
        let seen = path
            .components()
            .nth(1)
            .is_some_and(|first| !OWN.iter().any(|own| first.as_os_str() == *own));
        if !seen {
            return;
        }
        if path.is_dir() {
            self.words(["--tmpfs"]);
        } else {
            self.words(["--ro-bind"]);
            self.path(self.empty);
        }
        self.path(&path);
    }
}

/// The paths that lie in no other of them, links followed: what is in a hidden directory needs no hiding, and would show its name.
fn outermost(root: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let all = std::iter::once(root).chain(hidden.iter().map(PathBuf::as_path));
    let mut found: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup_by(|inner, outer| inner.starts_with(outer));
    found
}

/// The user's home, root's, and everybody's below `/home`.
fn homes() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = fs::read_dir("/home")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    homes.push(PathBuf::from("/root"));
    homes.extend(std::env::home_dir());
    homes.sort();
    homes.dedup();
    homes
}

/// Entries beside `pattern` whose names match its last component, which has one star at its start or end.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let entry = entry.file_name();
            let entry = entry.to_string_lossy();
            match (name.strip_prefix('*'), name.strip_suffix('*')) {
                (Some(end), _) => entry.ends_with(end),
                (_, Some(start)) => entry.starts_with(start),
                (None, None) => false,
            }
        })
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gets_its_own_directory_only_where_the_host_has_none() {
        let workdir = |wanted| workdir(Some(wanted), "/workspace");
        assert_eq!(
            workdir("/testbed-not-on-any-host/x"),
            "/testbed-not-on-any-host/x"
        );
        for refused in [
            "/usr/src",
            "/etc",
            "/tmp/x",
            "/a-new-one/../etc",
            "relative",
            "/",
            "//x",
            "/agent",
        ] {
            assert_eq!(workdir(refused), "/workspace", "{refused}");
        }
    }
}
