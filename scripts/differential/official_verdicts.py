"""Asks the official harness, in the environment of one of its versions, for reports of instances and summaries of runs.

usage: official_verdicts.py COUNT SEED OUT     run by scripts/differential/run
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
from types import SimpleNamespace

from verdicts import cases

from swebench.harness import grading, reporting

FIVE = hasattr(grading, "PARSER_REGISTRY")


def report(case, directory):
    """The report of one instance."""
    spec = SimpleNamespace(
        instance_id="i", repo=case["repository"], log_parser="parse_log_" + case["parser"], eval_type="fail_only" if case["fail_only"] else "pass_and_fail",
        FAIL_TO_PASS=case["fail_to_pass"], PASS_TO_PASS=case["pass_to_pass"], version="")
    if not FIVE:
        spec.version = next(iter(grading.MAP_REPO_VERSION_TO_SPECS[spec.repo]))
    log = directory / "test_output.txt"
    log.write_bytes(case["log"].encode())
    prediction = {"instance_id": "i", "model_name_or_path": "m", "model_patch": "p" if case["patch_exists"] else None}
    return grading.get_eval_report(spec, prediction, log, True)["i"]


def summary(instances, directory):
    """The summary of a run."""
    os.chdir(directory)
    predictions = {}
    for instance, standing, log in instances:
        if standing is None:
            continue
        predictions[instance] = {"instance_id": instance, "model_name_or_path": "o/m", "model_patch": "" if standing == "empty" else "p"}
        place = reporting.RUN_EVALUATION_LOG_DIR / "run" / "o__m" / instance
        place.mkdir(parents=True)
        (place / "test_output.txt").write_text(log)
        if standing in ("resolved", "unresolved"):
            (place / "report.json").write_text(json.dumps({instance: {"resolved": standing == "resolved"}}))
    arguments = [predictions, [{"instance_id": instance} for instance, _, _ in instances], "run"]
    said = json.loads(pathlib.Path(reporting.make_run_report(*arguments)).read_text())
    # Generation 4 tells what is left of containers only where no engine was asked, which no run of it does.
    return {name: value for name, value in said.items() if not name.startswith("un") or name.startswith("unresolved")}


def main():
    count, seed, out = int(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    with open(out, "w", encoding="utf-8") as file:
        for kind, answer in (("verdicts", report), ("runs", summary)):
            for case in cases(kind, count, seed):
                with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()):
                    said = answer(case, pathlib.Path(directory))
                file.write(json.dumps({"kind": kind, "case": case, "answer": said}) + "\n")


if __name__ == "__main__":
    main()
