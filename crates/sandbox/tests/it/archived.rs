//! A place on the host that hides its files behind archives, as an engine does.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sandbox::Error;
use sandbox::limits::Applied;
use sandbox::place::terminal::{Terminal, Visit};
use sandbox::place::{
    Archive, Archives, Backend, Capabilities, Channel, Files, KeptPlace, Launch, Leftover, Place,
    PlaceId, PlaceSpec, PlaceState, Processes,
};
use tar::EntryType;
use tokio::io::AsyncReadExt;

/// Another backend, its files only by archives. What the "image" holds is copied into each workspace.
pub(crate) struct Archived {
    pub(crate) inner: Arc<dyn Backend>,
    pub(crate) image: Option<PathBuf>,
}

impl Backend for Archived {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn start<'a>(
        &'a self,
        spec: &'a PlaceSpec,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Arc<dyn Place>, Error>> {
        Box::pin(async move {
            let inner = self.inner.start(spec, deadline).await?;
            let Files::Host(workdir) = inner.files() else {
                panic!("the place has no files on the host");
            };
            let workdir = workdir.to_owned();
            if let Some(image) = &self.image {
                let status = Command::new("cp")
                    .arg("-a")
                    .arg(image.join("."))
                    .arg(&workdir)
                    .status();
                assert!(status.unwrap().success());
            }
            let place: Arc<dyn Place> = Arc::new(ArchivedPlace { inner, workdir });
            Ok(place)
        })
    }

    fn orphans(&self) -> BoxFuture<'_, Result<Vec<Leftover>, Error>> {
        self.inner.orphans()
    }

    fn keep<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<KeptPlace, Error>> {
        self.inner.keep(id, deadline)
    }

    fn kept(&self) -> BoxFuture<'_, Result<Vec<Leftover>, Error>> {
        self.inner.kept()
    }

    fn has<'a>(&'a self, id: &'a PlaceId) -> BoxFuture<'a, Result<bool, Error>> {
        self.inner.has(id)
    }

    fn visit<'a>(
        &'a self,
        id: &'a PlaceId,
        visit: &'a Visit,
    ) -> BoxFuture<'a, Result<Terminal, Error>> {
        self.inner.visit(id, visit)
    }

    fn remove<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.inner.remove(id, deadline)
    }
}

struct ArchivedPlace {
    inner: Arc<dyn Place>,
    workdir: PathBuf,
}

impl ArchivedPlace {
    /// Where a path of the place is on the host.
    fn outside(&self, at: &str) -> PathBuf {
        let below = Path::new(at).strip_prefix(self.inner.workdir());
        below.map_or_else(|_| PathBuf::from(at), |below| self.workdir.join(below))
    }
}

impl Place for ArchivedPlace {
    fn id(&self) -> &PlaceId {
        self.inner.id()
    }
    fn applied(&self) -> &Applied {
        self.inner.applied()
    }
    fn processes(&self) -> Processes {
        self.inner.processes()
    }
    fn workdir(&self) -> &str {
        self.inner.workdir()
    }
    fn files(&self) -> Files<'_> {
        Files::Archive(self)
    }
    fn shares_host_files(&self) -> bool {
        false
    }
    fn shell_state(&self) -> &str {
        self.inner.shell_state()
    }
    fn private_directory(&self) -> PathBuf {
        self.inner.private_directory()
    }
    fn open<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, Result<Channel, Error>> {
        self.inner.open(launch)
    }
    fn stop(&self, deadline: Duration) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.stop(deadline)
    }
    fn state(&self) -> BoxFuture<'_, Result<PlaceState, Error>> {
        self.inner.state()
    }
}

impl Archives for ArchivedPlace {
    fn put<'a>(&'a self, at: &'a str, mut archive: Archive) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let mut bytes = Vec::new();
            archive.read_to_end(&mut bytes).await.unwrap();
            extract(&bytes, &self.outside(at));
            Ok(())
        })
    }

    fn get<'a>(&'a self, at: &'a str) -> BoxFuture<'a, Result<Archive, Error>> {
        Box::pin(async move {
            let path = self.outside(at);
            let (Ok(_), Some(name)) = (fs::symlink_metadata(&path), path.file_name()) else {
                return Err(Error::Refused(format!("{at} does not exist")));
            };
            let output = Command::new("tar")
                .args([
                    "--sort=name",
                    "--format=posix",
                    "--warning=no-file-ignored",
                    "-C",
                ])
                .arg(path.parent().unwrap())
                .args(["-cf", "-"])
                .arg(name)
                .output()
                .unwrap();
            let bytes = std::io::Cursor::new(output.stdout);
            let archive: Archive = Box::new(bytes);
            Ok(archive)
        })
    }
}

/// Extracts as Docker does: whatever is not a directory on both sides is replaced.
fn extract(bytes: &[u8], below: &Path) {
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let kind = entry.header().entry_type();
        let path = below.join(OsStr::from_bytes(&entry.path_bytes()));
        if let Ok(known) = fs::symlink_metadata(&path) {
            if !known.is_dir() {
                fs::remove_file(&path).unwrap();
            } else if kind != EntryType::Directory {
                fs::remove_dir_all(&path).unwrap();
            }
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match kind {
            EntryType::Directory => fs::create_dir_all(&path).unwrap(),
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap().into_owned();
                std::os::unix::fs::symlink(OsStr::from_bytes(&target), &path).unwrap();
                continue;
            }
            EntryType::Regular => {
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                fs::write(&path, content).unwrap();
                let time =
                    std::time::UNIX_EPOCH + Duration::from_secs(entry.header().mtime().unwrap());
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(time).unwrap();
            }
            other => panic!("an entry of the kind {other:?}"),
        }
        let mode = entry.header().mode().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}
