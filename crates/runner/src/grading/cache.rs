//! Verdicts of earlier gradings, found by all that a verdict depends on, and by nothing else: no name of a run, a model or an instance's attempt.
//!
//! Only verdicts in containers are kept: what a machine itself has installed, and changes, has no name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sandbox::Sandbox;
use schema::Bucket;
use schema::examination::TamperCheck;
use schema::grading::{GradingSpec, Profile};
use schema::report::GradingReport;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::conclusion::GRADER;
use crate::settings::Identity;
use crate::store::atomic;

/// Bytes that a kept log may unpack to: twice what a log may have.
const MAX_LOG: u64 = 2 * super::test_log::LIMIT;

/// Level of compression of kept logs.
const LEVEL: i32 = 3;

/// All that a verdict depends on.
#[derive(Serialize)]
struct Question<'a> {
    grader: &'a str,
    profile: Profile,
    tamper_check: TamperCheck,
    image: &'a str,
    start_commit: &'a str,
    patch_sha256: String,
    /// Whole, so that a new field of it cannot be forgotten here.
    spec: &'a GradingSpec,
    timeout_seconds: u64,
    network: &'a sandbox::limits::Network,
    limits: &'a sandbox::limits::Limits,
    enforced: &'a [String],
    user: &'a str,
    capabilities: &'a [String],
    environment_sha256: &'a BTreeMap<String, String>,
    setup_commands: &'a [String],
}

/// What is asked of the cache.
pub(super) struct Asked<'a> {
    pub(super) patch: &'a [u8],
    pub(super) spec: &'a GradingSpec,
    pub(super) profile: Profile,
    pub(super) tamper_check: TamperCheck,
    pub(super) limits: &'a sandbox::limits::Limits,
    pub(super) identity: &'a Identity,
    pub(super) timeout: std::time::Duration,
}

/// Hexadecimal SHA-256 of all that a verdict in this sandbox depends on; `None` where it has no image.
pub(super) fn key(asked: &Asked<'_>, sandbox: &Sandbox) -> Option<String> {
    let applied = sandbox.applied();
    let (spec, identity) = (asked.spec, asked.identity);
    let question = Question {
        grader: GRADER,
        profile: asked.profile,
        tamper_check: asked.tamper_check,
        image: applied.image.as_deref()?,
        start_commit: sandbox.start_commit(),
        patch_sha256: schema::hex(&Sha256::digest(asked.patch)),
        spec,
        timeout_seconds: asked.timeout.as_secs(),
        network: &applied.network,
        limits: asked.limits,
        enforced: &applied.enforced,
        user: &applied.user,
        capabilities: &applied.capabilities,
        environment_sha256: &identity.environment_sha256,
        setup_commands: &identity.setup_commands,
    };
    let text = serde_json::to_vec(&question).ok()?;
    Some(schema::hex(&Sha256::digest(text)))
}

/// Verdicts kept for this user, below `$XDG_CACHE_HOME/patchmill/gradings`.
pub(super) struct Cache {
    root: PathBuf,
}

/// A verdict that was kept.
pub(super) struct Known {
    pub(super) report: GradingReport,
    pub(super) log: Vec<u8>,
}

impl Cache {
    /// The user's; `None` where there is no such place.
    pub(super) fn of_user() -> Option<Self> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")))?;
        Some(Self {
            root: root.join("patchmill/gradings"),
        })
    }

    /// What is known under a key. What cannot be read is not known.
    pub(super) fn find(&self, key: &str) -> Option<Known> {
        let (verdict, log) = self.files(key);
        let report: GradingReport = serde_json::from_slice(&fs::read(verdict).ok()?).ok()?;
        if report.cache_key.as_deref() != Some(key) || report.grader != GRADER {
            return None;
        }
        let mut text = Vec::new();
        let packed = zstd::Decoder::new(fs::File::open(log).ok()?).ok()?;
        packed.take(MAX_LOG).read_to_end(&mut text).ok()?;
        Some(Known { report, log: text })
    }

    /// Keeps a verdict. One that may come out otherwise another time is not kept, and a cache that cannot be written is no reason to fail.
    pub(super) fn keep(&self, report: &GradingReport, log: &[u8]) {
        let Some(key) = report.cache_key.as_deref().filter(|_| lasts(report.bucket)) else {
            return;
        };
        if let Err(error) = self.write(key, report, log) {
            tracing::warn!(%error, "the verdict was not kept for later");
        }
    }

    fn write(&self, key: &str, report: &GradingReport, log: &[u8]) -> std::io::Result<()> {
        let (verdict, packed) = self.files(key);
        if let Some(directory) = verdict.parent() {
            fs::create_dir_all(directory)?;
        }
        let log = zstd::encode_all(log, LEVEL)?;
        // The verdict last: where it is, the log is.
        atomic::replace(&packed, |file| file.write_all(&log))?;
        let text = serde_json::to_vec(report)?;
        atomic::replace(&verdict, |file| file.write_all(&text))
    }

    fn files(&self, key: &str) -> (PathBuf, PathBuf) {
        let directory = self.root.join(key.get(..2).unwrap_or_default());
        let file = |extension| directory.join(format!("{key}.{extension}"));
        (file("json"), file("log.zst"))
    }
}

/// Whether the same would come out another time: time, disks and machines are not the patch's.
fn lasts(bucket: Bucket) -> bool {
    match bucket {
        Bucket::Resolved | Bucket::Unresolved | Bucket::Partial | Bucket::Tampered => true,
        Bucket::EmptyPatch
        | Bucket::PatchRejected
        | Bucket::Timeout
        | Bucket::ImageMissing
        | Bucket::InfraFailure
        | Bucket::NoTestsRan => false,
    }
}
