"""What `kubectl kustomize` would print, for machines without it: as much of it as deploy/kubernetes uses, and an error
for whatever else a kustomization says. Usage: kustomize.py OVERLAY [COMPONENT ...]"""

import copy
import pathlib
import sys

import yaml

KNOWN = {"apiVersion", "kind", "resources", "components", "patches", "images", "configMapGenerator",
         "generatorOptions", "labels"}
# How a strategic merge tells the items of a list apart; lists not named here are replaced.
KEYS = {"containers": "name", "initContainers": "name", "env": "name", "volumes": "name",
        "volumeMounts": "mountPath"}


def merge(base, patch, path=()):
    if isinstance(base, dict) and isinstance(patch, dict):
        merged = dict(base)
        for key, value in patch.items():
            merged[key] = merge(base[key], value, (*path, key)) if key in base else copy.deepcopy(value)
        return merged
    if isinstance(base, list) and isinstance(patch, list):
        name = path[-1]
        # A Service's ports are told apart by port, a container's by containerPort.
        key = KEYS.get(name) or ("port" if path == ("spec", "ports") else "containerPort" if name == "ports" else None)
        if key is None:
            return copy.deepcopy(patch)
        items = {item[key]: item for item in base}
        new = [merge(items.pop(item[key], {}), item, path) if item[key] in items else copy.deepcopy(item)
               for item in patch]
        return new + list(items.values())
    return copy.deepcopy(patch)


def pods(document):
    return document.get("spec", {}).get("template")


def build(folder, extra=()):
    folder = pathlib.Path(folder)
    said = yaml.safe_load((folder / "kustomization.yaml").read_text())
    unknown = set(said) - KNOWN
    if unknown:
        sys.exit(f"{folder}: this script does not know {sorted(unknown)}; use kubectl kustomize")
    documents = []
    components = [folder / name for name in said.get("components", [])] + list(map(pathlib.Path, extra))
    for name in said.get("resources", []):
        path = folder / name
        documents += build(path) if path.is_dir() else [d for d in yaml.safe_load_all(path.read_text()) if d]
    for component in components:
        documents += build(component)
    for generator in said.get("configMapGenerator", []):
        data = {name: (folder / name).read_text() for name in generator["files"]}
        documents.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data})
        assert said["generatorOptions"] == {"disableNameSuffixHash": True}, folder
    for entry in said.get("patches", []):
        patch = yaml.safe_load((folder / entry["path"]).read_text())
        same = [d for d in documents
                if (d["kind"], d["metadata"]["name"]) == (patch["kind"], patch["metadata"]["name"])]
        if len(same) != 1:
            sys.exit(f"{folder}/{entry['path']} is for {len(same)} documents")
        documents[documents.index(same[0])] = merge(same[0], patch)
    for entry in said.get("labels", []):
        for document in documents:
            document["metadata"].setdefault("labels", {}).update(entry["pairs"])
            if entry.get("includeTemplates") and pods(document):
                pods(document)["metadata"].setdefault("labels", {}).update(entry["pairs"])
    for image in said.get("images", []):
        for document in filter(pods, documents):
            spec = pods(document)["spec"]
            for container in spec.get("containers", []) + spec.get("initContainers", []):
                if container["image"] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    return documents


if __name__ == "__main__":
    print(yaml.safe_dump_all(build(sys.argv[1], sys.argv[2:]), sort_keys=True), end="")
