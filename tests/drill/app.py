"""A site as people run them: slow to start, polite when it ends. Usage: app.py PORT SECONDS_BEFORE_IT_LISTENS

GET / is a page, /pages/0 to /pages/199 some more with words in them (gzip for clients that accept it), /things.json data,
/slow a page that takes two seconds, /events server-sent events without end, /ws a WebSocket that echoes;
POST /echo gives back what it got. At SIGTERM it closes idle connections at once and finishes the others."""

import asyncio
import base64
import gzip
import hashlib
import random
import signal
import sys

PAGE = b"<!doctype html><html><head><title>Drill</title></head><body><h1>Drill</h1><p>" + b"x" * 2000 + b"</p></body></html>"
THINGS = b'{"results":[' + b",".join(b'{"id":%d,"name":"A lamp"}' % n for n in range(40)) + b"]}"
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
ending = asyncio.Event()


def page(number):
    """One of two hundred, with a kilobyte to thirty of words of its own and links to others."""
    words = random.Random(number)
    said = "".join(f"<p>{' '.join(words.choice(WORDS) for _ in range(60))}.</p>" for _ in range(words.randint(3, 80)))
    links = "".join(f'<a href="/pages/{(number * 7 + n) % COUNT}">another</a> ' for n in range(5))
    return f"<!doctype html><html><head><title>Page {number}</title></head><body><h1>Page {number}</h1>{said}{links}</body></html>".encode()


COUNT = 200
WORDS = ["lamp", "price", "return", "ship", "order", "within", "days", "the", "of", "a", "refund", "colour", "warranty", "box"]
PAGES = [page(number) for number in range(COUNT)]
PACKED = [gzip.compress(body) for body in PAGES]


def head(status, kind, *more):
    return ("\r\n".join([f"HTTP/1.1 {status}", f"Content-Type: {kind}", *more]) + "\r\n\r\n").encode()


async def answer(reader, writer, method, path, headers):
    """True: the connection may be used again."""
    close = ["Connection: close"] if ending.is_set() else []
    if path == "/events":
        writer.write(head("200 OK", "text/event-stream", "Cache-Control: no-store", "Connection: close"))
        number = 0
        while True:
            writer.write(f"data: {number}\n\n".encode())
            await writer.drain()
            number += 1
            await asyncio.sleep(0.1)
    if path == "/ws":
        accept = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + GUID).digest()).decode()
        writer.write(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        while True:
            first, second = await reader.readexactly(2)
            mask = await reader.readexactly(4)
            data = await reader.readexactly(second & 0x7F)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
            writer.write(bytes([first, len(data)]) + data)
            await writer.drain()
    if path == "/slow":
        writer.write(head("200 OK", "application/octet-stream", "Content-Length: 20000", *close))
        for _ in range(20):
            writer.write(b"y" * 1000)
            await writer.drain()
            await asyncio.sleep(0.1)
    elif method == "POST":
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        writer.write(head("200 OK", "application/octet-stream", f"Content-Length: {len(body)}", *close) + body)
    elif path == "/things.json" or path.startswith("/things.json?"):
        writer.write(head("200 OK", "application/json", f"Content-Length: {len(THINGS)}", *close) + THINGS)
    elif path.startswith("/pages/") and path[7:].isdecimal() and int(path[7:]) < COUNT:
        packed = "gzip" in headers.get("accept-encoding", "")
        body = (PACKED if packed else PAGES)[int(path[7:])]
        more = ["Content-Encoding: gzip"] if packed else []
        writer.write(head("200 OK", "text/html; charset=utf-8", f"Content-Length: {len(body)}", *more, *close) + body)
    elif path in ("/", "/healthz"):
        writer.write(head("200 OK", "text/html; charset=utf-8", f"Content-Length: {len(PAGE)}", *close) + PAGE)
    else:
        writer.write(head("404 Not Found", "text/plain", "Content-Length: 5", *close) + b"none\n")
    await writer.drain()
    return not close


async def connection(reader, writer):
    try:
        while True:
            waiting = asyncio.ensure_future(reader.readuntil(b"\r\n\r\n"))
            told = asyncio.ensure_future(ending.wait())
            await asyncio.wait([waiting, told], return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            if not waiting.done():
                waiting.cancel()
                return
            first, *lines = waiting.result().decode("latin-1").split("\r\n")
            method, path, _ = first.split(" ")
            headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines if line)}
            if not await answer(reader, writer, method, path, headers):
                return
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main():
    port, after = int(sys.argv[1]), float(sys.argv[2])
    await asyncio.sleep(after)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    server = await asyncio.start_server(connection, "127.0.0.1", port, limit=1 << 20)
    await ending.wait()
    server.close()
    # What is under way has as long as a short answer takes; streams without end are cut.
    await asyncio.sleep(2.5)


asyncio.run(main())
