"""Replicas of Frontdesk before a shop that counts what is bought, for the promise drill."""

import asyncio
import collections
import json
import os
import subprocess
import sys
import time

from promise_store import end, port, wrong_clock

CONFIG = """
[listen]
http = "127.0.0.1:{http}"
admin = "127.0.0.1:{admin}"
[upstream]
url = "http://127.0.0.1:{shop}"
[content]
start = []
llms_txt = "off"
concierge = false
[rate_limits]
anonymous = "1000000/minute"
authenticated = "1000000/minute"
actions = "1000000/minute"
content = "1000000/minute"
[store]
url = "redis://127.0.0.1:{store}"
on_error = "allow"
{more}
[[capabilities]]
id = "shop.buy"
type = "commit_action"
description = "Buys an item."
method = "POST"
endpoint = "/agent/buy"
risk_level = "high"
auth = "optional"
idempotency_required = true
requires_user_confirmation = true
input_schema = {{ type = "object", required = ["item"], properties = {{ item = {{ type = "string" }} }} }}
upstream = {{ method = "POST", path = "/api/buy", timeout = "2s" }}
[capabilities.confirmation]
summary = "Buy {{{{ input.item }}}}"
consequence = "Your card is charged."
"""


class Shop:
    """Sells at once, and counts."""

    def __init__(self, chance):
        self.port, self.chance, self.bought = port(), chance, collections.Counter()
        self.times = collections.defaultdict(list)

    async def start(self):
        await asyncio.start_server(self.serve, "127.0.0.1", self.port)

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
                body = await reader.readexactly(int(headers.get("content-length") or 0))
                said, status = b"{}", "404 Not Found"
                if line.startswith("POST /api/buy"):
                    item = json.loads(body)["item"]
                    self.bought[item] += 1
                    self.times[item].append(time.monotonic())
                    await asyncio.sleep(self.chance.uniform(0.002, 0.05))
                    said, status = json.dumps({"order": f"{item} {self.bought[item]}"}).encode(), "201 Created"
                writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said)
                await writer.drain()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


class Desk:
    """One replica."""

    def __init__(self, frontdesk, folder, shop, store, ahead, more):
        self.frontdesk, self.folder, self.ahead = frontdesk, folder, ahead
        self.http, self.admin, self.process, self.is_stopped = port(), port(), None, False
        folder.mkdir()
        text = CONFIG.format(http=self.http, admin=self.admin, shop=shop.port, store=store, more=more)
        (folder / "frontdesk.toml").write_text(text)

    async def start(self):
        self.process = subprocess.Popen(
            [self.frontdesk, "run", "--config", self.folder / "frontdesk.toml"], env=os.environ | wrong_clock(self.ahead),
            stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "ab"))
        for _ in range(400):
            try:
                if (await request(self.admin, "GET", "/readyz", {"Host": f"127.0.0.1:{self.admin}"}, b"", 2))[0] == 200:
                    return
            except (OSError, EOFError, ValueError, asyncio.TimeoutError):
                pass
            await asyncio.sleep(0.05)
        sys.exit(f"Frontdesk is not ready: see {self.folder}/log")

    async def buy(self, item, key, token, patience=6):
        """Status, body and headers; nothing where there was no answer."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        if token:
            headers["AICP-Confirmation"] = token
        try:
            body = json.dumps({"item": item}).encode()
            status, headers, said = await request(self.http, "POST", "/agent/buy", headers, body, patience)
            return status, json.loads(said or b"{}"), headers
        except (OSError, EOFError, ValueError, asyncio.TimeoutError):
            return None

    async def is_settled(self):
        """Whether it reaches the store, and nothing waits for it any more."""
        try:
            host = {"Host": f"127.0.0.1:{self.admin}"}
            lines = (await request(self.admin, "GET", "/metrics", host, b"", 2))[2].decode().split("\n")
        except (OSError, EOFError, ValueError, asyncio.TimeoutError):
            return False
        return "frontdesk_store_up 1" in lines and "frontdesk_store_waiting 0" in lines

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process:
            end(self.process)


async def request(number, method, path, headers, body, patience):
    async def asked():
        reader, writer = await asyncio.open_connection("127.0.0.1", number)
        try:
            lines = [f"{method} {path} HTTP/1.1", f"Host: {headers.pop('Host', 'shop.test')}", "Connection: close", f"Content-Length: {len(body)}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            told = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            said = await reader.readexactly(int(told["content-length"])) if "content-length" in told else await reader.read()
            return int(head[0].split(" ")[1]), told, said
        finally:
            writer.close()
    return await asyncio.wait_for(asked(), patience)
