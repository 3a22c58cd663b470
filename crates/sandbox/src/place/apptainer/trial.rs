//! What works on this machine, found out by doing it: in a container that borrows the host's programs, since there may be no image yet.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::arguments::{self, Manner};
use super::program::Program;
use crate::error::Error;
use crate::limits::Network;
use crate::place::host::HostSettings;
use crate::place::{directory, removal};

/// How long each try may take.
const TRY: Duration = Duration::from_secs(30);
/// Directories of the host that its programs need.
const PROGRAMS: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "usr"];
/// Directories that a container has mounts on.
const EMPTY: [&str; 8] = ["dev", "proc", "sys", "etc", "root", "tmp", "var", "var/tmp"];
/// It must be able to write, and to start something.
const SCRIPT: &str = ": >/trial && read -r line </proc/self/stat && rm /trial";

/// The best manner that works: without a network before with one, and seeming to be root before not.
pub(super) async fn manner(program: &Program, settings: &HostSettings) -> Result<Manner, Error> {
    let failed = |error| Error::start("make a container for a trial", error);
    let scratch = directory::create_kin(&settings.root).map_err(failed)?;
    let found = match skeleton(&scratch) {
        Ok(binds) => try_all(program, &scratch, &binds).await,
        Err(error) => Err(failed(error)),
    };
    let _ = removal::remove_tree(&scratch);
    found
}

async fn try_all(program: &Program, root: &Path, binds: &[OsString]) -> Result<Manner, Error> {
    let is_root = rustix::process::geteuid().is_root();
    let mut said = None;
    for (fakeroot, network_isolation) in
        [(true, true), (false, true), (true, false), (false, false)]
    {
        if fakeroot && is_root {
            continue;
        }
        let manner = Manner {
            fakeroot,
            root: is_root,
            network_isolation,
        };
        let mut words = arguments::exec(manner, &manner.network(&Network::None), root, "/");
        // Before the container, which comes last.
        let container = words.pop();
        words.extend_from_slice(binds);
        words.extend(container);
        words.extend(["/bin/sh", "-c", SCRIPT].map(OsString::from));
        match program.run(&words, TRY).await {
            Ok(_) => return Ok(manner),
            Err(failed) => {
                said.get_or_insert_with(|| failed.to_string());
            }
        }
    }
    Err(Error::Unsupported {
        message: format!(
            "{} starts no container here ({}): allow user namespaces or install it with its setuid helper, or use another sandbox",
            program.version,
            said.unwrap_or_default()
        ),
    })
}

/// Makes the container's directory, and says what is bound into it.
fn skeleton(root: &Path) -> io::Result<Vec<OsString>> {
    for name in EMPTY {
        fs::create_dir(root.join(name))?;
    }
    let mut binds = Vec::new();
    for name in PROGRAMS {
        let (host, inside) = (PathBuf::from("/").join(name), root.join(name));
        match fs::symlink_metadata(&host) {
            Ok(metadata) if metadata.is_symlink() => {
                std::os::unix::fs::symlink(fs::read_link(&host)?, inside)?;
            }
            Ok(metadata) if metadata.is_dir() => {
                fs::create_dir(inside)?;
                binds.extend(["--bind".into(), format!("/{name}:/{name}:ro").into()]);
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(binds)
}
