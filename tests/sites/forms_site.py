"""A page for each form of forms.py, and a record of what was sent: bytes, not meanings.

Usage: forms_site.py PORT
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from forms import CASES

SENT = []
LOCK = threading.Lock()


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, media_type, body):
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = self.path.removeprefix("/page/").partition("?")[0]
        if self.path == "/record":
            with LOCK:
                answer = json.dumps(SENT[:])
                SENT.clear()
            return self.reply("application/json", answer.encode())
        # Neither pictures nor what Frontdesk looks for when it starts.
        if self.path.partition("?")[0] not in ("/s", "/t", "/s/s") and not self.path.startswith("/page/"):
            return self.reply("text/plain", b"")
        # A form without an action leads to its page; what it sends has a field of the name `sent`.
        if self.path.startswith("/page/") and "sent=" not in self.path and self.command == "GET":
            case = CASES[name]
            body = case.get("html", "").encode(case.get("encoding", "utf-8"), "strict")
            charset = case.get("charset", case.get("encoding", "utf-8"))
            return self.reply(f"text/html; charset={charset}" if charset else "text/html", body)
        with LOCK:
            said = {"method": self.command, "target": self.path, "content_type": self.headers.get("Content-Type") or ""}
            SENT.append(said | {"body": body.decode("latin-1")})
        return self.reply("text/html; charset=utf-8", b"<!doctype html><title>Done</title><p class=done>Done.</p>")

    do_GET = do_POST = take

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Site).serve_forever()
