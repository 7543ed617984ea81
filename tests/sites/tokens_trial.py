"""Two people let agents use an API with opaque tokens of a real authorization server (oidc-provider), which Frontdesk
introspects (RFC 7662), and exchanges for the API's own (RFC 8693): over AICP, MCP and A2A, both people at once.

Usage: tokens_trial.py FRONTDESK. `run` installs what it needs.
"""

import base64
import concurrent.futures
import hashlib
import html
import json
import os
import re
import secrets
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from desk import HERE, NODE_PATH, Trial, expect, finish, free_port, wait_for
from people_trial import CALLBACK, READ, Person

ROUNDS = 10
REFUSED = '"site_refuses_credential"'
AUDIENCE = "https://notes.example"
EXCHANGE = f"""
[auth.exchange]
url = "SERVER/token"
audience = "{AUDIENCE}"
client_id = "frontdesk"
client_secret = "frontdesk-secret"
"""


class Owner(Person):
    """A person with an account at the authorization server, and the tokens of their agent."""

    def __init__(self, trial, server, who):
        super().__init__(trial, who)
        self.server = server

    def allow(self, scopes="openid notes:read notes:write"):
        """Signs in and consents on the pages of the authorization server; answers a new token."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code", "client_id": "agent", "redirect_uri": CALLBACK, "state": "s", "scope": scopes,
            "code_challenge": challenge, "code_challenge_method": "S256", "prompt": "consent",
        }  # fmt: skip
        at, page = self.open(f"{self.server}/auth?" + urllib.parse.urlencode(asked))
        while not at.startswith(CALLBACK):
            action = html.unescape(re.search(r'<form[^>]* action="([^"]+)"', page).group(1))
            prompt = re.search(r'name="prompt" value="(\w+)"', page).group(1)
            form = {"prompt": prompt} | ({"login": self.who, "password": "any"} if prompt == "login" else {})
            at, page = self.open(urllib.parse.urljoin(self.server, action), form)
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(at).query)["code"][0]
        given = {
            "grant_type": "authorization_code", "code": code, "client_id": "agent", "redirect_uri": CALLBACK,
            "code_verifier": verifier,
        }  # fmt: skip
        self.tokens = json.loads(self.post("/token", given))
        return self.tokens["access_token"]

    def revoke(self):
        self.post("/token/revocation", {"token": self.tokens["access_token"], "client_id": "agent"})

    def post(self, path, form):
        """What the agent itself asks of the authorization server."""
        with urllib.request.urlopen(self.server + path, urllib.parse.urlencode(form).encode(), timeout=20) as answer:
            return answer.read()

    def aicp(self, capability, given, key=None):
        path = "/agent/" + capability.replace(".", "/").removesuffix("/list")
        given = {name: value for name, value in given.items() if name != "query"}
        return self.trial.call(path, given, Authorization=self.authorization(), **({"Idempotency_Key": key} if key else {}))

    def ways(self):
        return (self.aicp, self.mcp, self.a2a)


def rounds(owner, other):
    """Adds and lists notes by each protocol: how often the answer was this person's own, and had the other's."""
    own = mixed = 0
    for n in range(ROUNDS):
        for way in owner.ways():
            text = f"note of {owner.who} by {way.__name__} {n}"
            said = [json.dumps(way("notes.add", {"text": text}, f"key-{way.__name__}-{n}")), json.dumps(way("notes.list", READ))]
            own += sum(text in one and f'"{owner.who}"' in one.replace("\\", "") for one in said)
            mixed += sum(f"of {other}" in one for one in said)
    return own, mixed


def statuses(owner, capability="notes.list", given=None):
    return [way(capability, given or READ)[0] for way in owner.ways()]


def words(owner):
    """All that is said over each protocol."""
    return [json.dumps(way("notes.list", READ)) for way in owner.ways()]


def started(file, *arguments):
    env = {**os.environ, "NODE_PATH": str(NODE_PATH)}
    command = ["node", HERE / file, *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Server:
    """The authorization server, which can go away."""

    def __init__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.child = None

    def __enter__(self):
        self.child = started("oidc_server.cjs", self.port)
        wait_for(self.port)
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(10)


def shown_to(api):
    return json.loads(urllib.request.urlopen(f"{api}/shown").read())


def tried(frontdesk, name, audience, more, check):
    print(name)
    with Server() as server:
        port = free_port()
        child = started("notes_api.cjs", port, server.url, *audience)
        try:
            wait_for(port)
            config = ((HERE / "notes.toml").read_text() + more).replace("SERVER", server.url)
            with Trial(frontdesk, f"http://127.0.0.1:{port}", config) as trial:
                check(trial, server)
        finally:
            child.terminate()
            child.wait(10)


def both(trial, server):
    owners = [Owner(trial, server.url, who) for who in ("ada", "bob")]
    for owner in owners:
        expect(f"an opaque token for {owner.who}", owner.allow().count("."), 0)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(rounds, owners, ("bob", "ada")))
    for owner, (own, mixed) in zip(owners, found):
        expect(f"{owner.who}: {6 * ROUNDS} answers are their own, and none has a note of the other", (own, mixed), (6 * ROUNDS, 0))
    return owners


def introspection(trial, server):
    ada, bob = both(trial, server)
    ada.revoke()
    # Over MCP, a tool that the site refused is a result that says so.
    expect("ada revoked a token that was used: the API refuses it", [REFUSED in one for one in words(ada)], [True] * 3)
    expect("which is 401", [ada.aicp("notes.list", READ)[0], ada.a2a("notes.list", READ)[0]], [401, 401])
    ada.allow()
    ada.revoke()
    expect("and one that was not: 401 here", statuses(ada), [401, 401, 401])
    expect("it never reached the API", ada.tokens["access_token"] in shown_to(trial.url), False)
    bob.allow("openid notes:read")
    expect("a token that may not write reads", statuses(bob), [200, 200, 200])
    status, refused = bob.aicp("notes.add", {"text": "x"}, "no scope")
    expect("and does not write", (status, refused["error"]["code"]), (403, "missing_scope"))
    made_up = Owner(trial, server.url, "eve")
    made_up.tokens = {"access_token": secrets.token_urlsafe(32)}
    expect("a token that nobody gave", statuses(made_up), [401, 401, 401])
    fresh = ada.allow()
    server.__exit__()
    said = words(ada)
    expect("the server is away: 503 for a token that it was not asked about", statuses(ada), [503, 503, 503])
    expect("and the reason", ["keys_away" in one for one in said], [True] * 3)
    expect("nothing reached the API", fresh in shown_to(trial.url), False)
    expect("the log says which server", "introspection" in trial.log.read_text(), True)


def exchange(trial, server):
    ada, bob = both(trial, server)
    shown = shown_to(trial.url)
    own = [owner.tokens["access_token"] for owner in (ada, bob)]
    # One for each person; a configuration that is compiled anew, as after the first look at the site, begins with none.
    expect("the API saw few tokens, and none of the agents' own", (2 <= len(shown) <= 4, [token in shown for token in own]), (True, [False, False]))
    request = urllib.request.Request(f"{trial.url}/notes", headers={"Authorization": f"Bearer {own[0]}"})
    try:
        direct = urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        direct = error.code
    expect("an agent's own token is not for the API", direct, 401)
    ada.allow()
    expect("a new token is exchanged for another one", (statuses(ada), len(shown_to(trial.url)) > len(shown)), ([200, 200, 200], True))
    bob.allow()
    server.__exit__()
    expect("the server is away: 503", statuses(bob), [503, 503, 503])


def main():
    frontdesk = sys.argv[1]
    tried(frontdesk, "an API with opaque tokens, introspected", [], "", introspection)
    tried(frontdesk, "an API with tokens of its own, exchanged", [AUDIENCE], EXCHANGE, exchange)
    finish()


if __name__ == "__main__":
    main()
