"""The same over each of three protocols: a search, a page, a submission that a person confirms, one that the site refuses,
and a basket over three calls."""

import json
import re
import tomllib
import urllib.error
import urllib.request

from desk import expect

AGENT = "1" * 64
VERBS = {"query": "QUERY", "resource": "FETCH", "prepare_action": "INITIATE"}


class Said:
    """What an agent heard: `done`, `asked` or a refusal; the text; and the token of a question."""

    def __init__(self, word, body, token=None):
        self.word, self.text, self.token = word, json.dumps(body, ensure_ascii=False), token


class Way:
    """An agent that speaks one protocol."""

    def __init__(self, trial, authorization="Bearer test"):
        self.trial, self.authorization = trial, authorization
        declared = tomllib.loads(trial.config.read_text())["capabilities"]
        self.declared = {capability["id"]: capability for capability in declared}


class Aicp(Way):
    name = "aicp"

    def ask(self, which, given, key=None, token=None, session=None):
        headers = {"Idempotency_Key": key, "AICP_Confirmation": token, "AICP_Session": session, "Authorization": self.authorization}
        status, body = self.trial.call(self.declared[which]["endpoint"], given, **headers)
        if status == 428:
            return Said("asked", body, body["confirmation"]["token"])
        return Said("done" if status < 300 else body["error"]["code"], body)


class Mcp(Way):
    name = "mcp"

    def __init__(self, trial):
        super().__init__(trial)
        # A client is told the name of its conversation.
        self.named = {}

    def ask(self, which, given, key=None, token=None, session=None):
        more = {"confirmation": token, "session_id": self.named.get(session)}
        given = {"query": "as asked"} | given | {name: value for name, value in more.items() if value}
        meta = {"idempotency_key": key} if key else {}
        result = self.trial.tool(re.sub(r"\W", "_", which).lower(), given, **meta)
        meta = result.get("_meta", {})
        if session and "session_id" in meta:
            self.named[session] = meta["session_id"]
        if "confirmation" in meta:
            return Said("asked", result, meta["confirmation"])
        refused = result.get("isError", True)
        return Said(meta.get("error", {}).get("code", "refused") if refused else "done", result)


class Agtp(Way):
    name = "agtp"

    def ask(self, which, given, key=None, token=None, session=None):
        verb = VERBS.get(self.declared[which]["type"], "EXECUTE")
        headers = {
            "Agent-ID": AGENT, "Content-Type": "application/json", "Accept": "application/vnd.agtp+json", "Authorization": self.authorization,
            "Idempotency-Key": key, "AICP-Confirmation": token, "Session-ID": session,
        }  # fmt: skip
        headers = {name: value for name, value in headers.items() if value}
        url = f"http://127.0.0.1:{self.trial.http}/" + re.sub(r"[._]", "-", which)
        request = urllib.request.Request(url, json.dumps(given).encode(), headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, body = answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            status, body = error.code, json.loads(error.read())
        if status == 262:
            return Said("asked", body, body["confirmation"]["token"])
        return Said("done" if status < 262 else str(body.get("code", status)), body)


def confirmed(way, which, given, key, session=None):
    """Asks, and then says yes: whether there was a question, and what came of it."""
    asked = way.ask(which, given, key, session=session)
    return asked.word, way.ask(which, given, key, asked.token, session) if asked.token else asked


def everywhere(trial, count=None, search=None, read=None, write=None, wrong=None, basket=None):
    """Tries each of these over every protocol.

    `search`, `read`: a capability, its input, and what the answer shows. `write`: the input is a function of the
    protocol's name. `wrong`: an input that the site refuses, and its words. `basket`: what adds, the inputs, what shows it,
    and what it then shows.
    """
    count = count or (lambda: int(re.match(r"\d+", trial.taken())[0]))
    for way in (Aicp(trial), Mcp(trial), Agtp(trial)):
        for what, tried in (("a search", search), ("a page", read)):
            if tried:
                which, given, shows = tried
                said = way.ask(which, given)
                expect(f"{way.name}: {what}", (said.word, shows in said.text), ("done", True))
        if write:
            which, given, shows = write
            key, before = f"ways-{way.name}", count()
            asked, said = confirmed(way, which, given(way.name), key)
            way.ask(which, given(way.name), key)
            if said.word != "done":
                print(f"       {said.text[:300]}")
            expect(f"{way.name}: a submission, asked about, confirmed, and made once", (asked, said.word, shows in said.text, count() - before), ("asked", "done", True, 1))
        if wrong:
            which, given, shows = wrong
            before = count()
            asked, said = confirmed(way, which, given, f"wrong-{way.name}")
            expect(f"{way.name}: the site refuses, in its own words", (asked, said.word != "done", shows in said.text, count() - before), ("asked", True, True, 0))
        if basket:
            adds, items, shows, full = basket
            ours, other = (f"{name}-conversation-over-{way.name}" for name in ("our-own", "another"))
            words = [way.ask(adds, item, session=ours).word for item in items]
            said, elsewhere = way.ask(shows, {}, session=ours), Aicp(trial).ask(shows, {}, session=other)
            held = [[one in text.text for one in full] for text in (said, elsewhere)]
            expect(f"{way.name}: a basket over three calls, and an empty one elsewhere", (words, said.word, held), (["done"] * len(items), "done", [[True] * len(full), [False] * len(full)]))
