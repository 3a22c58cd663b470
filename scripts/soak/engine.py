"""A Docker engine of the soak's own: killed and started again, and nobody else notices."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

LIMIT = 120
# The process of a container's own that the engine starts first.
SHIM = re.compile(r"containerd-shim\S* .*-id ([0-9a-f]{64}) ")


class Engine:
    """dockerd with its own socket, storage and containerd; no network, and no images but those that are loaded."""

    def __init__(self, directory):
        self.directory = directory
        self.host = f"unix://{directory}/docker.sock"
        self.process = None
        self.driver = subprocess.run(["docker", "info", "--format", "{{.Driver}}"], check=True, capture_output=True, text=True).stdout.strip()
        directory.mkdir()
        (directory / "daemon.json").write_text("{}")

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOCKER_")}
        return {**kept, "DOCKER_HOST": self.host}

    def start(self):
        """Starts it and waits until it answers; after a kill its containerd may still be on its way out, so more than once."""
        until = time.monotonic() + LIMIT
        while True:
            self.launch()
            while self.process.poll() is None and time.monotonic() < until:
                if self.docker("version", check=False).returncode == 0:
                    return
                time.sleep(0.1)
            if time.monotonic() >= until:
                raise RuntimeError(f"dockerd does not answer: {self.log()}")

    def launch(self):
        # A directory may have a name that containerd takes for no namespace.
        at, name = self.directory, f"soak-{os.getpid()}"
        with open(at / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["dockerd", "--config-file", at / "daemon.json", "--data-root", at / "data", "--exec-root", at / "exec", "--pidfile", at / "pid",
                 "--host", self.host, "--storage-driver", self.driver, "--bridge=none", "--iptables=false", "--ip6tables=false",
                 "--containerd-namespace", name, "--containerd-plugins-namespace", f"{name}-plugins"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    def log(self):
        return " / ".join((self.directory / "log").read_text(errors="replace").splitlines()[-5:])

    def docker(self, *arguments, check=True, timeout=60, stdin=subprocess.DEVNULL):
        """What the command line says that is spoken to this engine."""
        return subprocess.run(["docker", *arguments], env=self.environment(), check=check, capture_output=True, text=True, timeout=timeout, stdin=stdin)

    def load(self, image):
        saving = subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE)
        self.docker("load", stdin=saving.stdout, timeout=300)
        if saving.wait():
            raise RuntimeError(f"{image} cannot be saved: `make images` makes it")

    def kill(self):
        """As a crash would: what it ran is left alone until it starts again."""
        self.process.kill()
        self.process.wait()

    def containers(self):
        """(name, instance, attempt) of its containers that run."""
        line = '{{.Names}}\t{{.Label "patchmill.instance"}}\t{{.Label "patchmill.attempt"}}'
        return [tuple(line.split("\t")) for line in self.docker("ps", "--format", line).stdout.splitlines()]

    def restart(self):
        """Ends it in order and starts it again."""
        self.process.terminate()
        self.process.wait(LIMIT)
        self.start()

    def forgotten(self):
        """Containers of which a process still runs, and which it does not know any more: a start that its kill cut off is one that it never ends."""
        known = set(self.docker("ps", "--all", "--quiet", "--no-trunc").stdout.split())
        shims = (SHIM.search(command) for command in processes(str(self.directory)).values())
        return {found[1] for found in shims if found} - known

    def end(self):
        """Ends it with all that belongs to it, whatever state it is in."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        for pid in processes(str(self.directory)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        thaw()
        for point in sorted(mounts(self.directory), reverse=True):
            subprocess.run(["umount", "--lazy", point], check=False)


def processes(part):
    """Processes that were started with `part` in their command line, but for this one."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if part in command:
                found[int(entry.name)] = command
    return found


def thaw():
    """Lets what was paused meet its end."""
    for state in Path("/sys/fs/cgroup/freezer").glob("docker/*/freezer.state"):
        if state.read_text().strip() == "FROZEN":
            state.write_text("THAWED")


def mounts(directory):
    """Mount points below a directory."""
    points = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point.startswith(f"{directory}/")]


def descriptors(pid):
    """What a process has open; nothing where it has ended."""
    found = []
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                found.append(os.readlink(entry))
            except OSError:
                pass
    except OSError:
        pass
    return found
