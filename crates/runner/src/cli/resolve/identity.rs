//! What changes outcomes, out of the options.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sandbox::limits::Network;
use sha2::{Digest, Sha256};

use super::{limits, set};
use crate::cli::error::Error;
use crate::layers::Resolved;
use crate::layers::options::{
    self, Acting, Agent, Options, PatchName, Patches, Sandbox, SandboxName,
};
use crate::layers::values::{Cap, Pair};
use crate::rights::Rights;
use crate::settings::{Identity, PatchKind, PathRules, Prompts, SandboxChoice};

/// Settings that change outcomes, for the model called `name`.
pub(super) fn identity(
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
        .map(|pair| (pair.name.clone(), schema::hex(&Sha256::digest(&pair.value))))
        .collect();
    Ok(Identity {
        model: name,
        temperature: model.temperature.map(|amount| amount.0),
        max_output_tokens: model.max_output_tokens.map(|count| count.0),
        window: model.window.map(|count| count.0),
        extra_body: model.extra_body.clone().unwrap_or_default(),
        prompts: prompts(agent)?,
        tools: set("tools", agent.tools.clone())?,
        sandbox: sandbox_choice(sandbox)?,
        shell_init: sandbox.shell_init.clone(),
        network: network(sandbox)?,
        image: sandbox.images.image.clone(),
        platform: sandbox.images.platform.clone(),
        rights: rights(&sandbox.rights)?,
        sandbox_limits: limits::limits(resolved, sandbox)?,
        setup_commands: sandbox.setup_command.clone().unwrap_or_default(),
        environment_sha256,
        must_patch: set("must_patch", acting.must_patch)?,
        verify: acting.verify_command.clone(),
        limits: agent_limits(agent, acting)?,
        paths: path_rules(patches),
        patch: match set("patch", patches.patch)? {
            PatchName::Full => PatchKind::Full,
            PatchName::Model => PatchKind::Model,
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

fn agent_limits(agent: &Agent, acting: &Acting) -> Result<agent::Limits, Error> {
    let steps = agent.max_steps.and_then(Cap::limit).map(|steps| {
        u32::try_from(steps.0).map_err(|_| {
            Error::usage(
                format!("--max-steps {} is more than {}", steps.0, u32::MAX),
                "`none` switches the limit off",
            )
        })
    });
    let observation = set("max_observation_bytes", acting.max_observation_bytes)?;
    Ok(agent::Limits {
        max_steps: steps.transpose()?,
        max_wall_time: agent.max_wall_time.and_then(Cap::limit).map(|span| span.0),
        max_cost: agent.max_cost.and_then(Cap::limit).map(|cost| cost.0),
        max_tokens: agent.max_tokens.and_then(Cap::limit).map(|count| count.0),
        max_rejections: set("max_rejections", agent.max_rejections)?,
        max_format_errors: set("max_format_errors", agent.max_format_errors)?,
        max_nudges: set("max_nudges", agent.max_nudges)?,
        command_timeout: set("command_timeout", acting.command_timeout)?.0,
        command_idle_timeout: acting
            .command_idle_timeout
            .and_then(Cap::limit)
            .map(|span| span.0),
        max_command_timeout: set("max_command_timeout", acting.max_command_timeout)?.0,
        max_observation_bytes: usize::try_from(observation.0).unwrap_or(usize::MAX),
        stuck_detection: set("stuck_detection", agent.stuck_detection)?,
    })
}

/// The backend asked for.
fn sandbox_choice(sandbox: &Sandbox) -> Result<SandboxChoice, Error> {
    Ok(match set("sandbox", sandbox.sandbox)? {
        SandboxName::Local => SandboxChoice::Local,
        SandboxName::Bubblewrap => SandboxChoice::Bubblewrap,
        SandboxName::Docker => SandboxChoice::Docker,
        SandboxName::Apptainer => SandboxChoice::Apptainer,
        SandboxName::Podman => SandboxChoice::Podman,
        SandboxName::Auto => SandboxChoice::Auto,
    })
}

/// What programs may do, as far as the user says; capabilities are named as the kernel does, in one order.
fn rights(given: &options::Rights) -> Result<Rights, Error> {
    let named = |name: &String| {
        let upper = name.trim().to_ascii_uppercase();
        let name = upper.strip_prefix("CAP_").unwrap_or(&upper);
        let sound = name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_uppercase());
        if name.is_empty() || !sound {
            return Err(Error::usage(
                format!("`{upper}` is no capability"),
                "capabilities are named as in capabilities(7): CHOWN, SYS_PTRACE",
            ));
        }
        Ok(name.to_owned())
    };
    let capabilities = match &given.cap_add {
        None => None,
        Some(names) => {
            let mut names: Vec<String> = names.iter().map(named).collect::<Result<_, _>>()?;
            names.retain(|name| name != "NONE");
            names.sort();
            names.dedup();
            Some(names)
        }
    };
    Ok(Rights {
        user: given.sandbox_user.clone(),
        capabilities,
        tmpfs: given
            .tmpfs
            .map(|size| size.limit().map_or(0, |size| size.0)),
    })
}

/// The network asked for.
fn network(sandbox: &Sandbox) -> Result<Network, Error> {
    set("network", sandbox.network.clone()).map(|reach| reach.0)
}

fn path_rules(patches: &Patches) -> PathRules {
    PathRules {
        source: patches.source_paths.clone().unwrap_or_default(),
        test: patches.test_paths.clone().unwrap_or_default(),
        runner_config: patches.runner_config_paths.clone().unwrap_or_default(),
        remove: patches.drop_path_rules.clone().unwrap_or_default(),
    }
}
