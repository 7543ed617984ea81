"""The manifests that were put together: valid by the schemas of each Kubernetes they are for, and true to one another.
Usage: check.py FOLDER, which has OVERLAY.yaml and OVERLAY.own.yaml"""

import pathlib
import sys

import yaml

from schemas import hardened, refusal, seen_to_fail, selects

FOLDER = pathlib.Path(sys.argv[1])
# Native sidecars are there from 1.29, the pause of a preStop from 1.30; the newest that there are schemas of.
VERSIONS = {"sidecar": ["1.30", "1.32", "1.34", "1.37"], "sidecar-classic": ["1.27", "1.30", "1.37"],
            "edge": ["1.27", "1.30", "1.37"]}


def load(name):
    return [d for d in yaml.safe_load_all((FOLDER / name).read_text()) if d]


def ordered(documents):
    """Without what has no meaning: the order of documents, and of what has a name in a list."""
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return sorted(map(plain, value), key=lambda i: str(i.get("name", i)) if isinstance(i, dict) else "")
        return value
    return sorted(map(plain, documents), key=lambda d: (d["kind"], d["metadata"]["name"]))


def sidecar_of(spec, overlay):
    """Frontdesk's container, and the others."""
    native, beside = spec.get("initContainers", []), spec["containers"]
    ours = [c for c in native + beside if c["name"] == "frontdesk"]
    assert len(ours) == 1, overlay
    if overlay == "sidecar":
        assert ours[0] in native and ours[0]["restartPolicy"] == "Always", "a native sidecar"
        assert "lifecycle" not in ours[0], "its preStop would run while the site still answers"
    else:
        assert ours[0] in beside and "restartPolicy" not in ours[0]
    return ours[0], [c for c in beside if c is not ours[0]]


def true_to_one_another(overlay, documents):
    of = lambda kind: [d for d in documents if d["kind"] == kind]
    named = lambda kind, name: next(d for d in of(kind) if d["metadata"]["name"] == name)
    deployment = named("Deployment", "frontdesk" if overlay == "edge" else "site")
    template = deployment["spec"]["template"]
    labels, spec = template["metadata"]["labels"], template["spec"]
    assert selects(deployment["spec"]["selector"]["matchLabels"], labels)
    frontdesk, others = sidecar_of(spec, overlay)
    hardened(frontdesk)
    assert spec["automountServiceAccountToken"] is False
    ports = {p["name"]: p["containerPort"] for p in frontdesk["ports"]}
    http, admin = ports["frontdesk"], ports["admin"]
    # Alive while it drains, unready at once; the start is waited for.
    for probe, path in (("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")):
        assert frontdesk[probe]["httpGet"] == {"path": path, "port": admin}, probe
    requests, limits = frontdesk["resources"]["requests"], frontdesk["resources"]["limits"]
    assert set(requests) == {"cpu", "memory"} and set(limits) == {"memory"}, "throttled is late"

    # The file in the ConfigMap, seen through its directory: a subPath never changes.
    config = named("ConfigMap", "frontdesk")
    file = pathlib.Path("deploy/kubernetes/overlays") / overlay / "frontdesk.toml"
    assert config["data"] == {"frontdesk.toml": file.read_text()}, "the ConfigMap is the file"
    volume = next(v for v in spec["volumes"] if v.get("configMap", {}).get("name") == "frontdesk")
    mount = next(m for m in frontdesk["volumeMounts"] if m["name"] == volume["name"])
    assert "subPath" not in mount and mount["readOnly"] is True
    assert f"{mount['mountPath']}/frontdesk.toml" in frontdesk["args"]

    # Traffic goes to Frontdesk: through the Service, and from the monitoring through its own.
    for service, wanted in (("frontdesk" if overlay == "edge" else "site", http), ("frontdesk-metrics", admin)):
        found = named("Service", service)["spec"]
        assert selects(found["selector"], labels), service
        assert [p["targetPort"] for p in found["ports"]] == [wanted], service
    monitor = of("ServiceMonitor")[0]["spec"]
    scraped = [s for s in of("Service") if selects(monitor["selector"]["matchLabels"], s["metadata"].get("labels", {}))]
    assert [s["metadata"]["name"] for s in scraped] == ["frontdesk-metrics"]
    assert monitor["endpoints"][0]["port"] == scraped[0]["spec"]["ports"][0]["name"]

    # The way around is closed: into these pods only Frontdesk's port leads, and from some the operator's.
    policies = [p["spec"] for p in of("NetworkPolicy") if selects(p["spec"]["podSelector"]["matchLabels"], labels)]
    assert len(policies) == 1 and policies[0]["policyTypes"] == ["Ingress"]
    everybody = [p["port"] for rule in policies[0]["ingress"] if "from" not in rule for p in rule["ports"]]
    some = [p["port"] for rule in policies[0]["ingress"] if "from" in rule for p in rule["ports"]]
    assert (everybody, some) == ([http], [admin]), (everybody, some)
    if overlay == "edge":
        site = named("Deployment", "site")["spec"]["template"]
        closed = named("NetworkPolicy", "site")["spec"]
        assert selects(closed["podSelector"]["matchLabels"], site["metadata"]["labels"])
        assert closed["ingress"] == [{
            "from": [{"podSelector": {"matchLabels": deployment["spec"]["selector"]["matchLabels"]}}],
            "ports": [{"protocol": "TCP", "port": site["spec"]["containers"][0]["ports"][0]["containerPort"]}]}]
        budget = named("PodDisruptionBudget", "frontdesk")["spec"]
        assert selects(budget["selector"]["matchLabels"], labels)
        assert budget["maxUnavailable"] < deployment["spec"]["replicas"], "one stays"
        assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    else:
        assert len(others) == 1
        env = {e["name"]: e.get("value") for e in others[0]["env"]}
        assert env["HOST"] == "127.0.0.1", "the site is for Frontdesk alone"
        assert others[0]["readinessProbe"]["httpGet"]["port"] == http, "so it is asked through Frontdesk"
        assert "livenessProbe" not in others[0]


for overlay, versions in VERSIONS.items():
    documents = load(f"{overlay}.yaml")
    assert ordered(documents) == ordered(load(f"{overlay}.own.yaml")), f"{overlay}: kustomize.py merges otherwise"
    for version in versions:
        for document in documents:
            wrong = refusal(document, version)
            if wrong:
                sys.exit(f"{overlay}: {wrong}")
        seen_to_fail(documents, version)
    true_to_one_another(overlay, documents)
    print(f"{overlay}: {len(documents)} documents, valid in Kubernetes {', '.join(versions)}")
