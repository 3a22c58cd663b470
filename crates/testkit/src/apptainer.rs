//! A stand-in for Apptainer, which cannot be had as a package everywhere, and images for it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories that an image without programs of its own has.
const DIRECTORIES: [&str; 8] = [
    "dev", "etc", "proc", "root", "tmp", "usr/bin", "var/tmp", "sys",
];

/// Writes the stand-in into `directory`, as `apptainer`; it runs programs in namespaces of `bwrap`, and reads its command line strictly.
pub fn apptainer(directory: &Path) -> PathBuf {
    let path = directory.join("apptainer");
    std::fs::create_dir_all(directory).expect("the stand-in is made");
    let text = directory.join("apptainer.sh");
    std::fs::write(&text, include_str!("apptainer.sh")).expect("the stand-in is made");
    // Written by this process, it could not be run as long as a program that another thread starts just then has it open.
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(&text).arg(&path);
    assert!(install.status().expect("the stand-in is made").success());
    path
}

/// Makes an unpacked image for it at `path`: the host's programs, and nothing else.
pub fn apptainer_image(path: &Path) {
    for name in DIRECTORIES {
        std::fs::create_dir_all(path.join(name)).expect("the stand-in is made");
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), path.join(name)).expect("the stand-in is made");
    }
    // What the host's hides, for who looks whether there is a shell.
    std::fs::write(path.join("usr/bin/sh"), "").expect("the stand-in is made");
    std::fs::write(path.join(".borrow"), "").expect("the stand-in is made");
    std::fs::write(path.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")
        .expect("the stand-in is made");
}

/// Packs an unpacked image into a file as the stand-in takes it.
pub fn apptainer_file(image: &Path, file: &Path) {
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(file).arg("-C").arg(image).arg(".");
    assert!(tar.status().expect("the stand-in is made").success());
}
