"""An Express site with sessions and CSRF tokens: a basket over three calls and a checkout, each caller with its own.

Usage: express_trial.py FRONTDESK. `run` installs what it needs.
"""

import json
import sys
import urllib.error
import urllib.request

from desk import HERE, Trial, expect, finish, imported
from ways import Aicp, Agtp, Mcp, confirmed, everywhere

ITEM = "Zoë's <table>"


def without_token(trial):
    """The site refuses a form without its token."""
    try:
        urllib.request.urlopen(f"{trial.url}/basket/add", b"item=chair").close()
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def express(trial):
    expect("the site wants its token", without_token(trial), 403)
    ours = {"AICP_Session": "a-conversation-of-its-own"}
    one = {"item": "chair", "quantity": 1}
    status, found = trial.call("/agent/basket/add", {"item": "chair"}, **ours)
    expect("the first call", (status, found.get("items")), (200, [one]))
    status, found = trial.call("/agent/basket/add", {"item": ITEM, "quantity": 2}, **ours)
    both = [one, {"item": ITEM, "quantity": 2}]
    expect("the second call", (status, found.get("items")), (200, both))
    expect("the basket in the third", trial.call("/agent/basket", {}, **ours)[1].get("items"), both)
    other = {"AICP_Session": "another-conversation"}
    expect("another conversation has its own", trial.call("/agent/basket", {}, **other)[1].get("items"), [])
    status, refused = trial.call("/agent/basket/add", {"item": "sofa"}, **ours)
    expect("an option that is not there", (status, refused["error"]["details"][0]["pointer"]), (422, "/item"))
    status, refused = trial.call("/agent/basket/add", {"item": "chair", "quantity": 9}, **ours)
    expect("a number over the field's", (status, refused["error"]["details"][0]["pointer"]), (422, "/quantity"))

    def order(key, session):
        asked = trial.call("/agent/order", {"name": "Ada"}, Idempotency_Key=key, **session)
        token = asked[1].get("confirmation", {}).get("token", "")
        return asked[0], *trial.call("/agent/order", {"name": "Ada"}, Idempotency_Key=key, AICP_Confirmation=token, **session)

    asked, status, refused = order("1", other)
    words = [one["message"] for one in refused["error"].get("details", [])]
    expect("an empty basket, in the site's words", (asked, status, words, trial.taken()), (428, 422, ["Your basket is empty."], "0"))
    asked, status, done = order("2", ours)
    expect("the order, confirmed", (asked, status, done.get("order")), (428, 200, "Order 1"))
    expect("with the button and the basket", trial.taken(), f"1|Ada order 1 chair, 2 {ITEM}")
    again = trial.call("/agent/order", {"name": "Ada"}, Idempotency_Key="2", **ours)
    expect("one key, one order", (again[0], trial.taken()[0]), (200, "1"))
    expect("the basket is empty", trial.call("/agent/basket", {}, **ours)[1].get("items"), [])

    expect("check --live", trial.live().returncode, 0)
    everywhere(
        trial,
        search=("shop.items", {"q": "lamp"}, "lamp: $15.00"),
        read=("shop.page", {}, "chair"),
        wrong=("basket.order", {"name": "Ada"}, "Your basket is empty."),
        basket=("basket.add", [{"item": "chair"}, {"item": "lamp", "quantity": 2}], "basket.show", ["chair", "lamp"]),
    )
    for way in (Aicp(trial), Mcp(trial), Agtp(trial)):
        # Over MCP the conversation is the credential's.
        session, before = None if way.name == "mcp" else f"our-own-conversation-over-{way.name}", int(trial.taken().partition("|")[0])
        asked, said = confirmed(way, "basket.order", {"name": way.name}, f"order-{way.name}", session)
        last = trial.taken().rpartition("|")[2]
        wanted = ("asked", "done", f"Order {before + 1}" in said.text, f"{way.name} order 1 chair, 2 lamp")
        expect(f"{way.name}: the basket is ordered, asked about and confirmed", (asked, said.word, True, last), wanted)
    told = json.dumps([trial.call("/agent/basket", {}), trial.tool("basket_show", {"query": "my basket"})])
    expect("no token and no cookie reach the agent", any(word in told for word in ["_csrf", "connect.sid", "csrf"]), False)


def import_site(trial):
    status, found = trial.call("/agent/site/search", {"q": "lamp"})
    text = found.get("markdown", "")
    expect("its search by import", (status, "lamp" in text, "chair" in text), (200, True, False))


def main():
    print("express")
    with Trial(sys.argv[1], "express_site.cjs", (HERE / "express.toml").read_text()) as trial:
        express(trial)
    with Trial(sys.argv[1], "express_site.cjs", lambda url: imported(sys.argv[1], "site", url)) as trial:
        import_site(trial)
    finish()


if __name__ == "__main__":
    main()
