//! What the program is told, as the documentation of Apptainer 1.6 has it (user guide, and `apptainer exec|pull|build --help`).

use std::ffi::OsString;
use std::path::Path;

use super::HOME_INSIDE;
use crate::limits::Network;
use crate::place::local::user;

/// How containers are started here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    /// Whether programs inside seem to be root's. Nobody but the user has anything to lose by that.
    pub(super) fakeroot: bool,
    /// Whether this is root, whose containers would keep root's capabilities.
    pub(super) root: bool,
    /// Whether they can be without a network.
    pub(super) network_isolation: bool,
}

impl Manner {
    /// The network that a container gets.
    pub(super) fn network(self, asked: &Network) -> Network {
        match asked {
            Network::None if self.network_isolation => Network::None,
            Network::None | Network::Full | Network::Allow(_) => Network::Full,
        }
    }

    /// The user that programs see themselves as.
    pub(super) fn user(self) -> String {
        if self.fakeroot || self.root {
            return String::from("0:0");
        }
        format!("{}:{}", user(), rustix::process::getgid().as_raw())
    }
}

/// Words before a program that starts in `directory` of a container whose files are those below `root`.
///
/// - `--containall` gives it processes and devices of its own and nothing of the user's; `--cleanenv` is part of it, and said once more.
/// - `--writable` lets it change its files, which are a directory of its own; `--no-mount tmp` leaves it the image's `/tmp` instead of 64 MiB of memory.
/// - `--home` makes the image's `/root` its home, whoever it runs as; with `--no-home` it would be a path of the host's that is not there.
/// - The shim process stays (no `--no-init`): it takes care of orphans.
pub(super) fn exec(
    manner: Manner,
    network: &Network,
    root: &Path,
    directory: &str,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = [
        "--silent",
        "exec",
        "--containall",
        "--cleanenv",
        "--writable",
    ]
    .map(OsString::from)
    .to_vec();
    words.extend(["--no-mount", "tmp", "--home"].map(OsString::from));
    let mut home = root
        .join(HOME_INSIDE.trim_start_matches('/'))
        .into_os_string();
    home.push(":");
    home.push(HOME_INSIDE);
    words.push(home);
    if manner.fakeroot {
        words.push("--fakeroot".into());
    }
    if manner.root {
        words.push("--no-privs".into());
    }
    if *network == Network::None {
        words.extend(["--net", "--network", "none"].map(OsString::from));
    }
    words.extend(["--pwd", directory].map(OsString::from));
    words.push(root.into());
    words
}

/// Unpacks an image into a directory that is not there yet.
pub(super) fn unpack(image: &Path, root: &Path) -> Vec<OsString> {
    let mut words = ["--silent", "build", "--sandbox"]
        .map(OsString::from)
        .to_vec();
    words.extend([root, image].map(OsString::from));
    words
}

/// Makes a file of an image that is an archive, or a service's on this machine.
pub(super) fn build(uri: &str, file: &Path) -> Vec<OsString> {
    let mut words = ["build", "--force"].map(OsString::from).to_vec();
    words.extend([file.into(), OsString::from(uri)]);
    words
}

/// Gets a file of an image from a registry; `architecture` where it is not this machine's.
pub(super) fn pull(uri: &str, architecture: Option<&str>, file: &Path) -> Vec<OsString> {
    let mut words = ["pull", "--force"].map(OsString::from).to_vec();
    if let Some(architecture) = architecture {
        words.extend(["--arch", architecture].map(OsString::from));
    }
    words.extend([file.into(), OsString::from(uri)]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[OsString]) -> String {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    fn manner(fakeroot: bool, root: bool) -> Manner {
        Manner {
            fakeroot,
            root,
            network_isolation: true,
        }
    }

    #[test]
    fn the_command_lines_are_those_of_the_documentation() {
        let root = Path::new("/scratch/place/workspace");
        let file = Path::new("/scratch/apptainer/x.sif");
        let cut = exec(manner(true, false), &Network::None, root, "/testbed");
        assert_eq!(
            line(&cut),
            "--silent exec --containall --cleanenv --writable --no-mount tmp --home /scratch/place/workspace/root:/root --fakeroot \
             --net --network none --pwd /testbed /scratch/place/workspace"
        );
        let open = exec(manner(false, true), &Network::Full, root, "/");
        assert_eq!(
            line(&open),
            "--silent exec --containall --cleanenv --writable --no-mount tmp --home /scratch/place/workspace/root:/root --no-privs \
             --pwd / /scratch/place/workspace"
        );
        assert_eq!(
            line(&unpack(file, root)),
            "--silent build --sandbox /scratch/place/workspace /scratch/apptainer/x.sif"
        );
        assert_eq!(
            line(&build("docker-archive:a.tar", file)),
            "build --force /scratch/apptainer/x.sif docker-archive:a.tar"
        );
        assert_eq!(
            line(&pull("docker://a/b:1", Some("arm64"), file)),
            "pull --force --arch arm64 /scratch/apptainer/x.sif docker://a/b:1"
        );
        assert_eq!(
            line(&pull("oras://a/b:1", None, file)),
            "pull --force /scratch/apptainer/x.sif oras://a/b:1"
        );
    }

    #[test]
    fn a_network_that_cannot_be_cut_is_there() {
        let weak = Manner {
            network_isolation: false,
            ..manner(true, false)
        };
        assert_eq!(weak.network(&Network::None), Network::Full);
        assert_eq!(manner(true, false).network(&Network::None), Network::None);
        assert_eq!(manner(true, false).network(&Network::Full), Network::Full);
        assert_eq!(weak.user(), "0:0");
    }
}
