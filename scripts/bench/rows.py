#!/usr/bin/env python3
"""How much memory the runner has at most with as many rows as the largest dataset has, 19,008 of 20 KB each. Fails where that is over 300 MB.

usage: rows.py [RUNNER]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, BYTES, BAR = 19008, 20000, 300e6
PATCH = "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"


def dataset(directory, commit):
    """Rows with long patches, all of one repository."""
    filler = "+ a line of a patch\n" * (BYTES // 21)
    with open(directory / "rows.jsonl", "w") as file:
        for number in range(ROWS):
            row = {"instance_id": f"o__r-{number}", "repo": "o/r", "repo_path": "repo", "base_commit": commit, "problem_statement": "It breaks.", "FAIL_TO_PASS": ["a"],
                   "PASS_TO_PASS": [], "eval_script": "echo ok 1 a", "log_parser": "tap", "patch": filler}
            file.write(json.dumps(row) + "\n")
    prediction = {"instance_id": "o__r-7", "model_name_or_path": "m", "model_patch": PATCH}
    (directory / "preds.json").write_text(json.dumps([prediction]))
    call = {"tool_calls": [{"name": "bash", "arguments": {"command": "echo x > f"}}]}
    done = {"tool_calls": [{"name": "task_done", "arguments": {}}]}
    (directory / "script.jsonl").write_text(f"{json.dumps(call)}\n{json.dumps(done)}\n")


def repository(directory):
    """A repository with one commit."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (directory / "repo").mkdir()
    for command in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "first"]):
        subprocess.run([*git, *command], cwd=directory / "repo", check=True)
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=directory / "repo", check=True, capture_output=True, text=True).stdout.strip()


def peak(command, directory, expected=0):
    """Bytes that the command had at most; it must end with this code."""
    quiet = subprocess.DEVNULL if expected else None
    child = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=quiet)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != expected:
        sys.exit(f"{command}: status {status}")
    return usage.ru_maxrss * 1024


def main():
    runner = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "target/release/runner"
    good = True
    with tempfile.TemporaryDirectory(prefix="patchmill-rows-") as scratch:
        scratch = pathlib.Path(scratch)
        dataset(scratch, repository(scratch))
        common = ["--dataset", "rows.jsonl", "--sandbox", "local", "--scratch", "scratch", "--out"]
        for name, arguments, code in (
            ("run --dry-run", ["run", "--model", "script:script.jsonl", *common, "dry", "--dry-run"], 0),
            ("run --slice", ["run", "--model", "script:script.jsonl", *common, "run", "--slice", "5:6", "--grade"], 0),
            # All rows are held, then it shows that there is no such model.
            ("run", ["run", "--model", "script:none.jsonl", *common, "all"], 2),
            ("grade", ["grade", "preds.json", *common, "graded"], 0),
        ):
            most = peak([runner, *arguments], scratch, code)
            print(f"rows     {name}: {most / 1e6:.0f} MB (bar {BAR / 1e6:.0f})", flush=True)
            good &= most < BAR
    sys.exit(not good)


if __name__ == "__main__":
    main()
