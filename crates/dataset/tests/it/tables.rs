//! CSV: what Python's `csv` and pandas write, and what is wrong with tables.

use std::io::Write;

use dataset::{Error, LoadOptions, Location};
use pretty_assertions::assert_eq;

use crate::{Fixture, ids, told};

const HEADER: &str = "instance_id,repo,problem_statement,version,FAIL_TO_PASS,patch";

fn error(name: &str, content: impl AsRef<[u8]>) -> (Error, String) {
    let fixture = Fixture::new(name, content);
    let error = fixture.load().unwrap_err();
    let (text, hints) = told(&error);
    assert_eq!(hints.len(), 1, "{text}");
    let text = text.replace(&format!("{}/", fixture.directory().display()), "");
    (error, text)
}

#[test]
fn a_table_gives_text_and_leaves_empty_fields_out() {
    let content = format!(
        "{HEADER}\na,o/r,\"It \"\"breaks\"\",\nbadly.\",4.10,\"['x', \"\"y\"\"]\",\nb,o/r,Again,3,\"[\"\"z\"\"]\",\"--- a\r\n+++ b\r\n\"\n"
    );
    let dataset = Fixture::new("x.csv", &content).load().unwrap();
    let [a, b] = dataset.rows.as_slice() else {
        panic!("two rows")
    };
    assert_eq!(a.instance.statement, "It \"breaks\",\nbadly.");
    assert_eq!(a.instance.version.as_deref(), Some("4.10"));
    assert_eq!(a.answer.fail_to_pass, ["x", "y"]);
    assert_eq!(a.answer.patch, None);
    assert_eq!((a.at, b.at), (Location::Line(2), Location::Line(4)));
    assert_eq!(b.answer.patch.as_deref(), Some("--- a\r\n+++ b\r\n"));
    for (name, content) in [
        ("x.csv", format!("\u{feff}{content}")),
        ("x.csv", content.replace('\n', "\r\n")),
        ("x", content.clone()),
        ("x.json", format!("\n\n{content}")),
        (
            "x.tsv",
            "instance_id\tproblem_statement\na\tx\nb\ty".to_owned(),
        ),
    ] {
        assert_eq!(
            ids(&Fixture::new(name, content).load().unwrap()),
            ["a", "b"],
            "{name}"
        );
    }
}

#[test]
fn packed_tables_are_read_too() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(b"instance_id,problem_statement\na,x\n")
        .unwrap();
    let fixture = Fixture::new("x.csv.gz", packed.finish().unwrap());
    assert_eq!(ids(&fixture.load().unwrap()), ["a"]);
}

#[test]
fn broken_tables_name_the_line() {
    let start = format!("{HEADER}\na,o/r,x,1,[],y\n");
    for (content, problem) in [
        (
            format!("{start}b,o/r,x\n"),
            "line 3: the row has 3 fields and the header 6",
        ),
        (
            format!("{start}b,o/r,x,1,[],y,z\n"),
            "line 3: the row has 7 fields and the header 6",
        ),
        (
            format!("{start}b,o/r,x,1,[],\"the patch stops he"),
            "line 3: the file ends inside a quoted field",
        ),
        (
            format!("{start}b,o/r,x,1,[],\"the patch stops at\na line's end\n"),
            "line 3: the file ends inside a quoted field",
        ),
        (
            "a,b,a\n1,2,3\n".to_owned(),
            "line 1: the header names \"a\" twice",
        ),
    ] {
        assert_eq!(
            error("x.csv", content).1,
            format!("dataset x.csv, {problem}")
        );
    }
    let mut latin = start.into_bytes();
    latin.extend(b"b,o/r,caf\xe9,1,[],y\n");
    assert_eq!(
        error("x.csv", latin).1,
        "dataset x.csv, line 3: a field is not UTF-8"
    );
    assert!(matches!(error("x.csv", HEADER).0, Error::Empty { .. }));
    assert!(matches!(error("x.csv", "").0, Error::Empty { .. }));
    let (_, text) = error("x.csv", "instance_id,problem_statement\n,x\n");
    assert_eq!(text, "dataset x.csv, line 2: the row has no `instance_id`");
}

#[test]
fn huge_fields_are_refused_before_they_are_held() {
    let options = LoadOptions {
        max_row_bytes: 4000,
        ..LoadOptions::default()
    };
    let huge = |content: String| {
        let fixture = Fixture::new("x.csv", content);
        match dataset::load(fixture.path(), &options) {
            Err(Error::HugeRow { at, .. }) => at,
            other => panic!("{other:?}"),
        }
    };
    let header = "instance_id,problem_statement\na,x\n";
    assert_eq!(
        huge(format!("{header}b,{}\n", "x".repeat(5000))),
        Location::Line(3)
    );
    // A quote that nobody closes takes in all that follows.
    let open = format!("{header}b,\"{}", "x\n".repeat(200_000));
    assert_eq!(huge(open), Location::Line(3));
}
