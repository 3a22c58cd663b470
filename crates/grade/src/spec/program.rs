//! Parsers that rows carry as Python: they are run where the tests ran, never on this machine.

use crate::eval_script::here_document;

/// The name of the parser that reads what [`commands`] print.
pub(super) const PARSER: &str = "swe_bench_pro";

/// Some datasets carry the parser itself, as Python.
pub(super) fn is_program(name: &str) -> bool {
    name.contains('\n') || name.starts_with("def ") || name.starts_with("import ")
}

/// Calls the program's function `parser`, else the last one that it defines, with the log, and prints what it says of each test as SWE-bench
/// Pro's parsers do. Of a word that has `fail` in it a test failed, of one with `pass` it passed.
const CALLER: &str = r#"import json, sys
names = {"__name__": "parser"}
exec(compile(open(sys.argv[1], encoding="utf-8").read(), "parser", "exec"), names)
own = [value for value in names.values() if getattr(value, "__module__", None) == "parser" and callable(value)]
call = names.get("parser") or own[-1]
results = call(open(sys.argv[2], encoding="utf-8", errors="replace").read())
def word(text):
    text = str(text).lower()
    return "FAILED" if "fail" in text else "PASSED" if "pass" in text else "SKIPPED"
print(json.dumps({"tests": [{"name": str(name), "status": word(said)} for name, said in results.items()]}))
"#;

/// What is run before the marks, and between them.
pub(super) struct Commands {
    /// Run before the tests' results are read.
    pub(super) build: Vec<String>,
    /// Prints the results.
    pub(super) print: Vec<String>,
}

/// Runs `test`, takes what `print` prints of it, else what it printed itself, and gives that to the program. The program is written after the
/// tests ran: they cannot change it. Python starts without what the environment or the repository would put into it.
pub(super) fn commands(program: &str, test: &[String], print: &[String]) -> Commands {
    let group = |commands: &[String]| format!("{{\n{}\n}}", commands.join("\n"));
    let log = "> \"$patchmill_work/log\" 2>&1";
    let mut build = vec!["patchmill_work=$(mktemp -d)".to_owned()];
    if print.is_empty() {
        build.push(format!("{} {log}", group(test)));
    } else {
        build.extend(test.iter().cloned());
        build.push(format!("{} {log}", group(print)));
    }
    build.push(here_document(
        "cat > \"$patchmill_work/parser.py\"",
        program,
    ));
    build.push(here_document("cat > \"$patchmill_work/caller.py\"", CALLER));
    build.push(
        "patchmill_python=$(command -v python3 || command -v python) || { echo 'the parser of the row needs Python, which is not here'; exit 1; }"
            .to_owned(),
    );
    let print = "\"$patchmill_python\" -I \"$patchmill_work/caller.py\" \"$patchmill_work/parser.py\" \"$patchmill_work/log\"";
    Commands {
        build,
        print: vec![print.to_owned()],
    }
}
