"""A manifest of deploy/kubernetes as `podman kube play` can run it. It changes what docs/kubernetes.md lists, and nothing
else. Usage: play.py OVERLAY prints it."""

import copy
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "deploy"))
from kustomize import build  # noqa: E402  (it lies beside us)

def documents(overlay):
    return build(HERE.parent.parent / "deploy/kubernetes/overlays" / overlay)


def spec_of(documents, name):
    return next(d for d in documents if d["kind"] == "Deployment" and d["metadata"]["name"] == name)["spec"]["template"]["spec"]


def playable(documents):
    """The Deployments and what they mount."""
    kept = copy.deepcopy([d for d in documents if d["kind"] in ("Deployment", "ConfigMap", "Secret")])
    for deployment in (d for d in kept if d["kind"] == "Deployment"):
        # It runs one, and warns of more.
        deployment["spec"]["replicas"] = 1
        spec = deployment["spec"]["template"]["spec"]
        # An init container must have no probes there, and is waited for to end.
        native = [c for c in spec.get("initContainers", []) if c.get("restartPolicy") == "Always"]
        spec["initContainers"] = [c for c in spec.get("initContainers", []) if c not in native]
        spec["containers"] = native + spec["containers"]
        for container in spec["containers"]:
            container.pop("restartPolicy", None)
            # podman before version 5 opens each of them on all addresses of the machine.
            container.pop("ports", None)
            # It asks with curl and a shell in the container. Frontdesk's image has neither, and would be restarted.
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                container.pop(probe, None)
    return kept


def text(documents):
    return yaml.safe_dump_all(documents, sort_keys=False)


if __name__ == "__main__":
    print(text(playable(documents(sys.argv[1]))), end="")
