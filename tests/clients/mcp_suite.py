"""The official conformance suite of the Model Context Protocol against a site with the tools that it asks for.

Usage: mcp_suite.py FRONTDESK NODE SUITE
NODE is a Node 22, SUITE the directory of @modelcontextprotocol/conformance. Fails where a scenario fails that is not
named in mcp_expected_failures.yml, and where one that is named passes.
"""

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
import urllib.request

FRONTDESK, NODE, SUITE = (os.path.abspath(argument) for argument in sys.argv[1:4])
CLI = os.path.join(SUITE, "dist", "index.js")
EXPECTED = pathlib.Path(__file__).with_name("mcp_expected_failures.yml").resolve()
TEXT = "This is a simple text response for testing."


class Site(http.server.BaseHTTPRequestHandler):
    """The site behind the tools."""

    ANSWERS = {
        "/": (200, "text/html", "<title>Suite</title><h1>Suite</h1><p>A site with something to read.</p>"),
        "/api/text": (200, "application/json", json.dumps({"message": TEXT})),
        "/api/state": (200, "application/json", json.dumps({"message": "state-ok"})),
        "/api/error": (500, "application/json", json.dumps({"message": "This tool intentionally returns an error."})),
    }

    def do_GET(self) -> None:
        status, media_type, body = self.ANSWERS.get(self.path.split("?")[0], (404, "text/plain", "none"))
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body.encode())

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


def tool(name: str, path: str, schema: str = '{ type = "object", properties = {} }') -> str:
    return f"""
[[capabilities]]
id = "{name}"
type = "query"
description = "A tool of the conformance suite."
risk_level = "low"
auth = "optional"
input_schema = {schema}
upstream = {{ method = "GET", path = "{path}" }}
"""


# Keywords that have to come back as they were declared.
JSON_SCHEMA = (
    '{ "$schema" = "https://json-schema.org/draft/2020-12/schema", type = "object", additionalProperties = false, '
    '"$defs" = { address = { type = "object", properties = { street = { type = "string" }, city = { type = "string" } } } }, '
    'properties = { name = { type = "string" }, address = { "$ref" = "#/$defs/address" } } }'
)


def port() -> int:
    with http.server.HTTPServer(("127.0.0.1", 0), Site) as server:
        return server.server_address[1]


def confirmed(name: str, path: str) -> str:
    """A tool that a person confirms, so that it answers `input_required` first."""
    return tool(name, path).replace(
        'type = "query"', 'type = "query"\nrequires_user_confirmation = true'
    ) + '[capabilities.confirmation]\nsummary = "Please confirm"\n'


# Arguments that a header repeats.
HEADERS = (
    '{ type = "object", properties = { region = { type = "string", "x-mcp-header" = "Region" }, '
    'priority = { type = "integer", "x-mcp-header" = "Priority" } } }'
)


def configuration(upstream: int, listen: int, admin: int) -> str:
    return (
        f'[upstream]\nurl = "http://127.0.0.1:{upstream}"\n'
        f'[site]\nname = "Suite"\norigin = "http://127.0.0.1:{listen}"\n'
        f'[listen]\nhttp = ["127.0.0.1:{listen}"]\nadmin = "127.0.0.1:{admin}"\n'
        '[rate_limits]\nanonymous = "100000/minute"\ncontent = "100000/minute"\n'
        + tool("test_simple_text", "/api/text")
        + tool("test_error_handling", "/api/error")
        + tool("json_schema_2020_12_tool", "/api/text", JSON_SCHEMA)
        + tool("test_custom_headers", "/api/text", HEADERS)
        + confirmed("test_input_required_result_request_state", "/api/state")
        + confirmed("test_input_required_result_tampered_state", "/api/state")
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


def expected_names() -> set:
    return set(re.findall(r"^  - ([\w-]+)", EXPECTED.read_text(), re.M))


def run(url: str, at: pathlib.Path) -> int:
    listed = subprocess.run([NODE, CLI, "list", "--server"], capture_output=True, text=True, check=True, timeout=60).stdout
    scenarios = set(re.findall(r"^  - ([\w-]+)", listed, re.M))
    if unknown := expected_names() - scenarios:
        raise SystemExit(f"mcp_suite: the suite has no scenario {', '.join(sorted(unknown))}")
    suite = subprocess.run(
        [NODE, CLI, "server", "--url", url, "--suite", "all", "--expected-failures", str(EXPECTED)],
        capture_output=True, text=True, cwd=at, timeout=300,
    )
    if suite.returncode:
        print(suite.stdout + suite.stderr, file=sys.stderr)
        return suite.returncode
    not_offered = len(expected_names())
    print(f"mcp suite: {len(scenarios) - not_offered} of {len(scenarios)} scenarios pass, {not_offered} are not offered")
    return 0


def main() -> int:
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    site.daemon_threads = True
    threading.Thread(target=site.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        at, listen, admin = pathlib.Path(directory), port(), port()
        config, log = at / "frontdesk.toml", at / "frontdesk.log"
        config.write_text(configuration(site.server_address[1], listen, admin))
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
            return run(url, at)
        finally:
            process.terminate()
            process.wait(30)


if __name__ == "__main__":
    sys.exit(main())
