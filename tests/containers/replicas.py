"""Two replicas of overlays/edge, or of the Helm chart, with a real Redis: what one has promised, the other keeps.
Usage: replicas.py [HELM]"""

import hashlib
import json
import pathlib
import subprocess
import sys

import play
from containers import REDIS, SITE, confined, data, eventually, get, hold, podman, request, serves
from pods import NETWORK, Pod, end, start

KEY = "a key for the test"
CONFIG = f"""
[[auth.api_keys]]
name = "test"
sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"
scopes = ["orders"]

[[capabilities]]
id = "orders.place"
type = "commit_action"
description = "Orders a book."
method = "POST"
endpoint = "/agent/orders"
auth = "required"
scopes = ["orders"]
risk_level = "high"
idempotency_required = true
upstream = {{ method = "POST", path = "/orders" }}
confirmation = {{ summary = "Order {{{{ input.title }}}}." }}
"""


def chart(helm):
    """What the chart installs by default."""
    command = [helm, "template", "frontdesk", "deploy/helm/frontdesk"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [d for d in play.yaml.safe_load_all(done.stdout) if d]


def pair(documents):
    """The Deployment of the edge twice, with one ConfigMap, in front of a site that has the Service's name and port."""
    manifests = play.playable([d for d in documents if d["metadata"]["name"] != "site"])
    config = next(d for d in manifests if d["kind"] == "ConfigMap")
    config["data"]["frontdesk.toml"] += CONFIG
    deployment = next(d for d in manifests if d["kind"] == "Deployment")
    copies = []
    for letter in "ab":
        copy = play.yaml.safe_load(play.yaml.safe_dump(deployment))
        copy["metadata"]["name"] = f"edge-{letter}"
        copies.append(copy)
    return [config, *copies]


def order(pod, key, token=None):
    headers = {"X-AHP-Key": KEY, "Idempotency-Key": key, "Content-Type": "application/json"}
    if token:
        headers["AICP-Confirmation"] = token
    return request(pod.http, "POST", "/agent/orders", json.dumps({"title": "Moby Dick"}), headers)


def orders(pod):
    return len(data(get(pod.http, "/orders")[2]))


def has_store(pod):
    return "\nfrontdesk_store_up 1\n" in get(pod.admin, "/metrics")[2]


def ask(pod, session=None):
    body = {"ahp": "0.1", "capability": "site_info", "query": "What do you sell?"}
    if session:
        body["session_id"] = session
    status, _, text = request(pod.http, "POST", "/agent/converse", json.dumps(body),
                              {"X-AHP-Key": KEY, "Content-Type": "application/json"})
    return status, data(text)


def promises(a, b):
    status, _, text = order(a, "k-1")
    hold(status == 428, f"{status} {text}")
    token = data(text)["confirmation"]["token"]
    status, headers, first = order(b, "k-1", token)
    hold(status in (200, 201) and "Idempotency-Replayed" not in headers, f"{status} {first}")
    status, headers, again = order(a, "k-1")
    hold((status in (200, 201), headers["Idempotency-Replayed"]) == (True, "true"), f"{status} {again}")
    hold(orders(a) == orders(b) == 1, "the site was called once")
    # A token counts once, whichever replica is asked.
    status, _, text = order(a, "k-2", token)
    hold(status == 428 and orders(b) == 1, f"{status} {text}")


def sessions(a, b):
    status, first = ask(a)
    hold(status == 200 and first["session_id"], first)
    status, second = ask(b, first["session_id"])
    hold((status, second["session_id"]) == (200, first["session_id"]), second)
    status, refused = ask(b, "0" * 64)
    hold(status >= 400 or refused.get("session_id") != "0" * 64, "nobody can invent one")


def without_redis(a, b):
    podman("stop", "--time", 10, "redis")
    eventually("the store is away", lambda: not has_store(a))
    hold(order(a, "k-3")[0] == 503, "it cannot be known whether this was done before")
    hold(get(a.http, "/")[0] == 200 and get(a.admin, "/readyz")[0] == 200, "pages go on, and it stays ready")
    hold(orders(a) == 1, "nothing was ordered")
    podman("start", "redis")
    for pod in (a, b):
        # The metric may be a second old. Actions are limited to 30 in a minute.
        eventually("the store is back", lambda pod=pod: order(pod, "k-1")[0] != 503, pause=2)
        status, headers, text = order(pod, "k-1")
        hold(headers["Idempotency-Replayed"] == "true" and orders(pod) == 1, f"what was promised: {status} {text}")


def main(helm=None):
    # As the compose file and the chart start it, confined as in the chart.
    command = play.yaml.safe_load(pathlib.Path("deploy/container/compose.yaml").read_text())["services"]["redis"]["command"]
    podman("run", "--detach", "--name", "redis", "--network", NETWORK, "--read-only", "--read-only-tmpfs=false",
           "--cap-drop", "all", "--security-opt", "no-new-privileges", "--user", "999:999", "--volume", "redis:/data:U",
           "--network-alias", "frontdesk-redis", REDIS, *command)
    podman("run", "--detach", "--name", "site", "--network", NETWORK, "--read-only", "--cap-drop", "all",
           "--user", "10001:10001", "--env", "PORT=80", "--sysctl", "net.ipv4.ip_unprivileged_port_start=0", SITE)
    manifests = pair(chart(helm) if helm else play.documents("edge"))
    start(manifests)
    a, b = Pod("edge-a"), Pod("edge-b")
    for pod in (a, b):
        serves(pod.admin)
        confined(pod.name("frontdesk"))
        eventually("it has the store", lambda pod=pod: has_store(pod))
    promises(a, b)
    sessions(a, b)
    without_redis(a, b)
    end(manifests)
    podman("rm", "--force", "site", "redis")
    podman("volume", "rm", "--force", "frontdesk", "redis")
    print(f"{'chart' if helm else 'edge'}: two replicas and a Redis; a confirmation, an idempotency key and a session of one hold at the other; "
          "without Redis pages go on and orders are 503, and afterwards nothing is forgotten")


main(*sys.argv[1:])
