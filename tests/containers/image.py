"""The image by itself: what it says it is, and a container of it without privileges, with a memory limit, under load."""

import json
import pathlib
import sys
import time

from containers import (FRONTDESK, LOOPBACK, SITE, Failed, Load, confined, exit_code, get, hold, inspect, logs,
                        memory, podman, serves)

LIMIT = 64 * 1024 * 1024


def image():
    config = json.loads(podman("image", "inspect", FRONTDESK))[0]["Config"]
    hold(config["User"] == "65532:65532", config)
    hold(config["Entrypoint"] == ["/usr/local/bin/frontdesk"], config)
    hold(config["Cmd"] == ["run", "--config", "/etc/frontdesk/frontdesk.toml"], config)
    hold(config["StopSignal"] == "SIGTERM", config)
    hold(set(config["ExposedPorts"]) == {"8080/tcp", "9901/tcp"}, config)
    print("image:", podman("run", "--rm", "--network", "none", FRONTDESK, "--version"))


def container(folder, http, admin):
    work = pathlib.Path(folder) / "image"
    work.mkdir(mode=0o755)
    (work / "frontdesk.toml").write_text(
        '[listen]\nhttp = ":8080"\nadmin = ":9901"\n[upstream]\nurl = "http://site:3000"\n'
        '[content]\nconcierge = false\n[protection]\nmax_connections = 1000\n')
    podman("run", "--detach", "--name", "site", "--network", "frontdesk-test", "--read-only", "--cap-drop", "all",
           "--user", "10001:10001", SITE)
    started = time.monotonic()
    podman("run", "--detach", "--name", "frontdesk", "--network", "frontdesk-test", "--read-only", "--cap-drop", "all",
           "--security-opt", "no-new-privileges", "--memory", LIMIT, "--read-only-tmpfs=false",
           "--publish", f"{LOOPBACK}:{http}:8080", "--publish", f"{LOOPBACK}:{admin}:9901",
           "--volume", f"{work}:/etc/frontdesk:ro", FRONTDESK)
    serves((LOOPBACK, admin))
    ready = time.monotonic() - started
    confined("frontdesk")
    # The image's own check, as docker runs it.
    podman("healthcheck", "run", "frontdesk")
    address = (LOOPBACK, http)
    status, headers, text = get(address, "/")
    hold(status == 200 and "We sell books." in text and 'rel="ahp-manifest"' in headers["Link"], text)
    hold("# Books" in get(address, "/", headers={"Accept": "text/markdown"})[2], "the page as Markdown")
    with Load(address, clients=64) as load:
        time.sleep(5)
    hold(not load.failed and load.answered > 500, f"{load.answered} answered, {load.failed[:3]} failed")
    limit, peak = memory("frontdesk")
    hold(limit == LIMIT, f"the limit is {limit}")
    hold(inspect("frontdesk", "{{.State.OOMKilled}}") == "false" and inspect("frontdesk", "{{.RestartCount}}") == "0",
         "it stayed within its memory")
    held = f"at most {peak / 2**20:.0f} MiB of 64" if peak else "within 64 MiB"
    print(f"container: ready in {ready:.1f} s, read-only, no capability, as 65532; {load.answered} requests of 64 clients, "
          f"none failed, {held}")


def drain(http):
    podman("stop", "--time", 30, "frontdesk")
    hold(exit_code("frontdesk") == 0, f"it ends with 0: {logs('frontdesk')}")
    try:
        get((LOOPBACK, http), "/", seconds=2)
    except OSError:
        return
    raise Failed("something answers after its end")


image()
container(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
drain(int(sys.argv[2]))
podman("rm", "--force", "frontdesk", "site")
