"""Calls unmodified sites without an API through Frontdesk, over AICP and MCP: `make sites`.

Usage: trial.py FRONTDESK [django|flask ...]. Needs `pip install django flask flask-wtf`.
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
FAILED = []


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


class Trial:
    """A site and Frontdesk before it, until the end of a `with` block."""

    def __init__(self, frontdesk, name):
        self.frontdesk, self.name = frontdesk, name
        self.site, self.http, self.admin = free_port(), free_port(), free_port()
        self.folder = tempfile.TemporaryDirectory()
        text = (HERE / f"{name}.toml").read_text()
        for word, port in [("HTTP", self.http), ("ADMIN", self.admin), ("SITE", self.site)]:
            text = text.replace(f"127.0.0.1:{word}", f"127.0.0.1:{port}")
        self.config = pathlib.Path(self.folder.name) / "frontdesk.toml"
        self.config.write_text(text)

    def __enter__(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes = [subprocess.Popen([sys.executable, HERE / f"{self.name}_site.py", str(self.site)], **quiet)]
        wait_for(self.site)
        self.processes.append(subprocess.Popen([self.frontdesk, "run", "--config", self.config], **quiet))
        wait_for(self.http)
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(10)
        self.folder.cleanup()

    def call(self, path, body, **headers):
        headers = {"Content-Type": "application/json", "Authorization": "Bearer test", "Accept": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        url = f"http://127.0.0.1:{self.http}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def tool(self, name, arguments):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        return self.call("/mcp", message, Accept="application/json, text/event-stream")[1]["result"]

    def taken(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.site}/taken").read().decode()

    def live(self):
        return subprocess.run([self.frontdesk, "check", self.config, "--live"], capture_output=True, text=True, check=False)


def expect(what, found, wanted):
    fits = found == wanted
    print(f"  {'ok  ' if fits else 'FAIL'} {what}" + ("" if fits else f": {found!r}, not {wanted!r}"))
    if not fits:
        FAILED.append(what)


def django(trial):
    status, found = trial.call("/agent/search", {"q": "chair"})
    wanted = [{"title": "Red chair", "url": "/p/red-chair", "price": 129.5}, {"title": "Blue chair", "url": "/p/blue-chair", "price": 99.0}]
    expect("search", (status, found.get("items")), (200, wanted))
    expect("search without results", trial.call("/agent/search", {"q": "sofa"}), (200, {"items": []}))
    result = trial.tool("shop_search", {"q": "table"})
    expect("search over MCP", "Oak table" in json.dumps(result), True)
    message = {"email": "a@example.com", "message": "Is the red chair here?", "topic": "Prices", "copy": True}
    status, asked = trial.call("/agent/contact", message, Idempotency_Key="1")
    expect("the form asks for a confirmation", status, 428)
    token = asked["confirmation"]["token"]
    status, done = trial.call("/agent/contact", message, Idempotency_Key="1", AICP_Confirmation=token)
    expect("the form is sent, past the CSRF protection", (status, "We answer within a day" in done.get("markdown", "")), (200, True))
    again = trial.call("/agent/contact", message, Idempotency_Key="1", AICP_Confirmation=token)
    expect("one key, one submission", (again[0], trial.taken()), (200, "1"))
    wrong = {"email": "nobody", "message": "Hi there, you"}
    _, asked = trial.call("/agent/contact", wrong, Idempotency_Key="2")
    status, refused = trial.call("/agent/contact", wrong, Idempotency_Key="2", AICP_Confirmation=asked["confirmation"]["token"])
    violation = [{"pointer": "/email", "message": "Enter a valid email address."}]
    expect("the site's own words", (status, refused["error"].get("details"), trial.taken()), (422, violation, "1"))
    live = trial.live()
    expect("check --live", (live.returncode, "NO LONGER FITS" in live.stdout), (0, False))


def flask(trial):
    status, done = trial.call("/agent/book", {"name": "Zoë", "seats": 2, "cv": {"name": "a.txt", "data": "SGk="}})
    expect("the form is sent with a file", (status, trial.taken()), (200, "1 ('Zoë', 2, b'Hi')"))
    status, refused = trial.call("/agent/book", {"name": "Zoë", "seats": 20})
    taken = trial.taken().split()[0]
    expect("the site's bounds hold", (status, [v["pointer"] for v in refused["error"].get("details", [])], taken), (422, ["/seats"], "1"))
    for item, wanted in [("chair", ["chair"]), ("lamp", ["chair", "lamp"])]:
        _, basket = trial.call("/agent/basket/add", {"item": item})
        expect(f"the basket after {item}", basket.get("items"), wanted)
    expect("the basket in a third call", trial.call("/agent/basket", {})[1].get("items"), ["chair", "lamp"])
    other = trial.call("/agent/basket", {}, AICP_Session="another-conversation")[1]
    expect("another conversation has its own", other.get("items"), [])


def main():
    frontdesk, names = sys.argv[1], sys.argv[2:] or ["django", "flask"]
    for name in names:
        print(name)
        with Trial(frontdesk, name) as trial:
            {"django": django, "flask": flask}[name](trial)
    raise SystemExit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
