//! What sealing a repository costs: `seal build DIR COMMITS` makes a repository with a long history and much beyond its base,
//! `seal measure SOURCE [BASE]` seals it and prints the time and the peak of memory, and `seal check` holds a long history and a tiny one to what they
//! may cost, optimised or, `roughly`, not.

#![expect(
    clippy::print_stdout,
    reason = "an example prints what it found to whoever runs it"
)]

use std::error::Error;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::repository;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Directories of the tree, and files in each.
const DIRECTORIES: usize = 60;
const FILES: usize = 20;

/// What sealing 20,000 commits may take, and the most memory in KiB.
const LONG: usize = 20_000;
const LONG_TIME: Duration = Duration::from_secs(3);
const LONG_MEMORY: u64 = 200_000;
/// What sealing a tiny repository may take: the best of some tries, since the machine does other things too.
const TINY_TIME: Duration = Duration::from_millis(10);
const TRIES: u32 = 20;
/// How much longer it may take, roughly: code without optimisation on a machine that is busy.
const ROUGHLY: u32 = 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["build", directory, commits] => build(directory.as_ref(), commits.parse()?),
        ["measure", source] => measure(source.as_ref(), None),
        ["measure", source, base] => measure(source.as_ref(), Some(base)),
        ["check"] => check(1),
        ["check", "roughly"] => check(ROUGHLY),
        _ => Err(
            "usage: seal build DIR COMMITS | seal measure SOURCE [BASE] | seal check [roughly]"
                .into(),
        ),
    }
}

fn measure(source: &Path, base: Option<&str>) -> Result<()> {
    let root = tempfile::tempdir()?;
    let started = Instant::now();
    let prepared = repository::prepare(source, base, root.path())?;
    let took = started.elapsed();
    println!(
        "{} sealed in {took:?}, peak of memory {} KiB",
        prepared.start_commit(),
        peak()?
    );
    Ok(())
}

/// Most memory that this process has had, in KiB.
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|rest| rest.split_ascii_whitespace().next());
    Ok(number
        .ok_or("the kernel tells no peak of memory")?
        .parse()?)
}

/// Three commits, the last of them beyond the branch `base`.
fn build_tiny(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    git(directory, &["init", "-q", "-b", "main"])?;
    git(directory, &["config", "user.name", "t"])?;
    git(directory, &["config", "user.email", "t@example.invalid"])?;
    for number in 0..3 {
        std::fs::write(directory.join(format!("file{number}")), "content\n")?;
        git(directory, &["add", "-A"])?;
        git(directory, &["commit", "-q", "-m", "change"])?;
        if number == 1 {
            git(directory, &["branch", "base"])?;
        }
    }
    Ok(())
}

/// `slack` is how much longer than wanted it may take. Memory is no matter of the machine.
fn check(slack: u32) -> Result<()> {
    let (tiny_time, long_time) = (TINY_TIME * slack, LONG_TIME * slack);
    let ground = tempfile::tempdir()?;
    let (tiny, long) = (ground.path().join("tiny"), ground.path().join("long"));
    build_tiny(&tiny)?;
    build(&long, LONG)?;
    let mut best = Duration::MAX;
    for number in 0..TRIES {
        let root = ground.path().join(format!("root{number}"));
        let started = Instant::now();
        repository::prepare(&tiny, Some("base"), &root)?;
        best = best.min(started.elapsed());
    }
    let started = Instant::now();
    repository::prepare(&long, Some("base"), &ground.path().join("root"))?;
    let (took, memory) = (started.elapsed(), peak()?);
    println!("3 commits: {best:?}; {LONG} commits: {took:?}, peak of memory {memory} KiB");
    if best > tiny_time || took > long_time || memory > LONG_MEMORY {
        return Err(format!("more than {tiny_time:?}, {long_time:?} and {LONG_MEMORY} KiB").into());
    }
    Ok(())
}

/// A repository with `commits` commits up to the branch `base`, a twentieth more of them beyond it, and tags on both.
fn build(directory: &Path, commits: usize) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    git(directory, &["init", "-q", "-b", "main"])?;
    let mut import = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stream = BufWriter::new(import.stdin.take().ok_or("no standard input")?);
    let mut random = fastrand::Rng::with_seed(7);
    for number in 0..commits + commits / 20 {
        if number == commits {
            write!(stream, "reset refs/heads/base\nfrom refs/heads/main\n\n")?;
        }
        commit(&mut stream, number, &mut random)?;
        if number % 200 == 199 {
            write!(
                stream,
                "reset refs/tags/v{number}\nfrom refs/heads/main\n\n"
            )?;
        }
    }
    stream.flush()?;
    drop(stream);
    if !import.wait()?.success() {
        return Err("git fast-import failed".into());
    }
    git(directory, &["repack", "-q", "-a", "-d", "--window=10"])?;
    git(directory, &["reset", "-q", "--hard", "base"])?;
    Ok(())
}

fn commit(stream: &mut impl Write, number: usize, random: &mut fastrand::Rng) -> Result<()> {
    let message = format!("Change number {number}\n\nSome words on it.\n");
    let time = 1_500_000_000 + number * 600;
    write!(
        stream,
        "commit refs/heads/main\ncommitter A <a@example.invalid> {time} +0000\ndata {}\n{message}",
        message.len()
    )?;
    let all: Vec<(usize, usize)> = if number == 0 {
        (0..DIRECTORIES)
            .flat_map(|directory| (0..FILES).map(move |file| (directory, file)))
            .collect()
    } else {
        (0..random.usize(1..4))
            .map(|_| (random.usize(..DIRECTORIES), random.usize(..FILES)))
            .collect()
    };
    for (directory, file) in all {
        let seed = (directory * FILES + file) as u64;
        let mut lines = fastrand::Rng::with_seed(seed);
        let mut text = format!("# changed by {number}\n").into_bytes();
        for _ in 0..lines.usize(20..120) {
            writeln!(text, "value_{:x} = {:x}", lines.u32(..), lines.u64(..))?;
        }
        write!(
            stream,
            "M 100644 inline src/part{directory}/module{file}.py\ndata {}\n",
            text.len()
        )?;
        stream.write_all(&text)?;
        stream.write_all(b"\n")?;
    }
    Ok(())
}

fn git(directory: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("git {arguments:?} failed").into())
    }
}
