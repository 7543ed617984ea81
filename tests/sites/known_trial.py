"""WordPress and MediaWiki of Debian, unmodified: `import site` finds their public JSON APIs and writes capabilities that
are called over AICP, MCP and AGTP.

Usage: known_trial.py FRONTDESK. `run` installs what it needs; wants php.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

from desk import HERE, Trial, expect, finish, imported

sys.path.append(str(HERE.parent / "apps"))

import php_applications  # noqa: E402

AT = HERE.parent.parent / "target/apps"


def ids(text):
    return [line.split('"')[1] for line in text.splitlines() if line.startswith('id = "')]


AGTP = """
[agtp]
server_id = "agents.example.com"
"""


def by_verb(trial, verb, path, fields):
    """What a verb of AGTP answers, over HTTP."""
    headers = {"Agent-ID": "1" * 64, "Content-Type": "application/json", "Authorization": "Bearer test"}
    url = f"http://127.0.0.1:{trial.http}{path}"
    request = urllib.request.Request(url, json.dumps(fields).encode(), headers, method=verb)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def wordpress(trial):
    status, found = trial.call("/agent/site/search", {"words": "hello"})
    titles = [item.get("title") for item in found] if isinstance(found, list) else found
    expect("search", (status, titles), (200, ["Hello world!"]))
    post = trial.data("posts_list", {"words": "welcome"})
    found = by_verb(trial, "QUERY", "/site-search", {"words": "hello"})
    expect("the search over AGTP", "Hello world!" in found, True)
    expect("the same post over MCP", [item["title"]["rendered"] for item in post], ["Hello world!"])
    number = post[0]["id"]
    status, post = trial.call("/agent/posts/read", {"id": number})
    expect("the text of a post", (status, "Welcome to WordPress" in json.dumps(post)), (200, True))
    status, refused = trial.call("/agent/posts/read", {"id": 4711})
    expect("a post that is not there", (status, refused.get("error", {}).get("code")), (404, "no_such_post"))
    status, refused = trial.call("/agent/posts/list", {"page": 99})
    expect("a page of results that is not there", (status, refused.get("error", {}).get("code")), (400, "no_such_page"))
    status, listed = trial.call("/agent/posts/list", {"after": "2999-01-01T00:00:00"})
    expect("no posts after a time", (status, listed), (200, []))


def mediawiki(trial):
    status, found = trial.call("/agent/site/search", {"words": "oolong"})
    expect("search", (status, [hit["title"] for hit in found.get("query", {}).get("search", [])]), (200, ["Oolong"]))
    found = by_verb(trial, "FETCH", "/pages-read", {"page": "Oolong"})
    expect("a page over AGTP", "Half oxidised" in found, True)
    page = trial.data("pages_read", {"page": "Oolong"})
    expect("a page over MCP", page.get("parse", {}).get("wikitext"), "Half oxidised, from the hills.")
    status, refused = trial.call("/agent/pages/read", {"page": "Nothing of this kind"})
    expect("a page that is not there", (status, refused.get("error", {}).get("code")), (422, "no_such_page"))
    status, refused = trial.call("/agent/pages/read", {"page": "a|b&action=query"})
    expect("an input is never another parameter", (status, refused.get("error", {}).get("code")), (422, "no_such_page"))


def tried(frontdesk, name, application, wanted, check, before=None):
    print(name)
    work = AT / f"runs/sites-{name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with application(AT, work) as running:
        if before:
            before(work)
        text = imported(frontdesk, "site", running.url)
        expect("the capabilities of its API", [id for id in ids(text) if id in wanted], wanted)
        expect("one search only", ids(text).count("site.search"), 1)
        with Trial(frontdesk, running.url, text + AGTP) as trial:
            check(trial)
            live = trial.live()
            expect("check --live", (live.returncode, live.stdout), (0, live.stdout))


def written(work):
    """A page of the wiki, by its own maintenance script."""
    edit = work / "root/usr/share/mediawiki/maintenance/edit.php"
    subprocess.run(["php", edit, "--summary", "new", "Oolong"], input="Half oxidised, from the hills.", text=True, check=True,
                   capture_output=True)
    subprocess.run(["php", edit.parent / "runJobs.php"], check=True, capture_output=True)


def main():
    AT.mkdir(parents=True, exist_ok=True)
    frontdesk = sys.argv[1]
    tried(frontdesk, "wordpress", php_applications.wordpress, ["site.search", "posts.list", "posts.read"], wordpress)
    tried(frontdesk, "mediawiki", php_applications.mediawiki, ["site.search", "pages.read"], mediawiki, written)
    finish()


if __name__ == "__main__":
    main()
