"""A SOAP 1.1 service of spyne with lxml's validation, as its documentation builds one: prices, and orders.

Usage: soap_site.py PORT
"""

import logging
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

from spyne import Application, ComplexModel, Decimal, Fault, Integer, ServiceBase, Unicode, rpc
from spyne.protocol.soap import Soap11
from spyne.server.wsgi import WsgiApplication

PRICES = {"chair": "129.50", "<lamp> & \"shade\"": "15.00"}
TAKEN = []


class Receipt(ComplexModel):
    __namespace__ = "urn:shop"
    number = Unicode
    item = Unicode
    total = Decimal


class Shop(ServiceBase):
    @rpc(Unicode, _returns=Decimal)
    def price(self, item):
        if item not in PRICES:
            raise Fault("Client.NoSuchItem", "There is no such item.")
        return PRICES[item]

    @rpc(Unicode, Integer(ge=1), Unicode, _returns=Receipt)
    def order(self, item, quantity, note):
        if quantity > 8:
            raise Fault("Client.SoldOut", "There are not that many.")
        TAKEN.append(note)
        return Receipt(number=f"o-{len(TAKEN)}", item=item, total=quantity * 10)


SOAP = WsgiApplication(Application([Shop], "urn:shop", in_protocol=Soap11(validator="lxml"), out_protocol=Soap11()))


def site(environ, start_response):
    if environ["PATH_INFO"] == "/taken":
        start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
        return ["|".join([str(len(TAKEN)), *TAKEN]).encode()]
    return SOAP(environ, start_response)


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


if __name__ == "__main__":
    logging.disable()
    make_server("127.0.0.1", int(sys.argv[1]), site, handler_class=Quiet).serve_forever()
