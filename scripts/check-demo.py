#!/usr/bin/env python3
"""Checks the rows of datasets/demo.jsonl with plain git and their own scripts, without Patchmill.

For each row: the base commit is there, both patches apply to it, every test of FAIL_TO_PASS fails (or does not exist) before the
known patch and passes after it, and every test of PASS_TO_PASS passes before and after.

  scripts/build-demo.sh && scripts/check-demo.py [ID...]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DATASET = pathlib.Path(__file__).resolve().parent.parent / "datasets" / "demo.jsonl"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}
# A TAP line, and a line in the words of pytest -rA.
LINES = {
    "tap": re.compile(r"^(?P<status>ok|not ok) \d+ (?:- )?(?P<name>.+)$"),
    "pytest": re.compile(r"^(?P<status>PASSED|FAILED|ERROR|SKIPPED) (?P<name>\S+)"),
}


def git(directory, *arguments, text=None):
    subprocess.run(["git", "-C", str(directory), *arguments], env=ENVIRONMENT, input=text, text=True, check=True)


def passing(row, directory, *patches):
    """Names of the tests that pass on the base commit with these patches."""
    git(".", "clone", "--quiet", "--no-checkout", str(DATASET.parent / row["repo_path"]), str(directory))
    git(directory, "checkout", "--quiet", "--detach", row["base_commit"])
    for patch in patches:
        git(directory, "apply", "-", text=patch)
    run = subprocess.run(
        ["bash", "-c", row["eval_script"]], cwd=directory, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    found = [match for line in run.stdout.splitlines() if (match := LINES[row["log_parser"]].match(line))]
    names = [match["name"] for match in found]
    if len(names) != len(set(names)):
        raise SystemExit(f"{row['instance_id']}: two tests have one name")
    return {match["name"] for match in found if match["status"] in ("ok", "PASSED")}


def check(row, scratch):
    turned, stayed = set(row["FAIL_TO_PASS"]), set(row["PASS_TO_PASS"])
    before = passing(row, scratch / "before", row["test_patch"])
    after = passing(row, scratch / "after", row["test_patch"], row["patch"])
    problems = [f"passes before the fix: {name}" for name in sorted(turned & before)]
    problems += [f"fails before the fix: {name}" for name in sorted(stayed - before)]
    problems += [f"fails after the fix: {name}" for name in sorted((turned | stayed) - after)]
    if not turned:
        problems.append("FAIL_TO_PASS is empty")
    print(f"{row['instance_id']}: {len(turned)} turn, {len(stayed)} stay" if not problems else f"{row['instance_id']}: WRONG")
    for problem in problems:
        print(f"  {problem}")
    return not problems


def main(ids):
    rows = [json.loads(line) for line in DATASET.read_text(encoding="utf-8").splitlines()]
    right = True
    for row in rows:
        if not ids or row["instance_id"] in ids:
            with tempfile.TemporaryDirectory() as scratch:
                right &= check(row, pathlib.Path(scratch))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
