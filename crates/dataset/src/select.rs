//! Which instances of a dataset are run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;
use schema::InstanceId;

use crate::error::{Error, Unknown};
use crate::near::nearest;
use crate::row::Row;
use crate::slice::Slice;

/// Which instances are taken. The steps run in the order of the fields; each works on what the one before left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// These ids. They are taken in the dataset's order, together with those of [`id_file`](Self::id_file); no id at all means every instance.
    pub ids: Vec<String>,
    /// File with more of them: one a line (blank lines and lines that start with `#` do not count), or a JSON list.
    pub id_file: Option<PathBuf>,
    /// Regular expression that must match a whole id.
    pub filter: Option<String>,
    /// Pattern with `*`, `?`, `[…]` and `{…}` that must match a whole id.
    pub glob: Option<String>,
    /// These repositories, `owner/name`, in any case of letters; none means every one.
    pub repositories: Vec<String>,
    /// What became of the instances in earlier runs; each must hold.
    pub earlier: Vec<Earlier>,
    /// Seed of a shuffle. The order depends on the seed and on the ids only, not on their order in the file.
    pub shuffle: Option<u64>,
    /// Slice of what is left, after the shuffle.
    pub slice: Option<Slice>,
    /// Part of what is left.
    pub shard: Option<Shard>,
}

/// What became of instances in an earlier run, already looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// As it was asked for, such as `unresolved@runs/lite`.
    pub asked: String,
    /// Ids that it holds for.
    pub ids: BTreeSet<String>,
    /// Whether it holds for every other id too but for these, those that the run knows.
    pub others_but: Option<BTreeSet<String>>,
}

impl Earlier {
    fn takes(&self, id: &str) -> bool {
        let other = || {
            self.others_but
                .as_ref()
                .is_some_and(|known| !known.contains(id))
        };
        self.ids.contains(id) || other()
    }
}

/// What a selection looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The instance.
    pub id: InstanceId,
    /// Its `owner/name`, possibly empty.
    pub repo: String,
}

impl Candidate {
    /// Of a row.
    pub fn of(row: &Row) -> Self {
        Self {
            id: row.instance.id.clone(),
            repo: row.instance.repo.clone(),
        }
    }
}

/// Every `of`-th instance, starting with number `index`: the shards of one selection are disjoint and cover it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    index: usize,
    /// How many parts.
    of: usize,
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |problem| Error::Shard {
            text: text.into(),
            problem,
        };
        let (index, of) = text.split_once('/').ok_or_else(|| bad("has no `/`"))?;
        let number = |text: &str| {
            text.trim()
                .parse::<usize>()
                .map_err(|_| bad("has a part that is not a whole number"))
        };
        let (index, of) = (number(index)?, number(of)?);
        if index == 0 || index > of {
            return Err(bad("is outside its range"));
        }
        Ok(Self { index, of })
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// The steps of a selection that look at one instance alone.
pub(crate) struct Sieve {
    ids: Option<HashSet<String>>,
    repositories: HashSet<String>,
    filter: Option<Regex>,
    glob: Option<GlobMatcher>,
    earlier: Vec<Earlier>,
}

impl Sieve {
    pub(crate) fn takes(&self, candidate: &Candidate) -> bool {
        let id = candidate.id.as_str();
        let named = self.ids.as_ref().is_none_or(|ids| ids.contains(id));
        let repository = self.repositories.is_empty()
            || self.repositories.contains(&candidate.repo.to_lowercase());
        named
            && repository
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.is_match(id))
            && self.glob.as_ref().is_none_or(|glob| glob.is_match(id))
            && self.earlier.iter().all(|earlier| earlier.takes(id))
    }
}

impl Selection {
    /// Whether it takes every instance in the order of the file.
    pub fn takes_all(&self) -> bool {
        *self == Self::default()
    }

    /// What an instance must pass to have a chance of being chosen; `None` where every one has it.
    pub(crate) fn sieve(&self) -> Result<Option<Sieve>, Error> {
        let sieve = Sieve {
            ids: self.wanted()?.map(|ids| ids.into_iter().collect()),
            repositories: self.repositories.iter().map(|r| r.to_lowercase()).collect(),
            filter: self.filter.as_deref().map(full_match).transpose()?,
            glob: self.glob.as_deref().map(glob).transpose()?,
            earlier: self.earlier.clone(),
        };
        let narrows = sieve.ids.is_some()
            || !sieve.repositories.is_empty()
            || sieve.filter.is_some()
            || sieve.glob.is_some()
            || !sieve.earlier.is_empty();
        Ok(narrows.then_some(sieve))
    }

    /// The chosen rows, in the chosen order.
    ///
    /// # Errors
    /// As [`choose`](Self::choose).
    pub fn apply(&self, rows: Vec<Row>) -> Result<Vec<Row>, Error> {
        if self.takes_all() {
            return Ok(rows);
        }
        let candidates: Vec<_> = rows.iter().map(Candidate::of).collect();
        let mut rows: Vec<_> = rows.into_iter().map(Some).collect();
        let chosen = self.choose(&candidates)?;
        Ok(chosen
            .into_iter()
            .filter_map(|index| rows.get_mut(index).and_then(Option::take))
            .collect())
    }

    /// Positions in `all` that are chosen, in the chosen order.
    ///
    /// # Errors
    /// When an id or a repository that was asked for is not there, a step leaves nothing, a pattern is broken, or the id file cannot be read.
    pub fn choose(&self, all: &[Candidate]) -> Result<Vec<usize>, Error> {
        let mut chosen = self.sifted(all)?;
        if let Some(seed) = self.shuffle {
            chosen.sort_by_key(|index| all.get(*index).map(|candidate| &candidate.id));
            fastrand::Rng::with_seed(seed).shuffle(&mut chosen);
        }
        if let Some(slice) = &self.slice {
            let positions = slice.positions(chosen.len());
            let left = positions
                .into_iter()
                .filter_map(|position| chosen.get(position).copied())
                .collect();
            chosen = not_empty(left, chosen.len(), || format!("slice {slice}"))?;
        }
        if let Some(shard) = self.shard {
            let left = chosen
                .iter()
                .copied()
                .skip(shard.index - 1)
                .step_by(shard.of)
                .collect();
            chosen = not_empty(left, chosen.len(), || format!("shard {shard}"))?;
        }
        Ok(chosen)
    }

    /// The steps that look at one instance alone, one after the other, so that the one that leaves nothing is named.
    fn sifted(&self, all: &[Candidate]) -> Result<Vec<usize>, Error> {
        let mut left = Left {
            all,
            chosen: (0..all.len()).collect(),
        };
        if let Some(wanted) = self.wanted()? {
            check_known(&wanted, all)?;
            let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
            left.keep("taking the ids asked for", |one| {
                wanted.contains(one.id.as_str())
            })?;
        }
        if !self.repositories.is_empty() {
            check_repositories(&self.repositories, all)?;
            let wanted: HashSet<String> =
                self.repositories.iter().map(|r| r.to_lowercase()).collect();
            let step = format!("repository {}", self.repositories.join(", "));
            left.keep(&step, |one| wanted.contains(&one.repo.to_lowercase()))?;
        }
        if let Some(pattern) = &self.filter {
            let filter = full_match(pattern)?;
            left.keep(&format!("filter {pattern:?}"), |one| {
                filter.is_match(one.id.as_str())
            })?;
        }
        if let Some(pattern) = &self.glob {
            let glob = glob(pattern)?;
            left.keep(&format!("glob {pattern:?}"), |one| {
                glob.is_match(one.id.as_str())
            })?;
        }
        for earlier in &self.earlier {
            left.keep(&format!("status {}", earlier.asked), |one| {
                earlier.takes(one.id.as_str())
            })?;
        }
        Ok(left.chosen)
    }

    /// The ids asked for, `None` when none were.
    fn wanted(&self) -> Result<Option<Vec<String>>, Error> {
        let mut wanted = self.ids.clone();
        if let Some(path) = &self.id_file {
            wanted.extend(read_id_file(path)?);
        }
        let asked = !self.ids.is_empty() || self.id_file.is_some();
        Ok(asked.then_some(wanted))
    }
}

/// What the steps before left.
struct Left<'a> {
    all: &'a [Candidate],
    chosen: Vec<usize>,
}

impl Left<'_> {
    fn keep(&mut self, step: &str, keeps: impl Fn(&Candidate) -> bool) -> Result<(), Error> {
        let before = self.chosen.len();
        let all = self.all;
        self.chosen
            .retain(|index| all.get(*index).is_some_and(&keeps));
        if self.chosen.is_empty() {
            return Err(Error::EmptySelection {
                step: step.to_owned(),
                before,
            });
        }
        Ok(())
    }
}

/// A step that leaves nothing is an error that names it.
fn not_empty(
    left: Vec<usize>,
    before: usize,
    step: impl Fn() -> String,
) -> Result<Vec<usize>, Error> {
    if left.is_empty() {
        return Err(Error::EmptySelection {
            step: step(),
            before,
        });
    }
    Ok(left)
}

fn full_match(pattern: &str) -> Result<Regex, Error> {
    let bad = |source| Error::Filter {
        pattern: pattern.into(),
        source: Box::new(source),
    };
    // Compiled alone first, so that the error shows the pattern as given and `a)(b` is refused.
    Regex::new(pattern).map_err(bad)?;
    // Only a comment at the end of a verbose pattern hides the bracket that closes it.
    Regex::new(&format!(r"\A(?:{pattern})\z"))
        .or_else(|_| Regex::new(&format!("\\A(?:{pattern}\n)\\z")))
        .map_err(bad)
}

fn glob(pattern: &str) -> Result<GlobMatcher, Error> {
    GlobBuilder::new(pattern)
        .literal_separator(false)
        .empty_alternates(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|source| Error::Glob {
            pattern: pattern.into(),
            source: Box::new(source),
        })
}

fn check_repositories(wanted: &[String], all: &[Candidate]) -> Result<(), Error> {
    let known: BTreeMap<String, &str> = all
        .iter()
        .map(|one| (one.repo.to_lowercase(), one.repo.as_str()))
        .collect();
    let unknown = wanted
        .iter()
        .filter(|repo| !known.contains_key(&repo.to_lowercase()));
    let unknown: Vec<_> = unknown
        .map(|repo| Unknown {
            id: repo.clone(),
            nearest: nearest(repo, known.values().copied(), 3),
        })
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Error::UnknownRepositories {
        unknown,
        known: known.into_values().map(str::to_owned).collect(),
    })
}

fn check_known(wanted: &[String], all: &[Candidate]) -> Result<(), Error> {
    let ids = || all.iter().map(|one| one.id.as_str());
    let known: HashSet<&str> = ids().collect();
    let mut reported = HashSet::new();
    let unknown: Vec<_> = wanted
        .iter()
        .filter(|id| !known.contains(id.as_str()) && reported.insert(id.as_str()))
        .map(|id| Unknown {
            id: id.clone(),
            nearest: nearest(id, ids(), 3),
        })
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Error::UnknownIds {
        unknown,
        total: all.len(),
    })
}

fn read_id_file(path: &Path) -> Result<Vec<String>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::IdFile {
        path: path.into(),
        source,
    })?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('[')
        && let Ok(ids) = serde_json::from_str(text)
    {
        return Ok(ids);
    }
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
