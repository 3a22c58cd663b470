//! Parquet and Arrow: types, row groups, parts, and files that are broken.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DurationSecondArray, Float32Array,
    Float64Array, Int64Array, LargeStringArray, RecordBatch, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field};
use dataset::{Error, LoadOptions, Location, Wanted};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ids, told};

fn text(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Rows with these ids, and more columns.
fn batch(names: &[&str], more: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let statements: Vec<String> = names.iter().map(|id| format!("{id} breaks.")).collect();
    let mut columns = vec![
        ("instance_id", text(names)),
        (
            "problem_statement",
            Arc::new(StringArray::from(statements)) as ArrayRef,
        ),
    ];
    columns.extend(more);
    let nullable = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(nullable).unwrap()
}

fn parquet(path: &Path, batch: &RecordBatch, compression: Compression) {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(2))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn stream(path: &Path, batch: &RecordBatch) {
    let file = File::create(path).unwrap();
    let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn load(&self, name: &str) -> Result<dataset::Dataset, Error> {
        dataset::load(&self.0.path().join(name), &LoadOptions::default())
    }

    /// The error of loading, without the place's own path.
    fn said(&self, name: &str) -> String {
        let (text, hints) = told(&self.load(name).unwrap_err());
        assert_eq!(hints.len(), 1, "{text}");
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

/// One column of every type, each with a null.
fn every_type() -> Vec<(&'static str, ArrayRef)> {
    let mut list = ListBuilder::new(StringBuilder::new());
    list.append_value([Some("x"), None]);
    list.append_null();
    let mut bytes = BinaryBuilder::new();
    bytes.append_value([0xff, 0x00]);
    bytes.append_null();
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    map.keys().append_value("k");
    map.values().append_value("v");
    map.append(true).unwrap();
    map.append(false).unwrap();
    let mut words = StringDictionaryBuilder::<Int32Type>::new();
    words.append_value("word");
    words.append_null();
    let asset = StructArray::from(vec![(
        Arc::new(Field::new("url", DataType::Utf8, true)),
        Arc::new(StringArray::from(vec![Some("u"), None])) as ArrayRef,
    )]);
    vec![
        ("list", Arc::new(list.finish())),
        ("bytes", Arc::new(bytes.finish())),
        ("map", Arc::new(map.finish())),
        ("words", Arc::new(words.finish())),
        ("asset", Arc::new(asset)),
        (
            "large",
            Arc::new(LargeStringArray::from(vec![Some("l"), None])),
        ),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("whole", Arc::new(Int64Array::from(vec![Some(-5), None]))),
        (
            "most",
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])),
        ),
        (
            "half",
            Arc::new(Float64Array::from(vec![Some(0.5), Some(f64::NAN)])),
        ),
        ("tenth", Arc::new(Float32Array::from(vec![Some(0.1), None]))),
        (
            "money",
            Arc::new(
                Decimal128Array::from(vec![Some(1250), None])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(19_849), None]))),
        (
            "clock",
            Arc::new(Time64MicrosecondArray::from(vec![
                Some(3_661_500_000),
                None,
            ])),
        ),
        (
            "instant",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(1_714_979_289_500), None])
                    .with_timezone("America/New_York"),
            ),
        ),
        (
            "civil",
            Arc::new(TimestampNanosecondArray::from(vec![
                Some(1_714_979_289_000_000_000),
                None,
            ])),
        ),
    ]
}

#[test]
fn every_type_has_its_json() {
    let place = Place::new();
    let batch = batch(&["a", "b"], every_type());
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(parquet::basic::GzipLevel::default()),
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
    ] {
        parquet(&place.path("x.parquet"), &batch, compression);
        check_types(&place.load("x.parquet").unwrap());
    }
    stream(&place.path("x.arrow"), &batch);
    check_types(&place.load("x.arrow").unwrap());
    let file = File::create(place.path("x.feather")).unwrap();
    let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    check_types(&place.load("x.feather").unwrap());
}

fn check_types(dataset: &dataset::Dataset) {
    assert_eq!(ids(dataset), ["a", "b"]);
    let [a, b] = dataset.rows.as_slice() else {
        panic!("two rows")
    };
    assert_eq!(
        Value::Object(a.answer.extra.clone()),
        json!({
            "list": ["x", null], "bytes": "/wA=", "map": {"k": "v"}, "words": "word", "asset": {"url": "u"}, "large": "l",
            "flag": true, "whole": -5, "most": u64::MAX, "half": 0.5, "tenth": 0.1, "money": "12.50",
            "day": "2024-05-06", "clock": "01:01:01.5", "instant": "2024-05-06T07:08:09.5Z", "civil": "2024-05-06T07:08:09",
        })
    );
    for (name, value) in &b.answer.extra {
        let expected = if name == "asset" {
            json!({"url": null})
        } else {
            Value::Null
        };
        assert_eq!(*value, expected, "{name}");
    }
}

#[test]
fn lists_and_versions_reach_their_fields() {
    let place = Place::new();
    let mut tests = ListBuilder::new(StringBuilder::new());
    tests.append_value([Some("t1"), Some("t2")]);
    let more = vec![
        ("FAIL_TO_PASS", Arc::new(tests.finish()) as ArrayRef),
        ("PASS_TO_PASS", text(&["[\"p\"]"])),
        ("version", text(&["4.10"])),
    ];
    parquet(
        &place.path("x.parquet"),
        &batch(&["a"], more),
        Compression::SNAPPY,
    );
    let dataset = place.load("x.parquet").unwrap();
    assert_eq!(dataset.rows[0].answer.fail_to_pass, ["t1", "t2"]);
    assert_eq!(dataset.rows[0].answer.pass_to_pass, ["p"]);
    assert_eq!(dataset.rows[0].instance.version.as_deref(), Some("4.10"));
}

#[test]
fn parts_are_read_in_order_and_rows_know_their_groups() {
    let place = Place::new();
    for (part, names) in [["a", "b", "c"], ["d", "e", "f"]].iter().enumerate() {
        let name = format!("data/test-{part:05}-of-00002.parquet");
        parquet(
            &place.path(&name),
            &batch(names, vec![]),
            Compression::SNAPPY,
        );
    }
    let dataset = place.load("").unwrap();
    assert_eq!(ids(&dataset), ["a", "b", "c", "d", "e", "f"]);
    let row = |number, group| Location::Row {
        number,
        group: Some(group),
    };
    let at: Vec<_> = dataset.rows.iter().map(|row| row.at).collect();
    assert_eq!(at[1..4], [row(2, 1), row(3, 2), row(1, 1)]);
    parquet(
        &place.path("data/test-00001-of-00002.parquet"),
        &batch(&["d", "a"], vec![]),
        Compression::SNAPPY,
    );
    assert_eq!(
        place.said("data"),
        "dataset data/test-00001-of-00002.parquet: instance \"a\" is on row 1 (row group 1) of data/test-00000-of-00002.parquet and again on row 2 (row group 1)"
    );
}

#[test]
fn parts_with_other_columns_are_refused() {
    let place = Place::new();
    let first = batch(&["a"], vec![("n", text(&["1"]))]);
    let odd: [(Vec<(&str, ArrayRef)>, &str); 3] = [
        (
            vec![("n", Arc::new(Int64Array::from(vec![1])))],
            "column `n` is int64 here and text there",
        ),
        (vec![], "column `n` is missing here"),
        (
            vec![("n", text(&["1"])), ("m", text(&["1"]))],
            "column `m` is only here",
        ),
    ];
    parquet(
        &place.path("test-00000-of-00002.parquet"),
        &first,
        Compression::SNAPPY,
    );
    for (columns, problem) in odd {
        let second = place.path("test-00001-of-00002.parquet");
        parquet(&second, &batch(&["b"], columns), Compression::SNAPPY);
        assert_eq!(
            place.said(""),
            format!(
                "dataset test-00001-of-00002.parquet: its columns are not those of test-00000-of-00002.parquet: {problem}"
            )
        );
    }
    let large = vec![("n", Arc::new(LargeStringArray::from(vec!["1"])) as ArrayRef)];
    parquet(
        &place.path("test-00001-of-00002.parquet"),
        &batch(&["b"], large),
        Compression::SNAPPY,
    );
    assert_eq!(ids(&place.load("").unwrap()), ["a", "b"]);
}

#[test]
fn columns_that_rows_cannot_hold_are_named() {
    let place = Place::new();
    let lasts = Arc::new(DurationSecondArray::from(vec![1])) as ArrayRef;
    stream(
        &place.path("x.arrow"),
        &batch(&["a"], vec![("lasts", lasts)]),
    );
    assert_eq!(
        place.said("x.arrow"),
        "dataset x.arrow: column `lasts` has the type duration(s), which rows cannot hold"
    );
    stream(
        &place.path("y.arrow"),
        &batch(&["a"], vec![("instance_id", text(&["b"]))]),
    );
    assert_eq!(
        place.said("y.arrow"),
        "dataset y.arrow: column `instance_id` is there twice"
    );
}

#[test]
fn files_that_were_cut_say_so_wherever() {
    let place = Place::new();
    let names: Vec<String> = (0..40).map(|n| format!("id-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let batch = batch(&names, vec![]);
    parquet(&place.path("whole.parquet"), &batch, Compression::SNAPPY);
    stream(&place.path("whole.arrow"), &batch);
    for name in ["parquet", "arrow"] {
        let whole = std::fs::read(place.path(&format!("whole.{name}"))).unwrap();
        for cut in [
            2,
            5,
            9,
            whole.len() / 3,
            whole.len() - 40,
            whole.len() - 8,
            whole.len() - 1,
        ] {
            let cut_name = format!("cut.{name}");
            std::fs::write(place.path(&cut_name), &whole[..cut]).unwrap();
            let said = place.said(&cut_name);
            assert!(
                said.starts_with(&format!("cannot read dataset {cut_name} as ")),
                "{cut}: {said}"
            );
        }
        std::fs::write(place.path(&format!("empty.{name}")), "").unwrap();
        assert!(matches!(
            place.load(&format!("empty.{name}")),
            Err(Error::Empty { .. })
        ));
    }
    std::fs::write(place.path("page.parquet"), "<!DOCTYPE html>").unwrap();
    assert!(place.said("page.parquet").contains("is HTML or XML"));
    std::fs::write(place.path("wrong.parquet"), "nonsense, and more of it").unwrap();
    assert!(
        place
            .said("wrong.parquet")
            .starts_with("cannot read dataset wrong.parquet as Parquet: ")
    );
}

#[test]
fn damage_inside_names_the_row_group() {
    let place = Place::new();
    parquet(
        &place.path("x.parquet"),
        &batch(&["a", "b", "c", "d", "e"], vec![]),
        Compression::SNAPPY,
    );
    let mut bytes = std::fs::read(place.path("x.parquet")).unwrap();
    // The last row group's first value: its text stands in the file once before the statistics.
    let at = bytes
        .windows(9)
        .rposition(|part| part == b"e breaks.")
        .unwrap();
    let page = bytes[..at]
        .windows(9)
        .rposition(|part| part == b"d breaks.");
    assert!(page.is_some());
    for byte in &mut bytes[at - 20..at] {
        *byte ^= 0x55;
    }
    std::fs::write(place.path("x.parquet"), &bytes).unwrap();
    let said = place.said("x.parquet");
    assert!(
        said.contains("row group") || said.contains("as Parquet"),
        "{said}"
    );
}

#[test]
fn no_damage_makes_it_panic() {
    let place = Place::new();
    let batch = batch(&["a", "b"], every_type());
    parquet(&place.path("x.parquet"), &batch, Compression::SNAPPY);
    stream(&place.path("x.arrow"), &batch);
    let mut random = fastrand::Rng::with_seed(11);
    for name in ["x.parquet", "x.arrow"] {
        let whole = std::fs::read(place.path(name)).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let broken = place.path(&format!("broken-{name}"));
            std::fs::write(&broken, &bytes).unwrap();
            let _ = dataset::load(&broken, &LoadOptions::default());
        }
    }
}

#[test]
fn a_row_of_columns_is_bounded() {
    let place = Place::new();
    let long = "x".repeat(5000);
    parquet(
        &place.path("x.parquet"),
        &batch(&["a", "b"], vec![("patch", text(&["", &long]))]),
        Compression::SNAPPY,
    );
    let options = LoadOptions {
        max_row_bytes: 4000,
        ..LoadOptions::default()
    };
    let error = dataset::load(&place.path("x.parquet"), &options).unwrap_err();
    let second = Location::Row {
        number: 2,
        group: Some(1),
    };
    assert!(
        matches!(error, Error::HugeRow { at, .. } if at == second),
        "{error:?}"
    );
}

/// Writes what `save_to_disk` writes for one split.
fn save(place: &Place, directory: &str, names: &[&[&str]]) {
    let mut files = Vec::new();
    for (part, names) in names.iter().enumerate() {
        let name = format!("data-{part:05}-of-{:05}.arrow", names.len());
        stream(
            &place.path(&format!("{directory}/{name}")),
            &batch(names, vec![]),
        );
        files.push(json!({"filename": name}));
    }
    let state = json!({"_data_files": files, "_fingerprint": "0", "_split": "test"});
    std::fs::write(
        place.path(&format!("{directory}/state.json")),
        state.to_string(),
    )
    .unwrap();
    std::fs::write(place.path(&format!("{directory}/dataset_info.json")), "{}").unwrap();
}

#[test]
fn what_save_to_disk_wrote_is_read() {
    let place = Place::new();
    save(&place, "all/test", &[&["b"], &["a"]]);
    save(&place, "all/dev", &[&["c"]]);
    std::fs::write(
        place.path("all/dataset_dict.json"),
        json!({"splits": ["dev", "test"]}).to_string(),
    )
    .unwrap();
    assert_eq!(ids(&place.load("all").unwrap()), ["b", "a"]);
    assert_eq!(ids(&place.load("all/test").unwrap()), ["b", "a"]);
    let options = LoadOptions {
        wanted: Wanted {
            split: Some("dev".into()),
            subset: None,
        },
        ..LoadOptions::default()
    };
    assert_eq!(
        ids(&dataset::load(&place.path("all"), &options).unwrap()),
        ["c"]
    );
}

#[test]
fn what_save_to_disk_did_not_write_is_told() {
    let place = Place::new();
    save(&place, "x", &[&["a"]]);
    let state =
        |value: Value| std::fs::write(place.path("x/state.json"), value.to_string()).unwrap();
    for (value, problem) in [
        (
            json!({"_data_files": [{"filename": "gone.arrow"}]}),
            "x/state.json names \"gone.arrow\", which is not there",
        ),
        (
            json!({"_data_files": [{"filename": "../x.arrow"}]}),
            "x/state.json names \"../x.arrow\", which is no file beside it",
        ),
        (
            json!({"_data_files": [{"filename": "a"}], "_indices_data_files": [{"filename": "i"}]}),
            "x/state.json keeps the rows in another order than they are stored in",
        ),
        (json!({"_data_files": []}), "directory x holds no data"),
    ] {
        state(value);
        assert_eq!(place.said("x"), problem);
    }
    std::fs::write(place.path("x/state.json"), "{").unwrap();
    assert!(
        place
            .said("x")
            .starts_with("x/state.json cannot be read: EOF")
    );
}
