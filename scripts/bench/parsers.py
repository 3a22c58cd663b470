#!/usr/bin/env python3
"""Our log parsers against the official ones, on one core, in one run; and every parser of ours on a log of 200 MB. Fails where a bar is missed.

usage: parsers.py [--conformance DIRECTORY] [--only official|big]

Run it with the Python of an environment that has `swebench` 5.0.2. Logs are real ones with official reports, as they are and with colours and
carriage returns. They are in memory; imports do not count. Both sides decode a log, parse it and judge the tests of its report. All times are
those of the processor.
"""

import argparse
import collections
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROUNDS = 7
# How many times quicker than the official parsers, and seconds for 200 MB.
QUICKER, BIG_MEGABYTES, BIG_SECONDS = 30, 200, 2.0


def coloured(log):
    """The log as a terminal would have got it."""
    for word, colour in (("PASSED", 32), ("FAILED", 31), ("... ok", 32)):
        log = log.replace(word, f"\x1b[{colour}m{word}\x1b[0m")
    return log.replace("\n", "\r\n")


def pairs(conformance):
    """Repository, log and tests of every real log with an official report."""
    for kind in ("v1-gold", "v2-official"):
        for directory in sorted(path for path in (conformance / "eval-logs" / kind).iterdir() if path.is_dir()):
            log = next(path for path in (directory / "eval.log", directory / "test_output.txt") if path.exists())
            report = next(iter(json.loads((directory / "report.json").read_text()).values()))
            tests = report["tests_status"]
            expected = {name: tests[name]["success"] + tests[name]["failure"] for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
            owner, name = directory.name.split("__", 1)
            yield f"{owner}/{name.split('-gold')[0].rsplit('-', 1)[0]}", log.read_bytes(), expected


def official_times(work):
    """Median seconds of the official harness for each log."""
    from swebench.harness.grading import get_eval_tests_report, get_resolution_status
    from swebench.harness.log_parsers.python import MAP_REPO_TO_PARSER_PY as parsers

    times = [[] for _ in work]
    for _ in range(ROUNDS):
        for (repository, log, expected), seconds in zip(work, times):
            parser = parsers[repository]
            started = time.process_time()
            text = io.TextIOWrapper(io.BytesIO(log), encoding="utf-8", errors="replace").read()
            get_resolution_status(get_eval_tests_report(parser(text, None), expected))
            seconds.append(time.process_time() - started)
    return [sorted(seconds)[ROUNDS // 2] for seconds in times], {repository: parsers[repository].__name__ for repository, _, _ in work}


def our_times(work, names, ours):
    """Median seconds of ours for each log."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lines = []
        for number, (repository, log, expected) in enumerate(work):
            path = scratch / str(number)
            path.write_bytes(log)
            lines.append(json.dumps({"parser": names[repository], "log": str(path), "fail_to_pass": expected["FAIL_TO_PASS"],
                                     "pass_to_pass": expected["PASS_TO_PASS"]}))
        (scratch / "work").write_text("\n".join(lines))
        return json.loads(subprocess.run([ours, scratch / "work"], check=True, capture_output=True, text=True).stdout)


def against_official(conformance, ours):
    """Whether ours are as much quicker as they should be."""
    plain = list(pairs(conformance))
    work = plain + [(repository, coloured(log.decode(errors="replace")).encode(), expected) for repository, log, expected in plain]
    official, names = official_times(work)
    own = our_times(work, names, ours)
    sums = collections.defaultdict(lambda: [0.0, 0.0, 0, 0])
    for number, (repository, log, _) in enumerate(work):
        kind = "plain" if number < len(plain) else "coloured"
        for key in (f"{kind} {names[repository].removeprefix('parse_log_')}", f"{kind} all"):
            one = sums[key]
            one[0] += official[number]
            one[1] += own[number]
            one[2] += len(log)
            one[3] += 1
    good = True
    for key, (theirs, ours_, size, logs) in sorted(sums.items()):
        ratio = theirs / ours_
        is_bar = key.endswith(" all")
        bar = f" (bar {QUICKER})" if is_bar else ""
        print(f"parsers  {key}: {logs} logs, {size / 1e6:.2f} MB: official {theirs * 1e3:.2f} ms, ours {ours_ * 1e3:.3f} ms, {ratio:.0f} times quicker{bar}")
        good &= not is_bar or ratio >= QUICKER
    return good


def big(ours):
    """Whether every parser of ours reads a big log in time."""
    lines = subprocess.run([ours, "--big", str(BIG_MEGABYTES)], check=True, capture_output=True, text=True).stdout.splitlines()
    slowest, good = collections.defaultdict(list), True
    for line in map(json.loads, lines):
        slowest[line["log"]].append((line["verdict"], line["map"], line["parser"]))
    for kind, times in slowest.items():
        verdict, _, parser = max(times)
        mapped, mapper = max((seconds, name) for _, seconds, name in times)
        print(f"parsers  {BIG_MEGABYTES} MB {kind}, {len(times)} parsers: slowest map {mapped:.2f} s ({mapper}) (bar {BIG_SECONDS}), "
              f"slowest verdict {verdict:.2f} s ({parser})")
        late = [f"{name} {seconds:.2f} s" for _, seconds, name in sorted(times, key=lambda one: -one[1]) if seconds >= BIG_SECONDS]
        if late:
            print(f"parsers  over the bar: {', '.join(late)}")
        good &= not late
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=pathlib.Path, default=ROOT / "target/release/examples/time_parsers")
    parser.add_argument("--conformance", type=pathlib.Path, default=ROOT.parent / "shared/conformance")
    parser.add_argument("--only", choices=("official", "big"))
    options = parser.parse_args()
    good = True
    if options.only != "big":
        good &= against_official(options.conformance, options.ours)
    if options.only != "official":
        good &= big(options.ours)
    sys.exit(not good)


if __name__ == "__main__":
    main()
