"""What a soak must have come to."""
import collections
import datetime
import json
import subprocess

from faults import ENDING

# The deadlines of commands and of starts, how much later a command may end, and what it takes to find out that the container is to blame and to remove it.
COMMAND_TIMEOUT, START_TIMEOUT, GRACE, DETECTION = 10, 60, 2, 8
LOSSES = ("environment:lost", "environment:start")


class Run:
    """A run directory as its journal tells it."""

    def __init__(self, out):
        self.out = out
        text = "".join(path.read_text() for path in sorted(out.glob("writers/*/journal.jsonl")))
        self.events = [json.loads(line) for line in text.splitlines()]
        self.began = {key(event): when(event) for event in self.events if event["event"] == "attempt_started"}
        self.ready = {key(event): when(event) for event in self.events if event["event"] == "sandbox_ready"}
        self.ended = {key(event): event for event in self.events if event["event"] == "attempt_finished"}

    def deadline(self, which, at):
        """By when an attempt whose container was paused for good at that moment has to have ended: a start may use up its time, a command its own."""
        ready = self.ready.get(which)
        if ready is None or at < ready:
            return "a start", max(self.began[which], at) + START_TIMEOUT + DETECTION
        return "a command", at + COMMAND_TIMEOUT + GRACE + DETECTION

    def warnings(self):
        return [event["message"] for event in self.events if event["event"] == "warning"]

    def predictions(self):
        return [json.loads(line) for line in (self.out / "predictions.jsonl").read_text().splitlines()]


def key(event):
    return event["key"]["instance_id"], event["key"]["attempt"]


def when(event):
    return datetime.datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp()


def attempts(run, ids, landed, outage):
    """Every attempt ended in the class of what befell it, and every instance was tried until it completed."""
    wrong = []
    befell = {(instance, number(attempt)): (kind, at) for kind, instance, attempt, at in landed}
    for which, event in run.ended.items():
        outcome, ended = event["outcome"], when(event)
        kind, at = befell.get(which, ("nothing", None))
        name = outcome["outcome"]
        if name == "failed":
            through = outage and run.began[which] <= outage[1] and ended >= outage[0]
            # The engine starts no program in a container that is paused.
            asleep = kind == "nap" and "is paused" in outcome["message"]
            if outcome["reason"] not in LOSSES or not (kind in ENDING or asleep or through):
                wrong.append(f"{which} failed as {outcome['reason']} after {kind}: {outcome['message']}")
        elif name != "completed":
            wrong.append(f"{which} ended as {outcome}")
        if kind == "pause" and not (outage and at <= outage[1]):
            during, deadline = run.deadline(which, at)
            if ended > deadline:
                wrong.append(f"{which} went on for {ended - at:.1f} s after a pause during {during}, {ended - deadline:.1f} s too long")
    last = collections.defaultdict(list)
    for instance, attempt in run.ended:
        last[instance].append(attempt)
    for instance in ids:
        if not last[instance] or run.ended[instance, max(last[instance])]["outcome"]["outcome"] != "completed":
            wrong.append(f"{instance} was not tried until it completed: attempts {last[instance]}")
    return wrong


def number(attempt):
    """2 of `s1-a2`."""
    return int(attempt.rsplit("a", 1)[-1])


def predictions(run, ids, repository, expected):
    """One prediction for each instance, and its patch makes of the repository what its agent made of it."""
    found = run.predictions()
    if sorted(prediction["instance_id"] for prediction in found) != sorted(ids):
        return [f"{len(found)} predictions are not those of {len(ids)} instances"]
    wrong = []
    for prediction in found:
        files = applied(repository, prediction["model_patch"])
        if files != expected[prediction["instance_id"]]:
            wrong.append(f"the patch of {prediction['instance_id']} makes {files}")
    return wrong


def applied(repository, patch):
    """The files of the repository with a patch."""
    index = repository / ".git/soak-index"
    index.unlink(missing_ok=True)
    git = lambda *arguments, text=None: subprocess.run(
        ["git", "-C", repository, *arguments], input=text, env={"GIT_INDEX_FILE": str(index), "PATH": "/usr/bin:/bin"}, check=True, capture_output=True, text=True).stdout
    git("read-tree", "HEAD")
    try:
        git("apply", "--cached", text=patch)
    except subprocess.CalledProcessError as problem:
        return problem.stderr
    return {name: git("show", f":{name}") for name in git("ls-files").splitlines()}


def left(before, after):
    """What there is more of than before, by kind: (what, more)."""
    return [f"{what}: {before[what]} before, {after[what]} after" for what in before if after[what] > before[what]]


def without(after, before, ours):
    """The count after, without what is not the runner's; what was there before stays."""
    return {what: max(min(number, before[what]), number - ours.get(what, 0)) for what, number in after.items()}
