//! What holds for any input.

use std::time::{Duration, Instant};

use patch::{Change, Patch, PathClass, PathClasses, parse, split};
use proptest::prelude::*;

/// A section of a patch, and what must be read from it.
#[derive(Debug, Clone)]
struct Section {
    text: Vec<u8>,
    path: Vec<u8>,
    change: Change,
    added: usize,
    removed: usize,
}

/// Writes a path as git does: quoted when it must be.
fn quoted(path: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && *byte != b'"' && *byte != b'\\';
    if path.iter().all(plain) {
        return path.to_vec();
    }
    let mut text = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(*b"\\n"),
            b'\t' => text.extend(*b"\\t"),
            0x20..0x7f => text.push(*byte),
            byte => text.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    text.push(b'"');
    text
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let byte =
        prop_oneof![8 => 0x20..0x7f_u8, 1 => Just(b'\n'), 1 => 0x80..=0xff_u8, 1 => Just(b' ')];
    let part = proptest::collection::vec(byte, 1..8)
        .prop_map(|part| {
            part.into_iter()
                .filter(|byte| *byte != b'/')
                .collect::<Vec<u8>>()
        })
        .prop_filter("a part must not be empty", |part| !part.is_empty());
    let directory =
        prop_oneof![3 => part.clone(), 1 => Just(b"tests".to_vec()), 1 => Just(b"src".to_vec())];
    proptest::collection::vec(directory, 0..3).prop_flat_map(move |directories| {
        part.clone().prop_map(move |name| {
            let mut parts = directories.clone();
            parts.push(name);
            parts.join(&b'/')
        })
    })
}

fn lines() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let text = prop_oneof![
        proptest::collection::vec(
            any::<u8>().prop_filter("one line", |byte| *byte != b'\n'),
            0..12
        ),
        Just(b"-- a/x".to_vec()),
        Just(b"diff --git a/x b/x".to_vec()),
        Just(b"@@ -1 +1 @@".to_vec()),
    ];
    let mark = prop_oneof![Just(b' '), Just(b'+'), Just(b'-')];
    proptest::collection::vec((mark, text), 1..8)
}

fn section() -> impl Strategy<Value = Section> {
    let change = prop_oneof![
        Just(Change::Added),
        Just(Change::Deleted),
        Just(Change::Modified)
    ];
    (path(), change, lines()).prop_map(|(path, change, mut lines)| {
        for (mark, _) in &mut lines {
            match change {
                Change::Added => *mark = b'+',
                Change::Deleted => *mark = b'-',
                _ => {}
            }
        }
        let count = |marks: &[u8]| {
            lines
                .iter()
                .filter(|(mark, _)| marks.contains(mark))
                .count()
        };
        let (added, removed) = (count(b"+"), count(b"-"));
        let (before, after) = (count(b" -"), count(b" +"));
        let side = |letter: u8| quoted(&[&[letter, b'/'], path.as_slice()].concat());
        let mut text = [
            b"diff --git ".as_slice(),
            &side(b'a'),
            b" ",
            &side(b'b'),
            b"\n",
        ]
        .concat();
        match change {
            Change::Added => text.extend(*b"new file mode 100644\n"),
            Change::Deleted => text.extend(*b"deleted file mode 100644\n"),
            _ => text.extend(*b"index 1..2 100644\n"),
        }
        let name = |side: Vec<u8>| {
            let tab: &[u8] = if side.contains(&b' ') && !side.starts_with(b"\"") {
                b"\t"
            } else {
                b""
            };
            [side.as_slice(), tab].concat()
        };
        let old = if change == Change::Added {
            b"/dev/null".to_vec()
        } else {
            name(side(b'a'))
        };
        let new = if change == Change::Deleted {
            b"/dev/null".to_vec()
        } else {
            name(side(b'b'))
        };
        text.extend([b"--- ".as_slice(), &old, b"\n+++ ", &new, b"\n"].concat());
        text.extend(format!("@@ -1,{before} +1,{after} @@\n").bytes());
        for (mark, line) in &lines {
            text.push(*mark);
            text.extend(line);
            text.push(b'\n');
        }
        Section {
            text,
            path,
            change,
            added,
            removed,
        }
    })
}

/// The bytes between the sections, and the sections.
fn reassembled(input: &[u8], patch: &Patch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut end = 0;
    for file in &patch.files {
        assert!(file.range.start >= end && file.range.end >= file.range.start);
        bytes.extend(&input[end..file.range.start]);
        bytes.extend(&input[file.range.clone()]);
        for hunk in &file.hunks {
            assert!(file.range.start <= hunk.range.start && hunk.range.end <= file.range.end);
        }
        end = file.range.end;
    }
    bytes.extend(&input[end..]);
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(sections in proptest::collection::vec(section(), 1..6)) {
        let text: Vec<u8> = sections.iter().flat_map(|section| section.text.clone()).collect();
        let patch = parse(&text).unwrap();
        prop_assert_eq!(patch.files.len(), sections.len());
        for (file, section) in patch.files.iter().zip(&sections) {
            prop_assert_eq!(file.path().as_bytes(), section.path.as_slice());
            prop_assert_eq!(file.change, section.change);
            prop_assert_eq!((file.added, file.removed), (section.added, section.removed));
            prop_assert_eq!(&text[file.range.clone()], section.text.as_slice());
        }
    }

    #[test]
    fn a_split_keeps_and_drops_whole_sections(sections in proptest::collection::vec(section(), 1..6)) {
        let text: Vec<u8> = sections.iter().flat_map(|section| section.text.clone()).collect();
        let classes = PathClasses::default();
        let split = split(&text, &classes).unwrap();
        let total = split.source_files.len() + split.runner_config_files.len() + split.test_files.len();
        prop_assert_eq!(total, sections.len());
        if !split.model.is_empty() {
            let model = parse(&split.model).unwrap();
            prop_assert_eq!(model.files.len(), total - split.test_files.len());
        }
        let dropped = parse(&text).unwrap().files.iter().all(|file| classes.classify_file(file) == PathClass::Test);
        if dropped {
            prop_assert!(split.model.is_empty());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(patch) = parse(&bytes) {
            prop_assert_eq!(reassembled(&bytes, &patch), bytes);
        }
    }

    #[test]
    fn any_lines_of_a_patch_are_read_or_refused(lines in proptest::collection::vec(prop_oneof![
        Just("diff --git a/x b/x\n"), Just("diff --git \"a/x b/x\n"), Just("--- a/x\n"), Just("+++ b/x\n"), Just("--- /dev/null\n"),
        Just("+++ /dev/null\n"), Just("@@ -1 +1 @@\n"), Just("@@ -1,2 +1,0 @@\n"), Just("@@ -0,0 +0,0 @@\n"), Just("+a\n"), Just("-b\n"), Just(" c\n"),
        Just("\n"), Just("\r\n"), Just("\\ No newline\n"), Just("new file mode 100644\n"), Just("deleted file mode 100644\n"), Just("rename from a\n"),
        Just("rename to b\n"), Just("copy to \"b\n"), Just("GIT binary patch\n"), Just("literal 4\n"), Just("Lc${NkU|;|M00aO5\n"), Just("Binary files a and b differ\n"),
        Just("old mode 1\n"), Just("index a..b 100644\n"), Just("junk"),
    ], 0..14)) {
        let text = lines.concat();
        if let Ok(patch) = parse(text.as_bytes()) {
            prop_assert_eq!(reassembled(text.as_bytes(), &patch), text.as_bytes());
        }
        let _ = split(text.as_bytes(), &PathClasses::default());
    }
}

#[test]
fn hostile_sizes_take_linear_time() {
    let started = Instant::now();
    let spaces = format!("diff --git {}\n", "a/ ".repeat(300_000));
    let _ = parse(spaces.as_bytes());
    let slashes = format!(
        "diff --git {} {}\n",
        "/ ".repeat(300_000),
        "x/".repeat(300_000)
    );
    let _ = parse(slashes.as_bytes());
    let junk = "--- a\n+++ b\n".repeat(100_000);
    let _ = parse(junk.as_bytes());
    let long_line = format!(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{}\n+b\n",
        "x".repeat(5_000_000)
    );
    assert_eq!(parse(long_line.as_bytes()).unwrap().files.len(), 1);
    let pair = |n: usize| {
        format!(
            "diff --git a/tests/{n}/x b/tests/{n}/x\ndeleted file mode 100644\ndiff --git a/s/{n} b/s/{n}\nnew file mode 100644\n"
        )
    };
    let many = (0..20_000).map(pair).collect::<Vec<_>>().concat();
    assert_eq!(
        split(many.as_bytes(), &PathClasses::default())
            .unwrap()
            .test_files
            .len(),
        20_000
    );
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}
