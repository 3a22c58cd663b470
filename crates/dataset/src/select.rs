//! Which instances of a dataset are run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use regex::Regex;
use schema::InstanceId;

use crate::error::{Error, Unknown, nearest};
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
    /// Seed of a shuffle. The order depends on the seed and on the ids only, not on their order in the file.
    pub shuffle: Option<u64>,
    /// Slice of what is left, after the shuffle.
    pub slice: Option<Slice>,
    /// Part of what is left.
    pub shard: Option<Shard>,
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

/// The steps of a selection that look at one id alone.
pub(crate) struct Sieve {
    ids: Option<HashSet<String>>,
    filter: Option<Regex>,
}

impl Sieve {
    pub(crate) fn takes(&self, id: &InstanceId) -> bool {
        let id = id.as_str();
        let ids = self.ids.as_ref();
        let filter = self.filter.as_ref();
        ids.is_none_or(|ids| ids.contains(id)) && filter.is_none_or(|filter| filter.is_match(id))
    }
}

impl Selection {
    /// Whether it takes every instance in the order of the file.
    pub fn takes_all(&self) -> bool {
        *self == Self::default()
    }

    /// What an id must pass to have a chance of being chosen; `None` where every id has one.
    pub(crate) fn sieve(&self) -> Result<Option<Sieve>, Error> {
        let sieve = Sieve {
            ids: self.wanted()?.map(|ids| ids.into_iter().collect()),
            filter: self.filter.as_deref().map(full_match).transpose()?,
        };
        let narrows = sieve.ids.is_some() || sieve.filter.is_some();
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
        let ids: Vec<_> = rows.iter().map(|row| row.instance.id.clone()).collect();
        let mut rows: Vec<_> = rows.into_iter().map(Some).collect();
        let chosen = self.choose(&ids)?;
        Ok(chosen
            .into_iter()
            .filter_map(|index| rows.get_mut(index).and_then(Option::take))
            .collect())
    }

    /// Positions in `ids` that are chosen, in the chosen order.
    ///
    /// # Errors
    /// When an id that was asked for is not there, a step leaves nothing, the filter is not a regular expression, or the id file cannot be read.
    pub fn choose(&self, ids: &[InstanceId]) -> Result<Vec<usize>, Error> {
        let mut chosen: Vec<usize> = (0..ids.len()).collect();
        if let Some(wanted) = self.wanted()? {
            check_known(&wanted, ids)?;
            let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
            let left = keep_ids(&chosen, ids, |id| wanted.contains(id));
            chosen = not_empty(left, chosen.len(), || "taking the ids asked for".into())?;
        }
        if let Some(pattern) = &self.filter {
            let filter = full_match(pattern)?;
            let left = keep_ids(&chosen, ids, |id| filter.is_match(id));
            chosen = not_empty(left, chosen.len(), || format!("filter {pattern:?}"))?;
        }
        if let Some(seed) = self.shuffle {
            chosen.sort_by_key(|index| ids.get(*index));
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

fn keep_ids(chosen: &[usize], ids: &[InstanceId], keeps: impl Fn(&str) -> bool) -> Vec<usize> {
    let stays = |index: &usize| ids.get(*index).is_some_and(|id| keeps(id.as_str()));
    chosen.iter().copied().filter(stays).collect()
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

fn check_known(wanted: &[String], ids: &[InstanceId]) -> Result<(), Error> {
    let known: HashSet<&str> = ids.iter().map(InstanceId::as_str).collect();
    let mut reported = HashSet::new();
    let unknown: Vec<_> = wanted
        .iter()
        .filter(|id| !known.contains(id.as_str()) && reported.insert(id.as_str()))
        .map(|id| Unknown {
            id: id.clone(),
            nearest: nearest(id, ids.iter().map(InstanceId::as_str), 3),
        })
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Error::UnknownIds {
        unknown,
        total: ids.len(),
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
