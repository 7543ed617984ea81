"""WordPress and MediaWiki of Debian, unmodified: `import site` finds their public JSON APIs and writes capabilities that
are called over AICP, MCP and AGTP, beside a form of each: a comment, and an edit.

Usage: known_trial.py FRONTDESK. `run` installs what it needs; wants php.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

from desk import HERE, Trial, expect, finish, imported
from ways import everywhere

sys.path.append(str(HERE.parent / "apps"))

import php_applications  # noqa: E402

AT = HERE.parent.parent / "target/apps"


# What a person adds to the form that the import finds, and a form that it does not find.
COMMENT = ['select = "form#commentform"\n', """done = { redirect = "/*" }
failed = ".wp-die-message"
"""]
EDIT = '''
[[capabilities]]
id = "notes.write"
type = "commit_action"
description = "Write a page."
endpoint = "/agent/notes/write"
risk_level = "medium"
auth = "required"
idempotency_required = true
input_schema = { type = "object", required = ["text"], properties = { text = { type = "string" }, summary = { type = "string" } } }
[capabilities.confirmation]
summary = "Write: {{ input.text }}"
[capabilities.upstream]
method = "POST"
path = "/index.php?title=Note&action=submit"
rename_input = { text = "wpTextbox1", summary = "wpSummary" }
[capabilities.upstream.form]
page = "/index.php?title=Note&action=edit"
select = "#editform"
submit = "wpSave"
done = { redirect = "/index.php/Note" }
failed = "#spamprotected"
'''


def ids(text):
    return [line.split('"')[1] for line in text.splitlines() if line.startswith('id = "')]


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

    def comment(name):
        # WordPress takes one comment in 15 seconds from an address.
        if name != "aicp":
            time.sleep(16)
        return {"comment": f"Good tea, says {name}.", "author": name, "email": f"{name}@tea.example"}

    said = {}
    everywhere(
        trial,
        count=lambda: int(trial.wordpress("echo get_comment_count()['all'];")),
        search=("site.search", {"words": "hello"}, "Hello world!"),
        read=("posts.read", {"id": number}, "Welcome to WordPress"),
        write=("wp_comments_post.send", lambda name: said.get(name) or said.setdefault(name, comment(name)), "Good tea"),
        wrong=("wp_comments_post.send", {"comment": "Hm", "author": "Ada", "email": "ada@tea"}, "valid email address"),
    )


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
    everywhere(
        trial,
        count=lambda: len(revisions(trial)),
        search=("site.search", {"words": "oolong"}, "Oolong"),
        read=("pages.read", {"page": "Oolong"}, "Half oxidised"),
        write=("notes.write", lambda name: {"text": f"A note by {name}."}, "A note by"),
        wrong=("notes.write", {"text": "See http://spam.example/"}, "spam filter"),
    )


def revisions(trial):
    """Of the page that is written, as the wiki tells them."""
    query = "action=query&prop=revisions&titles=Note&rvlimit=50&rvprop=ids&format=json&formatversion=2"
    with urllib.request.urlopen(f"{trial.url}/api.php?{query}") as answer:
        return json.load(answer)["query"]["pages"][0].get("revisions", [])


def tried(frontdesk, name, application, wanted, check, with_form, before=None):
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
        with Trial(frontdesk, running.url, with_form(text)) as trial:
            trial.wordpress = lambda code: in_wordpress(work, code)
            check(trial)
            live = trial.live()
            expect("check --live", (live.returncode, live.stdout), (0, live.stdout))


def in_wordpress(work, code):
    """What a line of PHP prints within WordPress."""
    load = f"$_SERVER['HTTP_HOST'] = '127.0.0.1'; require '{work}/root/usr/share/wordpress/wp-load.php'; {code}"
    return subprocess.run(["php", "-r", load], check=True, capture_output=True, text=True).stdout


def written(work):
    """A page of the wiki, by its own maintenance script, and a word that it blocks."""
    with (work / "root/usr/share/mediawiki/LocalSettings.php").open("a") as settings:
        settings.write("\n$wgSpamRegex = ['/spam\\.example/'];\n")
    edit = work / "root/usr/share/mediawiki/maintenance/edit.php"
    subprocess.run(["php", edit, "--summary", "new", "Oolong"], input="Half oxidised, from the hills.", text=True, check=True,
                   capture_output=True)
    subprocess.run(["php", edit.parent / "runJobs.php"], check=True, capture_output=True)


def main():
    AT.mkdir(parents=True, exist_ok=True)
    frontdesk = sys.argv[1]
    tried(frontdesk, "wordpress", php_applications.wordpress, ["site.search", "posts.list", "posts.read"], wordpress,
          lambda text: text.replace(COMMENT[0], "".join(COMMENT)))
    tried(frontdesk, "mediawiki", php_applications.mediawiki, ["site.search", "pages.read"], mediawiki,
          lambda text: text + EDIT, written)
    finish()


if __name__ == "__main__":
    main()
