//! The agent at work in its sandbox, and the head of its trajectory.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::ports::{Clock, Observer};
use agent::{Attempt, Ending};
use sandbox::Sandbox;
use schema::{FailureKind, FormatVersion, Header, Record, Task};
use sha2::{Digest, Sha256};

use super::Life;
use super::context::Entry;
use super::failure::Failure;
use super::rerun::LABEL;
use crate::budget::Metered;
use crate::clock::AttemptClock;
use crate::error::chain;
use crate::recorder::{AttemptObserver, SharedTrajectory};
use crate::replay::{ACTING, Acting};
use crate::store::trajectory::TrajectoryWriter;
use crate::workspace::SandboxWorkspace;

impl Life<'_> {
    /// Lets the agent work until it ends.
    pub(super) async fn drive(
        &mut self,
        entry: &Entry,
        sandbox: Arc<Sandbox>,
        model: Arc<dyn agent::ports::Model>,
    ) -> Result<Ending, Failure> {
        let context = self.context;
        let task = task(entry, &sandbox);
        let tools = context.catalog.names();
        let (system, prompt) =
            agent::prompt::render(&context.templates, &task, &tools).map_err(|error| Failure {
                kind: FailureKind::Internal,
                message: chain(&error),
            })?;
        let interpreter = self.interpreter(entry, &sandbox).await;
        let mut header = self.header(Some(&sandbox), &system, &prompt);
        self.record_image(entry, interpreter.as_ref(), &mut header);
        let trajectory = self.begin_trajectory(&header)?;
        let workspace = Arc::new(SandboxWorkspace::new(
            sandbox,
            Arc::clone(&context.classes),
            self.directory.outputs(),
            context.output_limits(),
        ));
        self.workspace = Some(Arc::clone(&workspace));
        // The agent's time starts with its work: waiting for a worker is none of it.
        let clock: Arc<dyn Clock> = Arc::new(AttemptClock::start());
        let mut model: Arc<dyn agent::ports::Model> = Arc::new(Metered {
            model,
            budget: Arc::clone(&context.budget),
            reports: self.reports.clone(),
        });
        let mut observer: Arc<dyn Observer> = Arc::new(AttemptObserver {
            status: Arc::clone(self.status),
            log: self.log.clone(),
        });
        if let Some(rerun) = &self.rerun {
            model = rerun.model(model, &task.workdir);
            observer = rerun.observer(observer, &task.workdir);
        }
        let ending = agent::driver::run(Attempt {
            settings: context.settings.clone(),
            catalog: Arc::clone(&context.catalog),
            model,
            workspace,
            recorder: Box::new(trajectory),
            clock,
            cancel: context.stop.cancel.child_token(),
            observer,
            task,
            system,
            prompt,
            checks: context.checks(entry),
            resumed: Vec::<Record>::new(),
        })
        .await;
        self.tell_divergence().await;
        Ok(ending)
    }

    async fn tell_divergence(&self) {
        let diverged = self.rerun.as_ref().and_then(|rerun| rerun.divergence());
        if let Some(divergence) = diverged {
            self.log
                .line(format!("the record diverged at {divergence}"));
            self.reports
                .warn(format!(
                    "{} went another way than its record and went on live from {divergence}",
                    self.job.key
                ))
                .await;
        }
    }

    pub(super) fn begin_trajectory(
        &mut self,
        header: &Header,
    ) -> Result<SharedTrajectory, Failure> {
        let path = self.directory.trajectory();
        let writer = TrajectoryWriter::create(&path, header, self.context.operation.durable)
            .map_err(|error| Failure::file("create", &path, &error))?;
        let trajectory = SharedTrajectory::new(writer);
        self.trajectory = Some(trajectory.clone());
        Ok(trajectory)
    }

    pub(super) fn header(&self, sandbox: Option<&Sandbox>, system: &str, prompt: &str) -> Header {
        let context = self.context;
        let mut digest = Sha256::new();
        digest.update(system);
        digest.update([0]);
        digest.update(prompt);
        let mut environment = BTreeMap::new();
        if let Some(sandbox) = sandbox {
            let mut put = |name: &str, value: Result<serde_json::Value, serde_json::Error>| {
                if let Ok(value) = value {
                    environment.insert(name.to_owned(), value);
                }
            };
            put("seal", serde_json::to_value(sandbox.seal()));
            put("applied", serde_json::to_value(sandbox.applied()));
            put(LABEL, Ok(self.label().into()));
            put(ACTING, serde_json::to_value(Acting::of(&context.identity)));
        }
        Header {
            schema_version: FormatVersion::TRAJECTORY,
            instance_id: self.job.key.instance_id.clone(),
            sample: self.job.key.sample,
            attempt: self.job.key.attempt,
            model: context.identity.model.clone(),
            config_sha256: context.identity_sha256.clone(),
            prompt_sha256: schema::hex(&digest.finalize()),
            tools: context
                .catalog
                .names()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            sandbox: context
                .entry(self.job.row)
                .map(|entry| context.backend(entry).capabilities().backend)
                .unwrap_or_default()
                .to_owned(),
            start_commit: sandbox
                .map(|sandbox| sandbox.start_commit().to_owned())
                .unwrap_or_default(),
            environment,
            patchmill: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// All that the agent learns of an instance.
fn task(entry: &Entry, sandbox: &Sandbox) -> Task {
    let instance = &entry.row.instance;
    Task {
        id: instance.id.clone(),
        statement: instance.statement.clone(),
        images: instance.statement_images.clone(),
        workdir: sandbox.workdir().to_owned(),
    }
}
