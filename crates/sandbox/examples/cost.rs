//! What a sandbox costs, phase by phase, beside its floor: `git clone`, one bash with the same commands, `git diff`.
//!
//! `cargo run --release -p sandbox --example cost -- REPOSITORY [ROUNDS] [BACKEND]`

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::place::bubblewrap::Bubblewrap;
use sandbox::place::host::HostSettings;
use sandbox::place::local::Local;
use sandbox::place::{Backend, Labels, PlaceSpec};
use sandbox::{Error, RunOptions, Sandbox, SandboxSpec, keep, repository};
use tokio_util::sync::CancellationToken;

/// Commands of one instance; the last ones change a file.
const COMMANDS: u32 = 20;

fn command(number: u32) -> &'static str {
    match number % 4 {
        0 => "ls",
        1 => "/bin/true",
        2 => "cat pkg/mod0.py 2>/dev/null | head -5",
        _ => "echo x >>README.md",
    }
}

const PHASES: [&str; 6] = ["prepare", "start", "command", "diff", "remove", "all"];

#[derive(Default)]
struct Samples {
    wall: [Vec<Duration>; PHASES.len()],
    cpu: Vec<Duration>,
    floor_wall: Vec<Duration>,
    floor_cpu: Vec<Duration>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == keep::ARGUMENT)
    {
        return keep::main(arguments);
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn measure() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let repository = arguments.first().ok_or("name a repository")?;
    let rounds = arguments.get(1).map_or(Ok(20), |text| text.parse())?;
    let backend = arguments.get(2).map_or("local", String::as_str);
    let ground = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let root = ground.path().join("root");
    let settings = HostSettings::new(&root);
    let backend: Arc<dyn Backend> = match backend {
        "local" => Arc::new(Local::new(settings)?),
        _ => Arc::new(runtime.block_on(Bubblewrap::probe(settings))?),
    };
    let mut samples = Samples::default();
    for _ in 0..rounds {
        let before = (Instant::now(), used());
        floor(repository, &ground.path().join("clone"))?;
        samples.floor_wall.push(before.0.elapsed());
        samples.floor_cpu.push(used().saturating_sub(before.1));
        let before = used();
        runtime.block_on(ours(repository.as_ref(), &root, &backend, &mut samples))?;
        samples.cpu.push(used().saturating_sub(before));
    }
    samples.print()
}

fn floor(repository: &str, clone: &Path) -> Result<(), Failure> {
    let git = |arguments: &[&str]| {
        Command::new("git")
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    };
    let path = clone.to_str().ok_or("the path is not UTF-8")?;
    git(&["clone", "-q", "--no-hardlinks", repository, path])?;
    let mut bash = Command::new("bash")
        .current_dir(clone)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let text: String =
        (0..COMMANDS).fold(String::new(), |text, number| text + command(number) + "\n");
    bash.stdin
        .take()
        .ok_or("no input")?
        .write_all(text.as_bytes())?;
    bash.wait()?;
    git(&["-C", path, "diff", "--binary"])?;
    Ok(std::fs::remove_dir_all(clone)?)
}

async fn ours(
    source: &Path,
    root: &Path,
    backend: &Arc<dyn Backend>,
    samples: &mut Samples,
) -> Result<(), Error> {
    let all = Instant::now();
    let mut last = all;
    let mut done = |samples: &mut Samples, phase: usize| {
        samples.wall[phase].push(last.elapsed());
        last = Instant::now();
    };
    let repository = repository::prepare(source, None, root)?;
    done(samples, 0);
    let spec = SandboxSpec {
        place: PlaceSpec::new(Labels::new("cost", "one", "s1-a1")),
        repository: repository::Origin::Host(repository),
        setup_commands: Vec::new(),
        setup_timeout: Duration::from_secs(10),
    };
    let sandbox = Sandbox::start(Arc::clone(backend), spec, Duration::from_secs(30)).await?;
    done(samples, 1);
    let (options, never) = (RunOptions::default(), CancellationToken::new());
    for number in 0..COMMANDS {
        sandbox.run(command(number), &options, &never).await?;
        done(samples, 2);
    }
    sandbox.diff().await?;
    done(samples, 3);
    sandbox.remove(Duration::from_secs(10)).await?;
    drop(sandbox);
    done(samples, 4);
    samples.wall[5].push(all.elapsed());
    Ok(())
}

/// Processor time of this process and of its children that have been waited for.
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = rest
        .split_ascii_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

impl Samples {
    fn print(mut self) -> Result<(), Failure> {
        let mut out = std::io::stdout();
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        for (phase, times) in PHASES.iter().zip(&mut self.wall) {
            writeln!(out, "{phase:10} {:>10.3?}", median(times))?;
        }
        writeln!(
            out,
            "{:10} {:>10.3?}",
            "floor",
            median(&mut self.floor_wall)
        )?;
        let mean = |times: &[Duration]| {
            times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1)
        };
        writeln!(
            out,
            "cpu: ours {:.3?}, floor {:.3?} (means)",
            mean(&self.cpu),
            mean(&self.floor_cpu)
        )?;
        Ok(())
    }
}
