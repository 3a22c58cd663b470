//! Looking, one thing after the other. Whatever can be tried is tried, not guessed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use sandbox::place::bubblewrap::Bubblewrap;
use sandbox::place::host::HostSettings;

use super::Check;
use crate::error::chain;
use crate::layers::values::Size;

/// Time for a program to say its version.
const PROGRAM_DEADLINE: Duration = Duration::from_secs(10);

/// Free space below which runs are likely to fail: a few checkouts and their outputs.
const LITTLE_SPACE: u64 = 2 << 30;

/// Open files below which many workers are likely to fail; each holds about twenty.
const FEW_FILES: u64 = 1024;

/// What to look at, passed in so that tests can lack things.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Variables of the process.
    pub variables: BTreeMap<String, String>,
    /// Directory that holds runs.
    pub runs: PathBuf,
    /// Root of the sandboxes' private directories.
    pub scratch: PathBuf,
}

/// Looks at everything.
pub async fn examine(subject: &Subject) -> Vec<Check> {
    let bubblewrap = bubblewrap(subject).await;
    vec![
        shell().await,
        git().await,
        patch().await,
        python().await,
        bubblewrap,
        docker().await,
        podman().await,
        apptainer().await,
        writable(&subject.runs),
        space("space for runs", &subject.runs),
        space("space for sandboxes", &subject.scratch),
        shared_memory(),
        open_files(),
        keys(&subject.variables),
    ]
}

/// The first line that a program prints, `Err` with what went wrong.
async fn first_line(program: &str, argument: &str) -> Result<String, String> {
    let child = tokio::process::Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(PROGRAM_DEADLINE, child).await {
        Err(_) => Err(format!("`{program}` does not answer")),
        Ok(Err(error)) => Err(format!("`{program}` cannot be started: {error}")),
        Ok(Ok(output)) if !output.status.success() => Err(format!(
            "`{program} {argument}` ended with {}",
            output.status
        )),
        Ok(Ok(output)) => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().next().unwrap_or_default().trim().to_owned())
        }
    }
}

async fn shell() -> Check {
    match first_line("bash", "--version").await {
        Ok(version) => Check::ok("shell", version),
        Err(problem) => Check::warn(
            "shell",
            format!("{problem}; commands run in `sh`"),
            "install the package `bash`",
        ),
    }
}

async fn git() -> Check {
    match first_line("git", "--version").await {
        Ok(version) => Check::ok("git", version),
        Err(problem) => Check::warn(
            "git",
            problem,
            "install the package `git`: the demo is built with it, and agents like to use it",
        ),
    }
}

async fn patch() -> Check {
    match first_line("patch", "--version").await {
        Ok(version) => Check::ok("patch", version),
        Err(problem) => Check::warn(
            "patch",
            problem,
            "install the package `patch`: patches that do not fit to the line cannot be graded without it",
        ),
    }
}

async fn python() -> Check {
    match first_line("python3", "--version").await {
        Ok(version) => Check::ok("python", version),
        Err(problem) => Check::warn(
            "python",
            problem,
            "install the package `python3`: some of the demo's tests need it",
        ),
    }
}

async fn bubblewrap(subject: &Subject) -> Check {
    match Bubblewrap::probe(HostSettings::new(&subject.scratch)).await {
        Ok(_) => Check::ok("bubblewrap", "works"),
        Err(error) => Check::warn(
            "bubblewrap",
            chain(&error),
            "install the package `bubblewrap` and allow user namespaces; without it commands run unconfined",
        ),
    }
}

async fn docker() -> Check {
    match sandbox::place::docker::probe().await {
        Ok(engine) => Check::ok(
            "docker",
            format!("an engine answers (version {})", engine.version),
        ),
        // Nobody has to have one.
        Err(error) => Check::ok(
            "docker",
            format!("{}; needed for --sandbox docker alone", chain(&error)),
        ),
    }
}

async fn podman() -> Check {
    match sandbox::place::docker::probe_podman().await {
        Ok(version) => Check::ok("podman", format!("a service answers (version {version})")),
        Err(error) => Check::ok(
            "podman",
            format!("{}; needed for --sandbox podman alone", chain(&error)),
        ),
    }
}

async fn apptainer() -> Check {
    match sandbox::place::apptainer::probe_version().await {
        Ok(version) => Check::ok(
            "apptainer",
            format!("{version}; never tried on the real program"),
        ),
        Err(error) => Check::ok(
            "apptainer",
            format!("{}; needed for --sandbox apptainer alone", chain(&error)),
        ),
    }
}

/// Whether files can be made in `directory`, or in the nearest directory above it that exists.
fn writable(directory: &Path) -> Check {
    let place = existing(directory);
    match tempfile::Builder::new()
        .prefix(".doctor-")
        .tempfile_in(&place)
    {
        Ok(_) => Check::ok("runs", format!("`{}` can be written", directory.display())),
        Err(error) => Check::missing(
            "runs",
            format!("`{}` cannot be written: {error}", directory.display()),
            "choose another place with --out",
        ),
    }
}

fn existing(path: &Path) -> PathBuf {
    let ancestors = path.ancestors();
    let mut there = ancestors.filter(|path| path.is_dir());
    there.next().unwrap_or(Path::new(".")).to_owned()
}

fn space(name: &'static str, directory: &Path) -> Check {
    let place = existing(directory);
    let free = match rustix::fs::statvfs(&place) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => {
            return Check::warn(
                name,
                format!("cannot be told for `{}`: {error}", place.display()),
                "see that the file system is mounted",
            );
        }
    };
    let found = format!("{} free at `{}`", rounded(free), place.display());
    if free < LITTLE_SPACE {
        let wanted = Size(LITTLE_SPACE);
        Check::warn(
            name,
            found,
            format!("free some: less than {wanted} is soon used up"),
        )
    } else {
        Check::ok(name, found)
    }
}

/// Whole gibibytes or mebibytes.
fn rounded(bytes: u64) -> String {
    let unit = if bytes >= 1 << 30 { 1 << 30 } else { 1 << 20 };
    Size(bytes / unit * unit).to_string()
}

fn shared_memory() -> Check {
    if Path::new("/dev/shm").is_dir() {
        Check::ok("shared memory", "/dev/shm is there")
    } else {
        Check::warn(
            "shared memory",
            "/dev/shm is not there",
            "mount a tmpfs there: tests that use several processes need it",
        )
    }
}

fn open_files() -> Check {
    let limit = getrlimit(Resource::Nofile);
    match limit.current {
        Some(files) if files < FEW_FILES => Check::warn(
            "open files",
            format!("at most {files}"),
            format!("raise it with `ulimit -n {FEW_FILES}` or run fewer workers"),
        ),
        Some(files) => Check::ok("open files", format!("at most {files}")),
        None => Check::ok("open files", "no limit"),
    }
}

/// Which keys are set: their names, never their values.
fn keys(variables: &BTreeMap<String, String>) -> Check {
    let mut names = vec!["PATCHMILL_API_KEY"];
    names.extend(
        model::Service::ALL
            .iter()
            .map(|service| service.key_variable()),
    );
    // Services of one maker share a variable, and stand together.
    names.dedup();
    let set = |name: &&str| variables.get(*name).is_some_and(|key| !key.is_empty());
    let set: Vec<&str> = names.into_iter().filter(set).collect();
    if set.is_empty() {
        Check::warn(
            "model key",
            "none is set",
            "set your provider's variable, such as OPENAI_API_KEY or ANTHROPIC_API_KEY, unless your model's server runs on this machine",
        )
    } else {
        Check::ok("model key", format!("{} is set", set.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn keys_are_named_and_never_shown() {
        let variables = [("OPENAI_API_KEY".to_owned(), "sk-secret".to_owned())];
        let check = keys(&variables.into());
        assert_eq!(check.found, "OPENAI_API_KEY is set");
        assert_eq!(keys(&BTreeMap::new()).status, Status::Warn);
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_judged_by_its_parent() {
        let root = tempfile::tempdir().unwrap();
        let check = writable(&root.path().join("a/b"));
        assert_eq!(check.status, Status::Ok);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_a_problem_not_a_crash() {
        let error = first_line("no-such-program-here", "--version").await;
        assert!(error.unwrap_err().contains("cannot be started"));
    }
}
