"""Two people of a WordPress (Debian's, unmodified) let agents write drafts for them: with application passwords by its REST
API, and with its own cookies over its own sign-in. Both people at once; neither ever sees the other's drafts.

Usage: wordpress_trial.py FRONTDESK. `run` installs what it needs; wants php.
"""

import base64
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from desk import HERE, Trial, expect, finish
from people_trial import Person
from ways import Agtp

sys.path.append(str(HERE.parent / "apps"))

import php_applications  # noqa: E402

AT = HERE.parent.parent / "target/apps"
ROUNDS = 10
# What its owner writes into wp-config.php: application passwords without https are for local sites only, and the cookie
# of the dashboard has to reach the page where a person allows an agent.
SETTINGS = "<?php\ndefine('WP_ENVIRONMENT_TYPE', 'local'); define('ADMIN_COOKIE_PATH', '/');\n"
PEOPLE = """<?php
$_SERVER['HTTP_HOST'] = '127.0.0.1'; require $argv[1] . '/wp-load.php';
$made = [];
foreach (['ada' => 'Ada L.', 'bob' => 'Bob B.'] as $who => $name) {
    $id = wp_insert_user(['user_login' => $who, 'user_pass' => "$who-password", 'display_name' => $name, 'nickname' => $name,
        'user_email' => "$who@tea.example", 'role' => 'contributor']);
    [$password, $item] = WP_Application_Passwords::create_new_application_password($id, ['name' => 'agent']);
    $made[$who] = ['id' => $id, 'password' => $password, 'uuid' => $item['uuid']];
}
echo json_encode($made);
"""
REVOKE = """<?php
$_SERVER['HTTP_HOST'] = '127.0.0.1'; require $argv[1] . '/wp-load.php';
WP_Application_Passwords::delete_application_password((int) $argv[2], $argv[3]);
"""


def php(script, *arguments):
    command = ["php", "-r", script.removeprefix("<?php"), "--", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class WithPassword(Person):
    """An agent that shows an application password of its person."""

    def __init__(self, trial, who, password):
        super().__init__(trial, who)
        self.shown = "Basic " + base64.b64encode(f"{who}:{password}".encode()).decode()

    def authorization(self):
        return self.shown

    def aicp(self, capability, given, key=None):
        path = "/agent/" + capability.replace(".", "/").removesuffix("/list")
        return self.trial.call(path, given, Authorization=self.authorization(), **({"Idempotency_Key": key} if key else {}))


    def agtp(self, capability, given, key=None):
        said = Agtp(self.trial, self.authorization()).ask(capability, given, key)
        return said.word, json.loads(said.text)


class WithLink(WithPassword):
    """An agent that its person allowed on the page of consent, after signing in at WordPress."""

    def __init__(self, trial, who):
        super().__init__(trial, who, "")

    def authorization(self):
        return f"Bearer {self.tokens['access_token']}"

    def signed_in(self, url, page):
        to = re.search(r'name="redirect_to" value="([^"]*)"', page).group(1).replace("&amp;", "&").replace("&#038;", "&")
        form = {"log": self.who, "pwd": f"{self.who}-password", "redirect_to": to, "testcookie": "1", "wp-submit": "Log In"}
        return self.open("/wp-login.php", form)


def rounds(person, other, kind):
    """Drafts by every protocol: how often the answer was this person's own, and how often it had anything of the other."""
    own = mixed = 0
    for n in range(ROUNDS):
        for way in (person.aicp, person.agtp, person.mcp, person.a2a):
            title = f"tea of {person.who} by {way.__name__} {kind} {n}"
            said = [
                json.dumps(way(f"{kind}.write", {"title": title}, f"key-{kind}-{way.__name__}-{n}")),
                json.dumps(way(f"{kind}.list", {} if way in (person.aicp, person.agtp) else {"query": "mine"})),
            ]
            own += sum(title in text for text in said)
            for text in said:
                if title not in text:
                    print(f"  not there: {title} in {text[:300]}")
            mixed += sum(f"of {other}" in text or f"{other}@" in text for text in said)
    return own, mixed


def at_once(people, kind):
    others = [person.who for person in reversed(people)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(rounds, people, others, [kind] * 2))
    for person, (own, mixed) in zip(people, found):
        expect(f"{person.who}: {8 * ROUNDS} answers have their own draft, and none has one of the other", (own, mixed), (8 * ROUNDS, 0))


def warm(people):
    """Waits until WordPress answers both at once. Its first requests write to SQLite, and while that is locked it says 400 or
    401 to a right password."""
    in_a_row = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in range(60):
            statuses = list(pool.map(lambda person: person.aicp("drafts.list", {})[0], people))
            in_a_row = in_a_row + 1 if statuses == [200, 200] else 0
            if in_a_row == 5:
                return
            time.sleep(0.2)
    sys.exit(f"wordpress: the site never settled: {statuses}")


def passwords(trial, site, made):
    print("wordpress with application passwords, over AICP, AGTP, MCP and A2A")
    people = [WithPassword(trial, who, made[who]["password"]) for who in ("ada", "bob")]
    ada, bob = people
    warm(people)
    at_once(people, "drafts")
    number = ada.aicp("drafts.list", {})[1][0]["id"]
    status, draft = ada.aicp("drafts.read", {"id": number})
    expect("ada reads a draft", (status, "tea of ada" in json.dumps(draft)), (200, True))
    status, refused = bob.aicp("drafts.read", {"id": number})
    expect("bob does not", (status, refused["error"]["code"], "tea of" in json.dumps(refused)), (403, "forbidden", False))
    given = {"id": number, "query": "x"}
    wrong = WithPassword(trial, "ada", "no such password")
    expect("a wrong password", [way("drafts.read", given)[0] for way in (wrong.aicp, wrong.mcp)], [401, 401])
    # WordPress says 400 to this one.
    status, refused = wrong.aicp("drafts.list", {})
    expect("a wrong password where WordPress has another word for it", (status, refused["error"]["code"]), (400, "not_signed_in"))
    none = trial.call("/agent/drafts", {}, Authorization=None)
    expect("without a password", (none[0], none[1]["error"]["code"]), (401, "auth_required"))
    before = len(ada.aicp("drafts.list", {})[1])
    for key in ("key-drafts-aicp-0", "key-drafts-aicp-0", "a new key", "a new key"):
        ada.aicp("drafts.write", {"title": "tea of ada by aicp drafts 0"}, key)
    expect("one key, one draft", len(ada.aicp("drafts.list", {})[1]) - before, 1)
    php(REVOKE, site, made["ada"]["id"], made["ada"]["uuid"])
    expect("ada revoked it at WordPress: her agent is refused", [way("drafts.read", given)[0] for way in (ada.aicp, ada.mcp)], [401, 401])
    expect("bob's agent goes on", bob.aicp("drafts.list", {})[0], 200)


def links(trial):
    print("wordpress with its own cookies, over AICP, AGTP, MCP and A2A")
    people = [WithLink(trial, who) for who in ("ada", "bob")]
    ada, bob = people
    for person, called in zip(people, ("Ada L.", "Bob B.")):
        consent = person.allow()
        expect(f"{person.who} is asked by name", called in consent and "Write a draft by the dashboard" in consent, True)
    at_once(people, "notes")
    number = int(re.search(r"post=(\d+)", json.dumps(ada.aicp("notes.list", {})[1])).group(1))
    status, page = ada.aicp("notes.read", {"id": number})
    expect("ada reads a draft as its page", (status, "tea of ada" in json.dumps(page)), (200, True))
    status, page = bob.aicp("notes.read", {"id": number})
    expect("bob does not", (status != 200, "tea of ada" in json.dumps(page)), (True, False))
    ended = re.search(r'href="([^"]*action=logout[^"]*)"', ada.open("/wp-admin/index.php")[1]).group(1)
    ada.open(ended.replace("&amp;", "&").replace("&#038;", "&"))
    expect("ada has signed out at WordPress: her agent is refused", ada.aicp("notes.list", {})[0], 401)
    expect("bob's agent goes on", bob.aicp("notes.list", {})[0], 200)


def main():
    AT.mkdir(parents=True, exist_ok=True)
    work = AT / "runs/sites-wordpress-people"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with php_applications.wordpress(AT, work) as running:
        site = work / "root/usr/share/wordpress"
        config = site / "wp-config.php"
        config.write_text(config.read_text().replace("<?php\n", SETTINGS, 1))
        made = json.loads(php(PEOPLE, site))

        def declared(_url):
            # WordPress names its cookies by the address that its pages have.
            named = hashlib.md5(f"http://127.0.0.1:{trial.http}".encode()).hexdigest()
            return (HERE / "wordpress.toml").read_text().replace("COOKIEHASH", named)

        trial = Trial(sys.argv[1], running.url, declared)
        with trial:
            passwords(trial, site, made)
            links(trial)
    finish()


if __name__ == "__main__":
    main()
