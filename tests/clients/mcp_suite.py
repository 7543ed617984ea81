"""The official conformance suite of the Model Context Protocol against a site with the tools that it asks for.

Usage: mcp_suite.py FRONTDESK NODE SUITE
NODE is a Node 22, SUITE the directory of @modelcontextprotocol/conformance. Runs what each revision requires, and the
extensions. Fails where a check fails that mcp_expected_failures.yml does not name, where one that it names passes, and
where one is named without a reason.
"""

import base64
import http.client
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

FRONTDESK, NODE, SUITE = (os.path.abspath(argument) for argument in sys.argv[1:4])
CLI = os.path.join(SUITE, "dist", "index.js")
EXPECTED = pathlib.Path(__file__).with_name("mcp_expected_failures.yml").resolve()
TEXT = "This is a simple text response for testing."
KEY = "suite-only"
KEY_SHA256 = "d97828e0d0c81fca5db0ebc703c07cf26060dec32e5bf38482396e7063fd7f89"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"


class Site(http.server.BaseHTTPRequestHandler):
    """The site behind the tools."""

    ANSWERS = {
        "/": (200, "text/html", b"<title>Suite</title><h1>Suite</h1><p>A site with something to read.</p>"),
        "/api/text": (200, "application/json", json.dumps({"message": TEXT}).encode()),
        "/api/state": (200, "application/json", json.dumps({"message": "state-ok"}).encode()),
        "/api/error": (500, "application/json", json.dumps({"message": "This tool intentionally fails."}).encode()),
        "/api/image": (200, "image/png", PNG),
        "/api/audio": (200, "audio/wav", WAV),
        "/api/file": (200, "text/plain", b"This is an embedded resource content."),
    }

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        seconds = urllib.parse.parse_qs(url.query).get("seconds", ["0"])[0]
        if url.path == "/api/slow":
            # The caller has given up long before the longest that the suite asks for.
            time.sleep(min(float(seconds), 15))
            answer = (200, "application/json", json.dumps({"message": f"After {seconds} seconds."}).encode())
        elif url.path == "/api/hello":
            name = urllib.parse.parse_qs(url.query).get("name", ["nobody"])[0]
            answer = (200, "application/json", json.dumps({"message": f"Hello, {name}!"}).encode())
        elif url.path == "/api/cut":
            self.close_connection = True
            return
        else:
            answer = self.ANSWERS.get(url.path, (404, "text/plain", b"none"))
        status, media_type, body = answer
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


class WithKey(http.server.BaseHTTPRequestHandler):
    """Passes the suite's requests on with a key, which the suite cannot send and later answers need."""

    protocol_version = "HTTP/1.1"
    to = 0

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP]
        connection = http.client.HTTPConnection("127.0.0.1", self.to, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in [*headers, ("Authorization", f"Bearer {KEY}"), ("Content-Length", str(len(body)))]:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while part := answer.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")
        connection.close()

    do_GET = do_POST = do_DELETE = do_OPTIONS = forward

    def log_message(self, *_: object) -> None:
        pass


HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "proxy-connection"}
NOTHING = '{ type = "object", properties = {} }'
SECONDS = '{ type = "object", properties = { seconds = { type = "number" }, label = { type = "string" } } }'


def tool(name: str, path: str, schema: str = NOTHING, more: str = "", call: str = "") -> str:
    return f"""
[[capabilities]]
id = "{name}"
type = "query"
description = "A tool of the conformance suite."
risk_level = "low"
auth = "optional"
input_schema = {schema}
upstream = {{ method = "GET", path = "{path}"{call} }}
{more}
"""


def later(name: str, path: str, schema: str = NOTHING, more: str = "") -> str:
    """A tool whose answer comes later."""
    return tool(name, path, schema, more + "[capabilities.ahp]\naction_type = \"async\"\n", ', timeout = "20s"')


CONFIRMED = 'requires_user_confirmation = true\n[capabilities.confirmation]\nsummary = "Please confirm"\n'
FILE = ', response = "file"'

# Keywords that have to come back as they were declared.
JSON_SCHEMA = (
    '{ "$schema" = "https://json-schema.org/draft/2020-12/schema", type = "object", additionalProperties = false, '
    '"$defs" = { address = { "$anchor" = "addressDef", type = "object", '
    'properties = { street = { type = "string" }, city = { type = "string" } } } }, '
    'properties = { name = { type = "string" }, address = { "$ref" = "#/$defs/address" } }, '
    'allOf = [{ anyOf = [{ required = ["name"] }, { required = ["address"] }] }], '
    'if = { required = ["name"] }, then = { required = ["address"] }, else = { required = ["address"] } }'
)
# Arguments that a header repeats.
HEADERS = (
    '{ type = "object", properties = { region = { type = "string", "x-mcp-header" = "Region" }, '
    'priority = { type = "integer", "x-mcp-header" = "Priority" } } }'
)
# Inputs that a client without them asks its person for.
DEFAULTS = (
    '{ type = "object", required = ["name", "age", "score", "status", "verified"], properties = { '
    'name = { type = "string", default = "John Doe" }, age = { type = "integer", default = 30 }, '
    'score = { type = "number", default = 95.5 }, verified = { type = "boolean", default = true }, '
    'status = { type = "string", enum = ["active", "inactive", "pending"], default = "active" } } }'
)
CHOICES = (
    '{ type = "object", required = ["untitledSingle", "titledSingle", "legacyEnum", "untitledMulti", "titledMulti"], properties = { '
    'untitledSingle = { type = "string", enum = ["option1", "option2", "option3"] }, '
    'titledSingle = { type = "string", oneOf = [{ const = "value1", title = "First" }, { const = "value2", title = "Second" }] }, '
    'legacyEnum = { type = "string", enum = ["opt1", "opt2"], enumNames = ["One", "Two"] }, '
    'untitledMulti = { type = "array", items = { type = "string", enum = ["option1", "option2", "option3"] } }, '
    'titledMulti = { type = "array", items = { anyOf = [{ const = "value1", title = "First" }, { const = "value2", title = "Second" }] } } } }'
)
NAME = '{ type = "object", required = ["name"], properties = { name = { type = "string" } } }'
NAME_AND_COLOR = '{ type = "object", required = ["name", "color"], properties = { name = { type = "string" }, color = { type = "string" } } }'


def configuration(upstream: int, listen: int, admin: int) -> str:
    return (
        f'[upstream]\nurl = "http://127.0.0.1:{upstream}"\n'
        f'[site]\nname = "Suite"\norigin = "http://127.0.0.1:{listen}"\n'
        f'[listen]\nhttp = ["127.0.0.1:{listen}"]\nadmin = "127.0.0.1:{admin}"\n'
        "[discovery]\nskills = true\n"
        '[rate_limits]\nanonymous = "100000/minute"\nauthenticated = "100000/minute"\ncontent = "100000/minute"\n'
        f'[[auth.api_keys]]\nname = "suite"\nsha256 = "{KEY_SHA256}"\n'
        + tool("test_simple_text", "/api/text")
        + tool("test_error_handling", "/api/error")
        + tool("test_image_content", "/api/image", call=FILE)
        + tool("test_audio_content", "/api/audio", call=FILE)
        + tool("test_embedded_resource", "/api/file", call=FILE)
        + tool("test_tool_with_progress", "/api/slow?seconds=7", call=', timeout = "20s"')
        + tool("json_schema_2020_12_tool", "/api/text", JSON_SCHEMA)
        + tool("test_custom_headers", "/api/text", HEADERS)
        + tool("test_elicitation", "/api/text", '{ type = "object", properties = { message = { type = "string" } } }', CONFIRMED)
        + tool("test_input_required_result_elicitation", "/api/text", more=CONFIRMED)
        + tool("test_input_required_result_request_state", "/api/state", more=CONFIRMED)
        + tool("test_input_required_result_tampered_state", "/api/state", more=CONFIRMED)
        + tool("test_streaming_elicitation", "/api/text", more=CONFIRMED)
        + tool("test_elicitation_sep1034_defaults", "/api/text", DEFAULTS)
        + tool("test_elicitation_sep1330_enums", "/api/text", CHOICES)
        + tool("test_input_required_result_multi_round", "/api/text", NAME_AND_COLOR)
        + tool("test_logging_tool", "/api/text")
        + tool(
            "greet", "/api/text", '{ type = "object", properties = { name = { type = "string" } } }',
            '[capabilities.ahp]\nanswer = "Hello, {{ input.name }}!"\n',
        )
        + later("slow_compute", "/api/slow?seconds={seconds}", SECONDS)
        + later("failing_job", "/api/error")
        + later("protocol_error_job", "/api/cut")
        + later("confirm_delete", "/api/text", '{ type = "object", properties = { filename = { type = "string" } } }', CONFIRMED)
        + later("test_tool_with_task", "/api/hello?name={name}", NAME) + 'answer = "Hello, {{ input.name }}!"\n'
    )


def result(url: str, method: str, params: dict) -> dict:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(url, json.dumps(message).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["result"]


def input_schema(url: str, name: str) -> dict:
    return next(tool["inputSchema"] for tool in result(url, "tools/list", {})["tools"] if tool["name"] == name)


def await_ready(url: str, process: subprocess.Popen, log: pathlib.Path) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise SystemExit(f"mcp_suite: Frontdesk does not answer:\n{log.read_text()}")


def expected() -> dict:
    """The checks that are expected to fail, each as "scenario check", by what is run."""
    runs, run = {}, None
    for number, line in enumerate(EXPECTED.read_text().splitlines(), 1):
        if line.strip().startswith("#") or not line.strip():
            continue
        if heading := re.fullmatch(r'"?([\w.-]+)"?:', line):
            run = runs.setdefault(heading[1], set())
        elif (entry := re.fullmatch(r"  - ([\w-]+ [\w$-]+) +# (.{15,})", line)) and run is not None:
            run.add(entry[1])
        else:
            raise SystemExit(f"mcp_suite: {EXPECTED.name}:{number} is no check with a reason: {line}")
    return runs


def outcomes(url: str, at: pathlib.Path, arguments: list) -> dict:
    """What fails in each scenario: checks by their ids, and what they say."""
    suite = subprocess.run(
        [NODE, CLI, "server", "--url", url, *arguments, "-o", str(at)], capture_output=True, text=True, cwd=at, timeout=600,
    )
    found = {}
    for directory in sorted(at.glob("server-*")):
        name = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", directory.name)
        checks = json.loads((directory / "checks.json").read_text())
        found[name[1]] = {c["id"]: c.get("errorMessage", "") for c in checks if c["status"] == "FAILURE"}
    if not found:
        raise SystemExit(f"mcp_suite: the suite ran nothing:\n{suite.stdout}{suite.stderr}")
    return found


EXTENSIONS = ["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"]
RUNS = {
    "2025-11-25": [["--requirements", "2025-11-25"]],
    "2026-07-28": [["--requirements", "2026-07-28"]],
    "skills": [["--scenario", name] for name in EXTENSIONS],
}


def run(url: str, at: pathlib.Path) -> int:
    wanted, wrong = expected(), []
    for name, calls in RUNS.items():
        found = {}
        for number, arguments in enumerate(calls):
            directory = at / f"{name}-{number}"
            directory.mkdir()
            found |= outcomes(url, directory, arguments)
        failed = {f"{scenario} {check}": why for scenario, checks in found.items() for check, why in checks.items()}
        named = wanted.get(name, set())
        wrong += [f"{name}: {check} fails: {failed[check]}" for check in sorted(failed.keys() - named)]
        wrong += [f"{name}: {check} passes, or is not run, and is named as a failure" for check in sorted(named - failed.keys())]
        whole = sum(not checks for checks in found.values())
        print(f"mcp suite {name}: {whole} of {len(found)} scenarios pass; {len(failed)} checks are not offered")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


class Server(http.server.ThreadingHTTPServer):
    """A client that leaves is nothing to tell."""

    def handle_error(self, *_: object) -> None:
        pass


def serve(handler: type) -> int:
    server = Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def port() -> int:
    with http.server.HTTPServer(("127.0.0.1", 0), Site) as server:
        return server.server_address[1]


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        at, listen, admin = pathlib.Path(directory), port(), port()
        config, log = at / "frontdesk.toml", at / "frontdesk.log"
        config.write_text(configuration(serve(Site), listen, admin))
        WithKey.to = listen
        with log.open("wb") as out:
            process = subprocess.Popen([FRONTDESK, "run", "--config", str(config)], stdout=out, stderr=out, cwd=at)
        try:
            url = f"http://127.0.0.1:{listen}/mcp"
            await_ready(f"http://127.0.0.1:{listen}/openapi.json", process, log)
            # The suite takes an error for a text.
            said = result(url, "tools/call", {"name": "test_simple_text"})
            failed = result(url, "tools/call", {"name": "test_error_handling"})
            assert not said["isError"] and TEXT in json.dumps(said), said
            assert failed["isError"], failed
            schema = input_schema(url, "json_schema_2020_12_tool")
            assert schema["$schema"].endswith("/2020-12/schema") and schema["additionalProperties"] is False, schema
            assert schema["$defs"]["address"]["properties"]["street"] == {"type": "string"}, schema
            return run(f"http://127.0.0.1:{serve(WithKey)}/mcp", at)
        finally:
            process.terminate()
            process.wait(30)


if __name__ == "__main__":
    sys.exit(main())
