"""The site behind every proxy, and what a proxy has to add to it.

The site is an nginx with files, by far the fastest thing here. What the peers add (the Link header, the notice, the
manifest with its headers) is what Frontdesk says, byte for byte, so that all send the same.
"""
import gzip, http.client, json, os, random, subprocess, sys, zlib

from . import process

WORDS = """the of and to in is that for it as was with be by on not he his but at are this have from or had an they which
one you were all her she there would their we him been has when who will no more if out so up said what its about than into
them can only other time new some could these two may first then do any like my now over such our man me even most made
after also did many off before must well back through years where much your way down should because long each just state
people those too mr how little good world make very year still see own work men day get here old life both between being
under three never know same last another while us might great go come since against right came take used himself few house
american use place during high without again home around small however found mrs part school thought went say general once
upon war every left fact ahead water number group until always away public something room cheap hotel flight travel lake""".split()
THING = {"id": "t-1000", "name": "A lamp", "price": {"amount": 129.5, "currency": "EUR"}, "tags": ["a", "b"], "on": True}
MANIFEST = "/.well-known/agent.json"
# Of an answer's own: a server writes them by itself.
OWN = {"content-length", "date", "connection", "etag", "content-type", "server", "transfer-encoding"}


def page():
    """33 KB of a page as sites have them: prose in paragraphs with links, the same in every run. It zips to a third."""
    dice, paragraphs, size = random.Random(9), [], 0
    while size < 33_000:
        words = [dice.choice(WORDS) for _ in range(dice.randrange(20, 50))]
        at = dice.randrange(len(words))
        words[at] = f'<a href="/{dice.choice(WORDS)}/{dice.randrange(1000)}">{words[at]}</a>'
        paragraphs.append(f'<p class="{dice.choice(WORDS)}">{" ".join(words).capitalize()}.</p>\n')
        size += len(paragraphs[-1])
    return f"<!doctype html><html><head><title>t</title></head><body>{''.join(paragraphs)}</body></html>\n"


PAGE = page()


# What the site is asked for where its answer is to be another one each time.
NEW = "new"


def thing(end=""):
    """The answer of 1 KB that is passed through; what it ends with can be given."""
    results = [{**THING, "id": f"t-{n}"} for n in range(1000, 1008)]
    told = lambda end: json.dumps({"results": results, "next": end}, separators=(",", ":")).encode()
    return told("n" * (1024 - len(told(end))) + end)


def things():
    """The same in an nginx; where it is asked for by that name, another one each time, of the same length, with as many
    headers as a file has."""
    number = "#" * 32
    text = thing(number).decode().replace(number, "$request_id")
    lines = """add_header Last-Modified "Mon, 23 Nov 2026 12:00:00 GMT"; add_header ETag '"6a05b1c0-400"'; add_header Accept-Ranges bytes;"""
    return f"location = /thing.json {{ default_type application/json; if ($arg_q = {NEW}) {{ {lines} return 200 '{text}'; }} }}"


def nginx(folder, name, server, extra="", cpus=None, connections=4096):
    """An nginx of one process without a log, the cheapest there is; as a site for whatever is measured."""
    conf = os.path.join(folder, f"{name}.conf")
    # One new connection between two rounds of all others is too little for a crowd.
    accepts = "multi_accept on; " if connections > 4096 else ""
    with open(conf, "w") as f:
        f.write(f"""worker_processes 1; daemon off; master_process off; pid {folder}/{name}.pid; error_log stderr crit;
worker_rlimit_nofile {2 * connections}; events {{ {accepts}worker_connections {connections}; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; types {{ text/html html; application/json json; }}
{extra}
{server} }}""")
    return process.start(["nginx", "-c", conf, "-p", folder], cpus)


def fetch(port, path, method="GET", body=None, headers=None):
    """Status, headers (small letters) and body of one answer, unzipped; `x-length` is that of the body on the wire."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    told, content = {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    told["x-length"] = len(content)
    if told.get("content-encoding") == "gzip":
        content = zlib.decompress(content, 31)
    return answer.status, told, content


class Site:
    """The running site, and the folder with everything that a run writes."""

    def __init__(self, folder):
        self.folder = folder
        os.chmod(folder, 0o755)
        root = self.file("root")
        # Names of one length: the page's own address is part of what is added to it.
        for name in ("plain", "small"):
            os.makedirs(os.path.join(root, name))
        for name, content in (("thing.json", thing()), ("plain/page.html", PAGE.encode()),
                              ("small/page.html.gz", gzip.compress(PAGE.encode(), 6))):
            with open(os.path.join(root, name), "wb") as f:
                f.write(content)
        self.cert, self.key = self.file("tls.crt"), self.file("tls.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        # Proxies trust this certificate itself. They accept no authority as a server's certificate.
                        "-addext", "basicConstraints=critical,CA:FALSE",
                        "-keyout", self.key, "-out", self.cert], check=True, capture_output=True)
        os.chmod(self.key, 0o644)
        self.http, self.https = process.port(), process.port()
        # Over https with HTTP/1.1 alone; and where traces are sent to, which are thrown away.
        self.secure, self.collector = process.port(), process.port()
        self.process = nginx(folder, "site", f"""open_file_cache max=100; sendfile on; tcp_nopush on;
server {{ listen 127.0.0.1:{self.collector}; location / {{ return 200; }} }}
server {{ listen 127.0.0.1:{self.http} backlog=4096; listen 127.0.0.1:{self.secure} ssl;
listen 127.0.0.1:{self.https} ssl http2; root {root};
ssl_certificate {self.cert}; ssl_certificate_key {self.key}; ssl_protocols TLSv1.3;
{things()} location /small/ {{ gzip_static always; }} location /agent/ {{ return 404; }} location /.well-known/ {{ return 404; }} }}""", cpus=process.OURS)
        process.listening(self.process, self.http)

    def file(self, name):
        return os.path.join(self.folder, name)

    def learn(self, port):
        """Takes what is to be added from a Frontdesk that stands before this site."""
        status, headers, _ = fetch(port, "/thing.json")
        self.link = headers["link"]
        _, _, page = fetch(port, "/plain/page.html")
        text = page.decode()
        # The links stand at the end of the head, the notice at the end of the body.
        head, body = PAGE.split("</head>")
        body, end = body.split("</body>")
        before, _, rest = text.removeprefix(head).partition("</head>")
        after = rest.removeprefix(body).removesuffix("</body>" + end)
        if text != f"{head}{before}</head>{body}{after}</body>{end}":
            sys.exit("Frontdesk's page is not the site's page with something added")
        # nginx's sub_filter has one place for all of it: the end of the body.
        self.added = before + after
        status, headers, self.manifest = fetch(port, MANIFEST)
        if status != 200 or not before or not after or not self.link:
            sys.exit(f"Frontdesk adds less than it should: {status}, {self.link!r}, {before!r}, {after!r}")
        self.manifest_type = headers["content-type"]
        self.manifest_headers = {name: value for name, value in headers.items() if name not in OWN and name != "x-length"}
        with open(self.file("root/manifest.json"), "wb") as f:
            f.write(self.manifest)
        with open(self.file("manifest.json"), "wb") as f:
            f.write(self.manifest)
