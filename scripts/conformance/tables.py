#!/usr/bin/env python3
"""Writes a row for each repository and version that the official harness knows, to compare scripts over all its tables.

usage: tables.py > rows.jsonl     needs the package `swebench` 4.1.0, as eval_scripts.py does
"""

import json

from swebench.harness.constants import MAP_REPO_VERSION_TO_SPECS

# A file that is there, one that is new, and such as only Calypso's tests are told.
FILES = ["tests/old_test.py", "client/lib/test/a.js", "packages/b/test/__snapshots__/c.js.snap", "test/e2e/specs/d.js"]
OLD = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
NEW = "diff --git a/tests/new_test.py b/tests/new_test.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/new_test.py\n@@ -0,0 +1 @@\n+a\n"


def main():
    number = 0
    for repository, versions in MAP_REPO_VERSION_TO_SPECS.items():
        for version in versions:
            number += 1
            row = {
                "instance_id": f"{repository.replace('/', '__')}-{number}",
                "repo": repository,
                "version": version,
                "base_commit": f"{number:040x}",
                "problem_statement": "It breaks.",
                "patch": "",
                "test_patch": "".join(OLD.format(name) for name in FILES) + NEW,
                "FAIL_TO_PASS": json.dumps(["a"]),
                "PASS_TO_PASS": "[]",
            }
            print(json.dumps(row))


main()
