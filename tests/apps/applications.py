"""The applications: how each is got, and how it is started on loopback. Each is a function that takes the directory of
all packages and one to work in, and yields the application's address."""

import contextlib
import json
import os
import re
import shutil
import time
import xmlrpc.client

import packages
import php_applications
from world import Broken, Process, Running, port

SUPERVISOR_WATCHED = 30
# Long ago, so that a browser keeps files by their age for as long on each leg.
BUILT = 1_767_225_600


@contextlib.contextmanager
def mkdocs(at, work):
    """mkdocs-material's pages behind nginx, which packs them."""
    bin = packages.python(at, "mkdocs", "mkdocs-material==9.8.2")
    shutil.copytree(packages.HERE / "mkdocs", work, dirs_exist_ok=True)
    beds = (f"## Bed {n}\n\nGrows on hill {n * 7 % 11}, is watered with {n * 13 % 17 + 3} litres, row {n * n % 101}.\n"
            for n in range(120))
    (work / "docs/reference.md").write_text("# Reference\n\n" + "\n".join(beds))
    rows = (f"{n},{n * n % 9973},{n * 31 % 97}\n" for n in range(20000))
    (work / "docs/harvest.csv").write_text("bed,weight,quality\n" + "".join(rows))
    packages.run([bin / "mkdocs", "build", "--quiet", "--site-dir", "site"], work)
    for file in (work / "site").rglob("*"):
        os.utime(file, (BUILT, BUILT))
    number = port()
    text = (packages.HERE / "nginx.conf").read_text()
    (work / "nginx.conf").write_text(text.replace("PORT", str(number)).replace("ROOT", str(work / "site")))
    url = f"http://127.0.0.1:{number}"
    with Process(["nginx", "-p", work, "-c", work / "nginx.conf"], work, work / "application.log") as process:
        yield Running(process.ready(url))


@contextlib.contextmanager
def supervisor(at, work):
    """A process manager's own web page, two programs. Frontdesk reads it without any of its links being followed."""
    bin = packages.python(at, "supervisor", "supervisor==4.3.0")
    number = port()
    program = work / "program"
    program.write_text("#!/bin/sh\nfor n in $(seq 100); do echo \"$1 line $n\"; done\nexec sleep 3600\n")
    program.chmod(0o755)
    (work / "supervisord.conf").write_text(f"""[supervisord]
nodaemon=true
logfile={work}/supervisord.log
pidfile={work}/supervisord.pid
childlogdir={work}
[inet_http_server]
port=127.0.0.1:{number}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
""" + "".join(f"[program:{name}]\ncommand={program} {name}\nstartsecs=1\n" for name in ("mailer", "payments")))
    url = f"http://127.0.0.1:{number}"

    def state():
        told = xmlrpc.client.ServerProxy(f"{url}/RPC2").supervisor.getAllProcessInfo()
        return {one["name"]: (one["statename"], one["pid"]) for one in told}

    def watch():
        """Frontdesk has just been started: after a while everything is as it was, and the log is quiet."""
        deadline = time.monotonic() + SUPERVISOR_WATCHED
        before = state()
        while time.monotonic() < deadline:
            time.sleep(0.5)
        log = (work / "supervisord.log").read_text()
        acted = [line for line in log.splitlines() if re.search(r"stopped|cleared|exited|reopened", line)]
        if state() != before or any(name != "RUNNING" for name, _ in before.values()):
            return f"programs were {before} and are {state()}"
        if acted:
            return f"the log says: {acted}"
        print(f"            after {SUPERVISOR_WATCHED} s both programs have their pids, nothing was stopped or cleared")
        return None

    with Process([bin / "supervisord", "-c", work / "supervisord.conf"], work, work / "application.log") as process:
        process.ready(url)
        end = time.monotonic() + 20
        while any(name != "RUNNING" for name, _ in state().values()):
            if time.monotonic() > end:
                raise Broken(f"supervisor's programs do not run: {state()}")
            time.sleep(0.2)
        yield Running(url, watch)


@contextlib.contextmanager
def node(directory, work, **env):
    """An application that npm has built, and starts."""
    number = port()
    env = {"PORT": str(number), "HOST": "127.0.0.1", "NODE_ENV": "production", **env}
    with Process(["npm", "run", "--silent", "start"], directory, work / "application.log", env) as process:
        yield Running(process.ready(f"http://127.0.0.1:{number}"))


def next_(at, work):
    return node(packages.built(at, "next", "next"), work, HOSTNAME="127.0.0.1", NEXT_TELEMETRY_DISABLED="1")


def react_router(at, work):
    return node(packages.built(at, "react-router", "react-router"), work)


def react_18(at, work):
    """React 18 takes what it does not know in a page less kindly than React 19."""
    return node(packages.built(at, "react-18", "react-router", react="18.3.1", react_dom="18.3.1"), work)


@contextlib.contextmanager
def jupyterlab(at, work):
    """Kernels and terminals by WebSocket. Its news and updates, which want the internet, are off."""
    bin = packages.python(at, "jupyterlab", "jupyterlab==4.6.6", "ipykernel==7.4.0")
    files, settings = work / "files", bin.parent / "share/jupyter/lab/settings"
    files.mkdir()
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps({
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    }))
    cell = {"cell_type": "code", "id": "sum", "metadata": {}, "source": "1+1", "outputs": [], "execution_count": None}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (files / "sum.ipynb").write_text(json.dumps(book))
    number = port()
    env = {f"JUPYTER_{name}_DIR": str(work / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    env |= {"IPYTHONDIR": str(work / "ipython"), "PATH": f"{bin}:/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/sh"}
    command = [bin / "jupyter-lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={number}",
               "--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={files}",
               "--LabApp.extension_manager=readonly"]
    url = f"http://127.0.0.1:{number}"
    with Process(command, work, work / "application.log", env) as process:
        process.ready(f"{url}/lab")
        yield Running(url)


@contextlib.contextmanager
def wagtail(at, work):
    """A new Wagtail project, as its own command makes it, with Django's admin beside."""
    bin = packages.python(at, "wagtail", "wagtail==8.0.1", "django==5.2.19")
    packages.run([bin / "wagtail", "start", "shop"], work)
    project = work / "shop"
    with open(project / "shop/settings/local.py", "w", encoding="utf-8") as file:
        file.write("WAGTAIL_GRAVATAR_PROVIDER_URL = None\nWAGTAIL_ENABLE_UPDATE_CHECK = False\n"
                   "WAGTAIL_ENABLE_WHATS_NEW_BANNER = False\n")
    manage = [bin / "python", "manage.py"]
    packages.run([*manage, "migrate", "--verbosity", "0"], project)
    packages.run([*manage, "createsuperuser", "--noinput", "--username", "admin", "--email", "a@tea.example"], project,
                 DJANGO_SUPERUSER_PASSWORD="leaves")
    number = port()
    url = f"http://127.0.0.1:{number}"
    command = [*manage, "runserver", "--noreload", f"127.0.0.1:{number}"]
    with Process(command, project, work / "application.log") as process:
        yield Running(process.ready(url))


ALL = {
    "mkdocs": mkdocs, "supervisor": supervisor, "next": next_, "react-router": react_router, "react-18": react_18,
    "jupyterlab": jupyterlab, "dokuwiki": php_applications.dokuwiki, "wordpress": php_applications.wordpress,
    "wagtail": wagtail,
}
# What has to be there already, beside python3 and node; "php:" is one of PHP's extensions.
NEEDS = {
    "mkdocs": ["nginx"], "next": ["npm"], "react-router": ["npm"], "react-18": ["npm"],
    "dokuwiki": ["apt-get", "php", "php:xml"], "wordpress": ["apt-get", "npm", "php", "php:pdo_sqlite", "php:xml"],
}
