"""What a request looks like by the OpenAPI specification: a serializer that shares nothing with Frontdesk's.

Follows the tables of parameter styles. What they leave open is written as Frontdesk's documentation says: a list inside
deepObject with numbers, a nested value inside a list as JSON, the members of an object in their alphabetical order.
"""

import json
from urllib.parse import quote


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def text(value):
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return compact(value)
    return str(value)


def enc(value):
    return quote(text(value), safe="-._~")


def deep(name, value):
    if isinstance(value, dict):
        return [pair for key, inner in sorted(value.items()) for pair in deep(f"{name}%5B{enc(key)}%5D", inner)]
    if isinstance(value, list):
        return [pair for at, inner in enumerate(value) for pair in deep(f"{name}%5B{at}%5D", inner)]
    return [f"{name}={enc(value)}"]


def pairs(name, value, style="form", explode=None):
    """The encoded pairs of a query or a form."""
    explode = style == "form" if explode is None else explode
    name_ = enc(name)
    if style == "json":
        return [f"{name_}={enc(compact(value))}"]
    if style == "deepObject" and isinstance(value, (dict, list)):
        return deep(name_, value)
    between = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")
    if isinstance(value, list):
        if explode:
            return [f"{name_}={enc(item)}" for item in value]
        return [f"{name_}={between.join(enc(item) for item in value)}"] if value else []
    if isinstance(value, dict):
        if explode:
            return [f"{enc(key)}={enc(item)}" for key, item in sorted(value.items())]
        flat = [enc(part) for member in sorted(value.items()) for part in member]
        return [f"{name_}={between.join(flat)}"] if flat else []
    return [f"{name_}={enc(value)}"]


def segment(name, value, style="simple", explode=False):
    """The encoded text in the place of a path parameter."""
    if style == "json":
        return enc(compact(value))
    if isinstance(value, list):
        parts = [enc(item) for item in value]
        if style == "matrix":
            return "".join(f";{enc(name)}={part}" for part in parts) if explode else f";{enc(name)}={','.join(parts)}"
        return ("." if style == "label" else "") + ("." if style == "label" and explode else ",").join(parts)
    if isinstance(value, dict):
        if explode:
            parts = [f"{enc(key)}={enc(item)}" for key, item in sorted(value.items())]
            between = {"label": ".", "matrix": ";"}.get(style, ",")
            return ({"label": ".", "matrix": ";"}.get(style, "")) + between.join(parts)
        flat = ",".join(enc(part) for member in sorted(value.items()) for part in member)
        return {"label": f".{flat}", "matrix": f";{enc(name)}={flat}"}.get(style, flat)
    return {"label": f".{enc(value)}", "matrix": f";{enc(name)}={enc(value)}"}.get(style, enc(value))


def header(value, explode=False):
    if isinstance(value, list):
        return ",".join(text(item) for item in value)
    if isinstance(value, dict):
        return ",".join(f"{key}{'=' if explode else ','}{text(item)}" for key, item in sorted(value.items()))
    return text(value)
