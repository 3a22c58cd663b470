#!/usr/bin/env python3
"""Batches in containers on an engine that misbehaves: containers killed, paused and filled at random, the engine killed once.

Every instance must end in the right class and with its patch, and nothing may be left behind. The engine is the soak's own.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import judge
from engine import Engine, descriptors, mounts, processes
from faults import ENDING, Injector

HERE = Path(__file__).resolve().parent
IMAGE = "patchmill-base:bookworm"
# Nobody else sleeps as long: daemons of agents are known by it.
DAEMON = "sleep 7654321"
TMPFS = 8 << 20
# Lines of what went wrong.
SHOWN = 80
CLEAN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def make_repository(path):
    path.mkdir()
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "soak"), ("EMAIL", "soak@example.invalid"), ("DATE", "2024-01-01T00:00:00Z"))}
    git = lambda *arguments: subprocess.run(["git", "-C", path, *arguments], env={**CLEAN, **who, "HOME": str(path)}, check=True, capture_output=True, text=True)
    git("init", "-q", "-b", "main")
    (path / "value.txt").write_text("bad\n")
    (path / "keep.txt").write_text("kept\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Begin")
    return git("rev-parse", "HEAD").stdout.strip()


def steps(number):
    """Ten commands, some of them rude."""
    return [
        "cat value.txt; export SOAK=1",
        "seq 1 20000",
        f"(setsid {DAEMON} &) ; (cd / && pwd)",
        "sleep 0.4",
        f"echo made-{number} > made.txt",
        "cat /dev/zero > /tmp/full; rm -f /tmp/full /tmp/flood" if number % 12 == 0 else "ls -la / && rm -f /tmp/flood",
        "kill -9 $$" if number % 7 == 0 else "sleep 0.2",
        "sleep 0.4",
        f"echo good-{number} > value.txt",
        "cat value.txt made.txt",
    ]


def make_batch(place, count):
    """Rows, scripts, and what each instance's files must be at its end."""
    commit = make_repository(place / "repository")
    (place / "scripts").mkdir()
    expected, rows = {}, []
    for number in range(count):
        name = f"soak__soak-{number:04d}"
        rows.append({"instance_id": name, "repo": "soak/soak", "repo_path": str(place / "repository"), "base_commit": commit, "image": IMAGE,
                     "problem_statement": "value.txt holds the wrong value."})
        calls = [("bash", {"command": command}) for command in steps(number)] + [("task_done", {})]
        lines = [json.dumps({"tool_calls": [{"name": name, "arguments": arguments}]}) for name, arguments in calls]
        (place / f"scripts/{name}.jsonl").write_text("\n".join(lines) + "\n")
        expected[name] = {"keep.txt": "kept\n", "made.txt": f"made-{number}\n", "value.txt": f"good-{number}\n"}
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return expected


def census(engine, place):
    """What could be left behind, counted."""
    lines = lambda *arguments: len(engine.docker(*arguments).stdout.splitlines())
    scratch = [entry for entry in (place / "scratch").iterdir() if not entry.name.startswith("images-")]
    return {
        "containers": lines("ps", "--all", "--quiet"), "volumes": lines("volume", "ls", "--quiet"), "networks": lines("network", "ls", "--quiet"),
        "images": lines("images", "--all", "--quiet"), "processes": len(processes(str(place))), "agents' daemons": len(processes(DAEMON)),
        "mounts": len(mounts(place)), "private directories": len(scratch), "temporary files": len(list((place / "tmp").iterdir())),
    }


def settled(engine, place, before):
    """The census once it is no more than before, or after 20 s: the engine buries its own in its own time."""
    until = time.monotonic() + 20
    while judge.left(before, after := census(engine, place)) and time.monotonic() < until:
        time.sleep(0.5)
    return after


def watch(process, out, count, restart):
    """Waits for the runner's end, restarts the engine when two fifths are done; most open files early and late, and when the outage was."""
    early = late = 0
    outage, journal = None, out / "writers/w1/journal.jsonl"
    while process.poll() is None:
        done = journal.read_text().count('"event":"attempt_finished"') if journal.exists() else 0
        if count / 10 <= done < count * 2 / 5:
            early = max(early, len(descriptors(process.pid)))
        elif done >= count * 6 / 10:
            late = max(late, len(descriptors(process.pid)))
        if outage is None and done >= count * 2 / 5:
            outage = restart()
        time.sleep(0.2)
    return early, late, outage


def soak(options, place, engine):
    log = lambda text: print(f"soak: {text}", file=sys.stderr, flush=True)
    expected = make_batch(place, options.instances)
    for name in ("scratch", "tmp", "home"):
        (place / name).mkdir()
    engine.start()
    engine.load(IMAGE)
    before = census(engine, place)
    log(f"the engine stands; {before}")
    injector = Injector(engine, list(expected), options.seed, log)
    command = [options.runner, "run", "--dataset", place / "rows.jsonl", "--model", f"script:{place / 'scripts'}", "--sandbox", "docker",
               "--workers", str(options.workers), "--tmpfs", str(TMPFS), "--command-timeout", f"{judge.COMMAND_TIMEOUT}s", "--no-stuck-detection",
               "--start-timeout", f"{judge.START_TIMEOUT}s", "--scratch", place / "scratch", "--out", place / "run", "--min-free-disk", "none", "--memory", "1GiB"]
    started = time.monotonic()
    with open(place / "said", "wb") as said:
        process = subprocess.Popen(list(map(str, command)), env={**CLEAN, "HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), "DOCKER_HOST": engine.host},
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    injector.start()
    try:
        early, late, outage = watch(process, place / "run", options.instances, injector.restart)
    finally:
        process.kill()
        process.wait()
        injector.end()
    seconds = time.monotonic() - started
    after, run = settled(engine, place, before), judge.Run(place / "run")
    forgotten, files_after = engine.forgotten(), descriptors(engine.process.pid)
    files_after = [name for name in files_after if not any(container in name for container in forgotten)]
    # The engine's own: of each, the process that holds it, that of its files, and where these are mounted.
    after = judge.without(after, before, {"processes": 2 * len(forgotten), "mounts": len(forgotten)})
    engine.restart()
    files_idle = descriptors(engine.process.pid)
    wrong = [f"the runner ended with {process.returncode}: {(place / 'said').read_text(errors='replace')[-2000:]}"] if process.returncode else []
    wrong += judge.attempts(run, list(expected), injector.landed, outage)
    wrong += judge.predictions(run, list(expected), place / "repository", expected) if (place / "run/predictions.jsonl").exists() else ["no predictions"]
    wrong += judge.left(before, after)
    if after["processes"] > before["processes"]:
        wrong += [f"runs: {pid} {command[:200]}" for pid, command in processes(str(place)).items()]
    wrong += [f"files of the runner: {early} early, {late} late"] * (late > early + 8)
    if len(files_after) > len(files_idle) + 8:
        wrong += [f"files of the engine: {len(files_after)}, of an idle one {len(files_idle)}", *(f"it holds {name}" for name in sorted(files_after))]
    landed = collections.Counter(kind for kind, *_ in injector.landed)
    wrong += [f"no {kind} came in time" for kind in set(injector.plan.values()) if not landed[kind]]
    wrong += ["the engine was not restarted"] * (outage is None)
    outcomes = collections.Counter(event["outcome"].get("reason") or event["outcome"]["outcome"] for event in run.ended.values())
    borne = sum(run.ended.get((instance, judge.number(attempt)), {}).get("outcome", {}).get("outcome") == "completed"
                for kind, instance, attempt, _ in injector.landed if kind in ENDING)
    print(f"instances {options.instances}, workers {options.workers}, seed {options.seed}: {seconds:.0f} s\n"
          f"faults: {', '.join(f'{count} {kind}' for kind, count in sorted(landed.items()))}; the engine was gone for "
          f"{outage[1] - outage[0] if outage else 0:.1f} s\n"
          f"attempts: {', '.join(f'{count} {name}' for name, count in sorted(outcomes.items()))}; struck after their work was done: {borne}\n"
          f"left: {', '.join(f'{what} {before[what]} → {after[what]}' for what in before)}\n"
          f"starts that the engine's kill cut off and that it forgot: {len(forgotten)}\n"
          f"open files: runner {early} early, {late} late; engine {len(files_after)}, an idle one {len(files_idle)}")
    for line in wrong[:SHOWN]:
        print(f"WRONG: {line}")
    if len(wrong) > SHOWN:
        print(f"WRONG: and {len(wrong) - SHOWN} more")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", type=Path, default=HERE.parents[1] / "target/release/runner")
    parser.add_argument("--instances", type=int, default=int(os.environ.get("SOAK_INSTANCES", "300")))
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the files of the run, after its engine has ended")
    options = parser.parse_args()
    options.runner = options.runner.resolve()
    place = Path(tempfile.mkdtemp(prefix="patchmill-soak-"))
    engine = Engine(place / "engine")
    try:
        good = soak(options, place, engine)
    finally:
        engine.end()
        if options.keep:
            print(f"kept: {place}", file=sys.stderr)
        else:
            subprocess.run(["rm", "-rf", place], check=False)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
