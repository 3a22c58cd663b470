//! From an image to a container that is up.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bollard::query_parameters::CreateContainerOptionsBuilder;
use tokio::time::Instant;

use super::applied::applied;
use super::channel::Held;
use super::container::Container;
use super::exec::Entry;
use super::image::Image;
use super::limits::Plan;
use super::living::Known;
use super::sweeps::Sweeps;
use super::{CLEAN, Docker, WORKDIR, call, container, create, inventory, labels, limits};
use crate::error::Error;
use crate::place::{PlaceId, PlaceSpec, directory, removal};

impl Docker {
    pub(super) async fn start_place(
        &self,
        spec: &PlaceSpec,
        deadline: Duration,
    ) -> Result<Arc<Container>, Error> {
        let name = self.image_name(spec)?;
        let mut image = self.images.get(name).await?;
        inventory::remember_use(&self.settings.root, &image);
        let mut up = self.bring_up(spec, &image, deadline).await;
        // Somebody has removed it in the meantime.
        if matches!(&up, Err(Error::Image { image: id, .. }) if *id == image.id) {
            image = self.images.get_again(name, &image).await?;
            up = self.bring_up(spec, &image, deadline).await;
        }
        if let Err(Error::Image {
            image: subject,
            problem,
            hint,
        }) = &up
            && subject == name
        {
            self.images.refuse(name, &image, problem, hint);
        }
        up
    }

    async fn bring_up(
        &self,
        spec: &PlaceSpec,
        image: &Image,
        deadline: Duration,
    ) -> Result<Arc<Container>, Error> {
        // The semaphores are never closed.
        let _turn = self.starts.acquire().await;
        let until = Instant::now() + deadline;
        let id = PlaceId(labels::name(&spec.labels));
        let private = directory::create_kin(&self.settings.root).map_err(|error| {
            let root = self.settings.root.display();
            Error::start(format!("make a private directory in {root}"), error)
        })?;
        let mut number = None;
        let made = self.make(spec, image, &id, private.clone(), until, &mut number);
        let made = made.await;
        if made.is_err() {
            let _ = removal::remove_tree(&private);
            self.take_back(&id, number.as_deref()).await;
        }
        made
    }

    /// Removes a container that failed to start; `number` is the engine's own identifier, where it told it.
    async fn take_back(&self, id: &PlaceId, number: Option<&str>) {
        let known = number.unwrap_or(&id.0);
        let deleted = self.delete(id, known, Instant::now() + CLEAN).await;
        if let Err(left) = &deleted {
            tracing::warn!(container = id.0, error = %left, "a container that failed to start was not removed");
        }
        // One whose creation was not answered may still come to be.
        if deleted.is_err() || number.is_none() {
            self.forsaken.add(&id.0, known);
        }
    }

    async fn make(
        &self,
        spec: &PlaceSpec,
        image: &Image,
        id: &PlaceId,
        private: PathBuf,
        until: Instant,
        created: &mut Option<String>,
    ) -> Result<Arc<Container>, Error> {
        let workdir = spec.workdir.as_deref().or(image.workdir.as_deref());
        let workdir = workdir.unwrap_or(WORKDIR).to_owned();
        limits::keeps_work(spec, &workdir)?;
        let (plan, number) = self.create(spec, image, id, &workdir, until).await?;
        *created = Some(number.clone());
        let up = container::bring_up(&self.engine, &id.0, until).await;
        let (main, report) =
            up.map_err(|not_up| not_up.of(self.image_name(spec).unwrap_or(&image.id)))?;
        let (entrance, entry) = (Arc::default(), Arc::<Entry>::default());
        let container = Arc::new(Container {
            id: id.clone(),
            docker: self.engine.clone(),
            workdir,
            private,
            disk: self.storage.clone(),
            loses_writes: self.loses_writes,
            applied: applied(spec, image, plan, report)?,
            main: tokio::sync::Mutex::new(Some(main)),
            held: Arc::new(Held::default()),
            sweeps: Sweeps::new(
                self.engine.clone(),
                number.clone(),
                Arc::clone(&entry),
                Arc::clone(&entrance),
            ),
            entry,
            entrance,
            number,
            kills: Arc::clone(&self.kills),
            hears: self.podman.is_none(),
            stopped: AtomicBool::new(false),
        });
        let known = Known {
            place: Arc::downgrade(&container),
            number: container.number.clone(),
            private: container.private.clone(),
        };
        self.alive().insert(id.clone(), known);
        Ok(container)
    }

    /// Creates the container; what is returned is what the engine accepted, and its own identifier.
    async fn create(
        &self,
        spec: &PlaceSpec,
        image: &Image,
        id: &PlaceId,
        workdir: &str,
        until: Instant,
    ) -> Result<(Plan, String), Error> {
        let mut plan = Plan::new(
            &spec.limits,
            &self.capabilities,
            self.processors,
            self.settings.best_effort_limits,
        )?;
        plan.size_memory_files(spec.rights.temporary);
        if self.podman.is_some_and(|podman| podman.bounds) {
            plan.give_up_bounds();
        }
        loop {
            let body = create::body(spec, image, &plan, workdir, &self.settings.root);
            let options = CreateContainerOptionsBuilder::default()
                .name(&id.0)
                .platform(&self.platform)
                .build();
            let created = call::by(until, self.engine.create_container(Some(options), body)).await;
            match created {
                Ok(created) => {
                    for warning in created.warnings {
                        tracing::debug!(container = id.0, warning, "the engine warns");
                    }
                    return Ok((plan, created.id));
                }
                // Only by trying can be known whether the driver's file system has quotas.
                Err(failure) if plan.limits_disk() && failure.message().contains("storage-opt") => {
                    let explicit = spec.limits.disk.is_some_and(|limit| limit.explicit);
                    plan = plan.without_disk(explicit, self.settings.best_effort_limits)?;
                    if self.podman.is_some_and(|podman| podman.bounds) {
                        plan.give_up_bounds();
                    }
                }
                Err(failure)
                    if failure.status() == Some(404)
                        && failure
                            .message()
                            .to_ascii_lowercase()
                            .contains("no such image") =>
                {
                    return Err(Error::Image {
                        image: image.id.clone(),
                        problem: failure.to_string(),
                        hint: String::from("do not remove images while a run uses them"),
                    });
                }
                Err(failure) => {
                    return Err(failure.starting(format!("create the container {}", id.0)));
                }
            }
        }
    }
}
