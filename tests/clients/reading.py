"""Frontdesk reads applications whose links act, and they go on as before. Usage: reading.py FRONTDESK BIN [APP...]

BIN is the directory of the Python environment that has the applications, NODE in the environment the one of those from
npm. Without names only Supervisor is read; APPS has the others. ASKED in the environment is a directory for what was
asked of each, and what Frontdesk says of it.
"""

import http.client
import http.server
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

FRONTDESK, BIN = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
NODE, ASKED = pathlib.Path(os.environ.get("NODE", "node_modules/.bin")).absolute(), os.environ.get("ASKED")
# What no reader may ask for, whatever the application is.
ACTS = re.compile(
    r"[?&](action|do|cmd|op|task)=(?!view|show)|(?<![a-z])(log-?_?out|sign-?_?out|delete|remove|destroy|stop|restart|"
    r"kill|purge|clear|unsubscribe|revoke|requeue|terminate|shutdown|cancel)(?![a-z-])",
    re.I,
)

# Of these only the start page is read: nothing in it shows that its links lead to documents.
CONSOLES = ("supervisor", "rq_dashboard", "flower", "django", "json_server")


def port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Recorder(http.server.ThreadingHTTPServer):
    """Passes requests on to an application, and writes down what was asked by the reader."""

    daemon_threads = True

    def __init__(self, upstream: int) -> None:
        self.upstream, self.asked = upstream, []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=30)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("connection", "transfer-encoding")}
        connection.request(self.command, self.path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if self.headers.get("X-Forwarded-For") == "192.0.2.1":
            self.server.asked.append((self.path, answer.status))
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


class Running:
    """A program that ends with the block."""

    def __init__(self, args: list, at: pathlib.Path, name: str, **more: object) -> None:
        self.log = at / f"{name}.log"
        self.process = subprocess.Popen(
            [str(a) for a in args], stdout=self.log.open("wb"), stderr=subprocess.STDOUT, cwd=at,
            start_new_session=True, **more,
        )

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def until(what: str, done, seconds: float = 60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if result := done():
                return result
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"reading: {what} did not happen within {seconds:.0f} s")


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode("utf-8", "replace")


def read(at: pathlib.Path, upstream: int, path: str = "/", more: str = "") -> tuple[list, str]:
    """What the reader asks an application for in its first readings, and what Frontdesk has in its log."""
    recorder, admin = Recorder(upstream), port()
    config = at / "frontdesk.toml"
    config.write_text(
        f'[listen]\nhttp = "127.0.0.1:{port()}"\nadmin = "127.0.0.1:{admin}"\n'
        f'[upstream]\nurl = "http://127.0.0.1:{recorder.server_address[1]}"\n'
        f'[content]\nrate = "50/second"\nrefresh = "2s"\nmax_pages = 150\n'
        f'start = ["/sitemap.xml", "/llms.txt", "{path}"]\n{more}'
    )
    with Running([FRONTDESK, "run", "--config", config], at, "frontdesk") as desk:
        metric = r"^frontdesk_crawl_last_complete_timestamp_seconds [1-9]|^frontdesk_jobs_total\{.*task=\"crawl\".*[1-9]"
        url = f"http://127.0.0.1:{admin}/metrics"
        until("the first reading", lambda: re.search(metric, fetched(url), re.M), 120)
        time.sleep(3)  # and the next one
        metrics = [line for line in fetched(url).splitlines() if line.startswith("frontdesk_crawl_requests_total")]
    recorder.shutdown()
    log = desk.log.read_text("utf-8", "replace")
    return recorder.asked, log + "\n".join(metrics)


def harmless(name: str, asked: list, log: str) -> None:
    acts = sorted({path for path, _ in asked if ACTS.search(path)})
    assert not acts, f"{name}: asked for {acts}"
    others = sorted({path for path, _ in asked} - {"/", "/robots.txt", "/sitemap.xml", "/llms.txt"})
    assert not others or name not in CONSOLES, f"{name}: nothing shows that these are documents: {others}"
    pages = len({path for path, status in asked if status == 200})
    left = re.search(r'result="acts"\} (\d+)', log)
    print(f"{name}: {len({p for p, _ in asked})} addresses asked, {pages} are there, left out {left[1] if left else 0}")


def supervisor(at: pathlib.Path) -> None:
    http_port = port()
    (at / "supervisord.conf").write_text(
        f"[supervisord]\nnodaemon=true\nlogfile={at}/supervisord.log\npidfile={at}/supervisord.pid\n"
        f"[inet_http_server]\nport=127.0.0.1:{http_port}\n"
        "[rpcinterface:supervisor]\n"
        "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n"
        f"[supervisorctl]\nserverurl=http://127.0.0.1:{http_port}\n"
        "[program:mailer]\ncommand=sleep 10000\n[program:payments]\ncommand=sleep 10000\n"
    )
    conf = at / "supervisord.conf"

    def processes() -> str:
        args = [BIN / "supervisorctl", "-c", conf, "status"]
        said = subprocess.run(args, capture_output=True, text=True).stdout
        found = re.findall(r"^(\w+) +RUNNING +pid (\d+)", said, re.M)
        return found if len(found) == 2 else ""

    with Running([BIN / "supervisord", "-c", conf], at, "supervisor"):
        before = until("two programs run", processes)
        asked, log = read(at, http_port)
        assert processes() == before, f"other processes run: {before}, then {processes()}"
        said = (at / "supervisord.log").read_text()
        assert not re.search(r"stopped|exited|waiting for|clear", said), said
        assert ("/", 200) in asked and 'result="acts"' in log and "may act" in log, (asked, log)
        harmless("supervisor", asked, log)


def served(name: str, args: list, http_port: int, at: pathlib.Path, path: str = "/", **env: str) -> None:
    with Running(args, at, name, env={**os.environ, **env}) as app:

        def there() -> bool:
            assert app.process.poll() is None, app.log.read_text()
            try:
                fetched(f"http://127.0.0.1:{http_port}{path}")
            except urllib.error.HTTPError:
                pass
            return True

        until(f"{name} answers", there, 90)
        asked, log = read(at, http_port, path)
        if ASKED:
            pathlib.Path(ASKED, f"{name}.txt").write_text("\n".join(f"{status} {path}" for path, status in asked) + log)
        harmless(name, asked, log)


def datasette(at: pathlib.Path) -> None:
    with sqlite3.connect(at / "shop.db") as db:
        db.execute("create table orders (id integer primary key, name text)")
        db.executemany("insert into orders (name) values (?)", [(f"order {n}",) for n in range(500)])
    http_port = port()
    served("datasette", [BIN / "datasette", "shop.db", "-p", http_port, "--root"], http_port, at)


def rq_dashboard(at: pathlib.Path) -> None:
    redis, http_port = port(), port()
    url = f"redis://127.0.0.1:{redis}/0"
    with Running(["redis-server", "--port", redis, "--save", "", "--bind", "127.0.0.1"], at, "redis"):
        fill = (
            "import rq, redis; c = redis.from_url('%s'); q = rq.Queue('mail', connection=c); "
            "[q.enqueue('time.sleep', 1) for _ in range(20)]" % url
        )
        until("jobs wait", lambda: subprocess.run([BIN / "python", "-c", fill], capture_output=True).returncode == 0)
        args = [BIN / "rq-dashboard", "-b", "127.0.0.1", "-p", http_port, "-u", url]
        served("rq_dashboard", args, http_port, at)
        count = "import rq, redis; print(len(rq.Queue('mail', connection=redis.from_url('%s'))))" % url
        left = subprocess.run([BIN / "python", "-c", count], capture_output=True, text=True).stdout
        assert left.strip() == "20", f"of 20 jobs there are {left}"


def flower(at: pathlib.Path) -> None:
    http_port = port()
    args = [BIN / "celery", "--broker=memory://", "flower", f"--port={http_port}", "--address=127.0.0.1"]
    served("flower", args, http_port, at)


def notebook(at: pathlib.Path) -> None:
    http_port = port()
    (at / "notes.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    args = [BIN / "jupyter-notebook", "--no-browser", "--allow-root", f"--port={http_port}", "--ip=127.0.0.1"]
    served("notebook", args + ["--ServerApp.token=", "--ServerApp.password="], http_port, at, "/tree")
    assert (at / "notes.ipynb").exists()


DJANGO = """
import sys
from django.conf import settings
settings.configure(
    DEBUG=True, SECRET_KEY="x" * 60, ALLOWED_HOSTS=["*"], ROOT_URLCONF="site_of_it", USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}},
    INSTALLED_APPS=["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
                    "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware", "site_of_it.everybody_is_root"],
    STATIC_URL="/static/", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
                "OPTIONS": {"context_processors": ["django.template.context_processors.request",
                                                   "django.contrib.auth.context_processors.auth",
                                                   "django.contrib.messages.context_processors.messages"]}}],
)
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", *sys.argv[1:]])
"""
# The administration of everything without a login, and a few views of the kind that tutorials have.
DJANGO_SITE = """
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path

def everybody_is_root(get_response):
    def middleware(request):
        request.user = get_user_model().objects.filter(is_superuser=True).first()
        return get_response(request)
    return middleware

def index(request):
    users = get_user_model().objects.order_by("id")
    links = "".join(f'<li><a href="/people/{u.pk}/">{u}</a> <a href="/people/{u.pk}/delete/">x</a>'
                    f' <a href="/people/delete/{u.pk}">x</a> <a href="/people/remove?id={u.pk}">x</a></li>' for u in users)
    return HttpResponse(f"<title>People</title><h1>People</h1><p>All of them.</p><ul>{links}</ul><a href=/manage/>Manage</a>")

def person(request, pk):
    return HttpResponse(f"<title>{pk}</title><h1>Person {pk}</h1><p>Number {pk}. <a href=delete/>Delete</a></p>")

def delete(request, pk=None):
    get_user_model().objects.filter(pk=pk or request.GET["id"]).delete()
    return HttpResponseRedirect("/")

urlpatterns = [path("manage/", admin.site.urls), path("", index), path("people/<int:pk>/", person),
               path("people/<int:pk>/delete/", delete), path("people/delete/<int:pk>", delete),
               path("people/remove", delete)]
"""


def django(at: pathlib.Path) -> None:
    (at / "manage.py").write_text(DJANGO)
    (at / "site_of_it.py").write_text(DJANGO_SITE)
    manage, http_port = [BIN / "python", "manage.py"], port()
    subprocess.run([*manage, "migrate", "-v0"], cwd=at, check=True)
    people = (
        "from django.contrib.auth.models import User; User.objects.create_superuser('root', password='x'); "
        "[User.objects.create_user(f'user{n}') for n in range(9)]"
    )
    count = "from django.contrib.auth.models import User; print('people', User.objects.count())"
    subprocess.run([*manage, "shell", "-v0", "-c", people], cwd=at, check=True)
    served("django", [*manage, "runserver", "--noreload", f"127.0.0.1:{http_port}"], http_port, at)
    left = subprocess.run([*manage, "shell", "-v0", "-c", count], cwd=at, capture_output=True, text=True).stdout
    assert "people 10" in left, f"of 10 people there are {left}"


def wagtail(at: pathlib.Path) -> None:
    subprocess.run([BIN / "wagtail", "start", "shop", "."], cwd=at, check=True, capture_output=True)
    manage, http_port = [BIN / "python", "manage.py"], port()
    subprocess.run([*manage, "migrate", "-v0"], cwd=at, check=True)
    served("wagtail", [*manage, "runserver", "--noreload", f"127.0.0.1:{http_port}"], http_port, at)


def json_server(at: pathlib.Path) -> None:
    http_port = port()
    (at / "db.json").write_text('{"posts": [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]}')
    args = [NODE / "json-server", "--host", "127.0.0.1", "--port", http_port, "db.json"]
    served("json_server", args, http_port, at)
    assert (at / "db.json").read_text().count('"id"') == 2


def node_red(at: pathlib.Path) -> None:
    http_port = port()
    served("node_red", [NODE / "node-red", "-p", http_port, "-u", at / "red"], http_port, at)


APPS = {
    app.__name__: app
    for app in (supervisor, datasette, rq_dashboard, flower, notebook, django, wagtail, json_server, node_red)
}

if __name__ == "__main__":
    for app in sys.argv[3:] or ["supervisor"]:
        with tempfile.TemporaryDirectory() as directory:
            APPS[app](pathlib.Path(directory))
