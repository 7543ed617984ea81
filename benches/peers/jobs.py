"""The jobs: what is asked, what a right answer is, and what the issue of speed aims at."""
import json, sys
from dataclasses import dataclass, field, replace

from . import frontdesk, load
from .site import MANIFEST, NEW, PAGE, fetch, thing

ASKED, ASKED_NEW = (json.dumps({"q": what}) for what in ("lamp", NEW))
QUESTION = json.dumps({"capability": frontdesk.TOPIC, "query": "Have you got lamps?", "input": {"q": "lamp"}})


@dataclass
class Job:
    letter: str
    title: str
    path: str = "/thing.json"
    client: object = load.wrk
    headers: dict = field(default_factory=dict)
    body: str = None
    # What the site itself is asked for, to see what client and site can do; and whether it is asked at all.
    direct: str = None
    asks: bool = True
    # What it is measured against: nginx at the same job, or Frontdesk itself at (a).
    base: str = "nginx"
    # The only proxies that do it; all of them where it is empty.
    only: tuple = ()
    # CPU a request, as a ratio to the base.
    target: float = None
    p99: float = None
    resident: float = None

    def at(self, proxy):
        return proxy.https if self.client is load.h2load else proxy.http

    def right(self, proxy, site):
        """The answer is what it is taken for, before it is measured; says its length on the wire."""
        try:
            status, headers, body = fetch(proxy.http, self.path, "POST" if self.body else "GET", self.body, self.headers)
        except OSError as e:
            sys.exit(f"({self.letter}) {proxy.name}: {e}")
        wrong = [] if status == 200 else [f"status {status}"]
        if site.link not in headers.get("link", ""):
            wrong.append("no Link")
        if self.letter in "agjk" and body != thing():
            wrong.append("another body")
        if self.letter in "bc" and (len(body) != len(PAGE) + len(site.added) or b"</body></html>\n" not in body):
            wrong.append(f"{len(body)} bytes of a page")
        if self.letter == "c" and headers.get("content-encoding") != "gzip":
            wrong.append("not zipped")
        if self.letter == "d" and len(body) != len(site.manifest):
            wrong.append(f"{len(body)} bytes of manifest")
        if self.letter == "e":
            data, same = json.loads(body)["data"], json.loads(thing())
            if data["results"] != same["results"] or (data == same) == (self.body == ASKED_NEW):
                wrong.append("other data")
        if self.letter == "f" and "things; the first is" not in json.loads(body)["response"]["answer"]:
            wrong.append("another answer")
        if wrong:
            sys.exit(f"({self.letter}) {proxy.name}: {', '.join(wrong)}\n{status} {headers}\n{body[:400]}")
        return headers["x-length"]


JSON = {"Content-Type": "application/json"}
BESIDE = ("frontdesk", "nginx")
JOBS = [
    Job("a", "1 KB passed through, with Link, limits, metrics and the access log", target=1.00, p99=1.00),
    Job("b", "A page of 33 KB with the notice and Link", "/plain/page.html", target=0.90, p99=1.00, resident=25),
    Job("c", "The same page from a gzip site to a gzip client", "/small/page.html", headers={"Accept-Encoding": "gzip"},
        target=0.70, p99=1.00),
    Job("d", "The manifest", MANIFEST, direct="/manifest.json", asks=False, target=0.75, p99=1.00),
    Job("e", "A desk call as AOM, of a site's answer of 1 KB", frontdesk.CALL, body=ASKED, direct="/thing.json",
        headers={**JSON, "Accept": "application/aom+json"}, base="passed", target=1.25),
    Job("f", "Converse answered from what is kept", "/agent/converse", body=QUESTION, direct="/thing.json", asks=False,
        headers=JSON, base="passed"),
    Job("g", "TLS 1.3 and HTTP/2, the answer of (a)", client=load.h2load, target=1.10, p99=1.00),
    Job("j", "The answer of (a) with traces, 1 % of them sent to a collector; nginx makes none", only=BESIDE),
    Job("k", "The answer of (a) from a site over https and HTTP/1.1, whose certificate is verified", only=BESIDE),
]
# (e) where Frontdesk has not seen the site's answer before.
UNSEEN = replace(next(job for job in JOBS if job.letter == "e"), body=ASKED_NEW)
# Those that are no load of one kind: what an idle connection holds, and what a reload breaks.
OTHERS = {"h": "Idle connections", "i": "Reload under load"}
