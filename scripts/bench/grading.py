#!/usr/bin/env python3
"""What a grading costs beyond its tests: `runner grade` with one worker against a bare run of the same scripts through the engine's API.

The bare run of an instance: create, attach, start, `git apply` of the same patch, the same evaluation script in that one bash, forced removal. Both
take all instances one after the other, and take turns; medians count. What the program needs to start is counted among the instances.

The bar is 30 ms for each instance; missing it is exit code 1.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench
import docker_floor

BAR = 0.030
PATCH = ("diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # bench__tiny-0000\n+mended\n"
         "diff --git a/pkg/new.py b/pkg/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/pkg/new.py\n@@ -0,0 +1 @@\n+x = 1\n")
SCRIPT = ("cd /testbed\nfor number in 1 2 3 4 5 6 7 8; do echo \"ok $number test_$number\"; done\n"
          "if grep -q mended README.md; then echo 'ok 9 mended'; else echo 'not ok 9 mended'; fi\n")


def write_inputs(directory, count):
    """A dataset whose instances all start from the bench's image, and a prediction for each."""
    row = json.loads((directory / "docker-24.jsonl").read_text().splitlines()[0])
    rows, predictions = [], []
    for number in range(count):
        name = f"bench__graded-{number:04d}"
        rows.append({**row, "instance_id": name, "eval_script": SCRIPT, "log_parser": "tap", "FAIL_TO_PASS": ["mended"],
                     "PASS_TO_PASS": ["test_1", "test_8"]})
        predictions.append({"instance_id": name, "model_name_or_path": "bench", "model_patch": PATCH})
    for name, lines in (("graded.jsonl", rows), ("predictions.jsonl", predictions)):
        (directory / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def bare(count):
    """Wall seconds of the bare run."""
    put = f"cat >/tmp/patch.diff <<'EOF_OF_PATCH'\n{PATCH}EOF_OF_PATCH\ngit apply /tmp/patch.diff"
    start = time.monotonic()
    for _ in range(count):
        engine = docker_floor.Engine()
        created = engine.call("POST", "/containers/create", {
            "Image": bench.IMAGE, "Entrypoint": ["bash", "--noprofile", "--norc"], "Cmd": [], "WorkingDir": "/testbed", "OpenStdin": True,
            "StdinOnce": True, "AttachStdin": True, "AttachStdout": True, "AttachStderr": True,
            "HostConfig": {"NetworkMode": "none", "LogConfig": {"Type": "none"}}})["Id"]
        sock = docker_floor.Engine().stream(f"/containers/{created}/attach?stream=1&stdin=1&stdout=1&stderr=1")
        engine.call("POST", f"/containers/{created}/start")
        frames = docker_floor.Frames(sock)
        # A command in the shell's own process, as a script of lines needs no semicolon before the end.
        docker_floor.ask(sock, frames, f"(\n{put}\n)", "patch")
        docker_floor.ask(sock, frames, f"(\n{SCRIPT})", "tests")
        sock.close()
        engine.call("DELETE", f"/containers/{created}?force=1")
    return time.monotonic() - start


def graded(runner, directory, count, turn):
    """Wall seconds of `runner grade`, and the seconds of its gradings alone."""
    out = directory / f"run-{turn}"
    command = [runner, "grade", directory / "predictions.jsonl", "--dataset", directory / "graded.jsonl", "--out", out, "--sandbox", "docker",
               "--scratch", directory / "scratch", "--grade-workers", "1", "--grade-profile", "sealed", "--no-grade-cache", "--fail-under", "1",
               "--tamper-check", "never", "--slice", f":{count}", "--progress", "none"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"runner grade ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    report = json.loads((out / "report.json").read_text())
    return seconds, report["grading"]["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", default="target/release/runner")
    parser.add_argument("--instances", type=int, default=24)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    runner = Path(asked.runner).resolve()
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        bench.make_image(directory, bench.make_instances(directory, 1)[0])
        write_inputs(directory, asked.instances)
        # Nobody's first look at the image and at the program counts.
        bare(1)
        graded(runner, directory, 1, "first")
        floors, walls, inner = [], [], []
        for turn in range(asked.turns):
            floors.append(bare(asked.instances) / asked.instances)
            wall, alone = graded(runner, directory, asked.instances, turn)
            walls.append(wall / asked.instances)
            inner.append(alone / asked.instances)
    floor, wall, alone = (statistics.median(times) for times in (floors, walls, inner))
    over = statistics.median(wall - floor for wall, floor in zip(walls, floors))
    print(f"bare run {floor * 1e3:.1f} ms, runner grade {wall * 1e3:.1f} ms (gradings alone {alone * 1e3:.1f} ms) for each of {asked.instances}"
          f" instances, medians of {asked.turns}: {over * 1e3:+.1f} ms, bar {BAR * 1e3:.0f} ms")
    return 0 if over <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
