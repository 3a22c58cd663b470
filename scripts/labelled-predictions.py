#!/usr/bin/env python3
"""Grades predictions whose official verdict is known, and compares.

  scripts/labelled-predictions.py --labelled FILE --rows FILE --out DIR [--python 3.11] [--sandbox local]

Each line of the labelled file is a prediction with `official`, the list of categories that the official harness put it in: `resolved`, `applied`,
`no_apply` and others; none at all means that it is not resolved. The instances are rebuilt by real-instances.py from the projects' own source
distributions. An instance that cannot be rebuilt here, for want of its version of Python or of a recipe, is listed as not run with the reason.

Compared are whether the issue is resolved, for every prediction, and whether the patch applies, where the official harness said so. Beyond that
the known patch of every instance has to resolve it, and the unchanged tree must not. Exits with 1 where anything differs, with 2 where no
instance could be rebuilt.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def rebuild(arguments, ids):
    """The derived rows by id, and why the others could not be made."""
    command = [sys.executable, PROJECT / "scripts/real-instances.py", "--rows", arguments.rows, "--out", arguments.out]
    known = json.loads(subprocess.run([*command, "--list"], check=True, capture_output=True, text=True).stdout)
    chosen = [id for id in ids if id in known and arguments.python in (None, known[id]["python"])]
    reasons = {id: "nobody has written down how it is rebuilt" for id in ids if id not in known}
    reasons |= {id: f"needs Python {known[id]['python']}, asked for is {arguments.python}" for id in ids if id in known and id not in chosen}
    if not chosen:
        return {}, reasons
    # What cannot be made is told in a file, and by the number of those that were.
    subprocess.run([*command, *chosen], check=False)
    reasons |= json.loads((arguments.out / "left-out.json").read_text(encoding="utf-8"))
    made = {row["instance_id"]: row for row in read_lines(arguments.out / "instances.jsonl")}
    return {id: made[id] for id in chosen if id in made and id not in reasons}, reasons


def other_files(repository, predictions):
    """Files that these predictions were made from in another form than the rebuilt repository has: their patches tell the ids of the blobs."""
    differing = set()
    for prediction in predictions:
        for part in re.split(r"^diff --git ", prediction["model_patch"], flags=re.MULTILINE)[1:]:
            named = re.match(r"a/(\S+) b/\S+\n(?:[a-z].*\n)*?index ([0-9a-f]+)\.\.", part)
            if named and set(named[2]) != {"0"}:
                asked = subprocess.run(["git", "-C", repository, "rev-parse", "--quiet", "--verify", f"HEAD:{named[1]}"], capture_output=True, text=True)
                if not asked.stdout.startswith(named[2]):
                    differing.add(named[1])
    return sorted(differing)


def rounds(predictions):
    """Lists that hold one prediction of each instance at most: that is what one run grades."""
    lists, seen = [], collections.Counter()
    for prediction in predictions:
        place = seen[prediction["instance_id"]]
        seen[prediction["instance_id"]] += 1
        if place == len(lists):
            lists.append([])
        lists[place].append(prediction)
    return lists


def runner(arguments, *words):
    options = ["--dataset", arguments.out / "instances.jsonl", "--sandbox", arguments.sandbox, "--harness", "4", "--progress", "none"]
    done = subprocess.run([arguments.runner, *words, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"runner {words[0]} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def grade(arguments, number, predictions):
    """What became of each prediction, in their order."""
    directory = arguments.out / "labelled" / f"round-{number:02}"
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "predictions.jsonl"
    plain = [{"instance_id": one["instance_id"], "model_name_or_path": "labelled", "model_patch": one["model_patch"]} for one in predictions]
    file.write_text("".join(json.dumps(one) + "\n" for one in plain), encoding="utf-8")
    ids = ",".join(one["instance_id"] for one in predictions)
    shutil.rmtree(directory / "run", ignore_errors=True)
    runner(arguments, "grade", file, "--ids", ids, "--out", directory / "run", "--no-grade-cache")
    report = json.loads((directory / "run/report.json").read_text(encoding="utf-8"))
    found = {one["instance_id"]: one for one in report["instances"]}
    return [found[one["instance_id"]] for one in predictions]


def validate(arguments, ids):
    """What speaks against the instances themselves: the known patch of each has to resolve it, the unchanged tree must not."""
    directory = arguments.out / "labelled/validation"
    shutil.rmtree(directory, ignore_errors=True)
    runner(arguments, "validate", "--ids", ",".join(ids), "--out", directory)
    validation = json.loads((directory / "validation.json").read_text(encoding="utf-8"))
    found = [one for one in validation["instances"] if one["instance_id"] in ids]
    return [f"{one['instance_id']}: {json.dumps(finding)}" for one in found for finding in one["findings"]]


def compare(prediction, verdict):
    """What differs from the official harness, and whether it told how the patch applies."""
    labels, bucket = prediction["official"], verdict["bucket"]
    resolved = "resolved" in labels
    differences = []
    if (bucket == "resolved") != resolved or bool(verdict["official_resolved"]) != resolved:
        differences.append(f"resolved is {resolved} officially, here it is {bucket} (official rules: {verdict['official_resolved']})")
    applies = {"applied": True, "no_apply": False}
    told = [applies[label] for label in labels if label in applies]
    if told and told[0] != (bucket != "patch_rejected"):
        differences.append(f"the patch applies officially: {told[0]}, here it is {bucket}")
    return differences, bool(told)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--labelled", required=True, type=pathlib.Path, help="JSON lines: predictions with the official harness's categories")
    parser.add_argument("--rows", required=True, type=pathlib.Path, help="JSON lines in the shape of SWE-bench that hold their instances")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="directory outside the checkout; what was rebuilt there is taken again")
    parser.add_argument("--python", metavar="VERSION", help="only instances for this version of Python")
    parser.add_argument("--sandbox", default="local", help="where the tests run [default: local]")
    parser.add_argument("--runner", default=PROJECT / "target/debug/runner", type=pathlib.Path, help="the binary")
    arguments = parser.parse_args()
    arguments.out, arguments.runner = arguments.out.resolve(), arguments.runner.resolve()

    predictions = read_lines(arguments.labelled)
    ids = list(dict.fromkeys(one["instance_id"] for one in predictions))
    made, reasons = rebuild(arguments, ids)
    runnable = [one for one in predictions if one["instance_id"] in made]
    print("instances")
    for id in ids:
        notes = [f"{name} differs: {why}" for name, why in made.get(id, {}).get("differing_tests", {}).items()]
        if id in made:
            own = [one for one in predictions if one["instance_id"] == id]
            notes += [f"{path} is not as in the base commit: the release has another state of it" for path in other_files(arguments.out / "repos" / id, own)]
        print("; ".join([f"  {id}: rebuilt" if id in made else f"  {id}: not run, {reasons[id]}", *notes]))

    agreeing, told, problems = 0, 0, []
    tallies = collections.defaultdict(collections.Counter)
    for number, batch in enumerate(rounds(runnable), start=1):
        for prediction, verdict in zip(batch, grade(arguments, number, batch)):
            differences, applies = compare(prediction, verdict)
            agreeing += not differences
            told += applies
            tallies[prediction["instance_id"]][verdict["bucket"]] += 1
            problems += [f"{prediction['instance_id']} by {prediction['model_name_or_path']} ({prediction.get('run', '')}): {text}" for text in differences]
    own = validate(arguments, list(made)) if made else []
    problems += own
    print("verdicts")
    for id, tally in tallies.items():
        print(f"  {id}: " + ", ".join(f"{count} {bucket}" for bucket, count in sorted(tally.items())))
    for problem in problems:
        print(f"DIFFERS {problem}")
    print(f"{len(made) - len({text.split(':')[0] for text in own})} of {len(made)} instances: the known patch resolves, the unchanged tree does not")
    print(f"{agreeing} of {len(runnable)} agree, {told} of them on how the patch applies; {len(predictions) - len(runnable)} of {len(predictions)} were not run")
    if not runnable:
        return 2
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
