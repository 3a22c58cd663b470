//! Serves a directory as one dataset of a hub until standard input ends: `fake_hub ORG/NAME DIRECTORY`. The first line of its output is the endpoint.
//! `.parquet` files are large files. `scripts/check-hub.py` lets the hub's real client loose on it.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool for people, which stops at what is wrong"
)]

use std::io::Read;
use std::path::Path;

use testkit::hub::{FakeHub, HubDataset, HubFile};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, directory] = arguments.as_slice() else {
        println!("usage: fake_hub ORG/NAME DIRECTORY");
        return;
    };
    let mut files = Vec::new();
    collect(Path::new(directory), "", &mut files);
    let hub = FakeHub::start(HubDataset {
        name: name.clone(),
        commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        files,
        token: std::env::var("FAKE_HUB_TOKEN").ok(),
        gated: false,
    });
    println!("{}", hub.endpoint());
    let mut rest = Vec::new();
    std::io::stdin()
        .read_to_end(&mut rest)
        .expect("read standard input");
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<HubFile>) {
    for entry in std::fs::read_dir(directory).expect("list the directory") {
        let entry = entry.expect("list the directory");
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else {
            files.push(HubFile {
                content: std::fs::read(entry.path()).expect("read a file"),
                large: path.ends_with(".parquet"),
                path,
            });
        }
    }
}
