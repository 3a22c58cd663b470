//! The `apptainer` backend: the row's image unpacked into a directory for each place, and programs started in it by Apptainer's command line, without a
//! service. Sylabs's `singularity` has the same command line and will do.
//!
//! It follows the documentation of Apptainer 1.6 and was tried on a stand-in only, not yet on the real program.

mod arguments;
mod images;
mod program;
mod reference;
mod trial;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use self::arguments::Manner;
use self::images::Images;
use self::program::Program;
pub use self::reference::is_address;
use crate::error::Error;
use crate::limits::{Applied, Network};
use crate::network::NetworkProbe;
use crate::place::docker::Pull;
use crate::place::host::{
    self, Confinement, HostBackend, HostPlace, HostPlaces, HostRoot, HostSettings, SHELL_STATE,
    WORKSPACE,
};
use crate::place::{Capabilities, PlaceSpec, removal};

/// Name of the backend.
const NAME: &str = "apptainer";
/// Where the repository is unless the row says so.
const WORKDIR: &str = "/workspace";
/// The agent's home, which is the image's of root.
const HOME_INSIDE: &str = "/root";
/// Directories that every place has, with their permissions.
const DIRECTORIES: [(&str, u32); 3] =
    [(HOME_INSIDE, 0o700), ("/tmp", 0o1777), ("/var/tmp", 0o1777)];
/// How long unpacking an image may take; who starts a place mostly waits less.
const UNPACK: Duration = Duration::from_mins(30);

/// For the line of warning.
pub const UNTRIED: &str = "--sandbox apptainer follows Apptainer's documentation and has not yet been run on the real program: look at the first results before you trust them";

/// Settings of this backend.
#[derive(Debug, Clone)]
pub struct ApptainerSettings {
    /// What it shares with the others that run commands on the host.
    pub host: HostSettings,
    /// When images are pulled.
    pub pull: Pull,
    /// Platform of pulled images, such as `linux/amd64`, where it is not this machine's.
    pub platform: Option<String>,
    /// The program; `None` is `apptainer`, else `singularity`, in the search path.
    pub program: Option<PathBuf>,
}

impl ApptainerSettings {
    /// Settings that pull what is missing.
    pub fn new(host: HostSettings) -> Self {
        Self {
            host,
            pull: Pull::default(),
            platform: None,
            program: None,
        }
    }
}

/// Runs commands in containers of Apptainer.
pub type Apptainer = HostBackend<Containers>;

/// `apptainer exec` around a command.
pub struct Containers {
    program: Arc<Program>,
    manner: Manner,
    images: Images,
}

impl Apptainer {
    /// A backend that makes its directories below `settings.host.root`, after the program has shown what works here.
    ///
    /// # Errors
    /// `Unsupported` when there is none, or it starts nothing, with what it said.
    pub async fn probe(settings: ApptainerSettings) -> Result<Self, Error> {
        let program = Arc::new(Program::find(settings.program.as_deref()).await?);
        let places = HostPlaces::new(settings.host)?;
        let manner = trial::manner(&program, places.settings()).await?;
        let capabilities = Capabilities {
            backend: NAME,
            network_isolation: manner.network_isolation,
            network_door: false,
            memory_limit: false,
            cpu_limit: false,
            pids_limit: false,
            disk_limit: false,
        };
        let images = Images::new(
            Arc::clone(&program),
            places.settings().root.join(images::DIRECTORY),
            settings.pull,
            settings.platform,
        );
        let containers = Containers {
            program,
            manner,
            images,
        };
        Ok(Self::of(capabilities, places, containers))
    }
}

/// What the program says of its version, where there is one.
///
/// # Errors
/// When there is none.
pub async fn probe_version() -> Result<String, Error> {
    Ok(Program::find(None).await?.version)
}

fn image_name(spec: &PlaceSpec) -> Result<&str, Error> {
    spec.image.as_deref().ok_or_else(|| Error::Unsupported {
        message: String::from(
            "a container needs an image and the row names none: give one with --image",
        ),
    })
}

impl Containers {
    /// Unpacks the image, and makes what a place has beside it. What is made stays where this fails.
    fn fill(
        &self,
        name: &str,
        image: &Path,
        directory: &Path,
        workdir: &str,
    ) -> Result<HostRoot, Error> {
        let root = HostRoot::new(directory.join(WORKSPACE));
        // The program makes it itself.
        let emptied = std::fs::remove_dir(root.path());
        emptied.map_err(|error| Error::start("unpack an image", error))?;
        let words = arguments::unpack(image, root.path());
        self.program.run_blocking(&words, UNPACK)?;
        let directories = DIRECTORIES.into_iter().chain([(workdir, 0o755)]);
        for (path, permissions) in directories {
            let known = root.has(path);
            if !known {
                let made = root.make_directory(path, permissions);
                made.map_err(|error| Error::start(format!("make {path} in the image"), error))?;
            }
        }
        if !root.has("/bin/sh") {
            return Err(Error::Image {
                image: name.to_owned(),
                problem: String::from("it has no /bin/sh, and commands need one"),
                hint: String::from("use an image with a shell"),
            });
        }
        Ok(root)
    }

    fn applied(
        &self,
        spec: &PlaceSpec,
        settings: &HostSettings,
        image: Option<String>,
    ) -> Result<Applied, Error> {
        let limits = host::unenforced(NAME, spec, settings)?;
        host::check_network(NAME, &spec.network, settings)?;
        let network = self.manner.network(&spec.network);
        let mut enforced = vec![String::from("filesystem")];
        let mut unenforced = Vec::new();
        if spec.network != Network::Full {
            let cut = network == Network::None;
            let list = if cut { &mut enforced } else { &mut unenforced };
            list.push(String::from("network"));
        }
        unenforced.extend(limits);
        Ok(Applied {
            network,
            probe: NetworkProbe::default(),
            enforced,
            unenforced,
            user: self.manner.user(),
            capabilities: Vec::new(),
            tmpfs: None,
            image,
        })
    }
}

impl Confinement for Containers {
    fn prepare<'a>(
        &'a self,
        _: &'a HostPlaces,
        spec: &'a PlaceSpec,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            self.images.get(image_name(spec)?).await?;
            Ok(())
        })
    }

    fn place(
        &self,
        places: &HostPlaces,
        _: &Capabilities,
        spec: &PlaceSpec,
    ) -> Result<HostPlace, Error> {
        let name = image_name(spec)?;
        let image = self.images.known(name)?;
        let applied = self.applied(spec, places.settings(), image.digest)?;
        let workdir = spec.workdir.as_deref().unwrap_or(WORKDIR).to_owned();
        let (id, directory) = places.directory(&spec.labels)?;
        let root = self
            .fill(name, &image.path, &directory, &workdir)
            .inspect_err(|_| {
                let _ = removal::remove_tree(&directory);
            })?;
        let environment = self.program.environment(&directory, &spec.environment);
        let given = host::given(spec);
        let given = given.iter().map(|name| self.program.handed_on(name));
        let network = applied.network.clone();
        let (program, manner) = (self.program.path.clone(), self.manner);
        let path = root.path().to_owned();
        Ok(HostPlace {
            host_workdir: path.join(workdir.trim_start_matches('/')),
            shell_state: format!("{HOME_INSIDE}/{SHELL_STATE}"),
            applied,
            environment,
            given: given.collect(),
            keep: places.settings().keep.clone(),
            wrapper: Some(Box::new(move |directory| {
                let mut words = vec![OsString::from(&program)];
                words.extend(arguments::exec(manner, &network, &path, directory));
                words
            })),
            root: Some(root),
            trees: Mutex::default(),
            workdir,
            id,
            directory,
        })
    }
}
