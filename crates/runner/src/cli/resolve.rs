//! From layered options to the plain settings of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dataset::Slice;
use sandbox::limits::{Limit, Limits, Network};
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use super::arguments::{Once, Resume};
use super::error::Error;
use crate::layers::options::{
    Acting, Agent, Gates, Grading, Model, NetworkName, Options, PartialName, PatchName, Patches,
    Sandbox, SandboxName, Selection,
};
use crate::layers::values::{Amount, Cap, Count, Pair, Span};
use crate::layers::{Resolved, Table};
use crate::settings::{
    AgentLimits, Identity, Operation, PartialPatches, PatchKind, PathRules, Price, Prompts,
    ResumeMode, RetrySelector, SandboxChoice, Secrets, Transport, hex,
};

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
    let (model, api_key) = match solver {
        Solver::Named(name) => (name.to_owned(), None),
        Solver::Asked => {
            let choice = choice(&options.model)?;
            let key = api_key(&choice, options.model.base_url.as_deref())?;
            (choice.to_string(), key)
        }
    };
    let headers = options.model.headers.iter().flatten();
    let secrets = Secrets {
        api_key,
        headers: headers.map(secret).collect(),
        environment: environment.iter().map(secret).collect(),
    };
    Ok(Settled {
        identity: identity(resolved, options, model, &environment)?,
        operation: Operation {
            network_explicit: resolved.is_explicit("network"),
            ..operation(options, once)?
        },
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

/// Which instances of the dataset.
pub(super) fn selection(options: &Selection) -> Result<dataset::Selection, Error> {
    let shuffle = options.shuffle.unwrap_or(false);
    Ok(dataset::Selection {
        ids: options.ids.clone().unwrap_or_default(),
        id_file: options.ids_file.clone(),
        filter: options.filter.clone(),
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

/// The key for the model's server, from the environment only. A server on this machine needs none.
fn api_key(choice: &model::Choice, base_url: Option<&str>) -> Result<Option<SecretString>, Error> {
    let Some(custom) = choice.key_variable() else {
        return Ok(None);
    };
    let value = |name| std::env::var(name).ok().filter(|key| !key.is_empty());
    let key = value("PATCHMILL_API_KEY").or_else(|| value(custom));
    match (key, base_url) {
        (Some(key), _) => Ok(Some(key.into())),
        (None, Some(url)) if is_loopback(url) => Ok(None),
        (None, url) => Err(Error::Usage {
            message: format!(
                "no key for `{choice}` at {}",
                url.unwrap_or("the provider's own server")
            ),
            hints: vec![
                format!("set {custom} or PATCHMILL_API_KEY"),
                "for a server that takes no key, set it to any text".to_owned(),
            ],
        }),
    }
}

/// Whether a server is on this machine.
fn is_loopback(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    })
}

fn identity(
    resolved: &Resolved,
    options: &Options,
    name: String,
    environment: &[Pair],
) -> Result<Identity, Error> {
    let Options {
        model,
        agent,
        acting,
        sandbox,
        patches,
        ..
    } = options;
    let environment_sha256: BTreeMap<_, _> = environment
        .iter()
        .map(|pair| (pair.name.clone(), hex(&Sha256::digest(&pair.value))))
        .collect();
    Ok(Identity {
        model: name,
        temperature: model.temperature.map(|amount| amount.0),
        max_output_tokens: model.max_output_tokens.map(|count| count.0),
        window: model.window.map(|count| count.0),
        extra_body: model.extra_body.clone().unwrap_or_default(),
        prompts: prompts(agent)?,
        tools: agent.tools.clone().unwrap_or_default(),
        sandbox: sandbox_choice(sandbox),
        network: network(sandbox),
        sandbox_limits: sandbox_limits(resolved, sandbox),
        setup_commands: sandbox.setup_command.clone().unwrap_or_default(),
        environment_sha256,
        must_patch: acting.must_patch.unwrap_or(true),
        verify: acting.verify_command.clone(),
        limits: agent_limits(agent, acting)?,
        paths: path_rules(patches),
        patch: match patches.patch {
            Some(PatchName::Full) => PatchKind::Full,
            Some(PatchName::Model) | None => PatchKind::Model,
        },
    })
}

/// Templates given by path, else the built-in ones.
fn prompts(agent: &Agent) -> Result<Prompts, Error> {
    let read = |path: &Option<PathBuf>, built_in: String| match path {
        None => Ok(built_in),
        Some(path) => std::fs::read_to_string(path).map_err(|source| Error::Read {
            what: "the prompt template",
            path: path.clone(),
            source,
        }),
    };
    let built_in = agent::prompt::Templates::default();
    let templates = agent::prompt::Templates {
        system: read(&agent.system_prompt, built_in.system)?,
        prompt: read(&agent.prompt, built_in.prompt)?,
    };
    templates.check()?;
    Ok(Prompts {
        system: templates.system,
        prompt: templates.prompt,
    })
}

fn agent_limits(agent: &Agent, acting: &Acting) -> Result<AgentLimits, Error> {
    let default = AgentLimits::default();
    let steps = agent.max_steps.and_then(Cap::limit).map(|steps| {
        u32::try_from(steps.0).map_err(|_| {
            Error::usage(
                format!("--max-steps {} is more than {}", steps.0, u32::MAX),
                "`none` switches the limit off",
            )
        })
    });
    Ok(AgentLimits {
        max_steps: steps.transpose()?,
        max_wall_time: agent.max_wall_time.and_then(Cap::limit).map(|span| span.0),
        max_cost: agent.max_cost.and_then(Cap::limit).map(|cost| cost.0),
        max_tokens: agent.max_tokens.and_then(Cap::limit).map(|count| count.0),
        max_rejections: agent.max_rejections.unwrap_or(default.max_rejections),
        max_format_errors: agent.max_format_errors.unwrap_or(default.max_format_errors),
        max_nudges: agent.max_nudges.unwrap_or(default.max_nudges),
        command_timeout: span(acting.command_timeout, default.command_timeout),
        max_command_timeout: span(acting.max_command_timeout, default.max_command_timeout),
        max_observation_bytes: acting
            .max_observation_bytes
            .and_then(|size| usize::try_from(size.0).ok())
            .unwrap_or(default.max_observation_bytes),
        stuck_detection: agent.stuck_detection.unwrap_or(default.stuck_detection),
    })
}

/// The backend asked for.
fn sandbox_choice(sandbox: &Sandbox) -> SandboxChoice {
    match sandbox.sandbox {
        Some(SandboxName::Local) => SandboxChoice::Local,
        Some(SandboxName::Bubblewrap) => SandboxChoice::Bubblewrap,
        Some(SandboxName::Auto) | None => SandboxChoice::Auto,
    }
}

/// The network asked for.
fn network(sandbox: &Sandbox) -> Network {
    match sandbox.network {
        Some(NetworkName::Full) => Network::Full,
        Some(NetworkName::None) | None => Network::None,
    }
}

/// Limits of each sandbox; those that the user set must be enforced, defaults need not.
fn sandbox_limits(resolved: &Resolved, sandbox: &Sandbox) -> Limits {
    fn limit<T, U>(
        resolved: &Resolved,
        key: &str,
        cap: Option<Cap<T>>,
        value: impl Fn(T) -> U,
    ) -> Option<Limit<U>> {
        let explicit = resolved.is_explicit(key);
        let limit = cap.and_then(Cap::limit).map(value);
        limit.map(|value| Limit { value, explicit })
    }
    Limits {
        memory: limit(resolved, "memory", sandbox.memory, |size| size.0),
        cpus: limit(resolved, "cpus", sandbox.cpus, |amount: Amount| amount.0),
        pids: limit(resolved, "pids", sandbox.pids, |count: Count| count.0),
        disk: limit(resolved, "disk", sandbox.disk, |size| size.0),
    }
}

fn path_rules(patches: &Patches) -> PathRules {
    PathRules {
        source: patches.source_paths.clone().unwrap_or_default(),
        test: patches.test_paths.clone().unwrap_or_default(),
        runner_config: patches.runner_config_paths.clone().unwrap_or_default(),
        remove: patches.drop_path_rules.clone().unwrap_or_default(),
    }
}

fn operation(options: &Options, once: &Once) -> Result<Operation, Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let default = Operation::defaults(cores);
    let Options {
        selection,
        model,
        sandbox,
        patches,
        grading,
        batch,
        gates,
        ..
    } = options;
    let retry = once.retry.iter().map(|text| {
        RetrySelector::parse(text).map_err(|problem| {
            Error::usage(
                format!("--retry {text}: {problem}"),
                "stop reasons are those that results.csv shows, such as `stuck` or `max_steps`",
            )
        })
    });
    Ok(Operation {
        dataset: selection.dataset.clone(),
        dataset_directory: directory_of(selection.dataset.as_deref()),
        repositories: selection.repos.clone(),
        scratch: sandbox.scratch.clone(),
        workers: at_least_one("workers", batch.workers, default.workers)?,
        start_workers: at_least_one("start-workers", batch.start_workers, default.start_workers)?,
        samples: at_least_one("samples", batch.samples, default.samples)?,
        max_attempts: at_least_one("max-attempts", batch.max_attempts, default.max_attempts)?,
        transport: transport(model, &default.transport)?,
        grade: patches.grade.unwrap_or(default.grade),
        grade_workers: grade_workers(grading, default.grade_workers)?,
        grade_timeout: span(grading.grade_timeout, default.grade_timeout),
        partial: match patches.partial {
            Some(PartialName::Include) => PartialPatches::Include,
            Some(PartialName::Exclude) | None => PartialPatches::Exclude,
        },
        resume: match once.resume {
            None => ResumeMode::New,
            Some(Resume::Restart) => ResumeMode::Restart,
            Some(Resume::Replay) => ResumeMode::Replay,
        },
        retry: retry.collect::<Result<_, _>>()?,
        grace: span(batch.grace, default.grace),
        max_infra_failures: gates
            .max_infra_failures
            .unwrap_or(default.max_infra_failures),
        max_total_cost: batch.max_total_cost.and_then(Cap::limit).map(|cost| cost.0),
        max_empty_patches: max_empty_patches(gates)?,
        fail_under: fail_under(gates)?,
        durable: batch.durable.unwrap_or(default.durable),
        engine_wait: default.engine_wait,
        start_timeout: span(sandbox.start_timeout, default.start_timeout),
        max_output_bytes: sandbox
            .max_output_bytes
            .map_or(default.max_output_bytes, |size| size.0),
        network_explicit: default.network_explicit,
        best_effort_limits: sandbox
            .best_effort_limits
            .unwrap_or(default.best_effort_limits),
    })
}

/// Gradings at the same time.
fn grade_workers(grading: &Grading, default: usize) -> Result<usize, Error> {
    at_least_one("grade-workers", grading.grade_workers, default)
}

fn max_empty_patches(gates: &Gates) -> Result<Option<usize>, Error> {
    let limit = gates.max_empty_patches.and_then(Cap::limit);
    limit
        .map(|count| {
            usize::try_from(count.0).map_err(|_| {
                Error::usage(
                    "--max-empty-patches is too large",
                    "`none` asks for no such gate",
                )
            })
        })
        .transpose()
}

fn fail_under(gates: &Gates) -> Result<Option<f64>, Error> {
    match gates.fail_under.and_then(Cap::limit) {
        Some(Amount(share)) if share > 1.0 => Err(Error::usage(
            format!("--fail-under {share} is not a share from 0 to 1"),
            format!("for {share} % give {}", share / 100.0),
        )),
        share => Ok(share.map(|share| share.0)),
    }
}

fn transport(model: &Model, default: &Transport) -> Result<Transport, Error> {
    if let Some(url) = &model.base_url {
        let usable = reqwest::Url::parse(url)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !usable {
            return Err(Error::usage(
                format!("--base-url `{url}` is not an address"),
                "an address looks like `http://127.0.0.1:8000/v1`",
            ));
        }
    }
    Ok(Transport {
        base_url: model.base_url.clone(),
        stream: model.stream.unwrap_or(default.stream),
        max_tries: at_least_one("max-tries", model.max_tries, default.max_tries)?,
        total_timeout: span(model.request_timeout, default.total_timeout),
        connect_timeout: span(model.connect_timeout, default.connect_timeout),
        first_byte_timeout: span(model.first_byte_timeout, default.first_byte_timeout),
        idle_timeout: span(model.idle_timeout, default.idle_timeout),
        price: price(model.price.as_deref().unwrap_or_default())?,
    })
}

fn price(pairs: &[Pair]) -> Result<Option<Price>, Error> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut given: BTreeMap<&str, f64> = BTreeMap::new();
    for Pair { name, value } in pairs {
        let wrong = |problem: String| {
            Error::usage(
                format!("--price {name}={value}: {problem}"),
                "kinds are `input`, `cached`, `cache_write`, `output`, in US dollars for a million tokens",
            )
        };
        if !["input", "cached", "cache_write", "output"].contains(&name.as_str()) {
            return Err(wrong(format!("there is no price of kind `{name}`")));
        }
        let amount: Amount = value.parse().map_err(wrong)?;
        given.insert(name, amount.0);
    }
    match (given.get("input"), given.get("output")) {
        (Some(&input), Some(&output)) => Ok(Some(Price {
            input,
            cached: given.get("cached").copied(),
            cache_write: given.get("cache_write").copied(),
            output,
        })),
        _ => Err(Error::usage(
            "a price needs both `input` and `output`",
            "such as --price input=2.5 --price output=10",
        )),
    }
}

fn span(given: Option<Span>, default: std::time::Duration) -> std::time::Duration {
    given.map_or(default, |span| span.0)
}

fn at_least_one<T: Default + PartialEq>(
    flag: &str,
    given: Option<T>,
    default: T,
) -> Result<T, Error> {
    match given {
        Some(zero) if zero == T::default() => Err(Error::usage(
            format!("--{flag} 0 would do nothing"),
            "give 1 or more",
        )),
        given => Ok(given.unwrap_or(default)),
    }
}

/// The directory that paths in the dataset are relative to.
pub(super) fn directory_of(dataset: Option<&Path>) -> PathBuf {
    match dataset.and_then(Path::parent) {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The flags of a command as one layer.
pub(super) fn flags(options: &Options, negated: Table) -> Result<Table, Error> {
    let mut flags = options.write().map_err(|error| Error::flags(&error))?;
    flags.extend(negated);
    Ok(flags)
}
