#!/usr/bin/env python3
"""The runner's own cost, as ratios against floors measured in the same run.

Every comparison interleaves the runner and its floor and takes medians. The floor of a batch is, for each instance, `git clone`, the same
commands in one bash, and `git diff`, driven from C with the same concurrency (floor.c). The latency bound is
ceil(instances / workers) x calls x latency; it takes a machine for granted whose processors are idle, so the floor is also measured waiting as long
for each answer: what it needs beyond the bound no runner can save here. The commands print less than 2 KB each unless a scenario says otherwise.

What misses its bar is named once more at the end, and then the exit code is 1.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import docker_floor

HERE = Path(__file__).resolve().parent
BASE, IMAGE = "patchmill-base:bookworm", "patchmill-bench:1"
CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(directory, *arguments):
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
           for key, value in (("NAME", "bench"), ("EMAIL", "bench@example.invalid"), ("DATE", "2024-01-01T00:00:00Z"))}
    done = subprocess.run(["git", "-C", str(directory), *arguments], env={**CLEAN, **who}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_instances(directory, count):
    """Tiny repositories and their dataset: five modules of twelve functions each, one commit."""
    rows = []
    for number in range(count):
        name = f"bench__tiny-{number:04d}"
        repository = directory / "repos" / name
        (repository / "pkg").mkdir(parents=True)
        for module in range(5):
            functions = [f"def function_{module}_{k}(a, b):\n    \"\"\"Add {k}.\"\"\"\n    return a + b + {k}\n" for k in range(12)]
            (repository / "pkg" / f"mod{module}.py").write_text("\n\n".join(functions))
        (repository / "README.md").write_text(f"# {name}\n")
        git(repository, "init", "-q", "-b", "main")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", "base")
        rows.append({"instance_id": name, "repo": name.replace("__", "/"), "base_commit": git(repository, "rev-parse", "HEAD"),
                     "problem_statement": "Add a comment to pkg/mod1.py."})
    for size in (1, count):
        (directory / f"rows-{size}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:size]))
    return sorted((directory / "repos").iterdir())


def make_image(directory, repository):
    """An image with one of the tiny repositories at /testbed, and the rows of a dataset whose instances all start from it."""
    context = directory / "image"
    shutil.copytree(repository, context / "testbed")
    (context / "Dockerfile").write_text(f"FROM {BASE}\nCOPY testbed /testbed\nWORKDIR /testbed\n")
    subprocess.run(["docker", "build", "-q", "-t", IMAGE, context], env={**CLEAN, "DOCKER_BUILDKIT": "0"}, check=True, stdout=subprocess.DEVNULL)
    commit = git(repository, "rev-parse", "HEAD")
    for count in (24, 40, 64):
        rows = [{"instance_id": f"bench__docker-{number:04d}", "repo": "bench/docker", "base_commit": commit, "image": IMAGE, "workdir": "/testbed",
                 "problem_statement": "Add a comment to pkg/mod1.py."} for number in range(count)]
        (directory / f"docker-{count}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


class Stub:
    """The stub model server, for as long as the benchmark runs."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, HERE / "stub_model.py"], stdout=subprocess.PIPE, text=True)
        self.address = f"http://127.0.0.1:{self.process.stdout.readline().strip()}/v1"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Bars:
    """What has to hold, and what did not."""

    def __init__(self):
        self.missed = []

    def at_most(self, what, value, bar):
        """The bar as it is printed beside the value."""
        return self.hold(what, value, f"bar {bar:g}", value <= bar)

    def at_least(self, what, value, bar):
        return self.hold(what, value, f"bar {bar:g}", value >= bar)

    def hold(self, what, value, bar, held):
        if not held:
            self.missed.append(f"{what}: {value:.3g} ({bar})")
        return bar if held else f"{bar}: MISSED"


class Bench:
    def __init__(self, runner, scratch, stub, repeats, bars):
        self.runner, self.scratch, self.stub, self.repeats, self.bars = runner, scratch, stub, repeats, bars
        self.round_trips = runner.parent / "examples/round_trips"
        self.repositories = make_instances(scratch, 128)
        self.floor_program = scratch / "floor"
        subprocess.run(["gcc", "-O2", "-o", self.floor_program, HERE / "floor.c"], check=True)

    def floor(self, instances, workers, steps, latency=0, output=0):
        """Wall and processor seconds of the floor."""
        commands = self.scratch / "commands"
        commands.write_text("\n".join(self.commands(steps, output)) + "\n")
        clones = self.scratch / "clones"
        clones.mkdir()
        done = subprocess.run([self.floor_program, str(workers), str(latency), commands, clones, *self.repositories[:instances]],
                              env=CLEAN, check=True, capture_output=True, text=True)
        shutil.rmtree(clones)
        return tuple(map(float, done.stdout.split()))

    def run(self, instances, workers, steps, latency=0, output=0, keep=False, sandbox="local"):
        """Wall seconds, processor seconds of everything it started, and the runner's own peak resident bytes."""
        out = self.scratch / "run"
        rows = self.scratch / f"{'rows' if sandbox == 'local' else sandbox}-{instances}.jsonl"
        arguments = [self.runner, "run", "--dataset", rows, "--repos", self.scratch / "repos",
                     "--model", f"openai:stub-s{steps}-l{latency}-o{output}", "--base-url", self.stub.address, "--sandbox", sandbox,
                     "--workers", str(workers), "--max-steps", str(steps + 10), "--no-stuck-detection", "--no-must-patch", "--out", out, "--format", "json"]
        start, cpu_before = time.monotonic(), self.children_cpu()
        process = subprocess.Popen(list(map(str, arguments)), env={**CLEAN, "OPENAI_API_KEY": "unused"}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        peak = 0
        with open(f"/proc/{process.pid}/status", "rb", buffering=0) as status:
            while process.poll() is None and (latency or sandbox != "local"):
                status.seek(0)
                try:
                    peak = max(peak, *(int(line.split()[1]) * 1024 for line in status.read().splitlines() if line.startswith(b"VmHWM")), 0)
                except (OSError, TypeError):
                    break
                time.sleep(0.02)
        stdout, stderr = process.communicate()
        wall = time.monotonic() - start
        cpu = self.children_cpu() - cpu_before
        summary = json.loads(stdout) if stdout.strip() else {}
        if process.returncode or summary.get("outcomes", {}).get("completed") != instances:
            sys.exit(f"the runner ended with {process.returncode}: {summary}\n{stderr.decode(errors='replace')[-3000:]}")
        if not keep:
            shutil.rmtree(out)
        return wall, cpu, peak

    @staticmethod
    def children_cpu():
        """Processor seconds of every process that was started and has ended."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def against_floor(self, instances, workers, steps, latency=0):
        """Medians of interleaved repeats: runner wall and processor seconds and peak bytes, floor wall and processor seconds."""
        rows = [(*self.run(instances, workers, steps, latency), *self.floor(instances, workers, steps, latency)) for _ in range(self.repeats)]
        return [statistics.median(column) for column in zip(*rows)]

    def containers(self):
        """Batches in containers against the same work straight through the engine's socket, and single commands against execs."""
        make_image(self.scratch, self.repositories[0])
        for instances in (24, 40):
            commands = self.commands(20)
            rows = []
            for _ in range(self.repeats):
                wall, _, peak = self.run(instances, 8, 20, sandbox="docker")
                rows.append((wall, peak, docker_floor.batch(IMAGE, instances, 8, commands)))
            wall, peak, floor = (statistics.median(column) for column in zip(*rows))
            bar = self.bars.at_most(f"docker, {instances} instances against the floor", wall / floor, 1.3)
            print(f"docker   {instances} x 20 steps, 8 workers, no latency: {wall:.2f} s wall; floor {floor:.2f} s: ratio {wall / floor:.2f} ({bar}); "
                  f"runner's peak memory {peak / 2**20:.1f} MiB", flush=True)
        _, _, peak = self.run(64, 64, 20, latency=1500, sandbox="docker", keep=True)
        live = most_at_once(self.scratch / "run")
        shutil.rmtree(self.scratch / "run")
        stood = self.bars.at_least("docker, sandboxes at once", live, 64)
        bar = self.bars.at_most("docker, the runner's MiB of memory with 64 sandboxes", peak / 2**20, 60)
        print(f"docker   64 x 20 steps, 64 workers, 1500 ms: {live} sandboxes at once ({stood}); runner's peak memory {peak / 2**20:.1f} MiB ({bar})", flush=True)
        for name, program in ((":", ["sh", "-c", ":"]), ("/bin/true", ["/bin/true"])):
            self.round_trip(name, program)

    def round_trip(self, name, program):
        """A command in a sandbox's shell against an exec of it through the engine's API, in turns."""
        ours, execs = [], []
        for _ in range(self.repeats):
            done = subprocess.run([self.round_trips, IMAGE, name, "200"], env=CLEAN, check=True, capture_output=True, text=True)
            ours.append(float(done.stdout))
            execs += docker_floor.execs(IMAGE, program, 40)
        ours, execs = statistics.median(ours) * 1000, statistics.median(execs) * 1000
        bar = self.bars.at_least(f"docker, `{name}` in a shell, times quicker than an exec", execs / ours, {":": 100, "/bin/true": 20}[name])
        print(f"docker   `{name}` in a shell: {ours:.3f} ms; an exec through the API: {execs:.1f} ms: {execs / ours:.0f} times quicker ({bar})", flush=True)

    def commands(self, steps, output=0):
        """The commands that the stub's model asks for."""
        done = subprocess.run([sys.executable, HERE / "stub_model.py", "--commands", str(steps), str(output)], check=True, capture_output=True, text=True)
        return done.stdout.splitlines()


def most_at_once(run):
    """The most sandboxes that stood at the same time."""
    live, most = set(), 0
    for line in (run / "writers/w1/journal.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "sandbox_ready":
            live.add(event["key"]["instance_id"])
        elif event["event"] == "attempt_finished":
            live.discard(event["key"]["instance_id"])
        most = max(most, len(live))
    return most


def step_gaps(trajectory):
    """Milliseconds between each reply and the request after it: what a step costs beside the model."""
    replied, gaps = None, []
    for line in trajectory.read_text().splitlines()[1:]:
        record = json.loads(line)
        event = record["event"]
        name = event if isinstance(event, str) else next(iter(event))
        if name == "replied":
            replied = record["at"]
        elif name == "asked" and replied is not None:
            gaps.append(record["at"] - replied)
            replied = None
    return gaps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", type=Path, default=HERE.parents[1] / "target/release/runner")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="comma-separated scenarios: start,single,batch,latency,long,docker")
    options = parser.parse_args()
    chosen = set(filter(None, options.only.split(",")))
    wanted = lambda name: not chosen or name in chosen
    bars = Bars()
    with tempfile.TemporaryDirectory(prefix="patchmill-bench-") as scratch, Stub() as stub:
        bench = Bench(options.runner, Path(scratch), stub, options.repeats, bars)
        if wanted("start"):
            for flag in ("--version", "--help"):
                times = []
                for _ in range(20):
                    start = time.monotonic()
                    subprocess.run([options.runner, flag], stdout=subprocess.DEVNULL, check=True)
                    times.append((time.monotonic() - start) * 1000)
                took = statistics.median(times)
                print(f"start    {flag}: {took:.1f} ms ({bars.at_most(f'start, ms of {flag}', took, 10)})", flush=True)
        if wanted("single"):
            wall, cpu, _, floor_wall, floor_cpu = bench.against_floor(1, 1, 50)
            added, added_cpu = (wall - floor_wall) * 20, (cpu - floor_cpu) * 20
            print(f"single   1 x 50 steps, no latency: {wall:.3f} s wall, {cpu:.3f} s cpu; floor {floor_wall:.3f} s, {floor_cpu:.3f} s; "
                  f"added a step: {added:.2f} ms wall ({bars.at_most('single, ms added a step', added, 2)}), "
                  f"{added_cpu:.2f} ms cpu ({bars.at_most('single, ms of processor added a step', added_cpu, 1)})", flush=True)
        if wanted("batch"):
            wall, cpu, _, floor_wall, floor_cpu = bench.against_floor(128, 64, 20)
            bar = bars.at_most("batch, against the floor", wall / floor_wall, 1.5)
            print(f"batch    128 x 20 steps, 64 workers, no latency: {wall:.2f} s wall, {cpu:.2f} s cpu; floor {floor_wall:.2f} s, "
                  f"{floor_cpu:.2f} s; ratio {wall / floor_wall:.2f} ({bar})", flush=True)
        if wanted("latency"):
            wall, cpu, peak, floor_wall, floor_cpu = bench.against_floor(128, 64, 20, latency=200)
            bound = 2 * 21 * 0.2
            bar = bars.at_most("latency, against the bound", wall / bound, 1.13)
            memory = bars.at_most("latency, the runner's MiB of memory", peak / 2**20, 60)
            print(f"latency  128 x 20 steps, 64 workers, 200 ms: {wall:.2f} s wall, {cpu:.2f} s cpu; bound {bound:.2f} s; ratio {wall / bound:.3f} ({bar}); "
                  f"floor that waits as long {floor_wall:.2f} s, {floor_cpu:.2f} s: ratio {wall / floor_wall:.3f}; "
                  f"runner's peak memory {peak / 2**20:.1f} MiB ({memory})", flush=True)
        if wanted("long"):
            wall, cpu, _ = bench.run(1, 1, 500, output=10000, keep=True)
            gaps = step_gaps(next((bench.scratch / "run/instances").glob("*/*/trajectory.jsonl")))
            first, last = statistics.mean(gaps[10:110]), statistics.mean(gaps[-100:])
            bar = bars.at_most("long, the last hundred steps against the first", last / first, 1.5)
            print(f"long     1 x 500 steps of 10 KB: {wall:.2f} s wall, {cpu:.2f} s cpu; a step beside the model: first hundred {first:.2f} ms, "
                  f"last hundred {last:.2f} ms; ratio {last / first:.2f} ({bar})", flush=True)
        if wanted("docker"):
            if not subprocess.run(["docker", "image", "inspect", BASE], capture_output=True).returncode:
                bench.containers()
            elif "docker" in chosen:
                sys.exit(f"there is no image {BASE} here: `make images` makes it")
            else:
                print(f"docker   skipped: there is no image {BASE} here (`make images` makes it)", flush=True)
    for miss in bars.missed:
        print(f"missed: {miss}", file=sys.stderr)
    return 1 if bars.missed else 0


if __name__ == "__main__":
    sys.exit(main())
