"""The Python SDK's own OAuth client signs in over the login form of a site, calls, refreshes, and is ended by its person.

Usage: oauth_python.py FRONTDESK
"""

import asyncio
import contextlib
import http.server
import json
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import httpx2 as httpx
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

SESSIONS: dict[str, str] = {}


class Site(http.server.BaseHTTPRequestHandler):
    """People sign in with a form and have a session cookie."""

    def who(self) -> str | None:
        found = re.search(r"sid=(\w+)", self.headers.get("Cookie") or "")
        return SESSIONS.get(found.group(1)) if found else None

    def answer(self, status: int, body: object, *more: tuple[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(data))), *more):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        who = self.who()
        if self.path.startswith("/login"):
            self.answer(200, "the form")
        elif who is None:
            self.answer(401, {"error": "who?"})
        elif self.path == "/api/me":
            self.answer(200, {"id": who, "name": who.title()})
        else:
            self.answer(200, {"orders": [f"order-of-{who}"]})

    def do_POST(self) -> None:
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        sid = secrets.token_hex(16)
        SESSIONS[sid] = form["user"][0]
        to = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["next"][0]
        self.answer(303, None, ("Location", to), ("Set-Cookie", f"sid={sid}; Path=/; HttpOnly"))

    def log_message(self, *_: object) -> None:
        pass


class Memory(TokenStorage):
    """What a client keeps."""

    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


def port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


CONFIG = """
[listen]
http = "127.0.0.1:{http}"
admin = "127.0.0.1:{admin}"
[upstream]
url = "http://127.0.0.1:{site}"
[site]
name = "Acme"
origin = "http://127.0.0.1:{http}"
[content]
start = []
[auth.visitor]
check = "/api/me"
subject = "/id"
name = "/name"
sign_in = "/login"
return_to = "next"
[auth.login]
cookies = ["sid"]
clients = "dynamic"
access_ttl = "2s"
[[capabilities]]
id = "orders"
type = "query"
description = "See your orders."
method = "POST"
endpoint = "/agent/orders"
auth = "required"
upstream = {{ method = "GET", path = "/api/orders", identity = "caller" }}
"""


class Person:
    """A browser with a person before it."""

    def __init__(self, who: str, origin: str) -> None:
        self.who, self.origin = who, origin
        self.browser = httpx.AsyncClient(follow_redirects=False)
        self.asked, self.answer = 0, ""

    async def open(self, url: str) -> None:
        self.asked += 1
        page = await self.browser.get(url)
        if page.status_code == 303:
            form = urllib.parse.urljoin(url, page.headers["location"])
            back = await self.browser.post(form, data={"user": self.who, "password": "x"})
            page = await self.browser.get(urllib.parse.urljoin(url, back.headers["location"]))
        assert page.status_code == 200, (page.status_code, page.text)
        assert "See your orders." in page.text and self.who.title() in page.text, page.text
        ticket = re.search(r'name="ticket" value="(\w+)"', page.text).group(1)
        chosen = re.findall(r'name="allow" value="([^"]+)"', page.text)
        sent = await self.browser.post(
            f"{self.origin}/agent/oauth/consent",
            data={"ticket": ticket, "decision": "allow", "allow": chosen},
            headers={"Origin": self.origin},
        )
        assert sent.status_code == 303, (sent.status_code, sent.text)
        self.answer = sent.headers["location"]

    async def answered(self) -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in urllib.parse.parse_qs(urllib.parse.urlsplit(self.answer).query).items()}
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    async def end_all(self) -> None:
        page = await self.browser.get(f"{self.origin}/agent/links")
        token = re.search(r'name="token" value="(\w+)"', page.text).group(1)
        for link in re.findall(r'name="link" value="(\w+)"', page.text):
            sent = await self.browser.post(
                f"{self.origin}/agent/links", data={"token": token, "link": link}, headers={"Origin": self.origin}
            )
            assert sent.status_code == 303, sent.text


def provider_of(url: str, person: Person, storage: Memory) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="SDK", redirect_uris=["http://127.0.0.1:4711/cb"], token_endpoint_auth_method="none"
    )
    return OAuthClientProvider(url, metadata, storage, person.open, person.answered)


async def orders(url: str, provider: OAuthClientProvider) -> str:
    async with httpx.AsyncClient(auth=provider, timeout=20) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client)) as client:
            result = await client.call_tool("orders", {"query": "mine"})
            assert not result.is_error, result
            return json.dumps(result.structured_content)


async def main(frontdesk: str) -> None:
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    at, admin = port(), port()
    origin = f"http://127.0.0.1:{at}"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "frontdesk.toml")
        config.write_text(CONFIG.format(http=at, admin=admin, site=site.server_address[1]))
        log = open(Path(folder, "log"), "w")
        process = subprocess.Popen([frontdesk, "run", "--config", str(config)], stdout=log, stderr=log, cwd=folder)
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", at)):
                    break
                time.sleep(0.1)
            url = f"{origin}/mcp"
            people = {}
            for who in ("ada", "bob"):
                person, storage = Person(who, origin), Memory()
                people[who] = person, storage, provider_of(url, person, storage)
            for who, (person, storage, provider) in people.items():
                said = await orders(url, provider)
                assert f"order-of-{who}" in said, said
                assert person.asked == 1 and storage.tokens.refresh_token
            time.sleep(2.5)
            for who, (person, storage, provider) in people.items():
                before = storage.tokens.access_token
                said = await orders(url, provider)
                assert f"order-of-{who}" in said, said
                assert person.asked == 1, "refreshed without the person"
                assert storage.tokens.access_token != before
            person, _, provider = people["ada"]
            await person.end_all()
            said = await orders(url, provider)
            assert "order-of-ada" in said and person.asked == 2, "ended by the person, so asked anew"
            print("oauth: signed in over the login form, called, refreshed, ended, asked anew")
        except BaseException:
            print(Path(folder, "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            process.terminate()
            process.wait(10)


asyncio.run(main(str(Path(sys.argv[1]).resolve())))
