//! Names of datasets on the hub.

use std::fmt;
use std::path::Path;

/// The revision that is meant where none is named.
const MAIN: &str = "main";

/// Short names that the field uses.
const ALIASES: [(&str, &[&str]); 5] = [
    (
        "SWE-bench/SWE-bench_Lite",
        &[
            "lite",
            "swe-bench-lite",
            "swebench-lite",
            "swe_bench_lite",
            "swe-bench_lite",
        ],
    ),
    (
        "SWE-bench/SWE-bench_Verified",
        &[
            "verified",
            "swe-bench-verified",
            "swebench-verified",
            "swe_bench_verified",
            "swe-bench_verified",
        ],
    ),
    (
        "SWE-bench/SWE-bench",
        &["full", "swe-bench", "swebench", "swe_bench"],
    ),
    (
        "SWE-bench/SWE-bench_Multimodal",
        &[
            "multimodal",
            "swe-bench-multimodal",
            "swebench-multimodal",
            "swe-bench_multimodal",
        ],
    ),
    (
        "SWE-bench/SWE-bench_Multilingual",
        &[
            "multilingual",
            "swe-bench-multilingual",
            "swebench-multilingual",
            "swe-bench_multilingual",
        ],
    ),
];

/// Extensions of files: what ends so is a path that is not there, not a dataset of the hub.
const EXTENSIONS: [&str; 9] = [
    "json", "jsonl", "ndjson", "csv", "tsv", "parquet", "arrow", "gz", "zst",
];

/// Bytes that a name and a revision may have.
const MAX_BYTES: usize = 256;

/// A dataset on the hub at a revision: `org/name[@revision]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// `org/name`.
    pub name: String,
    /// Branch, tag or commit.
    pub revision: String,
}

impl Id {
    /// Reads `org/name[@revision]` or an alias, perhaps after `hf://datasets/`; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (explicit, rest) = match text.strip_prefix("hf://datasets/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, revision) = match rest.split_once('@') {
            Some((name, revision)) => (name, revision),
            None => (rest, MAIN),
        };
        if !is_revision(revision) {
            return None;
        }
        let name = match Self::of_alias(name) {
            Some(full) => full,
            None if is_name(name) && (explicit || !is_file_name(name)) => name,
            None => return None,
        };
        Some(Self {
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// `org/name` of the dataset that the field has this short name for.
    pub fn of_alias(text: &str) -> Option<&'static str> {
        let lower = text.to_ascii_lowercase();
        let mut aliases = ALIASES.iter();
        let found = aliases.find(|(_, names)| names.contains(&lower.as_str()));
        found.map(|(full, _)| *full)
    }

    /// Whether the field has a short name for it: it is one of SWE-bench's own.
    pub fn has_alias(&self) -> bool {
        let mut aliases = ALIASES.iter();
        aliases.any(|(full, _)| full.eq_ignore_ascii_case(&self.name))
    }

    /// The dataset that a path names, when nothing of that name lies here.
    pub fn of_path(path: &Path) -> Option<Self> {
        let text = path.to_str()?;
        if !text.starts_with("hf://") && path.exists() {
            return None;
        }
        Self::parse(text)
    }

    /// The same dataset at this commit.
    #[must_use]
    pub fn at(&self, commit: &str) -> Self {
        Self {
            name: self.name.clone(),
            revision: commit.to_owned(),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.revision != MAIN {
            write!(f, "@{}", self.revision)?;
        }
        Ok(())
    }
}

/// Two parts of letters, digits, `-`, `_` and `.`, neither of which leads anywhere.
fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && !part.contains("..")
            && !part.contains("--")
    };
    let parts = name.split_once('/');
    name.len() <= MAX_BYTES && parts.is_some_and(|(org, name)| part(org) && part(name))
}

fn is_revision(revision: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'))
    };
    revision.len() <= MAX_BYTES && revision.split('/').all(part)
}

fn is_file_name(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, end)| EXTENSIONS.contains(&end.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::Id;

    fn shown(text: &str) -> Option<String> {
        Id::parse(text).map(|id| format!("{} {}", id.name, id.revision))
    }

    #[test]
    fn names_and_aliases() {
        for (text, expected) in [
            ("org/name", "org/name main"),
            ("org/name@v1.0", "org/name v1.0"),
            (
                "org/name@refs/convert/parquet",
                "org/name refs/convert/parquet",
            ),
            ("hf://datasets/org/name.json@main", "org/name.json main"),
            ("lite", "SWE-bench/SWE-bench_Lite main"),
            ("Verified@abc", "SWE-bench/SWE-bench_Verified abc"),
            ("SWE-bench", "SWE-bench/SWE-bench main"),
            ("multimodal", "SWE-bench/SWE-bench_Multimodal main"),
            ("multilingual", "SWE-bench/SWE-bench_Multilingual main"),
            ("R2E-Gym/R2E-Gym-V1", "R2E-Gym/R2E-Gym-V1 main"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn datasets_with_a_short_name_are_known_by_their_whole_one_too() {
        let has_alias = |text| Id::parse(text).unwrap().has_alias();
        for text in ["verified", "Lite@abc", "swe-bench/SWE-bench_Verified"] {
            assert!(has_alias(text), "{text}");
        }
        assert!(!has_alias("somebody/SWE-bench_Verified"));
    }

    #[test]
    fn paths_and_nonsense_are_none() {
        for text in [
            "name",
            "a/b/c",
            "./a/b",
            "../a",
            "/a/b",
            "~/a",
            "data/x.jsonl",
            "data/x.jsonl.gz",
            "a/",
            "/b",
            "",
            "a/b@",
            "a/b@../x",
            "a/b@x y",
            "a/b?c",
            "a b/c",
            "a/..",
            "org/a--b",
            "lite.jsonl",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
