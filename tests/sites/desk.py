"""A site, Frontdesk before it, and agents that call: what every trial of this folder uses."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
# The packages from npm: see `run`.
NODE_PATH = HERE.parent.parent / "target/sites/node_modules"
FAILED = []
LISTEN = """[listen]
http = "127.0.0.1:HTTP"
admin = "127.0.0.1:ADMIN"
[content]
concierge = false
[[auth.api_keys]]
name = "trial"
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" # of "test"
rate_limit = "1000/minute"
[rate_limits]
actions = "1000/minute"
"""
AGTP = """
[agtp]
server_id = "agents.example.com"
"""


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def wait_for(port):
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


def command(file, port):
    """How a site of this folder is started."""
    return [sys.executable if file.endswith(".py") else "node", HERE / file, str(port)]


class Trial:
    """A site and Frontdesk before it, until the end of a `with` block.

    `site` is a file of this folder that is started with a port, or the address of a site that runs. `config` is text
    with 127.0.0.1:HTTP, 127.0.0.1:ADMIN and 127.0.0.1:SITE, or makes such text of the address of the running site.
    """

    def __init__(self, frontdesk, site, config):
        self.frontdesk, self.site, self.config_text = frontdesk, site, config
        self.http, self.admin = free_port(), free_port()
        self.folder = tempfile.TemporaryDirectory()
        self.config = pathlib.Path(self.folder.name) / "frontdesk.toml"
        self.log = pathlib.Path(self.folder.name) / "frontdesk.log"
        self.processes = []

    def __enter__(self):
        if self.site.startswith("http"):
            self.url = self.site
        else:
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            self.start(command(self.site, port), subprocess.DEVNULL)
            wait_for(port)
        try:
            text = self.config_text if isinstance(self.config_text, str) else self.config_text(self.url)
            if "[agtp]" not in text:
                text += AGTP
            for word, where in [("HTTP", self.http), ("ADMIN", self.admin), ("SITE", self.url.rpartition(":")[2])]:
                text = text.replace(f"127.0.0.1:{word}", f"127.0.0.1:{where}")
            self.config.write_text(text)
            with self.log.open("w") as log:
                self.start([self.frontdesk, "run", "--config", self.config], log)
            wait_for(self.http)
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, what, log):
        env = {**os.environ, "NODE_PATH": str(NODE_PATH)}
        self.processes.append(subprocess.Popen(what, stdout=log, stderr=log, env=env))

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(10)
        if os.environ.get("TRIAL_LOG") and self.log.exists():
            print(self.log.read_text(), file=sys.stderr)
        self.folder.cleanup()

    def call(self, path, body, **headers):
        headers = {"Content-Type": "application/json", "Authorization": "Bearer test", "Accept": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        headers = {name: value for name, value in headers.items() if value is not None}
        url = f"http://127.0.0.1:{self.http}{path}"
        request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def confirmed(self, path, body, key):
        """The action, asked for and then confirmed: the status of the question, and the answer."""
        asked, question = self.call(path, body, Idempotency_Key=key)
        token = question.get("confirmation", {}).get("token", "")
        return asked, *self.call(path, body, Idempotency_Key=key, AICP_Confirmation=token)

    def tool(self, name, arguments, **meta):
        params = {"name": name, "arguments": arguments} | ({"_meta": meta} if meta else {})
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self.call("/mcp", message, Accept="application/json, text/event-stream")[1]
        return answer.get("result", answer)

    def data(self, name, arguments):
        """The data that a tool answers with."""
        result = self.tool(name, arguments).get("structuredContent", {})
        return result.get("response", {}).get("payload", {}).get("data", result)

    def confirmed_tool(self, name, arguments, key):
        """The same over MCP: whether there was a question, and the result."""
        asked = self.tool(name, arguments, idempotency_key=key)
        token = asked.get("_meta", {}).get("confirmation", "")
        return asked.get("isError"), self.tool(name, arguments | {"confirmation": token}, idempotency_key=key)

    def taken(self):
        return urllib.request.urlopen(f"{self.url}/taken").read().decode()

    def live(self):
        return checked(self.frontdesk, self.config, "--live")


def checked(frontdesk, file, *options):
    return subprocess.run([frontdesk, "check", file, *options], capture_output=True, text=True, check=False)


def imported(frontdesk, what, url):
    """What `frontdesk import` writes, with addresses to listen on and a key; `check` has to find it fine."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "frontdesk.toml"
        done = subprocess.run([frontdesk, "import", what, url, "--write", file], capture_output=True, text=True, check=False)
        expect(f"import {what}", done.returncode, 0)
        if done.returncode:
            raise SystemExit(done.stderr)
        check = checked(frontdesk, file)
        expect("check finds it fine", check.returncode, 0)
        return LISTEN + file.read_text()


def expect(what, found, wanted):
    fits = found == wanted
    print(f"  {'ok  ' if fits else 'FAIL'} {what}" + ("" if fits else f": {found!r}, not {wanted!r}"), flush=True)
    if not fits:
        FAILED.append(what)


def finish():
    raise SystemExit(1 if FAILED else 0)
