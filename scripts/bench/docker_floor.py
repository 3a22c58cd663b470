"""The floor of a batch in containers: what any runner must spend on this engine.

For each instance: create, attach, start, the given commands in that one bash, the repository sealed and compared by its own git, forced removal.
Spoken over the engine's socket, since each start of the `docker` program costs as much as a container's. The network is `none`, as the runner has it:
`NetworkDisabled` would save the engine two starts of itself (about 70 ms of a processor), but leaves a container in which `localhost` is no name.
"""
import http.client
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

SOCKET = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
SEAL = ("git remote | xargs -r -n1 git remote remove; git for-each-ref --format='delete %(refname)' | git update-ref --stdin; "
        "git reflog expire --expire=now --all; git gc -q --prune=now")
DIFF = "git add -A && git diff --cached HEAD"


class Engine(http.client.HTTPConnection):
    """One connection to the engine."""

    def __init__(self):
        super().__init__("engine", timeout=120)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(SOCKET)

    def call(self, method, path, body=None, good=(200, 201, 204)):
        """The answer of one request, decoded."""
        self.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = self.getresponse()
        content = answer.read()
        if answer.status not in good:
            raise RuntimeError(f"{method} {path}: {answer.status} {content.decode(errors='replace').strip()}")
        return json.loads(content) if content[:1] in (b"{", b"[") else None

    def stream(self, path, body=None):
        """The raw stream that a request turns its connection into."""
        content = json.dumps(body).encode() if body is not None else b""
        self.connect()
        self.sock.sendall(f"POST {path} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(content)}\r\n\r\n".encode() + content)
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.sock.recv(1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(f"{path}: {head.decode(errors='replace')}")
        return self.sock


class Frames:
    """Output of a stream whose frames are told apart by headers."""

    def __init__(self, sock):
        self.sock, self.raw, self.output = sock, bytearray(), bytearray()

    def until(self, marker):
        """Reads until the output ends with `marker`."""
        while not self.output.endswith(marker):
            got = self.sock.recv(1 << 16)
            if not got:
                raise RuntimeError("the container went away")
            self.raw += got
            while len(self.raw) >= 8:
                length = int.from_bytes(self.raw[4:8], "big")
                if len(self.raw) < 8 + length:
                    break
                self.output += self.raw[8:8 + length]
                del self.raw[:8 + length]
            del self.output[:-256]


def one(image, commands, latency, starting):
    """The life of one container."""
    engine = Engine()
    with starting:
        created = engine.call("POST", "/containers/create", {
            "Image": image, "Entrypoint": ["bash", "--noprofile", "--norc"], "Cmd": [], "WorkingDir": "/testbed", "OpenStdin": True, "StdinOnce": True,
            "AttachStdin": True, "AttachStdout": True, "AttachStderr": True,
            "HostConfig": {"NetworkMode": "none", "LogConfig": {"Type": "none"}}})["Id"]
        sock = Engine().stream(f"/containers/{created}/attach?stream=1&stdin=1&stdout=1&stderr=1")
        engine.call("POST", f"/containers/{created}/start")
        frames = Frames(sock)
        ask(sock, frames, ":", "up")
    ask(sock, frames, SEAL, "seal")
    for number, command in enumerate(commands):
        time.sleep(latency)
        ask(sock, frames, command, number)
    time.sleep(latency)
    ask(sock, frames, DIFF, "diff")
    sock.close()
    engine.call("DELETE", f"/containers/{created}?force=1")


def ask(sock, frames, command, name):
    """Runs one command in the attached shell."""
    sock.sendall(f"{{ {command}; }} </dev/null 2>&1; printf '\\n@@%d@@{name}@@\\n' $?\n".encode())
    frames.until(f"@@{name}@@\n".encode())


def batch(image, instances, workers, commands, latency=0.0, starts=os.cpu_count()):
    """Wall seconds of a batch."""
    starting = threading.Semaphore(starts)
    start = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(one, image, commands, latency, starting) for _ in range(instances)]:
            done.result()
    return time.monotonic() - start


def execs(image, command, count):
    """Seconds of each `count` execs of a program through the API in one container, exit code included."""
    engine = Engine()
    created = engine.call("POST", "/containers/create", {"Image": image, "Cmd": ["sleep", "600"], "HostConfig": {"NetworkMode": "none"}})["Id"]
    engine.call("POST", f"/containers/{created}/start")
    times = []
    try:
        for _ in range(count):
            start = time.monotonic()
            made = engine.call("POST", f"/containers/{created}/exec", {"Cmd": command, "AttachStdout": True, "AttachStderr": True})["Id"]
            sock = Engine().stream(f"/exec/{made}/start", {"Detach": False, "Tty": False})
            while sock.recv(1 << 16):
                pass
            sock.close()
            engine.call("GET", f"/exec/{made}/json")
            times.append(time.monotonic() - start)
    finally:
        engine.call("DELETE", f"/containers/{created}?force=1")
    return times
