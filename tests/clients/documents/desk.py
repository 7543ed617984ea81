"""Frontdesk before a site that only notes what it is asked: imports a document, checks it, runs it, and calls it."""

import email
import hashlib
import json
import re
import subprocess
import threading
import time
import tomllib
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from serialize import text

KEY = "documents-only"


class Site:
    """Notes the last request and answers `{}`."""

    def __init__(self):
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if self.headers.get("User-Agent") == "frontdesk":
                    site.asked.append((self.command, self.path, dict(self.headers), body))
                self.send_response(200 if self.headers.get("User-Agent") == "frontdesk" else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}" if self.command != "HEAD" else b"")

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = answer

            def log_message(self, *_):
                pass

        self.asked = []

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                """A connection that Frontdesk drops when it ends."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def imported(frontdesk, document, at, *more):
    """The written file, after `check`, and what `import` said."""
    out = at / "imported.toml"
    done = subprocess.run(
        [frontdesk, "import", "openapi", document, "--out", out, "--force", *more], capture_output=True, text=True
    )
    assert done.returncode == 0, f"import: {done.stderr[:2000]}"
    checked = subprocess.run([frontdesk, "check", out], capture_output=True, text=True)
    assert checked.returncode == 0, f"check refuses what import wrote: {checked.stdout[-2000:]}{checked.stderr[-2000:]}"
    return out.read_text(), done.stderr.strip().splitlines()[0]


def opened(written, url):
    """The same file as a person may leave it: for everybody, without confirmations, and before our site."""
    for key, was, value in (
        ("requires_user_confirmation", "true", "false"),
        ("idempotency_required", "true", "false"),
        ("auth", '"[a-z]+"', '"none"'),
    ):
        written = re.sub(rf"(?m)^{key} = {was}( #.*)?$", f"{key} = {value}", written)
    written = re.sub(r"(?m)^required_scopes = .*\n", "", written)
    written = re.sub(r"(?m)^\[upstream\]\nurl = .*$", f'[upstream]\nurl = "{url}"', written, count=1)
    limits = "\n".join(f'{key} = "1000000/minute"' for key in ("anonymous", "authenticated", "actions", "content"))
    key = f'[[auth.api_keys]]\nname = "tester"\nsha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"\nrate_limit = "1000000/minute"\n'
    return (
        written + f'\n{key}[rate_limits]\n{limits}\n[content]\nmarkdown = false\nllms_txt = "off"\nstart = ["/none"]\n'
    )


class Imported:
    """The capabilities of a file by the operation that each is from."""

    def __init__(self, written):
        tables = {table["id"]: table for table in tomllib.loads(written)["capabilities"]}
        comment, self.of = None, {}
        for line in written.splitlines():
            if found := re.match(r"# (GET|PUT|POST|DELETE|PATCH) (/.*)$", line):
                comment = (found[1], found[2])
            elif comment and (found := re.match(r'id = "(.*)"$', line)):
                self.of[comment], comment = tables[found[1]], None

    def find(self, method, path):
        # A long path is cut in the comment.
        return next(
            (
                own
                for (of, cut), own in self.of.items()
                if of == method and (cut == path or cut.endswith("…") and path.startswith(cut[:-1]))
            ),
            None,
        )


class Inputs:
    """Where the inputs of a capability go, by its file: what an agent says for a value of the document."""

    def __init__(self, capability, path):
        upstream, schema = capability["upstream"], capability.get("input_schema", {})
        self.upstream = upstream
        renamed = upstream.get("rename_input", {})
        styled = upstream.get("parameters", {})
        template = upstream.get("path") or upstream["url"]
        ours = re.findall(r"\{([^}]*)\}", template)
        theirs = re.findall(r"\{([^}/]*)\}", path.split("#")[0])
        self.inputs = {("path", name): own for name, own in zip(theirs, ours)}
        has_body = upstream.get("body") != "none" and (
            upstream["method"] not in ("GET", "DELETE") or "body" in upstream
        )
        for name in schema.get("properties", {}) if isinstance(schema, dict) else {}:
            if name in ours:
                continue
            place = styled.get(name, {}).get("in", "body" if has_body else "query")
            if place == "body" and "in" in styled.get(name, {}):
                self.inputs[("body", None)] = name
            else:
                self.inputs[(place, renamed.get(name, name))] = name

    def said(self, values):
        said = {}
        for (place, name), value in values.items():
            if (place, name) in self.inputs:
                said[self.inputs[(place, name)]] = value
            elif place == "body" and isinstance(value, dict):
                said.update({self.inputs[("body", key)]: own for key, own in value.items()})
        return said


class Desk:
    def __init__(self, frontdesk, written, at, ports):
        (at / "opened.toml").write_text(written)
        self.url = f"http://127.0.0.1:{ports[0]}"
        self.log = open(at / "run.log", "wb")
        self.process = subprocess.Popen(
            [
                frontdesk,
                "run",
                "--config",
                at / "opened.toml",
                "--listen",
                f"127.0.0.1:{ports[0]}",
                "--admin",
                f"127.0.0.1:{ports[1]}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=self.log,
        )
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{self.url}/.well-known/agent.json", timeout=5).read()
                return
            except OSError:
                assert self.process.poll() is None, (at / "run.log").read_text()[-2000:]
                time.sleep(0.1)
        raise AssertionError("it does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def rpc(self, method, params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "X-AHP-Key": KEY,
        }
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/mcp", body, headers), timeout=60) as answer:
            return json.load(answer)

    def tools(self):
        tools, params = [], {}
        while True:
            page = self.rpc("tools/list", params)["result"]
            tools += page["tools"]
            if not page.get("nextCursor"):
                return tools
            params = {"cursor": page["nextCursor"]}


def differences(expected, asked):
    """How a request differs from what was expected; empty: it does not."""
    method, target, headers, body = asked
    path, _, query = target.partition("?")
    headers = {name.lower(): value for name, value in headers.items()}
    found = []

    def same(what, one, other):
        if one != other:
            found.append(f"{what}: expected {one!r}, got {other!r}")

    same("method", expected.method, method)
    same("path", expected.path, path)
    same("query", sorted(expected.query), sorted(query.split("&") if query else []))
    for name, value in expected.headers.items():
        same(f"header {name}", value, headers.get(name))
    kind = headers.get("content-type", "")
    same("content type", expected.content_type, kind.split(";")[0].strip().lower() or None)
    form, value = expected.body or (None, None)
    if form is None:
        same("body", b"", body)
    elif form == "json":
        same("body", value, json.loads(body))
    elif form == "text":
        same("body", value, body.decode())
    elif form == "pairs":
        same("body", sorted(value), sorted(body.decode().split("&")) if body else [])
    else:
        message = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        parts = [
            (part.get_param("name", header="content-disposition"), part.get_payload(decode=True).decode())
            for part in message.get_payload()
        ]
        written = [(name, text(own)) for name, own in value]
        same("parts", sorted(written), sorted(parts))
    return found


__all__ = ["Desk", "Imported", "Inputs", "Site", "differences", "imported", "opened"]
