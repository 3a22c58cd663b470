//! The user's own rules for repositories: how their tests are run and read.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use grade::Rules;

use crate::error::{At, Error};

/// Bytes of one file of rules; the built-in ones have at most a few thousand.
const MAX_BYTES: u64 = 1 << 20;

/// The rules in a file, or in all `.toml` files of a directory in the order of their names; the last to name a repository counts.
///
/// # Errors
/// When a file cannot be read or is no file of rules.
pub fn read(path: Option<&Path>) -> Result<Rules, Error> {
    let mut rules = Rules::default();
    let Some(path) = path else {
        return Ok(rules);
    };
    for file in files(path)? {
        let text = text(&file)?;
        rules
            .add(&file.display().to_string(), &text)
            .map_err(|error| Error::Settings {
                message: "the rules for repositories cannot be used".to_owned(),
                hint: error.hints().into_iter().next(),
                source: Some(Box::new(error)),
            })?;
    }
    Ok(rules)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).at("read", path)? {
        let file = entry.at("read", path)?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::Settings {
            message: format!("`{}` holds no rules for repositories", path.display()),
            hint: Some("rules are in files named `<name>.toml`".to_owned()),
            source: None,
        });
    }
    Ok(files)
}

fn text(path: &Path) -> Result<String, Error> {
    let file = fs::File::open(path).at("read", path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .at("read", path)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Error::Format {
            path: path.to_owned(),
            message: format!("rules have at most {MAX_BYTES} bytes"),
        });
    }
    Ok(text)
}
