"""What happens to the containers of a soak: a seeded list of faults, each for one instance, at a seeded moment of its first attempt."""
import random
import subprocess
import threading
import time

# Share of the instances that each befalls. Where a fifth is lost, runs stop by themselves.
SHARES = {"kill": 0.05, "pause": 0.03, "nap": 0.05, "fill": 0.10}
# What may end an attempt; the others are borne.
ENDING = ("kill", "pause")
NAP = 2


class Injector(threading.Thread):
    """Watches the engine's containers and does to each what is planned for its instance."""

    def __init__(self, engine, ids, seed, log):
        super().__init__(daemon=True)
        self.engine, self.log = engine, log
        self.random = random.Random(seed)
        self.plan = self.planned(ids)
        self.seen, self.spare, self.landed = set(), [], []
        self.lock, self.over, self.quiet = threading.Lock(), threading.Event(), threading.Event()
        self.strikes = []

    def planned(self, ids):
        kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(share * len(ids))))]
        self.random.shuffle(kinds)
        # One in each stretch, since a run stops by itself when too many of its first instances are lost. The last tenth is spared, so that what comes too
        # late for one can befall another.
        stretch = len(ids) * 9 / 10 / len(kinds)
        return {ids[int(stretch * (number + self.random.random()))]: kind for number, kind in enumerate(kinds)}

    def run(self):
        while not self.over.wait(0.2):
            if self.quiet.is_set():
                continue
            try:
                containers = self.engine.containers()
            except (subprocess.SubprocessError, OSError):
                continue
            for name, instance, attempt in containers:
                if instance and instance not in self.seen:
                    self.seen.add(instance)
                    kind = self.plan.get(instance) or self.next_spare()
                    if kind:
                        delay = self.random.uniform(0, 4)
                        strike = threading.Thread(target=self.strike, args=(kind, name, instance, attempt, delay), daemon=True)
                        strike.start()
                        self.strikes.append(strike)

    def next_spare(self):
        with self.lock:
            return self.spare.pop() if self.spare else None

    def strike(self, kind, name, instance, attempt, delay):
        time.sleep(delay)
        try:
            landed = not self.quiet.is_set() and self.do(kind, name)
        except subprocess.SubprocessError as problem:
            self.log(f"{kind} of {name}: {problem}")
            landed = False
        with self.lock:
            if landed:
                self.landed.append((kind, instance, attempt, landed))
            else:
                self.spare.append(kind)

    def do(self, kind, name):
        """Does it; when it was done, in seconds since the epoch, or nothing where the container was not there any more."""
        done = lambda *arguments: self.engine.docker(*arguments, check=False, timeout=30).returncode == 0
        now = time.time()
        if kind == "kill":
            return now if done("kill", name) else None
        if kind == "pause":
            return now if done("pause", name) else None
        if kind == "nap":
            if not done("pause", name):
                return None
            time.sleep(NAP)
            done("unpause", name)
            return now
        said = self.engine.docker("exec", name, "sh", "-c", "cat /dev/zero > /tmp/flood", check=False, timeout=30)
        return now if "No space left" in said.stderr else None

    def restart(self):
        """Kills the engine and starts it again; seconds since the epoch of both."""
        self.quiet.set()
        killed = time.time()
        self.engine.kill()
        time.sleep(NAP)
        self.engine.start()
        self.quiet.clear()
        return killed, time.time()

    def end(self):
        self.over.set()
        self.join()
        for strike in self.strikes:
            strike.join()
