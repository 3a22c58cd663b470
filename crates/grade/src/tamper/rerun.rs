//! The script of a second look: the instance's own, with canaries beside its tests and machine-readable results asked for.

use std::fmt::Write;

use schema::grading::GradingSpec;

use super::canary::{CanaryFile, CanaryTest, Neighbours, canaries};
use super::commands::{Line, NamedTest, lines};
use super::language::Language;
use crate::directives::{files_of, quoted};
use crate::log::START;

/// A script that runs the tests a second time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    /// The script, to be wrapped like the first one.
    pub script: String,
    /// The tests of ours in it.
    pub canaries: Vec<CanaryTest>,
    /// Files into which the framework writes its results, one for each time that it is called. Empty where it cannot be asked to.
    pub results: Vec<String>,
}

/// Changes an instance's script for a second look. `directory`, outside of the repository, is where the framework writes its results.
///
/// # Errors
/// No canary can be written for the instance's tests; why not, for people.
pub fn second_look(
    spec: &GradingSpec,
    test_patch: &str,
    directory: &str,
    seed: u64,
) -> Result<Rerun, &'static str> {
    let files = test_files(spec, test_patch);
    let lines: Vec<Line<'_>> = lines(&spec.eval_script, &files);
    let named = lines
        .iter()
        .find_map(|line| line.test.as_ref().map(|test| test.file));
    let neighbour = named.or_else(|| files.first().map(String::as_str));
    let neighbour =
        neighbour.ok_or("tests of ours cannot be written for this language or this framework")?;
    let language = Language::of(neighbour)
        .ok_or("the tests are in a language in which none of ours are written")?;
    let names = names(spec);
    let beside = Neighbours {
        file: neighbour,
        text: test_patch,
        names: &names,
    };
    let canary = canaries(language, &beside, seed);
    Ok(build(&lines, neighbour, &canary, directory))
}

/// Names that have namesakes among the canaries.
const NAMESAKES: usize = 2;

/// The first names of methods and functions of tests that must turn.
fn names(spec: &GradingSpec) -> Vec<String> {
    let plain = |name: &&str| {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.starts_with("test") && name.chars().all(word)
    };
    let own = |test: &'_ String| -> Option<String> {
        let name = test.split(['[', ' ']).next()?.rsplit("::").next()?;
        Some(name).filter(plain).map(str::to_owned)
    };
    let mut names: Vec<String> = Vec::new();
    for name in spec.fail_to_pass.iter().filter_map(own) {
        if names.len() < NAMESAKES && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The files of the instance's tests in whose languages we write.
fn test_files(spec: &GradingSpec, test_patch: &str) -> Vec<String> {
    let patch = patch::parse(test_patch.as_bytes()).unwrap_or_default();
    let changed = patch.files.iter().filter_map(|file| file.new_path());
    let changed = changed.map(|path| path.to_str_lossy().into_owned());
    let expected = files_of(spec.fail_to_pass.iter().chain(&spec.pass_to_pass));
    let plain =
        |path: &String| !path.chars().any(char::is_whitespace) && Language::of(path).is_some();
    let mut files: Vec<String> = changed.chain(expected).filter(plain).collect();
    // The files whose names say that they hold tests come first: a test patch has helpers too.
    files.sort_by_key(|path| {
        !path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.contains("test"))
    });
    files
}

fn build(lines: &[Line<'_>], neighbour: &str, canary: &CanaryFile, directory: &str) -> Rerun {
    let mut rerun = Rerun {
        script: String::new(),
        canaries: canary.tests.clone(),
        results: Vec::new(),
    };
    let place = place(lines);
    if lines.is_empty() {
        rerun.script.push_str(&canary.command());
    }
    for (number, line) in lines.iter().enumerate() {
        if number == place {
            let directory = quoted(directory);
            let _ = writeln!(rerun.script, "mkdir -p {directory}");
            rerun.script.push_str(&canary.command());
        }
        rerun.script.push_str(&changed(
            line,
            neighbour,
            canary,
            directory,
            &mut rerun.results,
        ));
    }
    rerun
}

/// Before which line the canaries are written: that of the first command which is changed, else the one that says that tests begin, else the first.
fn place(lines: &[Line<'_>]) -> usize {
    let is_changed = |line: &Line<'_>| line.test.is_some() || line.options.is_some();
    let begins = |line: &Line<'_>| !line.continues && line.text.contains(START);
    let found = lines
        .iter()
        .position(is_changed)
        .or_else(|| lines.iter().position(begins));
    let Some(found) = found else {
        return 0;
    };
    let before = lines.get(..=found).unwrap_or_default();
    before
        .iter()
        .rposition(|line| !line.continues)
        .unwrap_or_default()
}

/// A line with what the second look adds to it.
fn changed(
    line: &Line<'_>,
    neighbour: &str,
    canary: &CanaryFile,
    directory: &str,
    results: &mut Vec<String>,
) -> String {
    let mut added = Vec::new();
    if let Some(at) = line.options {
        let file = format!("{directory}/{}.xml", results.len());
        added.push((at, format!(" --junitxml={}", quoted(&file))));
        results.push(file);
    }
    let beside = |test: &&NamedTest<'_>| directory_of(test.file) == directory_of(neighbour);
    if let Some(test) = line.test.as_ref().filter(beside) {
        added.push((
            test.at,
            format!("{} ", quoted(&test.form.write(&canary.path))),
        ));
    }
    added.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut text = line.text.to_owned();
    for (at, what) in added {
        text.insert_str(at, &what);
    }
    text
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(script: &str, tests: &[&str]) -> (String, Rerun) {
        let spec = GradingSpec {
            eval_script: script.to_owned(),
            fail_to_pass: tests.iter().map(|&test| test.to_owned()).collect(),
            ..GradingSpec::default()
        };
        let rerun = second_look(&spec, "", "/r", 5).unwrap();
        let file = tests[0].split("::").next().unwrap();
        let names = names(&spec);
        let beside = Neighbours {
            file,
            text: "",
            names: &names,
        };
        let file = canaries(Language::of(file).unwrap(), &beside, 5);
        let stem = file
            .path
            .rsplit('/')
            .next()
            .unwrap()
            .trim_end_matches(".py")
            .to_owned();
        let written = rerun
            .script
            .replace(&format!("mkdir -p /r\n{}", file.command()), "<>")
            .replace(&stem, "C");
        (written, rerun)
    }

    #[test]
    fn commands_name_the_canaries_and_ask_for_results() {
        for (script, changed) in [
            (
                "pytest -rA tests/test_a.py\n",
                "<>pytest --junitxml=/r/0.xml -rA tests/C.py tests/test_a.py\n",
            ),
            ("pytest -rA\n", "<>pytest --junitxml=/r/0.xml -rA\n"),
            (
                "git checkout x tests/test_a.py\npip install pytest\n: '>>>>> Start Test Output'\npython -m pytest\n",
                "git checkout x tests/test_a.py\npip install pytest\n: '>>>>> Start Test Output'\n<>python -m pytest --junitxml=/r/0.xml\n",
            ),
            (
                "cd sub\nA=1 py.test 'tests/test_a.py::T::b' | tee log",
                "cd sub\n<>A=1 py.test --junitxml=/r/0.xml tests/C.py 'tests/test_a.py::T::b' | tee log",
            ),
            (
                "python -m unittest -v tests.test_a.T",
                "<>python -m unittest -v tests.C tests.test_a.T",
            ),
            (
                "python -m unittest discover\n",
                "<>python -m unittest discover\n",
            ),
            (
                "x\necho '>>>>> Start Test Output'\nmake test\n",
                "x\n<>echo '>>>>> Start Test Output'\nmake test\n",
            ),
            (
                "cat <<'E' > x\npytest tests/test_a.py\nE\nrun \\\n  pytest\n",
                "cat <<'E' > x\npytest tests/test_a.py\nE\n<>run \\\n  pytest --junitxml=/r/0.xml\n",
            ),
        ] {
            assert_eq!(
                look(script, &["tests/test_a.py::T::b"]).0,
                changed,
                "{script}"
            );
        }
    }

    #[test]
    fn paths_may_begin_below_the_repository() {
        let (script, rerun) = look(
            "(cd sub; pytest tests/test_a.py)\n",
            &["sub/tests/test_a.py::b"],
        );
        assert_eq!(
            script,
            "<>(cd sub; pytest --junitxml=/r/0.xml tests/C.py tests/test_a.py)\n"
        );
        assert_eq!(rerun.results, ["/r/0.xml"]);
    }

    #[test]
    fn djangos_labels_are_modules_below_the_tests() {
        let script = "./tests/runtests.py --verbosity 2 --parallel 1 admin_views.tests\n";
        let (script, _) = look(script, &["tests/admin_views/tests.py"]);
        assert_eq!(
            script,
            "<>./tests/runtests.py --verbosity 2 --parallel 1 admin_views.C admin_views.tests\n"
        );
    }

    #[test]
    fn other_languages_have_no_second_look() {
        let spec = GradingSpec {
            eval_script: "prove t\n".to_owned(),
            fail_to_pass: vec!["adds".to_owned()],
            ..GradingSpec::default()
        };
        assert!(second_look(&spec, "", "/r", 5).is_err());
    }
}
