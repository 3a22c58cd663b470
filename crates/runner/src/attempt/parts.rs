//! The parts of an agent that settings describe, checked.

use agent::catalog::UnknownTool;
use agent::{Catalog, Check, Limits, ToolName};
use patch::{PathClass, PathClasses};
use secrecy::ExposeSecret;

use crate::error::Error;
use crate::settings::{Identity, PathRules, Prompts};

/// What `task_done` has to pass.
pub fn checks(identity: &Identity) -> Vec<Check> {
    let mut checks = Vec::new();
    if identity.must_patch {
        checks.push(Check::NonEmptyPatch);
    }
    if let Some(command) = &identity.verify {
        checks.push(Check::VerifyCommand {
            command: command.clone(),
            timeout: identity.limits.max_command_timeout,
        });
    }
    checks
}

/// The built-in path classes with the user's changes.
///
/// # Errors
/// When a glob cannot be read.
pub fn path_classes(rules: &PathRules) -> Result<PathClasses, Error> {
    let classed = |class: PathClass, globs: &[String]| -> Vec<(PathClass, String)> {
        globs.iter().map(|glob| (class, glob.clone())).collect()
    };
    let mut add = classed(PathClass::Source, &rules.source);
    add.extend(classed(PathClass::Test, &rules.test));
    add.extend(classed(PathClass::RunnerConfig, &rules.runner_config));
    PathClasses::with(&add, &rules.remove).map_err(|error| Error::Settings {
        message: "a path pattern cannot be read".to_owned(),
        hint: None,
        source: Some(Box::new(error)),
    })
}

/// The tools named in the settings.
///
/// # Errors
/// When one is unknown.
pub fn catalog(names: &[String], limits: &Limits) -> Result<Catalog, Error> {
    let tools = names
        .iter()
        .map(|name| {
            name.parse().map_err(|error: UnknownTool| Error::Settings {
                message: error.to_string(),
                hint: Some(format!(
                    "known tools: {}",
                    ToolName::ALL.map(ToolName::name).join(", ")
                )),
                source: None,
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Catalog::new(&tools, limits))
}

/// The agent's templates out of the settings' prompts, checked.
///
/// # Errors
/// When one cannot be rendered.
pub fn templates(prompts: &Prompts) -> Result<agent::prompt::Templates, Error> {
    let templates = agent::prompt::Templates {
        system: prompts.system.clone(),
        prompt: prompts.prompt.clone(),
    };
    templates.check().map_err(|error| Error::Settings {
        message: "a prompt template is wrong".to_owned(),
        hint: Some(
            "templates may use task.id, task.statement, task.workdir, task.images and tools"
                .to_owned(),
        ),
        source: Some(Box::new(error)),
    })?;
    Ok(templates)
}

/// The environment of sandboxes in the clear.
pub fn environment(secrets: &crate::settings::Secrets) -> Vec<(String, String)> {
    secrets
        .environment
        .iter()
        .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
        .collect()
}
