"""Makes what verdicts are about: logs with marks and all that can be wrong with them, lists of expected tests, runs of many instances.

The same seed gives the same cases, and no package is needed.
"""

import json
import random
import sys

# For each parser: a repository that generation 4 reads by it, whether it names failures only, and how it shows a test of each status.
KINDS = [
    ("requests", "psf/requests", False, {
        "P": ["PASSED {t}"], "F": ["FAILED {t} - assert 1 == 2", "FAILED {t}"], "E": ["ERROR {t} - ImportError: x"], "S": ["SKIPPED {t}"], "X": ["XFAIL {t} - known"]}),
    ("astropy", "astropy/astropy", False, {
        "P": ["PASSED {t}", "{t} PASSED"], "F": ["FAILED {t} - x", "{t} FAILED"], "E": ["ERROR {t}"], "S": ["SKIPPED {t}", "{t} SKIPPED"], "X": ["XFAIL {t}"]}),
    ("django", "django/django", False, {
        "P": ["{t} ... ok", "{t} ... OK"], "F": ["{t} ... FAIL", "FAIL: {t} x"], "E": ["{t} ... ERROR"], "S": ["{t} ... skipped 'why'"]}),
    ("sympy", "sympy/sympy", False, {"P": ["test_{t} ok"], "F": ["test_{t} F", "___ a.py:{t} ___"], "E": ["test_{t} E"]}),
    ("jest", "babel/babel", False, {"P": ["  \u2713 {t} (3 ms)", "  \u2713 {t}"], "F": ["  \u2715 {t}"], "S": ["  \u25cb {t}"]}),
    ("gotest", "caddyserver/caddy", False, {"P": ["--- PASS: {t} (0.01s)"], "F": ["--- FAIL: {t} (0.00s)"], "S": ["    --- SKIP: {t} (0s)"]}),
    ("cargo", "tokio-rs/tokio", False, {"P": ["test {t} ... ok"], "F": ["test {t} ... FAILED"]}),
    ("tap", "mrdoob/three.js", False, {"P": ["ok 1 {t}"], "F": ["not ok 1 {t}"]}),
    ("chart_js", "chartjs/Chart.js", True, {"F": ["Chrome 1.0 (Linux x86_64) {t} FAILED"]}),
    ("marked", "markedjs/marked", True, {"F": ["1) {t}"]}),
]

NAMES = [
    "t.py::a", "t.py::b[x]", "t.py::b[y]", "t.py::c[x y]", "t.py::c[x z]", "t.py::c[x", "t.py::d[1 - 2]", "t.py::d[[1]-[2]]", "TestOne", "TestOne/sub_1", "suite > does it",
    "na\u00efve[\u6e2c \u8a66]", "test_m (app.Tests)", "Docs of m.", "[3]", "a  b", "m::n",
]
START, END, EXIT = ">>>>> Start Test Output", ">>>>> End Test Output", ">>>>> Test Exit Code"
REFUSALS = [">>>>> Patch Apply Failed", ">>>>> Reset Failed", ">>>>> Tests Errored", ">>>>> Tests Timed Out"]
NOISE = [
    "collected 3 items", "warning: x", "", "Executed 3 of 4 SUCCESS", "Executed 0 of 0", "TOTAL: 2 SUCCESS", "TOTAL: 0 FAILED", "  12 passing (1s)", "0 passing", "Tests:       4 passed, 4 total",
    "Test Suites: 1 skipped, 2 passed, 3 total", "# tests 4", "x # tests 4", "10 specs, 0 failures", "case 'a': ok", "Killed", "not Killed", "Cannot allocate memory", "Cannot find module 'x'",
    "Could not resolve host: a.example", "Error response from daemon: x", "Failed to launch the browser", "cannot open display", "no tests ran in 0.01s", "collected 0 items",
    "\n\nTimeout error: 1800 seconds exceeded.", "Timeout error:  seconds exceeded.", "ModuleNotFoundError: No module named 'x'", "Temporary failure in name resolution", "OutOfMemoryError",
]


def results(random, forms):
    """Lines of results, with noise between them."""
    statuses = [status for status in "PPPPPFESX" if status in forms] or ["F"]
    if random.random() < 0.3:
        statuses = [status for status in statuses if status in "PSX"]
    lines = []
    for _ in range(random.choice([0, 1, 3, 6, 12]) if statuses else 0):
        lines.append(random.choice(forms[random.choice(statuses)]).replace("{t}", random.choice(NAMES)))
    for _ in range(random.choice([0, 0, 1, 2])):
        lines.insert(random.randint(0, len(lines)), random.choice(NOISE))
    return lines


def exit_line(random):
    """The line that tells the tests' exit code, as it should be and not."""
    return EXIT + random.choice([": 0", ": 1", ": 2", ": 137", ": -9", ":1", ": x", "", " : 1", ": 99999999999999999999"])


def log(random, forms):
    """A log with marks; sometimes one is missing, twice there, or in the wrong place."""
    inside, before, after = results(random, forms), random.sample(NOISE, random.choice([0, 0, 1])), []
    if random.random() < 0.25:
        (before if random.random() < 0.5 else after).extend(results(random, forms))
    start, end = [random.choice(["+ : '%s'", "%s"]) % mark for mark in (START, END)]
    kind = random.randrange(14)
    if kind == 0:
        start = "no start"
    elif kind == 1:
        end = "no end"
    elif kind == 2:
        start, end = "neither", "nor"
    elif kind == 3:
        start, end = end, start
    elif kind == 4:
        inside.insert(random.randint(0, len(inside)), START)
    elif kind == 5:
        inside.insert(random.randint(0, len(inside)), END)
    elif kind == 6:
        random.choice([before, inside, after]).append(random.choice(REFUSALS))
    elif kind == 7:
        inside = []
    if random.random() < 0.5:
        after.insert(0, exit_line(random))
    if random.random() < 0.1:
        inside.append(exit_line(random))
    text = "\n".join([*before, start, *inside, end, *after]) + random.choice(["", "\n"])
    return text.replace("\n", "\r\n") if random.random() < 0.1 else text


def expected(random):
    """A list of tests: known ones, unknown ones, ones that are cut."""
    names = [random.choice(NAMES) for _ in range(random.choice([0, 1, 1, 2, 4]))]
    return [name[:random.randint(1, len(name))] if random.random() < 0.2 else name for name in names]


def verdict(random):
    """What one verdict is given by."""
    parser, repository, fails_only, forms = random.choice(KINDS)
    return {
        "parser": parser, "repository": repository, "fail_only": fails_only, "log": log(random, forms), "fail_to_pass": expected(random), "pass_to_pass": expected(random),
        "patch_exists": random.random() > 0.03,
    }


def run(random):
    """What became of the instances of a run, each `None` (no prediction), `empty`, `resolved`, `unresolved` or `error`, and its log."""
    standings = [None, "empty", "resolved", "unresolved", "error"]
    count = random.choice([1, 2, 5, 20])
    instances = [[f"o__r-{number}", random.choice(standings), "\n".join(random.sample(NOISE, 2))] for number in random.sample(range(100), count)]
    # The summary is named after the first prediction's model, so there is one.
    instances[0][1] = instances[0][1] or "resolved"
    return instances


KINDS_OF_CASES = {"verdicts": verdict, "runs": run}


def cases(kind, count, seed):
    """Cases of a kind."""
    source = random.Random(f"{seed}:{kind}")
    make = KINDS_OF_CASES[kind]
    return [make(source) for _ in range(count)]


def main():
    """Prints the cases, one a line: `verdicts.py COUNT SEED KIND`."""
    for case in cases(sys.argv[3], int(sys.argv[1]), sys.argv[2]):
        print(json.dumps(case))


if __name__ == "__main__":
    main()
