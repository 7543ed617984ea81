"""DokuWiki of Debian, unmodified but for two pages: its own search form by `import site`, its edit form, and its XML-RPC
(this version of it has no JSON-RPC yet).

Usage: dokuwiki_trial.py FRONTDESK. `run` installs what it needs; wants php.
"""

import json
import pathlib
import shutil
import sys
import urllib.request

from desk import HERE, Trial, expect, finish, imported
from ways import everywhere

sys.path.append(str(HERE.parent / "apps"))

import php_applications  # noqa: E402

AT = HERE.parent.parent / "target/apps"
PAGES = {"oolong": "====== Oolong ======\nHalf oxidised, from the hills.\n", "sencha": "====== Sencha ======\nGreen & <steamed>.\n"}

WRITTEN = '''
[[capabilities]]
id = "pages.edit"
type = "commit_action"
description = "Write a page."
endpoint = "/agent/pages/edit"
risk_level = "medium"
auth = "required"
idempotency_required = true
input_schema = { type = "object", required = ["text"], properties = { text = { type = "string" }, summary = { type = "string" } } }
[capabilities.confirmation]
summary = "Write: {{ input.text }}"
[capabilities.upstream]
method = "POST"
path = "/doku.php?id=note"
rename_input = { text = "wikitext" }
[capabilities.upstream.form]
page = "/doku.php?id=note&do=edit"
select = "#dw__editform"
submit = "do[save]"
done = { redirect = "/doku.php?id=note" }
failed = "div.error"
[capabilities.upstream.extract]
fields = { title = "h1.sectionedit1", text = "div.level1" }
must = ".page h1"

[[capabilities]]
id = "wiki.version"
type = "query"
description = "The version of the wiki."
endpoint = "/agent/wiki/version"
risk_level = "low"
auth = "none"
[capabilities.upstream]
method = "POST"
path = "/lib/exe/xmlrpc.php"
content_type = "text/xml"
response = "xml"
undeclared = "drop"
failed = "/methodResponse/fault"
body_template = "<methodCall><methodName>dokuwiki.getVersion</methodName><params></params></methodCall>"

[[capabilities]]
id = "wiki.page"
type = "query"
description = "The text of a page."
endpoint = "/agent/wiki/page"
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["page"], properties = { page = { type = "string", examples = ["oolong"] } } }
[capabilities.upstream]
method = "POST"
path = "/lib/exe/xmlrpc.php"
content_type = "text/xml"
response = "xml"
undeclared = "drop"
failed = "/methodResponse/fault"
body_template = "<methodCall><methodName>wiki.getPageHTML</methodName><params><param><value><string>{{ input.page }}</string></value></param></params></methodCall>"

# This version answers every failure with an empty struct in place of a fault.
[[capabilities]]
id = "wiki.about"
type = "query"
description = "When a page changed, and by whom."
endpoint = "/agent/wiki/about"
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["page"], properties = { page = { type = "string", examples = ["oolong"] } } }
[capabilities.upstream]
method = "POST"
path = "/lib/exe/xmlrpc.php"
content_type = "text/xml"
response = "xml"
undeclared = "drop"
failed = "!/methodResponse/params/param/value/struct/member"
errors = { "/methodResponse/params/param/value/struct=" = "no_such_page" }
body_template = "<methodCall><methodName>wiki.getPageInfo</methodName><params><param><value><string>{{ input.page }}</string></value></param></params></methodCall>"

[[capabilities]]
id = "wiki.found"
type = "query"
description = "Pages with these words."
endpoint = "/agent/wiki/found"
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["words"], properties = { words = { type = "string", examples = ["oolong"] } } }
[capabilities.upstream]
method = "POST"
path = "/lib/exe/xmlrpc.php"
content_type = "text/xml"
response = "xml"
undeclared = "drop"
failed = "/methodResponse/fault"
body_template = "<methodCall><methodName>dokuwiki.search</methodName><params><param><value><string>{{ input.words }}</string></value></param></params></methodCall>"
'''


def prepared(work):
    """DokuWiki as tests/apps installs it, with two pages, its XML-RPC switched on, and an edit for everybody."""
    site = php_applications.dokuwiki(AT, work)
    running = site.__enter__()
    root = work / "root"
    pages = root / "var/lib/dokuwiki/data/pages"
    for name, text in PAGES.items():
        (pages / f"{name}.txt").write_text(text)
    with (root / "etc/dokuwiki/local.php").open("a") as config:
        config.write("$conf['remote'] = 1; $conf['remoteuser'] = ''; $conf['locktime'] = -1;\n")
    with (root / "etc/dokuwiki/wordblock.conf").open("a") as blocked:
        blocked.write("\nhttps?:\\/\\/spam\\.example\n")
    (root / "var/lib/dokuwiki/acl/acl.auth.php").write_text("# <?php exit()?>\n*\t@ALL\t1\nnote\t@ALL\t4\n")
    # A page is found once it was visited: it has a picture that makes the wiki read it.
    for name in PAGES:
        urllib.request.urlopen(f"{running.url}/lib/exe/taskrunner.php?id={name}").read()
    return site, running.url


def dokuwiki(trial, work):
    status, found = trial.call("/agent/site/search", {"q": "oolong"})
    expect("its own search", (status, "Oolong" in found.get("markdown", "")), (200, True))
    found = trial.data("site_search", {"q": "steamed"})
    expect("the same over MCP", "Sencha" in json.dumps(found), True)
    status, found = trial.call("/agent/site/search", {"q": "nothing-of-this-kind"})
    expect("nothing found", (status, "Oolong" in json.dumps(found)), (200, False))

    status, found = trial.call("/agent/wiki/version", {})
    version = found.get("methodResponse", {}).get("params", {}).get("param", {}).get("value", {})
    expect("XML-RPC: the version", (status, "2022" in json.dumps(version)), (200, True))
    status, found = trial.call("/agent/wiki/page", {"page": "sencha"})
    text = json.dumps(found)
    expect("XML-RPC: a page", (status, "Sencha" in text), (200, True))
    expect("XML-RPC: the same over MCP", trial.data("wiki_page", {"page": "sencha"}), found)
    status, found = trial.call("/agent/wiki/found", {"words": "oolong"})
    expect("XML-RPC: a search", (status, "oolong" in json.dumps(found)), (200, True))
    status, refused = trial.call("/agent/wiki/about", {"page": "</string></value></param>"})
    expect("XML-RPC: an input is never syntax", (status, refused.get("error", {}).get("code")), (422, "no_such_page"))
    status, found = trial.call("/agent/wiki/about", {"page": "oolong"})
    expect("XML-RPC: about a page", (status, "oolong" in json.dumps(found)), (200, True))

    new = {"text": "====== A note ======\nZoë's <b> & \"tea\".\n\nSecond.", "summary": "By an agent"}
    asked, status, done = trial.confirmed("/agent/pages/edit", new, "1")
    expect("its edit form, confirmed", (asked, status, done.get("title")), (428, 200, "A note"))
    expect("the text as the wiki shows it", "Zoë's <b> & \u201ctea\u201d." in done.get("text", ""), True)
    status, feed = trial.call("/agent/news/feed", None)
    told = [item.get("title", "").partition(" ")[0] for item in feed.get("items", [])]
    expect("its feed has it", (status, "note" in told), (200, True))
    expect("check --live", trial.live().returncode, 0)
    changes = work / "root/var/lib/dokuwiki/data/meta/note.changes"
    everywhere(
        trial,
        count=lambda: len(changes.read_text().splitlines()),
        search=("site.search", {"q": "oolong"}, "Oolong"),
        read=("wiki.page", {"page": "sencha"}, "Sencha"),
        write=("pages.edit", lambda name: {"text": f"====== By {name} ======\nTea."}, "Tea."),
        wrong=("pages.edit", {"text": "====== Spam ======\nhttp://spam.example/"}, "blocked text"),
    )


def main():
    print("dokuwiki")
    AT.mkdir(parents=True, exist_ok=True)
    work = AT / "runs/sites-dokuwiki"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    site, url = prepared(pathlib.Path(work))
    try:
        def config(url):
            return imported(sys.argv[1], "site", url) + WRITTEN

        with Trial(sys.argv[1], url, config) as trial:
            dokuwiki(trial, work)
    finally:
        site.__exit__(None, None, None)
    finish()


if __name__ == "__main__":
    main()
