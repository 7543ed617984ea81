"""XML-RPC by Python's own xmlrpc.server at /RPC2, and JSON-RPC 2.0 by jsonrpcserver at /jsonrpc: a shop's stock and orders.

Usage: rpc_site.py PORT
"""

import sys
from socketserver import ThreadingMixIn
from xmlrpc.client import Fault
from xmlrpc.server import SimpleXMLRPCRequestHandler, SimpleXMLRPCServer

from jsonrpcserver import Error, Success, dispatch, method

STOCK = {"chair": 3, "<lamp> & \"shade\"": 1}
TAKEN = []


def stock(item):
    if item not in STOCK:
        raise Fault(4, "There is no such item.")
    return {"item": item, "left": STOCK[item], "tags": ["a", "b"]}


def order(item, quantity):
    TAKEN.append(f"{quantity} {item}")
    return f"o-{len(TAKEN)}"


@method(name="stock")
def json_stock(item):
    return Success(stock(item)) if item in STOCK else Error(4, "There is no such item.")


@method(name="order")
def json_order(item, quantity):
    return Success({"order": order(item, quantity)})


class Handler(SimpleXMLRPCRequestHandler):
    rpc_paths = ("/RPC2",)

    def reply(self, media_type, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply("text/plain", "|".join([str(len(TAKEN)), *TAKEN]))

    def do_POST(self):
        if self.path != "/jsonrpc":
            return super().do_POST()
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.reply("application/json", dispatch(asked))


class Server(ThreadingMixIn, SimpleXMLRPCServer):
    pass


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler, logRequests=False)
    server.register_function(stock)
    server.register_function(order)
    server.serve_forever()
