"""Processes on loopback, and what becomes of them: a free port, a server that is waited for, Frontdesk before it."""

import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request


class Broken(Exception):
    """The trial itself could not be made."""


class Running:
    """An application that has been started. `watch`, where there is one, is called once Frontdesk stands before it, and
    answers what is wrong."""

    def __init__(self, url, watch=None):
        self.url, self.watch = url, watch


def port():
    """A free one of five digits, so that an address is as long directly as through Frontdesk."""
    while True:
        number = random.randint(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", number))
                return number
            except OSError:
                continue


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


class Process:
    """Stopped, with all it started, when its `with` ends."""

    def __init__(self, command, directory, log, env=None):
        self.log = log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                [str(part) for part in command], cwd=directory, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, **(env or {})}, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, number)
            except ProcessLookupError:
                return
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                continue

    def ready(self, url, seconds=60):
        """Waits until it answers there; answers `url`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.child.poll() is None:
            if status(url) in (200, 302):
                return url
            time.sleep(0.2)
        tail = self.log.read_text(errors="replace")[-2000:]
        self.__exit__()
        raise Broken(f"{self.child.args[0]} does not answer at {url}:\n{tail}")


def frontdesk(binary, upstream, directory):
    """Frontdesk before `upstream` with no configuration at all. Answers (process, its address)."""
    listen, admin = port(), port()
    directory.mkdir(parents=True, exist_ok=True)
    command = [binary, "run", "--upstream", upstream, "--listen", f"127.0.0.1:{listen}",
               "--admin", f"127.0.0.1:{admin}"]
    process = Process(command, directory, directory / "frontdesk.log")
    process.ready(f"http://127.0.0.1:{admin}/readyz")
    return process, f"http://127.0.0.1:{listen}"
