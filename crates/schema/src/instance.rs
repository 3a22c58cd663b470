//! One issue of a dataset, and what only the grader may know about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Longest file name made of an instance id, in bytes; leaves room for suffixes such as `.s2.patch` below the 255 of most file systems.
const MAX_FILE_NAME: usize = 160;

/// Hexadecimal digits of an id's SHA-256 in a file name that cannot be the id itself.
const DIGEST_DIGITS: usize = 12;

/// Identifier of an instance, exactly as its dataset spells it. It may hold anything: never use it as a path, use [`InstanceId::file_name`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(String);

impl InstanceId {
    /// Wraps an identifier as it came.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The identifier as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One safe path component for this id: a pure function, so that it stays the same when the selection grows.
    ///
    /// An id of lower-case letters, digits, `.`, `_` and `-` is kept. Any other is cleaned and gets twelve hexadecimal digits of its SHA-256: upper
    /// case too, since two ids that differ only in case are one file on some file systems, and ids that look like a name this function
    /// makes, or like a name with the suffix of a sample.
    pub fn file_name(&self) -> String {
        if self.is_file_name() {
            return self.0.clone();
        }
        let digest = Sha256::digest(self.0.as_bytes())
            .iter()
            .take(DIGEST_DIGITS / 2)
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let digest = format!("{digest:0DIGEST_DIGITS$x}");
        let room = MAX_FILE_NAME - DIGEST_DIGITS - 1;
        let cleaned: String = self.0.chars().take(room).map(cleaned).collect();
        match cleaned.trim_start_matches(['.', '-']) {
            "" => format!("id-{digest}"),
            cleaned => format!("{cleaned}-{digest}"),
        }
    }

    /// Whether the id can be a file name as it is, on every file system, without being taken for another id's.
    fn is_file_name(&self) -> bool {
        let starts_well = self
            .0
            .starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
        starts_well
            && self.0.len() <= MAX_FILE_NAME
            && self.0.chars().all(is_plain)
            && !self.0.ends_with('.')
            && !ends_like_digest(&self.0)
            && !ends_like_sample(&self.0)
    }
}

/// Whether a character is the same in every file system's eyes.
fn is_plain(character: char) -> bool {
    character.is_ascii_lowercase()
        || character.is_ascii_digit()
        || matches!(character, '.' | '_' | '-')
}

fn cleaned(character: char) -> char {
    if is_plain(character) || character.is_ascii_uppercase() {
        character
    } else {
        '_'
    }
}

/// `…-0123456789ab`, as [`InstanceId::file_name`] ends the names that it makes.
fn ends_like_digest(id: &str) -> bool {
    id.rsplit_once('-').is_some_and(|(_, end)| {
        end.len() == DIGEST_DIGITS && end.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// `….s2`, as the files of an instance's second sample are named.
fn ends_like_sample(id: &str) -> bool {
    id.rsplit_once(".s").is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

impl std::fmt::Display for InstanceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The part of a dataset row that is not secret: it says where the work happens and what is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Identifier, unique in its dataset.
    pub id: InstanceId,
    /// `owner/name` of the repository, empty when the row has none.
    pub repo: String,
    /// Commit that the work starts from; `None` means HEAD.
    pub base_commit: Option<String>,
    /// What the agent is asked to do.
    pub statement: String,
    /// Repository on this machine, relative to the dataset file.
    pub repo_path: Option<String>,
    /// Directory of the repository inside its image.
    pub workdir: Option<String>,
    /// Container image that the row names.
    pub image: Option<String>,
    /// Version of the project, kept as text (`"1.10"` is not a number).
    pub version: Option<String>,
    /// Addresses of images in the problem statement.
    pub statement_images: Vec<String>,
}

/// What the grader knows and the agent must never see: it stays on the runner's side of every port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerKey {
    /// The known fix.
    pub patch: Option<String>,
    /// What is done to the repository before anybody works in it, where that makes the task: SWE-smith's rows bring a bug in. Undoing it is a fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_patch: Option<String>,
    /// The change to the tests that proves the fix.
    pub test_patch: Option<String>,
    /// Hints from the discussion.
    pub hints: Option<String>,
    /// Tests that fail before the fix and pass after it.
    pub fail_to_pass: Vec<String>,
    /// Tests that pass before and after.
    pub pass_to_pass: Vec<String>,
    /// Script that runs the tests inside the sandbox.
    pub eval_script: Option<String>,
    /// Name of the parser that reads the script's log.
    pub log_parser: Option<String>,
    /// Seconds that grading may take, where the row says so.
    pub eval_timeout: Option<u64>,
    /// Every field of the row that no typed field holds, verbatim.
    pub extra: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn file_name(id: &str) -> String {
        InstanceId::new(id).file_name()
    }

    /// What a name must be to name one file in one directory everywhere.
    fn is_safe(name: &str) -> bool {
        !name.is_empty()
            && name.len() <= MAX_FILE_NAME
            && name.chars().all(|c| is_plain(c) || c.is_ascii_uppercase())
            && !name.starts_with(['.', '-'])
            && !name.ends_with('.')
    }

    #[test]
    fn ids_of_the_usual_shape_are_their_own_file_name() {
        for id in [
            "django__django-11099",
            "scikit-learn__scikit-learn-13779",
            "getmoto__moto.694ce1f4.pr_7331",
            "instance_flipt-io__flipt-e50808c03e4b9d25a6a78af9c61a3b1616ea356b",
            "instance_internetarchive__openlibrary-\
             395e5e20fab9cad517243372fa3c3c5d9e09ab2a-v7eee2454f617569fd6889f2211f75bc02a35f9f8",
            "1",
        ] {
            assert_eq!(file_name(id), id);
        }
    }

    #[test]
    fn hostile_ids_get_a_safe_name_each() {
        let long = "x".repeat(300);
        let longer = "x".repeat(301);
        let ids = [
            "",
            ".",
            "..",
            "...",
            "-",
            "--help",
            "../x",
            "../../etc/passwd",
            "/etc/passwd",
            "a/b",
            "a\\b",
            "a\0b",
            "a\nb",
            "a b",
            "a.",
            "a..",
            "A",
            "a",
            "Ab",
            "aB",
            "AB",
            "org/repo:pr-1",
            "\u{e4}",
            "a\u{308}",
            "\u{1f600}",
            "\u{202e}x",
            "_x",
            "x.s2",
            "x.s",
            "x",
            &long,
            &longer,
        ];
        let names: Vec<String> = ids.iter().map(|id| file_name(id)).collect();
        for (id, name) in ids.iter().zip(&names) {
            assert!(is_safe(name), "{id:?} gives {name:?}");
        }
        let distinct: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(distinct.len(), ids.len(), "{names:?}");
    }

    #[test]
    fn a_made_name_cannot_be_taken_by_another_id() {
        let made = file_name("a/b");
        assert_ne!(file_name(&made), made);
        assert_ne!(file_name("x.s2"), "x.s2");
    }

    proptest! {
        #[test]
        fn any_id_gets_a_safe_name(id in any::<String>()) {
            let name = file_name(&id);
            prop_assert!(is_safe(&name), "{:?}", name);
            prop_assert!(name == id || file_name(&name) != name);
        }

        #[test]
        fn different_ids_get_different_names(one in "[a-bA-B/._-]{0,6}", other in "[a-bA-B/._-]{0,6}") {
            let same = file_name(&one).eq_ignore_ascii_case(&file_name(&other));
            prop_assert_eq!(same, one == other);
        }
    }
}
