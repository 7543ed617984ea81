"""What the tests of containers share: podman, requests, a load that counts what failed, and the memory of a container."""

import http.client
import json
import pathlib
import subprocess
import threading
import time

SITE, FRONTDESK, REDIS = "example.com/site:1", "registry.example.com/frontdesk:0.1.0", "localhost/frontdesk-test/redis:1"
LOOPBACK = "127.0.0.1"


class Failed(Exception):
    """What was promised does not hold."""


def hold(condition, what):
    if not condition:
        raise Failed(what)


def podman(*words, stdin=None):
    done = subprocess.run(["podman", *map(str, words)], input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"podman {' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def inspect(container, template):
    return podman("inspect", "--format", template, container)


def logs(container):
    done = subprocess.run(["podman", "logs", container], capture_output=True, text=True)
    return done.stdout + done.stderr


def request(address, method, path, body=None, headers=None, seconds=30):
    """Status, headers and text of one answer, on a connection of its own."""
    connection = http.client.HTTPConnection(*address, timeout=seconds)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def get(address, path, **more):
    return request(address, "GET", path, **more)


def eventually(what, condition, seconds=30, pause=0.05):
    end = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except OSError:
            # Nothing listens there yet.
            pass
        hold(time.monotonic() < end, f"not within {seconds} s: {what}")
        time.sleep(pause)


def serves(address):
    eventually(f"{address} is ready", lambda: get(address, "/readyz")[0] == 200)


class Load:
    """Clients that ask for a page over kept connections until the end; each request that was not answered with 200
    is kept."""

    def __init__(self, address, clients=8):
        self.address, self.answered, self.failed, self.over = address, 0, [], False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.ask) for _ in range(clients)]

    def ask(self):
        connection = http.client.HTTPConnection(*self.address, timeout=10)
        while not self.over:
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
                answer.read()
                wrong = None if answer.status == 200 else str(answer.status)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                wrong = repr(error)
            with self.lock:
                self.answered += wrong is None
                self.failed += [wrong] if wrong else []
        connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join()


def memory(container):
    """The limit and the highest use that the kernel has written down for a container, in bytes; the highest is None
    where the kernel does not say (before 5.19 with control groups of version 2)."""
    path = inspect(container, "{{.State.CgroupPath}}").lstrip("/")
    one, two = pathlib.Path("/sys/fs/cgroup/memory") / path, pathlib.Path("/sys/fs/cgroup") / path
    if (one / "memory.limit_in_bytes").exists():
        limit, peak = one / "memory.limit_in_bytes", one / "memory.max_usage_in_bytes"
    else:
        limit, peak = two / "memory.max", two / "memory.peak"
    return int(limit.read_text()), int(peak.read_text()) if peak.exists() else None


def confined(container):
    """Runs as 65532 without a capability, can gain none, and its root cannot be written: as the kernel says it."""
    pid = inspect(container, "{{.State.Pid}}")
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    hold(status["Uid"].split() == ["65532"] * 4 and status["Gid"].split() == ["65532"] * 4, f"65532: {status['Uid']}")
    for kind in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
        hold(int(status[kind], 16) == 0, f"{kind} is {status[kind]}")
    hold(status["NoNewPrivs"] == "1", "it can gain no privilege")
    hold(status["Seccomp"] == "2", "its system calls are filtered")
    mounts = [line.split() for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    root = next(mount for mount in mounts if mount[4] == "/")
    hold("ro" in root[5].split(","), f"the root is read-only: {root[5]}")


def exit_code(container, seconds=60):
    eventually(f"{container} has ended", lambda: inspect(container, "{{.State.Status}}") == "exited", seconds)
    return int(inspect(container, "{{.State.ExitCode}}"))


def data(text):
    return json.loads(text)
