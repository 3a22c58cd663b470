//! Families of published datasets: `configs/families.toml`, built in.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::row::Row;
use crate::template;

const SOURCE: &str = include_str!("../../../configs/families.toml");

/// What the rows of one published dataset have in common.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name, such as `swe-bench`.
    pub name: String,
    #[serde(default)]
    fields: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    id_prefix: String,
    #[serde(default)]
    repos: Vec<String>,
    #[serde(default)]
    official: bool,
    #[serde(default)]
    guessed: bool,
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) image: Vec<String>,
    pub(crate) namespace: Option<String>,
    workdir: Option<String>,
    #[serde(default)]
    answers: Vec<String>,
    shell_init: Option<String>,
    user: Option<String>,
    #[serde(default)]
    capabilities: Vec<String>,
    tmpfs: Option<u64>,
}

/// One rule, or several of which the first that a row can fill counts.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Rules {
        One(String),
        Many(Vec<String>),
    }

    Ok(match Rules::deserialize(deserializer)? {
        Rules::One(rule) => vec![rule],
        Rules::Many(rules) => rules,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Families {
    family: Vec<Family>,
}

/// All of them; the last one takes every row.
static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let read = toml::from_str::<Families>(SOURCE);
    // It is built in, and a test reads it.
    read.map_or_else(|_| Vec::new(), |families| families.family)
});

/// Family of a row that meets no condition of any.
static OTHER: LazyLock<Family> = LazyLock::new(|| Family {
    name: "other".to_owned(),
    fields: Vec::new(),
    without: Vec::new(),
    id_prefix: String::new(),
    repos: Vec::new(),
    official: false,
    guessed: false,
    image: Vec::new(),
    namespace: None,
    workdir: None,
    answers: Vec::new(),
    shell_init: None,
    user: None,
    capabilities: Vec::new(),
    tmpfs: None,
});

impl Row {
    /// The family of datasets that it is of.
    pub fn family(&self) -> &'static Family {
        let found = FAMILIES.iter().find(|family| family.takes(self));
        found.unwrap_or(&OTHER)
    }
}

impl Family {
    /// Where the repository of `row` lies in its image: where the row says, else where the family's images have it.
    pub fn workdir(&self, row: &Row) -> Option<String> {
        let own = row.instance.workdir.clone();
        own.or_else(|| template::fill(self.workdir.as_deref()?, row).ok())
    }

    /// Shell text that brings a shell to where the users of the family's images start; may be empty.
    pub fn shell_init(&self) -> &str {
        let default = || FAMILIES.last()?.shell_init.as_deref();
        let own = self.shell_init.as_deref();
        own.or_else(default).unwrap_or_default().trim()
    }

    /// Words for a family that rows do not say they are of, and are taken for by the repository's name and what they lack.
    pub fn guess(&self) -> Option<String> {
        self.guessed
            .then(|| format!("taken for a row of {} by its repository", self.name))
    }

    /// Who publishes the family's images, as registries name them.
    pub(crate) fn publishers(&self) -> impl Iterator<Item = &str> {
        let of_rules = self.image.iter().filter_map(|rule| rule.split_once('/'));
        let of_rules = of_rules.map(|(publisher, _)| publisher);
        of_rules.chain(self.namespace.as_deref())
    }

    /// User that commands run as in the family's images, where it is not the images' own.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Capabilities of the kernel, without `CAP_`, that work in the family's images needs.
    pub fn capabilities(&self) -> &[String] {
        &self.capabilities
    }

    /// Bytes of a `/tmp` in memory, where the family's images need one.
    pub fn tmpfs(&self) -> Option<u64> {
        self.tmpfs
    }

    /// Absolute paths, outside of the repository, at which the family's images hold parts of the answer.
    pub fn answers(&self) -> &[String] {
        &self.answers
    }

    fn takes(&self, row: &Row) -> bool {
        let has = |name: &String| {
            let value = row.answer.extra.get(name);
            value.is_some_and(|value| *value != Value::Null)
        };
        self.fields.iter().all(has)
            && !self.without.iter().any(has)
            && row.instance.id.as_str().starts_with(&self.id_prefix)
            && (self.repos.is_empty() || self.repos.iter().any(|repo| is_of(repo, row)))
            && (!self.official || is_official(row))
    }
}

/// `owner/name`, or `owner/*`.
fn is_of(pattern: &str, row: &Row) -> bool {
    match pattern.strip_suffix('*') {
        Some(owner) => row.instance.repo.starts_with(owner),
        None => row.instance.repo == pattern,
    }
}

/// `owner__name-NUMBER` for the repository `owner/name`, with a version.
fn is_official(row: &Row) -> bool {
    let Some((repository, number)) = row.instance.id.as_str().rsplit_once('-') else {
        return false;
    };
    row.instance.version.is_some()
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && row
            .instance
            .repo
            .replacen('/', "__", 1)
            .eq_ignore_ascii_case(repository)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_families_are_read_and_the_last_takes_all() {
        let last = FAMILIES.last().unwrap();
        assert_eq!(last.name, "other");
        assert!(last.shell_init().starts_with("if "));
        assert!(last.fields.is_empty() && last.repos.is_empty() && !last.official);
    }
}
