"""The sidecar's pods, native and classic: started, probed, reconfigured under load, and ended while a request is under
way."""

import sys
import threading
import time

import play
from containers import Load, confined, eventually, get, hold, memory, podman, serves
from pods import Pod, end, probes, start, swap, terminate

LIMIT = 64 * 1024 * 1024


def config_of(documents):
    return next(d for d in documents if d["kind"] == "ConfigMap")["data"]["frontdesk.toml"]


def name_of_site(pod):
    return get(pod.http, "/.well-known/agent.json")[2]


def probed(pod, spec):
    frontdesk = next(c for c in spec.get("initContainers", []) + spec["containers"] if c["name"] == "frontdesk")
    site = next(c for c in spec["containers"] if c["name"] == "site")
    hold(set(probes(pod, frontdesk).values()) == {200} and len(probes(pod, frontdesk)) == 3, probes(pod, frontdesk))
    eventually("the site is ready, asked through Frontdesk", lambda: probes(pod, site) == {"readinessProbe": 200})
    podman("exec", pod.name("frontdesk"), "/usr/local/bin/frontdesk", "health", "--admin", "127.0.0.1:9901")
    # The site itself listens on loopback only.
    try:
        get((pod.ip, 3000), "/", seconds=2)
    except OSError:
        return
    hold(False, "the site can be reached around Frontdesk")


def reconfigured(pod, first):
    """Two changes and a mistake, under load: each request is answered, and the mistake changes nothing."""
    with Load(pod.http) as load:
        time.sleep(0.5)
        for number, name in ((1, "Second"), (2, "Third")):
            swap("frontdesk", f'{first}\n[site]\nname = "{name}"\n', number)
            eventually(f"{name} is in use", lambda name=name: name in name_of_site(pod))
        swap("frontdesk", first.replace("[upstream]", "[upstrem]"), 3)
        failed = "\nfrontdesk_config_last_reload_successful 0\n"
        eventually("the mistake is in the metrics", lambda: failed in get(pod.admin, "/metrics")[2])
        hold("Third" in name_of_site(pod) and get(pod.admin, "/readyz")[0] == 200, "the configuration before goes on")
        time.sleep(0.5)
    hold(not load.failed and load.answered > 100, f"{load.answered} answered, failed: {load.failed[:3]}")
    return load.answered


def ended(pod, spec, overlay):
    """What was asked before SIGTERM is answered, though it takes longer than everything that is waited for before it."""
    answers = []
    # The site of a native sidecar finishes it, and then Frontdesk ends; beside a classic one Frontdesk does.
    seconds = 8
    asked = threading.Thread(target=lambda: answers.append(get(pod.http, f"/slow?seconds={seconds}", seconds=60)))
    asked.start()
    time.sleep(0.5)
    began = time.monotonic()
    join = terminate(pod, spec)
    if overlay == "sidecar-classic":
        eventually("it is no longer ready", lambda: get(pod.admin, "/readyz")[0] == 503, 3)
        hold(get(pod.admin, "/livez")[0] == 200, "it lives while it drains")
        status, headers, _ = get(pod.http, "/")
        hold((status, headers["Connection"]) == (200, "close"), "requests are still served, and the connection is closed")
    else:
        # The endpoints are being removed; nothing has ended.
        hold(get(pod.http, "/")[0] == 200, "requests are still served")
    asked.join()
    hold(answers and (answers[0][0], answers[0][2]) == (200, "it took its time"), f"what was under way: {answers}")
    join()
    return time.monotonic() - began


def main(overlay):
    manifests = play.documents(overlay)
    spec, played = play.spec_of(manifests, "site"), play.playable(manifests)
    start(played)
    pod = Pod("site")
    serves(pod.admin)
    confined(pod.name("frontdesk"))
    hold(memory(pod.name("frontdesk"))[0] == LIMIT, "the limit of the manifest")
    probed(pod, spec)
    answered = reconfigured(pod, config_of(manifests))
    took = ended(pod, spec, overlay)
    end(played)
    podman("volume", "rm", "--force", "frontdesk")
    print(f"{overlay}: three configurations under {answered} requests, none failed; ended in {took:.0f} s of "
          f"{spec['terminationGracePeriodSeconds']}, a request under way was answered")


main(sys.argv[1])
