//! A stand-in for the runner in this crate's tests: it can be the keeper, and it can be a runner that is killed.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use sandbox::place::docker::{Docker, DockerSettings};
use sandbox::place::host::HostSettings;
use sandbox::place::local::Local;
use sandbox::place::{Backend, Labels, PlaceSpec, bubblewrap::Bubblewrap};
use sandbox::{RunOptions, Sandbox, SandboxSpec, keep, repository};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == keep::ARGUMENT => keep::main(arguments),
        _ => hold().unwrap_or(ExitCode::FAILURE),
    }
}

/// `sandbox-trial BACKEND ROOT REPOSITORY COMMAND`: starts a sandbox, runs the command, says so, and waits to be killed.
fn hold() -> Option<ExitCode> {
    let [backend, root, repository, command]: [String; 4] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .ok()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .ok()?;
    runtime.block_on(async {
        let settings = HostSettings::new(&root);
        let mut image = None;
        let backend: Arc<dyn Backend> = match backend.split_once(':') {
            Some(("docker", name)) => {
                image = Some(name.to_owned());
                Arc::new(Docker::connect(DockerSettings::new(&root)).await.ok()?)
            }
            _ if backend == "local" => Arc::new(Local::new(settings).ok()?),
            _ => Arc::new(Bubblewrap::probe(settings).await.ok()?),
        };
        let repository = repository::prepare(repository.as_ref(), None, root.as_ref()).ok()?;
        let spec = SandboxSpec {
            place: PlaceSpec {
                image,
                ..PlaceSpec::new(Labels::new("trial", "held", "s1-a1"))
            },
            repository: repository::Origin::Host(repository),
            setup_commands: Vec::new(),
            setup_timeout: Duration::from_secs(10),
        };
        let sandbox = Sandbox::start(backend, spec, Duration::from_secs(10))
            .await
            .ok()?;
        let options = RunOptions::default();
        let done = sandbox
            .run(&command, &options, &CancellationToken::new())
            .await
            .ok()?;
        let mut stdout = std::io::stdout();
        stdout.write_all(&done.head).ok()?;
        stdout.write_all(b"ready\n").ok()?;
        stdout.flush().ok()?;
        std::future::pending::<Option<ExitCode>>().await
    })
}
