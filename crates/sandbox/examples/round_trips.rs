//! What a command in a container's shell costs: `round_trips IMAGE COMMAND COUNT` prints the median in seconds. The image holds a repository in its working
//! directory.

#![expect(
    clippy::print_stdout,
    reason = "an example prints what it found to whoever runs it"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::place::docker::{Docker, DockerSettings};
use sandbox::place::{Labels, PlaceSpec};
use sandbox::repository::{ImageRepositories, Origin};
use sandbox::{Error, RunOptions, Sandbox, SandboxSpec};
use tokio_util::sync::CancellationToken;

/// Commands that warm it up.
const WARM: usize = 20;
const LIMIT: Duration = Duration::from_mins(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [image, command, count] = arguments.as_slice() else {
        return Err("usage: round_trips IMAGE COMMAND COUNT".into());
    };
    let count = count.parse()?;
    let ground = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut times = runtime.block_on(measure(ground.path(), image, command, count))?;
    times.sort();
    let median = times.get(times.len() / 2).ok_or("no command ran")?;
    println!("{:.6}", median.as_secs_f64());
    Ok(())
}

async fn measure(
    root: &Path,
    image: &str,
    command: &str,
    count: usize,
) -> Result<Vec<Duration>, Error> {
    let backend = Arc::new(Docker::connect(DockerSettings::new(root)).await?);
    let mut place = PlaceSpec::new(Labels::new("round-trips", "one", "s1-a1"));
    place.image = Some(image.to_owned());
    let spec = SandboxSpec {
        place,
        repository: Origin::Image {
            repositories: Arc::new(ImageRepositories::new(root.join("repositories"), 1)),
            base_commit: None,
            change: None,
            fallback: None,
        },
        setup_commands: Vec::new(),
        setup_timeout: LIMIT,
    };
    let sandbox = Sandbox::start(backend, spec, LIMIT).await?;
    let (options, never) = (RunOptions::default(), CancellationToken::new());
    let mut times = Vec::with_capacity(count);
    for number in 0..WARM + count {
        let started = Instant::now();
        sandbox.run(command, &options, &never).await?;
        if number >= WARM {
            times.push(started.elapsed());
        }
    }
    sandbox.remove(LIMIT).await?;
    Ok(times)
}
