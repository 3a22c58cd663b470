//! Headers of a patch in the one form that libgit2 always reads: it stops at blanks in names, and knows no patch without `diff --git`.

use patch::{Change, FilePatch, ParseError, PatchPath};

/// The same patch with its headers written anew: every name quoted, every section opened by `diff --git`, submodules left out. Contents stay byte
/// for byte.
pub(super) fn normalise(input: &[u8]) -> Result<Vec<u8>, ParseError> {
    let mut output = Vec::with_capacity(input.len() + 256);
    for file in &patch::parse(input)?.files {
        // A submodule's commit is nothing on disk, and libgit2 does not survive it.
        if !file.is_submodule() {
            section(file, input, &mut output);
        }
    }
    Ok(output)
}

fn section(file: &FilePatch, input: &[u8], output: &mut Vec<u8>) {
    let whole = &input[file.range.clone()];
    let content = file.hunks.first().map_or_else(
        || binary_start(whole),
        |hunk| hunk.range.start - file.range.start,
    );
    let old = file.old_path().unwrap_or(file.path());
    let new = file.new_path().unwrap_or(file.path());
    output.extend_from_slice(b"diff --git ");
    name(b"a/", old, output);
    output.push(b' ');
    name(b"b/", new, output);
    output.push(b'\n');
    let header: Vec<&[u8]> = whole[..content]
        .split_inclusive(|&byte| byte == b'\n')
        .collect();
    let says = |start: &[u8]| header.iter().any(|line| line.starts_with(start));
    match file.change {
        Change::Added if !says(b"new file mode") => {
            output.extend_from_slice(b"new file mode 100644\n");
        }
        Change::Deleted if !says(b"deleted file mode") => {
            output.extend_from_slice(b"deleted file mode 100644\n");
        }
        Change::Added
        | Change::Deleted
        | Change::Modified
        | Change::Renamed
        | Change::Copied
        | Change::ModeChanged => {}
    }
    for line in header {
        header_line(line, old, new, output);
    }
    output.extend_from_slice(&whole[content..]);
    if !output.ends_with(b"\n") {
        output.push(b'\n');
    }
}

/// Where a section's binary data starts, or its end when it has none.
fn binary_start(section: &[u8]) -> usize {
    const OPENING: &[u8] = b"GIT binary patch";
    if section.starts_with(OPENING) {
        return 0;
    }
    memchr::memmem::find(section, b"\nGIT binary patch").map_or(section.len(), |at| at + 1)
}

fn header_line(line: &[u8], old: &PatchPath, new: &PatchPath, output: &mut Vec<u8>) {
    let line = line.trim_ascii_end();
    let named = [
        (&b"--- "[..], &b"a/"[..], old),
        (b"+++ ", b"b/", new),
        (b"rename from ", b"", old),
        (b"rename to ", b"", new),
        (b"copy from ", b"", old),
        (b"copy to ", b"", new),
    ];
    if line.starts_with(b"diff --git ") {
        return;
    }
    let known = named.iter().find(|(start, _, _)| line.starts_with(start));
    match known {
        Some((start, _, _)) if is_nowhere(&line[start.len()..]) => {
            output.extend_from_slice(start);
            output.extend_from_slice(b"/dev/null\n");
        }
        Some((start, prefix, path)) => {
            output.extend_from_slice(start);
            name(prefix, path, output);
            output.push(b'\n');
        }
        None if is_header(line) => {
            output.extend_from_slice(line);
            output.push(b'\n');
        }
        None => {}
    }
}

/// The other lines that git writes into a header; anything else is somebody's remark.
fn is_header(line: &[u8]) -> bool {
    [
        &b"old mode "[..],
        b"new mode ",
        b"deleted file mode ",
        b"new file mode ",
        b"similarity index ",
        b"dissimilarity index ",
        b"index ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

fn is_nowhere(name: &[u8]) -> bool {
    name == b"/dev/null" || name.starts_with(b"/dev/null\t")
}

fn name(prefix: &[u8], path: &PatchPath, output: &mut Vec<u8>) {
    output.extend(quoted(prefix, path.as_bytes()));
}

/// A path in double quotes, as git reads it everywhere.
pub(super) fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let mut output = vec![b'"'];
    output.extend_from_slice(prefix);
    for &byte in path {
        match byte {
            b'"' | b'\\' => output.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => output.push(byte),
            _ => {
                let digits = [byte >> 6, (byte >> 3) & 7, byte & 7];
                output.push(b'\\');
                output.extend(digits.map(|digit| b'0' + digit));
            }
        }
    }
    output.push(b'"');
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        String::from_utf8(normalise(input.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn names_are_quoted_and_content_stays() {
        let input = "diff --git a/a b b/a b\nindex 1..2 100644\n--- a/a b\t\n+++ b/a b\t\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n c\n";
        assert_eq!(
            text(input),
            "diff --git \"a/a b\" \"b/a b\"\nindex 1..2 100644\n--- \"a/a b\"\n+++ \"b/a b\"\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n c\n"
        );
    }

    #[test]
    fn a_patch_of_other_tools_gets_what_git_writes() {
        let input = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n";
        assert_eq!(
            text(input),
            "diff --git \"a/new\" \"b/new\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/new\"\n@@ -0,0 +1 @@\n+x\n"
        );
    }
}
