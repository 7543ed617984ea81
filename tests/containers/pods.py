"""Pods that `podman kube play` runs, and what the kubelet does with a pod that podman does not do: its probes, a changed
ConfigMap, its end."""

import os
import pathlib
import re
import subprocess
import threading
import time

import play
from containers import get, hold, inspect, podman

NETWORK = "frontdesk-test"


def start(documents):
    podman("kube", "play", "--network", NETWORK, "-", stdin=play.text(documents))


def end(documents):
    podman("kube", "down", "-", stdin=play.text(documents))


class Pod:
    """One Deployment's only pod."""

    def __init__(self, deployment):
        self.deployment = deployment
        self.ip = inspect(podman("pod", "inspect", "--format", "{{.InfraContainerID}}", self.name("")),
                          "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
        self.http, self.admin = (self.ip, 8080), (self.ip, 9901)

    def name(self, container):
        """What podman calls the pod, or a container of it; podman 5 leaves the number out."""
        names = podman("ps", "--all", "--pod", "--format", "{{.PodName}}\n{{.Names}}").split()
        wanted = re.compile(f"{self.deployment}-pod(-0)?" + (f"-{container}" if container else ""))
        return next(name for name in names if wanted.fullmatch(name))


def probes(pod, container):
    """Asks as the kubelet does, from outside the pod; the status of each probe."""
    asked = {}
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        if kind in container:
            probe = container[kind]["httpGet"]
            asked[kind] = get((pod.ip, probe["port"]), probe["path"], seconds=3)[0]
    return asked


def swap(volume, text, number):
    """Changes a ConfigMap as the kubelet does: a directory of its own, and a link that is put in its place at once."""
    root = pathlib.Path(podman("volume", "inspect", "--format", "{{.Mountpoint}}", volume))
    folder = root / f"..version_{number}"
    folder.mkdir()
    (folder / "frontdesk.toml").write_text(text)
    os.symlink(folder.name, root / "..data_tmp")
    os.rename(root / "..data_tmp", root / "..data")
    if not (root / "frontdesk.toml").is_symlink():
        # What podman has written is a file.
        os.symlink("..data/frontdesk.toml", root / "link")
        os.rename(root / "link", root / "frontdesk.toml")


def stop(container, grace):
    """SIGTERM, and SIGKILL after the grace period."""
    podman("stop", "--time", grace, container)
    hold(inspect(container, "{{.State.ExitCode}}") == "0", f"{container} ended by itself")


def wait_before(container, hook):
    """A container's preStop."""
    if "sleep" in hook:
        time.sleep(hook["sleep"]["seconds"])
    else:
        subprocess.run(["podman", "exec", container, *hook["exec"]["command"]], check=True)


def terminate(pod, spec):
    """The end of a pod as Kubernetes has it: all containers get SIGTERM together, each after its preStop; a native
    sidecar when the others have ended. A thread, to be joined."""
    grace = spec["terminationGracePeriodSeconds"]
    native = any(c.get("restartPolicy") == "Always" for c in spec.get("initContainers", []))
    failed = []

    def site():
        hook = next(c for c in spec["containers"] if c["name"] == "site")["lifecycle"]["preStop"]
        wait_before(pod.name("site"), hook)
        stop(pod.name("site"), grace)

    def frontdesk():
        stop(pod.name("frontdesk"), grace)

    def caught(steps):
        try:
            for step in steps:
                step()
        except Exception as error:  # of a thread: it is raised by who joins it
            failed.append(error)

    threads = [threading.Thread(target=caught, args=[steps])
               for steps in ([[site, frontdesk]] if native else [[site], [frontdesk]])]
    for thread in threads:
        thread.start()

    def join():
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    return join
