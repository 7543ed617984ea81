"""Agents that are known by a document of their own (OAuth client ID metadata documents), end to end: the document is read
by https from a public address, and nothing of the guard against other addresses is switched off. So that a public address
leads to this trial's own server, everything runs in a network of its own (`unshare`: no root needed, Linux alone), with a
certificate authority of its own.

Usage: documents_trial.py FRONTDESK. `run` installs what it needs; wants openssl, ip and unshare.
"""

import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading

from desk import HERE, Trial, expect, finish
from people_trial import READ, Person

PUBLIC = "1.2.3.4"
HOSTS = {"agent.example": PUBLIC, "liar.example": PUBLIC, "inside.example": "127.0.0.1", "private.example": "10.9.9.9"}
AGENT = "https://agent.example/agent.json"
INSIDE = "FRONTDESK_TRIAL_NETWORK"


def own_network(folder):
    """Runs this again in a network with a public address on it, and names that lead there."""
    (folder / "hosts").write_text("".join(f"{address} {name}\n" for name, address in HOSTS.items()) + "127.0.0.1 localhost\n")
    addresses = "".join(f"ip addr add {address}/32 dev lo; " for address in set(HOSTS.values()) - {"127.0.0.1"})
    script = f'ip link set lo up; {addresses} mount --bind "$0" /etc/hosts; exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-ec", script, folder / "hosts", sys.executable, "-B", *sys.argv]
    return subprocess.run(command, env={**os.environ, INSIDE: str(folder)}, check=False).returncode


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def certificate(folder, name, names, ca):
    """A key and a certificate for these names, signed by this authority."""
    subject = ",".join(f"DNS:{one}" for one in names)
    (folder / f"{name}.ext").write_text(f"subjectAltName={subject}\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr", "-subj", f"/CN={name}")
    openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{ca}.pem", "-CAkey", folder / f"{ca}.key", "-CAcreateserial",
            "-out", folder / f"{name}.pem", "-days", "2", "-extfile", folder / f"{name}.ext")
    return folder / f"{name}.pem", folder / f"{name}.key"


def authority(folder, name):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem", "-days", "2",
            "-subj", f"/CN={name}")


class Documents(http.server.BaseHTTPRequestHandler):
    """What agents say of themselves. Each host is asked for its own."""

    asked = []

    def do_GET(self):
        host = self.headers["Host"].partition(":")[0]
        self.asked.append(host + self.path)
        name = f"https://{self.headers['Host']}{self.path}"
        if self.path == "/moved.json":
            self.send_response(302)
            self.send_header("Location", AGENT)
            self.end_headers()
            return
        said = {
            "client_id": AGENT if host == "liar.example" else name, "client_name": "Example Assistant",
            "redirect_uris": [f"https://{self.headers['Host']}/cb"], "token_endpoint_auth_method": "none",
        }  # fmt: skip
        if self.path == "/large.json":
            said["more"] = "x" * 10_000
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def served(address, port, pair):
    server = http.server.ThreadingHTTPServer((address, port), Documents)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Known(Person):
    """A person whose agent names itself by an address."""

    def __init__(self, trial, who, client, callback):
        super().__init__(trial, who)
        self.client, self.callback = client, callback


def documents(trial):
    ada = Known(trial, "ada", AGENT, "https://agent.example/cb")
    consent = ada.allow()
    text = re.sub(r"<[^>]+>", " ", consent)
    expect("the person is asked about the agent by its name and host", ("Example Assistant" in text, "agent.example" in text), (True, True))
    expect("and that it is verified", "verified" in text.lower() and "not verified" not in text.lower(), True)
    expect("the agent reads its person's own data", ada.mcp("email.read", READ)[0], 200)
    bob = Known(trial, "bob", AGENT, "https://agent.example/cb")
    bob.allow()
    expect("and another person's agent theirs", [one in json.dumps(bob.mcp("orders.list", READ)) for one in ("of bob", "of ada")], [True, False])
    # Once; and once more if the configuration was compiled anew meanwhile, as after the first look at the site.
    expect("its document was read once or twice", Documents.asked.count("agent.example/agent.json") in (1, 2), True)
    status, page = bob.asked_for(AGENT, "https://liar.example/cb")
    expect("an address to go back to that the document does not have", (status, "liar.example/cb" in page), ("status 400", False))
    for what, client, is_read in [
        ("a document about another agent", "https://liar.example/agent.json", True),
        ("a document that is too large", "https://agent.example/large.json", True),
        ("a document that is somewhere else", "https://agent.example/moved.json", True),
        ("a certificate of somebody else", "https://agent.example:8443/agent.json", False),
        ("http", "http://agent.example/agent.json", False),
        ("a name of this machine", "https://inside.example/agent.json", False),
        ("a name within a network", "https://private.example/agent.json", False),
        ("an address of this machine", "https://127.0.0.1/agent.json", False),
    ]:
        before = len(Documents.asked)
        callback = client.rpartition("/")[0] + "/cb"
        status, _ = bob.asked_for(client, callback)
        expect(f"{what} is refused, on a page of ours", (status, len(Documents.asked) - before), ("status 400", int(is_read)))


def main():
    if INSIDE not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            raise SystemExit(own_network(pathlib.Path(folder)))
    folder = pathlib.Path(os.environ[INSIDE])
    for name in ("trusted", "other"):
        authority(folder, name)
    good = certificate(folder, "agents", list(HOSTS), "trusted")
    served(PUBLIC, 443, good)
    served("127.0.0.1", 443, good)
    served("10.9.9.9", 443, good)
    served(PUBLIC, 8443, certificate(folder, "strangers", list(HOSTS), "other"))
    os.environ["SSL_CERT_FILE"] = str(folder / "trusted.pem")
    text = (HERE / "people.toml").read_text()
    text = text[: text.index("[[auth.login.clients_listed]]")] + text[text.index("[[capabilities]]") :]
    print("agents that are known by a document of their own")
    with Trial(sys.argv[1], "people_site.py", text) as trial:
        documents(trial)
    finish()


if __name__ == "__main__":
    main()
