"""Times the official parsers and ours on the same logs with official verdicts, in one run, on one core each.

usage: parsers.py LOGS OURS     LOGS: a directory of instances, each with eval.log, report.json; OURS: the built example `time_parsers`
Run it with the Python of an environment that has `swebench` 5.0.2. Logs are in memory; imports do not count.
"""

import json
import pathlib
import subprocess
import sys
import time

from swebench.harness.grading import get_eval_tests_report, get_resolution_status
from swebench.harness.log_parsers.python import MAP_REPO_TO_PARSER_PY

ROUNDS = 5


def main():
    root, ours = pathlib.Path(sys.argv[1]), sys.argv[2]
    work = []
    for directory in sorted(path for path in root.iterdir() if path.is_dir()):
        repository = directory.name.rsplit("-", 1)[0].replace("__", "/")
        parser = MAP_REPO_TO_PARSER_PY[repository]
        tests = next(iter(json.loads((directory / "report.json").read_text()).values()))["tests_status"]
        expected = {kind: tests[kind]["success"] + tests[kind]["failure"] for kind in ("FAIL_TO_PASS", "PASS_TO_PASS")}
        work.append((parser, (directory / "eval.log").read_text(errors="replace"), expected))
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for parser, log, expected in work:
            get_resolution_status(get_eval_tests_report(parser(log, None), expected))
        times.append(time.perf_counter() - started)
    official = sorted(times)[ROUNDS // 2]
    own = float(subprocess.run([ours, root], check=True, capture_output=True, text=True).stdout)
    size = sum(len(log) for _, log, _ in work)
    print(f"{len(work)} logs, {size / 1e6:.1f} MB: official {official * 1e3:.1f} ms, ours {own * 1e3:.2f} ms, {official / own:.0f} times quicker")


main()
