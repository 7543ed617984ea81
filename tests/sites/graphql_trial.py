"""A GraphQL server of npm (graphql-yoga) by `import graphql`: queries, a mutation with confirmation, and its errors.

Usage: graphql_trial.py FRONTDESK. `run` installs what it needs.
"""

import json
import sys

from desk import Trial, expect, finish, imported
from ways import everywhere

# What the import leaves to a person: names for what can go wrong.
REVIEWED = """errors = { "/errors/0/extensions/code=NOT_FOUND" = "no_such_order", "/errors/0/extensions/code=SOLD_OUT" = "sold_out" }"""


def graphql(trial):
    order = {"id": "o-1", "total": 129.5, "status": "OPEN", "customer": {"name": "Zoë", "email": "z@shop.example"}}
    expect("a query", trial.call("/agent/query/order", {"id": "o-1"}), (200, {"data": {"order": order}}))
    expect("a query over MCP", trial.data("query_order", {"id": "o-1"}), {"data": {"order": order}})
    listed = trial.call("/agent/query/orders", {"status": "SENT"})
    expect("an enum as a variable", listed, (200, {"data": {"orders": []}}))
    listed = trial.call("/agent/query/orders", {})
    expect("the schema's default where a variable is absent", listed, (200, {"data": {"orders": [order]}}))
    status, refused = trial.call("/agent/query/order", {"id": "o-9"})
    expect("errors in a 200 are the named error", (status, refused["error"]["code"]), (422, "no_such_order"))
    refused = trial.tool("query_order", {"id": "o-9"})
    expect("the same over MCP", (refused.get("isError"), "no_such_order" in json.dumps(refused)), (True, True))
    hostile = '"}) { id } } query Other { orders { id } } #'
    status, refused = trial.call("/agent/query/order", {"id": hostile})
    expect("an input is never syntax", (status, refused["error"]["code"]), (422, "no_such_order"))
    status, refused = trial.call("/agent/query/orders", {"status": "LOST"})
    expect("a value outside the enum does not reach the server", status, 422 if status == 422 else 400)

    new = {"order": {"item": "chair", "quantity": 2, "note": 'Zoë\'s "own" \\ {{ input }}\n'}}
    placed = {"id": "o-2", "total": 20, "status": "OPEN", "customer": {"name": new["order"]["note"], "email": None}}
    asked, status, done = trial.confirmed("/agent/mutation/placeOrder", new, "1")
    expect("a mutation asks for a confirmation", asked, 428)
    expect("a mutation", (status, done, trial.taken()), (200, {"data": {"placeOrder": placed}}, "1"))
    again = trial.call("/agent/mutation/placeOrder", new, Idempotency_Key="1")
    expect("one key, one mutation", (again[0], trial.taken()), (200, "1"))
    asked, done = trial.confirmed_tool("mutation_placeorder", {"order": {"item": "lamp", "quantity": 1}}, "2")
    told = '"o-3"' in json.dumps(done.get("structuredContent"))
    expect("a mutation over MCP, confirmed", (asked, told, trial.taken()), (True, True, "2"))
    many = {"order": {"item": "lamp", "quantity": 9}}
    _, status, refused = trial.confirmed("/agent/mutation/placeOrder", many, "3")
    expect("a mutation that failed", (status, refused["error"]["code"], trial.taken()), (422, "sold_out", "2"))
    expect("check --live", trial.live().returncode, 0)
    everywhere(
        trial,
        search=("query.orders", {}, "o-1"),
        read=("query.order", {"id": "o-1"}, "z@shop.example"),
        write=("mutation.placeOrder", lambda name: {"order": {"item": "lamp", "quantity": 1, "note": name}}, "OPEN"),
        wrong=("mutation.placeOrder", many, "sold_out"),
    )


def main():
    def config(url):
        text = imported(sys.argv[1], "graphql", f"{url}/graphql")
        return text.replace('failed = "/errors"', f'failed = "/errors"\n{REVIEWED}')

    print("graphql")
    with Trial(sys.argv[1], "graphql_site.cjs", config) as trial:
        graphql(trial)
    finish()


if __name__ == "__main__":
    main()
