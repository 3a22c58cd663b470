//! From layered options to the plain settings of a run.

mod identity;
mod limits;
mod operation;
mod transport;

use schema::grading::Harness;
use std::path::PathBuf;

use dataset::{Slice, Wanted};
use secrecy::SecretString;

use super::arguments::Once;
use super::error::Error;
use crate::layers::options::{Model, Options, Selection};
use crate::layers::values::Pair;
use crate::layers::{self, Resolved, Table};
use crate::settings::{Identity, Operation, RunSettings, Secrets};

pub(super) use operation::{at_least_one, pull, pulls};

/// Settings of a run but for its directory, and the dataset's selection.
#[derive(Debug)]
pub(super) struct Settled {
    /// What changes outcomes.
    pub(super) identity: Identity,
    /// What does not.
    pub(super) operation: Operation,
    /// What is never written.
    pub(super) secrets: Secrets,
}

impl Settled {
    /// The settings of a run in this directory.
    pub(super) fn at(self, run_directory: PathBuf) -> RunSettings {
        RunSettings::new(run_directory, self.identity, self.operation, self.secrets)
    }
}

/// Who the settings are for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Solver<'a> {
    /// The model that the options name; its server may need a key.
    Asked,
    /// Nobody is asked; files show this name.
    Named(&'a str),
}

/// Resolves everything that does not depend on the dataset.
pub(super) fn settle(
    resolved: &Resolved,
    options: &Options,
    once: &Once,
    solver: Solver<'_>,
) -> Result<Settled, Error> {
    let environment = options.sandbox.env.clone().unwrap_or_default();
    let mut operation = operation::operation(resolved, options, once)?;
    let (model, api_key) = match solver {
        Solver::Named(name) => (name.to_owned(), None),
        Solver::Asked => {
            let choice = choice(&options.model)?;
            let base_url = &mut operation.transport.base_url;
            if base_url.is_none() {
                *base_url = transport::customary_url(&choice)?;
            }
            let key = transport::api_key(&choice, base_url.as_deref())?;
            (choice.to_string(), key)
        }
    };
    let headers = options.model.headers.iter().flatten();
    let secrets = Secrets {
        api_key,
        headers: headers.map(secret).collect(),
        files: resolved.files.clone(),
        environment: environment.iter().map(secret).collect(),
    };
    Ok(Settled {
        identity: identity::identity(resolved, options, model, &environment)?,
        operation,
        secrets,
    })
}

/// The model asked for.
fn choice(model: &Model) -> Result<model::Choice, Error> {
    let Some(given) = &model.model else {
        return Err(Error::usage(
            "no model is given",
            "name one with --model, such as `openai:NAME`, `replay:PATH` or `script:PATH`",
        ));
    };
    Ok(model::Choice::parse(given)?)
}

/// Which part of the dataset.
pub(super) fn wanted(options: &Selection) -> Wanted {
    Wanted {
        subset: options.subset.clone(),
        split: options.split.clone(),
    }
}

/// Which instances of the dataset.
pub(super) fn selection(options: &Selection) -> Result<dataset::Selection, Error> {
    let shuffle = options.shuffle.unwrap_or(false);
    Ok(dataset::Selection {
        ids: options.ids.clone().unwrap_or_default(),
        id_file: options.ids_file.clone(),
        filter: options.filter.clone(),
        glob: options.glob.clone(),
        repositories: options.repository.clone().unwrap_or_default(),
        earlier: Vec::new(),
        shuffle: shuffle.then(|| options.seed.unwrap_or_default()),
        slice: options
            .slice
            .as_deref()
            .map(str::parse::<Slice>)
            .transpose()?,
        shard: options.shard.as_deref().map(str::parse).transpose()?,
    })
}

fn secret(pair: &Pair) -> (String, SecretString) {
    (pair.name.clone(), pair.value.clone().into())
}

/// The flags of a command as one layer.
pub(super) fn flags(options: &Options, negated: Table) -> Result<Table, Error> {
    let mut flags = options.write().map_err(|error| Error::flags(&error))?;
    flags.extend(negated);
    Ok(flags)
}

/// The generation of the official harness whose verdicts are given.
pub(super) fn harness(grading: &layers::options::Grading) -> Result<Harness, Error> {
    Ok(set("harness", grading.harness)?.into())
}

/// What the layers make of `key`. The built-in defaults, the lowest of them, hold every setting that must have a value.
fn set<T>(key: &str, value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| {
        Error::Configuration(layers::Error::Invalid {
            place: "configuration".to_owned(),
            problem: format!("no layer sets `{key}`"),
            hint: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Surroundings;

    #[test]
    fn the_built_in_configuration_holds_the_agents_own_limits() {
        let resolved =
            Resolved::load(&Surroundings::default(), &[], &[], Table::default()).unwrap();
        let options = resolved.options().unwrap();
        let once = Once::default();
        let settled = settle(&resolved, &options, &once, Solver::Named("nobody")).unwrap();
        assert_eq!(settled.identity.limits, agent::Limits::default());
    }
}
