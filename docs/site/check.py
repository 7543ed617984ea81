#!/usr/bin/env python3
"""Every link of the built site leads to a page or file of the site, and every anchor to an element. Usage: check.py DIRECTORY."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids of a page, and where its links lead."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if attributes.get("id"):
            self.ids.add(attributes["id"])
        link = attributes.get("href") if tag in ("a", "link") else attributes.get("src")
        if link:
            self.links.append(link)


root = Path(sys.argv[1]).resolve()
# The page for printing repeats all others, and the page of a wrong address has a base of its own.
pages = {path: Page(path) for path in root.rglob("*.html") if path.name not in ("print.html", "404.html", "toc.html")}
broken, count = [], 0
for path, page in pages.items():
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        count += 1
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        there = target.exists() and root in target.parents
        if there and parts.fragment and target in pages:
            there = unquote(parts.fragment) in pages[target].ids
        if not there:
            broken.append(f"{path.relative_to(root)}: {link}")
for line in sorted(set(broken)):
    print(f"docs: leads nowhere: {line}", file=sys.stderr)
if count < 1000:
    print(f"docs: only {count} links were found", file=sys.stderr)
    broken.append("too few")
print(f"docs: {len(pages)} pages, {count} links: {root}/index.html")
sys.exit(1 if broken else 0)
