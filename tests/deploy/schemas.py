"""What each manifest has to be, whatever put it together: valid by the schemas of a Kubernetes, and run without privileges.
It is used for the files of kustomize (check.py) and for the Helm chart (tests/helm)."""

import copy
import sys

import jsonschema
import kubernetes_validate

# Of monitoring.coreos.com/v1, as much as is used; whatever else is a mistake.
SERVICE_MONITOR = {
    "type": "object", "required": ["apiVersion", "kind", "metadata", "spec"], "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "monitoring.coreos.com/v1"}, "kind": {"const": "ServiceMonitor"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object", "required": ["selector", "endpoints"], "additionalProperties": False,
            "properties": {
                "selector": {"type": "object", "required": ["matchLabels"], "additionalProperties": False,
                             "properties": {"matchLabels": {"type": "object"}}},
                "endpoints": {"type": "array", "minItems": 1, "items": {
                    "type": "object", "required": ["port"], "additionalProperties": False,
                    "properties": {"port": {"type": "string"}, "path": {"type": "string", "pattern": "^/"},
                                   "interval": {"type": "string", "pattern": "^[0-9]+s$"}}}}}}}}


def validate(document, version):
    if document["kind"] == "ServiceMonitor":
        jsonschema.validate(document, SERVICE_MONITOR)
    else:
        kubernetes_validate.validate(document, version, strict=True)


def selects(selector, labels):
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def refusal(document, version):
    """Why it is none of this Kubernetes, or None."""
    try:
        validate(document, version)
    except (kubernetes_validate.ValidationError, jsonschema.ValidationError) as error:
        return f"{document['kind']}/{document['metadata']['name']} in {version}: {error.message}"
    return None


def seen_to_fail(documents, version):
    """A check that cannot fail checks nothing."""
    deployment = copy.deepcopy(next(d for d in documents if d["kind"] == "Deployment"))
    deployment["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    monitor = copy.deepcopy(next(d for d in documents if d["kind"] == "ServiceMonitor"))
    monitor["spec"]["endpoint"] = []
    for broken in (deployment, monitor):
        if not refusal(broken, version):
            sys.exit(f"a misspelt key of a {broken['kind']} was taken for a good one")


def hardened(container):
    security = container["securityContext"]
    assert security["runAsNonRoot"] is True and security["runAsUser"] >= 1000, "not root, by number"
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
