//! Which files of a directory make up which split, by their names alone: the same for a directory here and for a repository on the hub.
//!
//! `[SUBSET/][data/]SPLIT[-00000-of-00003].EXTENSION` and `[SUBSET/]SPLIT/0000.EXTENSION`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::compression;
use crate::error::Error;

/// The split that is meant where several are there and none is named, as in the official harness.
const DEFAULT_SPLIT: &str = "test";

/// The subset that is meant where several are there and none is named.
const DEFAULT_SUBSET: &str = "default";

/// JSON files that describe data instead of being it.
const NOT_DATA: [&str; 5] = [
    "dataset_dict.json",
    "dataset_info.json",
    "dataset_infos.json",
    "package.json",
    "state.json",
];

/// Which part of a dataset is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Subset (the hub's "config"); `None` takes the only one, or the one named `default`.
    pub subset: Option<String>,
    /// Split; `None` takes the only one, or the one named `test`.
    pub split: Option<String>,
}

/// The files of one split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Its name.
    pub(crate) split: String,
    /// Its files, in order, relative to the directory.
    pub(crate) files: Vec<String>,
}

/// One file, taken apart by its name.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    subset: String,
    split: String,
    format: &'static str,
    /// Its number among so many.
    shard: Option<(usize, usize)>,
    file: &'a str,
}

/// The files of the split that is `wanted` among `names`.
pub(crate) fn choose<'a>(
    shown: &Path,
    names: impl Iterator<Item = &'a str>,
    wanted: &Wanted,
) -> Result<Choice, Error> {
    let named: Vec<Named<'a>> = names.filter_map(take_apart).collect();
    if named.is_empty() {
        return Err(Error::NoData { path: shown.into() });
    }
    let subsets: BTreeSet<&str> = named.iter().map(|one| one.subset.as_str()).collect();
    let subset = pick(&subsets, wanted.subset.as_deref(), &["", DEFAULT_SUBSET]);
    let Some(subset) = subset.map(str::to_owned) else {
        return Err(Error::Subset {
            path: shown.into(),
            subsets: subsets.into_iter().map(str::to_owned).collect(),
            wanted: wanted.subset.clone(),
        });
    };
    let mut splits: BTreeMap<&str, Vec<&Named<'a>>> = BTreeMap::new();
    for one in named.iter().filter(|one| one.subset == subset) {
        splits.entry(&one.split).or_default().push(one);
    }
    let known: BTreeSet<&str> = splits.keys().copied().collect();
    let Some(split) = pick_split(&known, wanted.split.as_deref()).map(str::to_owned) else {
        return Err(Error::Split {
            path: shown.into(),
            splits: known.into_iter().map(str::to_owned).collect(),
            wanted: wanted.split.clone(),
        });
    };
    let mut files = splits.remove(split.as_str()).unwrap_or_default();
    files.sort_by_key(|one| (one.shard, one.file));
    check_formats(shown, &split, &files)?;
    check_shards(shown, &split, &files)?;
    Ok(Choice {
        split,
        files: files.iter().map(|one| one.file.to_owned()).collect(),
    })
}

/// The one that is wanted, else the only one, else the first of `defaults` that is there.
fn pick<'a>(
    known: &BTreeSet<&'a str>,
    wanted: Option<&str>,
    defaults: &[&'a str],
) -> Option<&'a str> {
    if let Some(wanted) = wanted {
        return known.get(wanted).copied();
    }
    if known.len() == 1 {
        return known.first().copied();
    }
    defaults.iter().find_map(|name| known.get(name).copied())
}

/// The split that is wanted by its whole name, or by a word of the only name that holds it: `swe-bench-test.jsonl`.
pub(crate) fn pick_split<'a>(known: &BTreeSet<&'a str>, wanted: Option<&str>) -> Option<&'a str> {
    pick(known, wanted, &[DEFAULT_SPLIT]).or_else(|| {
        let wanted = wanted?;
        let words = |name: &str| {
            name.split(['-', '_', '.', ' '])
                .any(|word| word.eq_ignore_ascii_case(wanted))
        };
        let mut holding = known.iter().copied().filter(|name| words(name));
        let only = holding.next()?;
        holding.next().is_none().then_some(only)
    })
}

fn take_apart(file: &str) -> Option<Named<'_>> {
    let path = Path::new(file);
    let name = path.file_name()?.to_str()?;
    if name.starts_with(['.', '_']) || NOT_DATA.contains(&name) {
        return None;
    }
    let plain = compression::without_suffix(Path::new(name));
    let format = format_of(plain.extension()?.to_str()?)?;
    let (stem, shard) = without_shard(plain.file_stem()?.to_str()?);
    let mut above: Vec<&str> = path.parent()?.to_str()?.split('/').collect();
    above.retain(|part| !part.is_empty() && *part != "data");
    let numbered = !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit());
    let split = if numbered || stem == "data" {
        above.pop().unwrap_or(stem)
    } else {
        stem
    };
    Some(Named {
        subset: above.join("/"),
        split: split.to_owned(),
        format,
        shard,
        file,
    })
}

/// Name of the format that an extension stands for.
fn format_of(extension: &str) -> Option<&'static str> {
    match extension.to_ascii_lowercase().as_str() {
        "json" => Some("JSON"),
        "jsonl" | "ndjson" => Some("JSON Lines"),
        "csv" => Some("CSV"),
        "tsv" => Some("TSV"),
        "parquet" => Some("Parquet"),
        "arrow" => Some("Arrow"),
        _ => None,
    }
}

/// `test-00000-of-00003` is the first of three files of `test`.
fn without_shard(stem: &str) -> (&str, Option<(usize, usize)>) {
    let parts = || {
        let (front, of) = stem.rsplit_once("-of-")?;
        let (split, number) = front.rsplit_once('-')?;
        let digits = |text: &str| text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(number) || !digits(of) {
            return None;
        }
        Some((split, (number.parse().ok()?, of.parse().ok()?)))
    };
    match parts() {
        Some((split, shard)) => (split, Some(shard)),
        None => (stem, None),
    }
}

fn check_formats(shown: &Path, split: &str, files: &[&Named<'_>]) -> Result<(), Error> {
    let formats: BTreeSet<&str> = files.iter().map(|one| one.format).collect();
    if formats.len() < 2 {
        return Ok(());
    }
    Err(Error::MixedFormats {
        path: shown.into(),
        split: split.into(),
        files: files.iter().map(|one| one.file.to_owned()).collect(),
    })
}

/// Every part of a split must be there, once.
fn check_shards(shown: &Path, split: &str, files: &[&Named<'_>]) -> Result<(), Error> {
    let counts: BTreeSet<Option<usize>> = files.iter().map(|one| one.shard.map(|s| s.1)).collect();
    let problem = match counts.iter().copied().collect::<Vec<_>>().as_slice() {
        [None] => return Ok(()),
        [Some(of)] => {
            let there: BTreeSet<usize> = files
                .iter()
                .filter_map(|one| one.shard.map(|s| s.0))
                .collect();
            match (0..*of).find(|number| !there.contains(number)) {
                Some(missing) => format!("part {missing:05} of {of:05} is missing"),
                None if files.len() > *of => "a part is there twice".to_owned(),
                None => return Ok(()),
            }
        }
        _ => "files of different divisions lie together".to_owned(),
    };
    Err(Error::Shards {
        path: shown.into(),
        split: split.into(),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str], subset: Option<&str>, split: Option<&str>) -> Result<Choice, String> {
        let wanted = Wanted {
            subset: subset.map(str::to_owned),
            split: split.map(str::to_owned),
        };
        choose(Path::new("d"), names.iter().copied(), &wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn names_of_the_hub_are_understood() {
        let lite = [
            ".gitattributes",
            "README.md",
            "data/dev-00000-of-00001.parquet",
            "data/test-00000-of-00001.parquet",
            "dataset_infos.json",
        ];
        assert_eq!(
            chosen(&lite, None, None).unwrap().files,
            ["data/test-00000-of-00001.parquet"]
        );
        assert_eq!(chosen(&lite, None, Some("dev")).unwrap().split, "dev");
        assert_eq!(
            chosen(&lite, None, Some("train")).unwrap_err(),
            "dataset d holds the splits dev, test, not \"train\""
        );
        let converted = ["default/test/0001.parquet", "default/test/0000.parquet"];
        assert_eq!(
            chosen(&converted, None, None).unwrap(),
            Choice {
                split: "test".into(),
                files: vec![converted[1].into(), converted[0].into()]
            }
        );
    }

    #[test]
    fn subsets_are_directories() {
        let names = ["c/a.jsonl", "java/a.jsonl", "java/b.jsonl"];
        assert_eq!(
            chosen(&names, None, None).unwrap_err(),
            "dataset d holds the subsets c, java"
        );
        assert_eq!(chosen(&names, Some("c"), None).unwrap().split, "a");
        assert_eq!(
            chosen(&names, Some("java"), Some("b")).unwrap().files,
            ["java/b.jsonl"]
        );
        assert!(chosen(&names, Some("go"), None).is_err());
    }

    #[test]
    fn a_split_may_be_a_word_of_a_name() {
        let names = ["swe-bench-dev.json", "swe-bench-test.json.gz"];
        assert_eq!(
            chosen(&names, None, Some("test")).unwrap().files,
            [names[1]]
        );
        assert!(chosen(&names, None, Some("swe")).is_err());
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (names, problem) in [
            (
                ["test.jsonl", "test.parquet"].as_slice(),
                "split \"test\" of dataset d comes in several formats: test.jsonl, test.parquet",
            ),
            (
                &["test-00000-of-00002.parquet"],
                "split \"test\" of dataset d is not whole: part 00001 of 00002 is missing",
            ),
            (
                &[
                    "a/test-00000-of-00001.parquet",
                    "a/data/test-00000-of-00001.parquet",
                ],
                "split \"test\" of dataset d is not whole: a part is there twice",
            ),
            (
                &["test-00000-of-00001.parquet", "test.parquet"],
                "split \"test\" of dataset d is not whole: files of different divisions lie together",
            ),
            (&["README.md"], "directory d holds no data"),
        ] {
            assert_eq!(chosen(names, None, None).unwrap_err(), problem);
        }
    }
}
