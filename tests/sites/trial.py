"""Calls unmodified sites without an API through Frontdesk, over AICP, MCP and AGTP: a Django site and one with Flask-WTF.

Usage: trial.py FRONTDESK [django|flask ...]. `run` installs what it needs.
"""

import json
import sys

from desk import HERE, Trial, expect, finish
from ways import everywhere


def django(trial):
    status, found = trial.call("/agent/search", {"q": "chair"})
    wanted = [{"title": "Red chair", "url": "/p/red-chair", "price": 129.5}, {"title": "Blue chair", "url": "/p/blue-chair", "price": 99.0}]
    expect("search", (status, found.get("items")), (200, wanted))
    expect("search without results", trial.call("/agent/search", {"q": "sofa"}), (200, {"items": []}))
    result = trial.tool("shop_search", {"q": "table"})
    expect("search over MCP", "Oak table" in json.dumps(result), True)
    message = {"email": "a@example.com", "message": "Is the red chair here?", "topic": "Prices", "copy": True}
    status, asked = trial.call("/agent/contact", message, Idempotency_Key="1")
    expect("the form asks for a confirmation", status, 428)
    token = asked["confirmation"]["token"]
    status, done = trial.call("/agent/contact", message, Idempotency_Key="1", AICP_Confirmation=token)
    expect("the form is sent, past the CSRF protection", (status, "We answer within a day" in done.get("markdown", "")), (200, True))
    again = trial.call("/agent/contact", message, Idempotency_Key="1", AICP_Confirmation=token)
    expect("one key, one submission", (again[0], trial.taken()), (200, "1"))
    wrong = {"email": "nobody", "message": "Hi there, you"}
    _, asked = trial.call("/agent/contact", wrong, Idempotency_Key="2")
    status, refused = trial.call("/agent/contact", wrong, Idempotency_Key="2", AICP_Confirmation=asked["confirmation"]["token"])
    violation = [{"pointer": "/email", "message": "Enter a valid email address."}]
    expect("the site's own words", (status, refused["error"].get("details"), trial.taken()), (422, violation, "1"))
    live = trial.live()
    expect("check --live", (live.returncode, "NO LONGER FITS" in live.stdout), (0, False))
    everywhere(
        trial,
        search=("shop.search", {"q": "chair"}, "Red chair"),
        read=("shop.page", {"q": "table"}, "Oak table"),
        write=("contact.send", lambda name: {"email": f"{name}@example.com", "message": "Is it here?"}, "We answer within a day"),
        wrong=("contact.send", {"email": "nobody", "message": "Is it here?"}, "Enter a valid email address."),
    )


def flask(trial):
    booking = {"name": "Zoë", "seats": 2, "cv": {"name": "a.txt", "data": "SGk="}}
    asked, status, done = trial.confirmed("/agent/book", booking, "1")
    expect("the form is sent with a file, confirmed", (asked, status, trial.taken()), (428, 200, "1 ('Zoë', 2, b'Hi')"))
    asked, status, refused = trial.confirmed("/agent/book", {"name": "Zoë", "seats": 20}, "2")
    taken = trial.taken().split()[0]
    expect("the site's bounds hold", (status, [v["pointer"] for v in refused["error"].get("details", [])], taken), (422, ["/seats"], "1"))
    for item, wanted in [("chair", ["chair"]), ("lamp", ["chair", "lamp"])]:
        _, basket = trial.call("/agent/basket/add", {"item": item})
        expect(f"the basket after {item}", basket.get("items"), wanted)
    expect("the basket in a third call", trial.call("/agent/basket", {})[1].get("items"), ["chair", "lamp"])
    other = trial.call("/agent/basket", {}, AICP_Session="another-conversation")[1]
    expect("another conversation has its own", other.get("items"), [])
    everywhere(
        trial,
        read=("booking.page", {}, "Seats"),
        write=("seats.book", lambda name: {"name": name, "seats": 2}, "It is booked."),
        wrong=("seats.book", {"name": " ", "seats": 2}, "This field is required."),
        basket=("basket.add", [{"item": "chair"}, {"item": "lamp"}], "basket.show", ["chair", "lamp"]),
    )


def main():
    frontdesk, names = sys.argv[1], sys.argv[2:] or ["django", "flask"]
    for name in names:
        print(name)
        with Trial(frontdesk, f"{name}_site.py", (HERE / f"{name}.toml").read_text()) as trial:
            {"django": django, "flask": flask}[name](trial)
    finish()


if __name__ == "__main__":
    main()
