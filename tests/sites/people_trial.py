"""Two people of a Django site let an agent act for them: it reads and changes their own data over MCP and A2A, both at once.

Usage: people_trial.py FRONTDESK. `run` installs what it needs.
"""

import base64
import concurrent.futures
import hashlib
import http.cookiejar
import json
import re
import secrets
import sys
import urllib.error
import urllib.parse
import urllib.request

from desk import HERE, Trial, expect, finish

CALLBACK = "https://assistant.example/cb"
ROUNDS = 20
READ = {"query": "mine"}


class AtHome(urllib.request.HTTPRedirectHandler):
    """A browser that stays at the site: where a redirect leads elsewhere, it says where."""

    def redirect_request(self, request, *rest):
        is_elsewhere = urllib.parse.urlsplit(rest[-1]).scheme == "https"
        return None if is_elsewhere else super().redirect_request(request, *rest)


class Person:
    """A browser with a person before it, and their agent."""

    client, callback = "assistant", CALLBACK

    def __init__(self, trial, who):
        self.trial, self.who, self.at = trial, who, f"http://127.0.0.1:{trial.http}"
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(AtHome, cookies)

    def open(self, url, form=None):
        """The address that was come to, and the page."""
        data = None if form is None else urllib.parse.urlencode(form, doseq=True).encode()
        request = urllib.request.Request(urllib.parse.urljoin(self.at, url), data, {"Origin": self.at} if data else {})
        try:
            with self.browser.open(request, timeout=20) as answer:
                return answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.headers.get("Location") or f"status {error.code}", error.read().decode()

    def allow(self):
        """Signs in over the site's own form, allows everything, and gives the page of consent."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code", "client_id": self.client, "redirect_uri": self.callback, "state": "s",
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        url, page = self.open("/agent/oauth/authorize?" + urllib.parse.urlencode(asked))
        consent = self.signed_in(url, page)[1]
        ticket = re.search(r'name="ticket" value="(\w+)"', consent).group(1)
        chosen = re.findall(r'name="allow" value="([^"]+)"', consent)
        back = self.open("/agent/oauth/consent", {"ticket": ticket, "decision": "allow", "allow": chosen})[0]
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["code"][0]
        given = {
            "grant_type": "authorization_code", "code": code, "client_id": self.client, "redirect_uri": self.callback,
            "code_verifier": verifier,
        }  # fmt: skip
        self.tokens = json.loads(self.open("/agent/oauth/token", given)[1])
        return consent

    def asked_for(self, client, callback):
        """What a person who is signed in sees where an agent with this name and address asks for them."""
        asked = {
            "response_type": "code", "client_id": client, "redirect_uri": callback, "state": "s",
            "code_challenge": "c" * 43, "code_challenge_method": "S256",
        }  # fmt: skip
        return self.open("/agent/oauth/authorize?" + urllib.parse.urlencode(asked))

    def signed_in(self, url, page):
        """The page that comes after the site's login form on this page."""
        hidden = dict(re.findall(r'name=.?(csrfmiddlewaretoken|next).? value=["\']([^"\']*)', page))
        form = hidden | {"username": self.who, "password": f"{self.who}-password"}
        form["next"] = form["next"].replace("&amp;", "&")
        return self.open(url, form)

    def authorization(self):
        return f"Bearer {self.tokens['access_token']}"

    def call(self, path, method, params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.trial.call(path, message, Authorization=self.authorization(), Accept="application/json, text/event-stream")

    def mcp(self, tool, arguments, key=None):
        params = {"name": tool.replace(".", "_"), "arguments": arguments}
        return self.call("/mcp", "tools/call", params | ({"_meta": {"idempotency_key": key}} if key else {}))

    def a2a(self, capability, given, key=None):
        data = {"capability": capability, "input": given} | ({"idempotency_key": key} if key else {})
        message = {"kind": "message", "messageId": secrets.token_hex(8), "role": "user", "parts": [{"kind": "data", "data": data}]}
        return self.call("/a2a", "message/send", {"message": message})


def rounds(person, other):
    """Reads and changes by both protocols; how often the answer was this person's own, and how often it had the other's."""
    own = mixed = 0
    for n in range(ROUNDS):
        for way in (person.mcp, person.a2a):
            email = f"{person.who}-{way.__name__}-{n}@new.test"
            said = [
                json.dumps(way("email.change", {"email": email}, f"key-{way.__name__}-{n}")),
                json.dumps(way("email.read", READ)),
                json.dumps(way("orders.list", READ)),
            ]
            own += ("error" not in said[0]) + (email in said[1]) + (f"order 1 of {person.who}" in said[2])
            # A UUID may have "ada-" in it too.
            wrong = [text for text in said if re.search(rf"\b{other}[-@]|of {other}", text)]
            mixed += len(wrong)
            for text in wrong:
                print(f"  mixed: {person.who} got {text[:500]}")
    return own, mixed


def main():
    with Trial(sys.argv[1], "people_site.py", (HERE / "people.toml").read_text()) as trial:
        print("people: a Django site with sign-in and CSRF protection, over MCP and A2A")
        people = [Person(trial, "ada"), Person(trial, "bob")]
        for person, called in zip(people, ("Ada L.", "Bob B.")):
            consent = person.allow()
            expect(f"{person.who} is asked by name", called in consent and "Change your address." in consent, True)
            expect("nothing that changes is chosen beforehand", 'value="email.change" checked' in consent, False)
            expect(f"tokens for {person.who}", person.tokens.get("scope"), "orders.list email.read email.change")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(rounds, people, ("bob", "ada")))
        for person, (own, mixed) in zip(people, found):
            expect(f"{person.who}: {6 * ROUNDS} answers are their own, and none is the other's", (own, mixed), (6 * ROUNDS, 0))
            page = person.open("/account")[1]
            expect(f"{person.who} finds it at the site", f"{person.who}-a2a-{ROUNDS - 1}@new.test" in page, True)
        ada, bob = people
        expect("the site's own words on what is wrong", "valid email" in json.dumps(ada.mcp("email.change", {"email": "no"}, "key-wrong")), True)
        token = re.search(r'name=.?csrfmiddlewaretoken.? value=["\']([^"\']*)', ada.open("/account")[1]).group(1)
        ada.open("/accounts/logout/", {"csrfmiddlewaretoken": token})
        expect("ada has signed out at the site: her agent is refused", ada.mcp("email.read", READ)[0], 401)
        expect("bob's agent goes on", bob.mcp("email.read", READ)[0], 200)
        finish()


if __name__ == "__main__":
    main()
