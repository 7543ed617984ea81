"""The site in the containers: pages, a page that takes its time, and orders that it counts. It listens where HOST and
PORT say, as deploy/kubernetes expects of a site, and ends at SIGTERM."""

import http.server
import json
import os
import signal
import threading
import time
import urllib.parse

PAGE = b"<!doctype html><html><head><title>Books</title></head><body><h1>Books</h1><p>We sell books.</p></body></html>"
ORDERS = []
UNDER_WAY, COUNT = threading.Condition(), [0]


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, kind="text/html; charset=utf-8", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/slow":
            time.sleep(float(dict(urllib.parse.parse_qsl(url.query))["seconds"]))
            self.answer(b"it took its time", "text/plain")
        elif url.path == "/orders":
            self.answer(json.dumps(ORDERS).encode(), "application/json")
        elif url.path == "/":
            self.answer(PAGE)
        else:
            self.answer(b"nothing is here", "text/plain", 404)

    do_HEAD = do_GET

    def do_POST(self):
        ORDERS.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(json.dumps({"order": len(ORDERS)}).encode(), "application/json", 201)

    def log_message(self, *_):
        pass


    def handle_one_request(self):
        # Idle until the next one; after its first byte it is under way.
        if self.rfile.peek(1):
            with UNDER_WAY:
                COUNT[0] += 1
            try:
                super().handle_one_request()
            finally:
                with UNDER_WAY:
                    COUNT[0] -= 1
                    UNDER_WAY.notify_all()
        else:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


server = Server((os.environ.get("HOST", "0.0.0.0"), int(os.environ.get("PORT", "3000"))), Site)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
server.serve_forever()
# Requests under way are finished, and idle connections are closed.
with UNDER_WAY:
    UNDER_WAY.wait_for(lambda: COUNT[0] == 0)
