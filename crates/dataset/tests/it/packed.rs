//! Compressed files, streams, directories.

use std::io::Write;
use std::path::Path;

use dataset::{Error, LoadOptions, Wanted};
use pretty_assertions::assert_eq;

use crate::{Fixture, ids, plain, told};

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

fn zstandard(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

fn lines() -> Vec<u8> {
    format!("{}\n{}\n", plain("a"), plain("b")).into_bytes()
}

fn load_split(path: &Path, split: Option<&str>) -> Result<dataset::Dataset, Error> {
    let options = LoadOptions {
        wanted: Wanted {
            split: split.map(str::to_owned),
            subset: None,
        },
        ..LoadOptions::default()
    };
    dataset::load(path, &options)
}

#[test]
fn text_is_unpacked_whatever_it_is_called() {
    let array = format!("[{}, {}]", plain("a"), plain("b")).into_bytes();
    let mut members = gzip(&lines()[..20]);
    members.extend(gzip(&lines()[20..]));
    for (name, content) in [
        ("x.jsonl.gz", gzip(&lines())),
        ("x.jsonl", gzip(&lines())),
        ("x.json.gz", gzip(&array)),
        ("two-members.jsonl.gz", members),
        ("x.jsonl.zst", zstandard(&lines())),
        ("x", zstandard(&array)),
    ] {
        let dataset = Fixture::new(name, content).load().unwrap();
        assert_eq!(ids(&dataset), ["a", "b"], "{name}");
    }
}

#[test]
fn packed_files_that_were_cut_say_so() {
    let big: Vec<u8> = (0..400)
        .flat_map(|n| format!("{}\n", plain(&format!("id-{n}"))).into_bytes())
        .collect();
    for (name, whole) in [("x.jsonl.gz", gzip(&big)), ("x.jsonl.zst", zstandard(&big))] {
        for cut in [6, whole.len() / 2, whole.len() - 1] {
            let error = Fixture::new(name, &whole[..cut]).load().unwrap_err();
            assert!(
                matches!(error, Error::Damaged { .. }),
                "{name} {cut}: {error:?}"
            );
            let (text, hints) = told(&error);
            assert!(text.contains("data is damaged or cut short"), "{text}");
            assert_eq!(hints.len(), 1);
        }
    }
    let twice = Fixture::new("x.gz", gzip(&gzip(&lines()))).load();
    assert!(matches!(twice, Err(Error::UnsupportedFormat { .. })));
}

#[test]
fn what_unpacks_to_more_than_a_row_is_refused() {
    let bomb = format!("{{\"instance_id\": \"{}\"}}\n", "x".repeat(80 << 20));
    let error = Fixture::new("x.jsonl.gz", gzip(bomb.as_bytes())).load();
    assert!(matches!(error, Err(Error::HugeRow { .. })));
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, gzip(&lines())).unwrap())
    };
    // A shuffle reads twice, which a pipe could not give.
    let selection = dataset::Selection {
        shuffle: Some(7),
        ..dataset::Selection::default()
    };
    let dataset = dataset::load_selected(&pipe, &LoadOptions::default(), &selection).unwrap();
    assert_eq!(dataset.rows.len(), 2);
    writer.join().unwrap();
}

#[test]
fn a_directory_is_read_by_its_splits() {
    let fixture = Fixture::new("dev.jsonl", plain("d").to_string());
    let directory = fixture.directory();
    std::fs::write(directory.join("README.md"), "# Data").unwrap();
    std::fs::write(directory.join("dataset_infos.json"), "{}").unwrap();
    assert_eq!(ids(&load_split(directory, None).unwrap()), ["d"]);
    let data = directory.join("data");
    std::fs::create_dir(&data).unwrap();
    for (part, id) in ["b", "a"].iter().enumerate() {
        let name = format!("test-{part:05}-of-00002.jsonl");
        std::fs::write(data.join(name), plain(id).to_string()).unwrap();
    }
    assert_eq!(ids(&load_split(directory, None).unwrap()), ["b", "a"]);
    assert_eq!(ids(&load_split(directory, Some("dev")).unwrap()), ["d"]);
    let (text, _) = told(&load_split(directory, Some("tset")).unwrap_err());
    assert!(
        text.ends_with("holds the splits dev, test, not \"tset\""),
        "{text}"
    );
    std::fs::write(
        data.join("test-00001-of-00002.jsonl"),
        plain("b").to_string(),
    )
    .unwrap();
    let (text, _) = told(&load_split(directory, None).unwrap_err());
    let told = text.replace(&directory.display().to_string(), "D");
    assert_eq!(
        told,
        "dataset D/data/test-00001-of-00002.jsonl: instance \"b\" is on line 1 of D/data/test-00000-of-00002.jsonl and again on line 1"
    );
}

#[test]
fn directories_that_cannot_be_read_say_why() {
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        load_split(empty.path(), None),
        Err(Error::NoData { .. })
    ));
    let two = Fixture::new("test.jsonl", plain("a").to_string());
    std::fs::write(two.directory().join("test.csv"), "instance_id\n").unwrap();
    assert!(matches!(
        load_split(two.directory(), None),
        Err(Error::MixedFormats { .. })
    ));
    let lone = load_split(two.path(), Some("test")).unwrap();
    assert_eq!(
        ids(&lone),
        ["a"],
        "a file that is one split needs no other name"
    );
}
