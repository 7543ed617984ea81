"""Backends that are not REST: a SOAP service of spyne with lxml, Python's own XML-RPC server, and jsonrpcserver.

Usage: rpc_trial.py FRONTDESK [soap|rpc ...]. `run` installs what it needs.
"""

import json
import sys

from desk import HERE, Trial, expect, finish
from ways import everywhere

HOSTILE = "<lamp> & \"shade\""
BREAKING = "</s:item><s:item>chair]]><!--"


def soap(trial):
    price = {"Envelope": {"Body": {"priceResponse": {"priceResult": "129.50"}}}}
    status, found = trial.call("/agent/price", {"item": "chair"})
    expect("an operation", (status, without_namespaces(found)), (200, price))
    found = trial.data("item_price", {"item": "chair"})
    expect("an operation over MCP", without_namespaces(found), price)
    status, found = trial.call("/agent/price", {"item": HOSTILE})
    expect("markup in an input stays text", (status, "15.00" in json.dumps(found)), (200, True))
    status, refused = trial.call("/agent/price", {"item": BREAKING})
    expect("an input is never syntax", (status, refused["error"]["code"]), (500, "no_such_item"))
    for _ in range(30):
        status, refused = trial.call("/agent/price", {"item": "sofa"})
    expect("a fault is the named error, thirty times", (status, refused["error"]["code"]), (500, "no_such_item"))
    expect("and the site does not count as broken", trial.call("/agent/price", {"item": "chair"})[0], 200)
    new = {"item": HOSTILE, "quantity": 2, "note": "Zoë's\n<b>&amp;</b> \U0001f4a1"}
    asked, status, done = trial.confirmed("/agent/order", new, "1")
    receipt = done.get("Envelope", {}).get("Body", {}).get("orderResponse", {}).get("orderResult", {})
    wanted = {"number": "o-1", "item": HOSTILE, "total": "20"}
    expect("an order, confirmed", (asked, status, receipt), (428, 200, wanted))
    expect("the site got every character", trial.taken(), f"1|{new['note']}")
    again = trial.call("/agent/order", new, Idempotency_Key="1")
    expect("one key, one order", (again[0], trial.taken()[0]), (200, "1"))
    asked, done = trial.confirmed_tool("item_order", {"item": "chair", "quantity": 1, "note": "n"}, "2")
    expect("an order over MCP, confirmed", (asked, "o-2" in json.dumps(done), trial.taken()[0]), (True, True, "2"))
    _, status, refused = trial.confirmed("/agent/order", new | {"quantity": 9}, "3")
    expect("an order that failed", (status, refused["error"]["code"], trial.taken()[0]), (500, "sold_out", "2"))
    _, status, refused = trial.confirmed("/agent/order", new | {"quantity": 0}, "4")
    expect("a fault without a name", (status, refused["error"]["code"], trial.taken()[0]), (502, "upstream_error", "2"))
    everywhere(
        trial,
        read=("item.price", {"item": "chair"}, "129.50"),
        write=("item.order", lambda name: {"item": "chair", "quantity": 1, "note": name}, "o-"),
        wrong=("item.order", new | {"quantity": 9}, "sold_out"),
    )


def without_namespaces(found):
    """Declarations of namespaces are attributes: they may come or not."""
    if isinstance(found, dict):
        return {name: without_namespaces(value) for name, value in found.items() if not name.startswith("@xmlns")}
    return found


def rpc(trial):
    for kind in ["xml", "json"]:
        status, found = trial.call(f"/agent/{kind}/stock", {"item": "chair"})
        left = {"item": "chair", "left": 3, "tags": ["a", "b"]}
        if kind == "json":
            wanted = {"jsonrpc": "2.0", "result": left, "id": 1}
            expect("json: a method", (status, found), (200, wanted))
            expect("json: a method over MCP", trial.data("json_stock", {"item": "chair"}), wanted)
        else:
            members = found["methodResponse"]["params"]["param"]["value"]["struct"]["member"]
            values = {one["name"]: one["value"] for one in members}
            expect("xml: a method", (status, values["left"]), (200, {"int": "3"}))
            expect("xml: a method over MCP", trial.data("xml_stock", {"item": "chair"}), found)
        status, found = trial.call(f"/agent/{kind}/stock", {"item": HOSTILE})
        expect(f"{kind}: markup in an input stays text", (status, json.dumps(HOSTILE) in json.dumps(found)), (200, True))
        status, refused = trial.call(f"/agent/{kind}/stock", {"item": BREAKING + '", "x": "'})
        expect(f"{kind}: a failure in a 200 is the named error", (status, refused["error"]["code"]), (422, "no_such_item"))
        before = int(trial.taken().split("|")[0])
        new = {"item": HOSTILE, "quantity": 2}
        asked, status, _ = trial.confirmed(f"/agent/{kind}/order", new, f"{kind}-1")
        taken = trial.taken().split("|")
        expect(f"{kind}: an order, confirmed", (asked, status, taken[0], taken[-1]), (428, 200, str(before + 1), f"2 {HOSTILE}"))
        trial.call(f"/agent/{kind}/order", new, Idempotency_Key=f"{kind}-1")
        asked, done = trial.confirmed_tool(f"{kind}_order", new, f"{kind}-2")
        told = f"o-{before + 2}" in json.dumps(done)
        expect(f"{kind}: one more over MCP", (asked, told, trial.taken().split("|")[0]), (True, True, str(before + 2)))
        everywhere(
            trial,
            read=(f"{kind}.stock", {"item": "chair"}, "chair"),
            write=(f"{kind}.order", lambda name: {"item": f"lamp for {name}", "quantity": 1}, "o-"),
        )
    expect("check --live", trial.live().returncode, 0)


def main():
    for name in sys.argv[2:] or ["soap", "rpc"]:
        print(name)
        with Trial(sys.argv[1], f"{name}_site.py", (HERE / f"{name}.toml").read_text()) as trial:
            {"soap": soap, "rpc": rpc}[name](trial)
    finish()


if __name__ == "__main__":
    main()
