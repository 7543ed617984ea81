"""Renders the charts and checks what comes out: each document by the schemas of Kubernetes, each configuration by
`frontdesk check`, and the pods against those of deploy/kubernetes, which have run (tests/containers).
Usage: render.py HELM FRONTDESK CHARTS"""

import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "deploy"))
from kustomize import build  # noqa: E402
from schemas import hardened, refusal, seen_to_fail, selects  # noqa: E402

HELM, FRONTDESK, CHARTS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# The chart, the versions of Kubernetes, and the kinds that come out.
CASES = {
    "minimal": ("frontdesk", ["1.27", "1.30", "1.37"],
                "ConfigMap Deployment PodDisruptionBudget Service Service Service StatefulSet"),
    "everything": ("frontdesk", ["1.27", "1.30", "1.37"],
                   "ConfigMap Deployment HorizontalPodAutoscaler NetworkPolicy NetworkPolicy NetworkPolicy "
                   "PodDisruptionBudget Service Service Service ServiceMonitor StatefulSet"),
    "external": ("frontdesk", ["1.27", "1.37"], "ConfigMap Deployment PodDisruptionBudget Service Service ServiceMonitor"),
    "single": ("frontdesk", ["1.27", "1.37"], "ConfigMap Deployment Service Service"),
    "sidecar": ("site", ["1.30", "1.34", "1.37"], "ConfigMap Deployment NetworkPolicy Service Service ServiceMonitor"),
    "sidecar-classic": ("site", ["1.27", "1.30", "1.37"],
                        "ConfigMap Deployment NetworkPolicy NetworkPolicy Service Service Service ServiceMonitor StatefulSet"),
}
# The chart, what is set, the version of Kubernetes, and what the refusal has to say.
REFUSED = [
    ("frontdesk", ["replicaCout=3"], "1.30", "replicaCout"),
    ("frontdesk", ["edge.maxConnections=many"], "1.30", "maxConnections"),
    ("frontdesk", ["edge.upstream.url=site"], "1.30", "url"),
    ("frontdesk", ["edge.store=memory"], "1.30", "a retry that reaches another pod would act twice"),
    ("frontdesk", ["edge.store=memory", "replicaCount=1", "autoscaling.enabled=true"], "1.30", "would act twice"),
    ("frontdesk", ["edge.store=external"], "1.30", "redis.external.url"),
    ("frontdesk", ["config=[listen]"], "1.30", "expect [listen] http on port 8080"),
    ("site", [], "1.28", "has no native sidecars"),
    ("site", [], "1.29", "sidecar.preStop to exec"),
    ("site", ["frontdesk.mode=beside"], "1.30", "mode"),
]


def helm(*words):
    return subprocess.run([HELM, *map(str, words)], capture_output=True, text=True)


def rendered(name, chart, version, *words):
    done = helm("template", "shop", CHARTS / chart, "--kube-version", f"{version}.0", "--values",
                HERE / "values" / f"{name}.yaml", *words)
    if done.returncode:
        sys.exit(f"helm: {name}: {done.stderr}")
    return [d for d in yaml.safe_load_all(done.stdout) if d]


def of(documents, kind):
    return [d for d in documents if d["kind"] == kind]


def pod_of(document):
    return document["spec"]["template"]["spec"]


def frontdesk_of(spec):
    found = [c for c in (spec.get("initContainers") or []) + spec["containers"] if c["name"] == "frontdesk"]
    assert len(found) == 1, found
    return found[0]


def configured(name, documents):
    """The file in the ConfigMap is fine, as the chart's own tables and what the user adds."""
    text = of(documents, "ConfigMap")[0]["data"]["frontdesk.toml"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "frontdesk.toml"
        file.write_text(text)
        env = {"REDIS_URL": "redis://redis:6379/0"}
        done = subprocess.run([FRONTDESK, "check", str(file)], capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"helm: {name}: frontdesk check: {done.stdout}{done.stderr}\n{text}")
    return text


def drains(name, spec, text):
    """The grace period holds what the file and the site's preStop take, and 5 s more."""
    seconds = {key: int(next(line for line in text.splitlines() if line.strip().startswith(key)).split('"')[1][:-1])
               for key in ("shutdown_delay", "shutdown_timeout")}
    grace, own = spec["terminationGracePeriodSeconds"], sum(seconds.values())
    if name.startswith("sidecar"):
        hook = next(c for c in spec["containers"] if c["name"] == "site")["lifecycle"]["preStop"]
        wait = hook["sleep"]["seconds"] if "sleep" in hook else int(hook["exec"]["command"][1])
        if name == "sidecar":
            assert seconds["shutdown_delay"] == 0 and wait >= 5 and wait + 10 + own + 5 <= grace, (seconds, wait, grace)
        else:
            assert seconds["shutdown_delay"] >= 5 and wait > own and wait + 10 <= grace, (seconds, wait, grace)
    else:
        assert seconds["shutdown_delay"] >= 5 and own + 5 <= grace, (seconds, grace)


def true_to_one_another(documents):
    """Each selector finds the pods that it is for, and each name what it names."""
    pods = {d["metadata"]["name"]: d["spec"]["template"]["metadata"]["labels"]
            for d in of(documents, "Deployment") + of(documents, "StatefulSet")}
    for workload in of(documents, "Deployment") + of(documents, "StatefulSet"):
        assert selects(workload["spec"]["selector"]["matchLabels"], pods[workload["metadata"]["name"]])
    for service in of(documents, "Service"):
        found = [name for name, labels in pods.items() if selects(service["spec"]["selector"], labels)]
        assert len(found) == 1, (service["metadata"]["name"], found)
        ports = {p["containerPort"] for w in documents if w["kind"] in ("Deployment", "StatefulSet")
                 and w["metadata"]["name"] == found[0] for c in (pod_of(w).get("initContainers") or []) + pod_of(w)["containers"]
                 for p in c.get("ports", [])}
        assert {p["targetPort"] for p in service["spec"]["ports"]} <= ports, service["metadata"]["name"]
    for monitor in of(documents, "ServiceMonitor"):
        scraped = [s["metadata"]["name"] for s in of(documents, "Service")
                   if selects(monitor["spec"]["selector"]["matchLabels"], s["metadata"].get("labels", {}))]
        assert len(scraped) == 1 and scraped[0].endswith("-metrics"), scraped
    for policy in of(documents, "NetworkPolicy"):
        if not policy["metadata"]["name"].endswith("-site"):
            chosen = policy["spec"]["podSelector"]["matchLabels"]
            assert len([n for n, labels in pods.items() if selects(chosen, labels)]) == 1, policy["metadata"]["name"]
    for scaler in of(documents, "HorizontalPodAutoscaler"):
        target = next(d for d in of(documents, "Deployment") if d["metadata"]["name"] == scaler["spec"]["scaleTargetRef"]["name"])
        assert "replicas" not in target["spec"], "the autoscaler alone says how many"
    for budget in of(documents, "PodDisruptionBudget"):
        assert any(selects(budget["spec"]["selector"]["matchLabels"], labels) for labels in pods.values())
    config = of(documents, "ConfigMap")[0]["metadata"]["name"]
    spec = pod_of(of(documents, "Deployment")[0])
    assert any(v.get("configMap", {}).get("name") == config for v in spec["volumes"]), "the pod mounts the ConfigMap"


def as_kustomize_has_it(name, container, overlay):
    """What has run in containers is what the chart installs."""
    documents = build(HERE.parent.parent / "deploy/kubernetes/overlays" / overlay)
    wanted = frontdesk_of(pod_of(next(d for d in of(documents, "Deployment")
                                      if d["metadata"]["name"] == ("frontdesk" if overlay == "edge" else "site"))))
    for key in (set(wanted) | set(container)) - {"env", "imagePullPolicy"}:
        assert container.get(key) == wanted.get(key), f"{name}: {key}: {container.get(key)}, in {overlay} {wanted.get(key)}"


def case(name, chart, versions, kinds):
    for version in versions:
        documents = rendered(name, chart, version)
        assert " ".join(sorted(d["kind"] for d in documents)) == kinds, sorted(d["kind"] for d in documents)
        for document in documents:
            wrong = refusal(document, version)
            if wrong:
                sys.exit(f"helm: {name}: {wrong}")
        if of(documents, "ServiceMonitor"):
            seen_to_fail(documents, version)
    spec = pod_of(of(documents, "Deployment")[0])
    container = frontdesk_of(spec)
    hardened(container)
    text = configured(name, documents)
    drains(name, spec, text)
    true_to_one_another(documents)
    overlay = {"minimal": "edge", "sidecar": "sidecar", "sidecar-classic": "sidecar-classic"}.get(name)
    if overlay:
        as_kustomize_has_it(name, container, overlay)
    for redis in of(documents, "StatefulSet"):
        security = pod_of(redis)["containers"][0]["securityContext"]
        assert security["runAsNonRoot"] and security["readOnlyRootFilesystem"] and security["capabilities"] == {"drop": ["ALL"]}
        composed = yaml.safe_load((HERE.parent.parent / "deploy/container/compose.yaml").read_text())["services"]["redis"]
        assert pod_of(redis)["containers"][0]["command"] == composed["command"], "as it has run (tests/containers)"
        assert f'url = "redis://{redis["metadata"]["name"]}:6379/0"' in text, "Frontdesk asks this Redis"
    return len(documents)


def refused():
    for chart, settings, version, says in REFUSED:
        words = [word for setting in settings for word in ("--set", setting)]
        done = helm("template", "shop", CHARTS / chart, "--kube-version", f"{version}.0", *words)
        assert done.returncode and says in done.stderr, f"{settings} in {version}: {done.returncode} {done.stderr}"


def noted():
    """What is printed after the installation. Helm 3 prints it with a cluster only."""
    def notes(*words):
        done = helm("install", "shop", CHARTS / "frontdesk", "--dry-run=client", *words)
        if done.returncode and "cluster unreachable" in done.stderr:
            return None
        assert done.returncode == 0, done.stderr
        return done.stdout.split("NOTES:", 1)[1]

    edge = notes()
    if edge is None:
        print("helm: NOT RUN: NOTES.txt (this version prints it with a cluster only)", file=sys.stderr)
        return
    assert "port-forward service/shop-frontdesk 8080:80" in edge and "on a volume of its own" in edge, edge
    assert "WITHOUT a volume" in notes("--set", "redis.persistence.enabled=false")
    assert "app.kubernetes.io/name: site" in notes("--set", "mode=sidecar"), "the labels of the pods"


def readme():
    """What README.md has of a Deployment is what the example chart has, which is rendered here."""
    text = (CHARTS / "frontdesk/README.md").read_text()
    block = text.split("In the pod of your Deployment:\n\n```yaml\n", 1)[1].split("```", 1)[0]
    example = (CHARTS / "site/templates/deployment.yaml").read_text().splitlines()
    missing = [line for line in block.splitlines() if line not in example]
    assert not missing, missing


def main():
    version = helm("version", "--short").stdout.strip()
    for chart in ("frontdesk", "site"):
        done = helm("lint", "--strict", CHARTS / chart)
        assert done.returncode == 0 and "[WARNING]" not in done.stdout, done.stdout + done.stderr
    json.loads((CHARTS / "frontdesk/values.schema.json").read_text())
    for name, (chart, versions, kinds) in CASES.items():
        count = case(name, chart, versions, kinds)
        print(f"helm {version}: {name}: {count} documents, valid in Kubernetes {', '.join(versions)}; frontdesk check is content")
    refused()
    readme()
    noted()
    print(f"helm {version}: {len(REFUSED)} wrong settings are refused, each with its reason")


main()
