#!/usr/bin/env python3
"""Compares our evaluation scripts with those of the official harness, row by row.

usage: eval_scripts.py OURS ROWS...

OURS is what `cargo run -p grade --example eval-scripts -- ROWS...` prints. Needs the package `swebench` 4.1.0 (best in an environment of its own:
`python3 -m venv DIR && DIR/bin/pip install swebench==4.1.0`). Compared are the set-up, the installation, the files that are restored, the
test patch, the test command with its tests, the marks, the parser and the order of all of them. Exits with 1 when a row differs. `tables.py`
writes rows for all that the package knows.
"""

import json
import re
import sys

from swebench.harness.constants import END_TEST_OUTPUT, MAP_REPO_VERSION_TO_SPECS, START_TEST_OUTPUT
from swebench.harness.log_parsers import MAP_REPO_TO_PARSER
from swebench.harness.test_spec import test_spec

# Lines of the official scripts that ours leave to the runner or leave out; docs/design/datasets.md says why.
LEFT_OUT = [
    r"#!/bin/bash",
    r"source /opt/miniconda3/bin/activate",
    r"conda activate testbed",
    r"cd /testbed",
    r"git config --global --add safe\.directory /testbed",
    r"git status",
    r"git show",
    r"git -c core\.fileMode=false diff [0-9a-f]{40}",
]
# The same of ours.
OURS_ALONE = [
    r"#!/bin/bash",
    r"export TZ=UTC PYTHONHASHSEED=0",
    r'git config --global --add safe\.directory "\$PWD"',
    r"rm -rf -- .*",
    r"patchmill_tests=\$\?",
    r"\{ set \+x; \} 2>/dev/null",
    r"printf '.*>>>>> Test Exit Code.*",
    r'exit "\$patchmill_tests"',
]


def rows(path):
    text = open(path, newline="").read()
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def take_patch(script, start, end):
    """Cuts the test patch out of a script: (script without it, patch)."""
    found = re.search(start, script, re.M)
    if not found:
        return script, None
    stop = script.index("\n" + found["end"] + "\n", found.end() - 1)
    patch = script[found.end() : stop]
    rest = script[stop + len(found["end"]) + 2 :]
    return script[: found.start()] + "PATCH\n" + re.sub(end, "", rest, count=1), patch


def steps(script, left_out):
    lines = [line for line in script.splitlines() if line.strip()]
    return [line for line in lines if not any(re.fullmatch(pattern, line) for pattern in left_out)]


def official(row):
    """Steps and test patch of the official script."""
    # It asks for files of the repository over the network to build an image, which does not matter here.
    test_spec.make_env_script_list = lambda *_: []
    script = test_spec.make_test_spec(row).eval_script
    script, patch = take_patch(script, r"^git apply (?:-v|--verbose --reject) - <<'(?P<end>\w+)'\n", r"(?!)")
    lines = steps(script, LEFT_OUT)
    # The last line restores the tests again.
    restore = [at for at, line in enumerate(lines) if line.startswith("git checkout ")]
    if len(restore) == 2:
        assert lines[restore[0]] == lines.pop(restore[1])
    return lines, patch


def ours(script):
    """The same of ours."""
    pattern = r"^patchmill_test_patch\(\) \{\ncat <<'(?P<end>\w+)'\n"
    script, patch = take_patch(script, pattern, r"\}\npatchmill_test_patch \| git apply[^\n]*\n[^\n]*\n[^\n]*\n")
    lines = steps(script, OURS_ALONE)
    lines = [re.sub(r" \|\| python -m pip install --no-build-isolation --no-deps \.$", "", line) for line in lines]
    lines = [re.sub(r"^(git checkout [0-9a-f]{40}) -- (.*) \|\| git checkout HEAD -- .*", r"\1 \2", line) for line in lines]
    return lines, patch


def main():
    made = {}
    for line in open(sys.argv[1]):
        row = json.loads(line)
        made[row["instance_id"]] = row
    compared, wrong = 0, 0
    for row in (row for path in sys.argv[2:] for row in rows(path)):
        name = row["instance_id"]
        if row.get("version") not in MAP_REPO_VERSION_TO_SPECS.get(row.get("repo"), {}):
            print(f"{name}: the official harness does not know it")
            continue
        compared += 1
        if "error" in made[name]:
            problems = [made[name]["error"]]
        else:
            problems = list(differences(row, made[name]))
        wrong += bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"{compared} rows compared, {wrong} differ")
    return 1 if wrong or not compared else 0


def differences(row, made):
    (their_steps, their_patch), (our_steps, our_patch) = official(row), ours(made["eval_script"])
    if their_steps == ["set -uxo pipefail"]:
        yield "the official script is empty"
    for mark in (START_TEST_OUTPUT, END_TEST_OUTPUT):
        if our_steps.count(f": '{mark}'") != 1:
            yield f"the mark {mark} is not there once"
    restore = lambda lines: [sorted(line.split()) if line.startswith("git checkout") else line for line in lines]
    if restore(their_steps) != restore(our_steps):
        yield f"steps\n  theirs {their_steps}\n  ours   {our_steps}"
    if their_patch.rstrip("\n") != our_patch.rstrip("\n"):
        yield "the test patch differs"
    parser = MAP_REPO_TO_PARSER[row["repo"]].__name__
    if parser.removeprefix("parse_log_") != made["log_parser"]:
        yield f"parser {parser}, ours {made['log_parser']}"


if __name__ == "__main__":
    sys.exit(main())
