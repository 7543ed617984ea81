"""What one operation of a document should send for drawn values, and what an agent says to have it sent."""

from sample import NoValue, Sampler
from serialize import compact, enc, header, pairs, segment

METHODS = ("get", "put", "post", "delete", "patch")
NOT_SENT = ("accept", "content-type", "authorization")


def rank(kind):
    """Which of several representations of a body is sent, as the documentation of the import says."""
    kind = kind.split(";")[0].strip().lower()
    order = {
        "application/json": 0,
        "*/*": 1,
        "application/*": 1,
        "application/merge-patch+json": 2,
        "application/json-patch+json": 4,
        "application/x-www-form-urlencoded": 5,
        "multipart/form-data": 6,
    }
    return order.get(kind, 3 if kind.endswith(("+json", "/json")) else 7 if kind.startswith("text/") else 8)


class Expected:
    """A request: method, encoded path, encoded pairs of the query, headers, and a body in parts."""

    def __init__(self, method, path):
        self.method, self.path, self.query, self.headers = method, path, [], {}
        self.content_type, self.body = None, None


class Operations:
    def __init__(self, document, random):
        self.document, self.sampler, self.random = document, Sampler(document, random), random
        self.old = document.get("swagger") == "2.0"

    def all(self):
        for path, item in self.document["paths"].items():
            item = self.sampler.resolved(item)
            for method in METHODS:
                if isinstance(item.get(method), dict):
                    yield method.upper(), path, item, item[method]

    def parameters(self, item, operation):
        found = {}
        for parameter in operation.get("parameters", []) + item.get("parameters", []):
            parameter = self.sampler.resolved(parameter)
            found.setdefault((parameter["name"], parameter["in"]), parameter)
        return list(found.values())

    def base(self, item, operation):
        if self.old:
            return self.document.get("basePath", "").rstrip("/")
        servers = operation.get("servers") or item.get("servers") or self.document.get("servers") or [{"url": "/"}]
        url = servers[0]["url"]
        for name, variable in servers[0].get("variables", {}).items():
            url = url.replace("{" + name + "}", variable["default"])
        return "/" + url.split("://", 1)[1].partition("/")[2].rstrip("/") if "://" in url else url.rstrip("/")

    def draw(self, method, path, item, operation, known):
        """The values for an operation and its request. `known`: which of its parameters the import took, by place and
        name. Raises NoValue where the document asks for what cannot be drawn."""
        values, filled = {}, path
        expected = Expected(method, None)
        for parameter in self.parameters(item, operation):
            place, name = parameter["in"], parameter["name"]
            if place in ("body", "formData") or (place, name) not in known:
                continue
            if not parameter.get("required") and place != "path" and self.random.random() < 0.4:
                continue
            schema, style, explode = self.style(parameter)
            try:
                value = self.sampler.value(schema)
                if place == "header":
                    value = self.of_header(schema, value, style, explode)
            except NoValue:
                if parameter.get("required") or place == "path":
                    raise
                continue
            if place == "path":
                parts = (
                    value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
                )
                if not parts or any(str(part) in ("", ".", "..") or "/" in str(part) for part in parts):
                    raise NoValue("a segment")
                filled = filled.replace("{" + name + "}", segment(name, value, style or "simple", explode))
            elif place == "query":
                expected.query += pairs(name, value, style or "form", explode)
            elif place == "header":
                expected.headers[name.lower()] = compact(value) if style == "json" else header(value, explode)
            values[(place, name)] = value
        base = self.base(item, operation)
        expected.path = (base if base != "/" else "") + filled.split("#")[0]
        self.body(method, item, operation, values, expected, known)
        return values, expected

    def of_header(self, schema, value, style, explode):
        """A value that a header can have."""
        for _ in range(20):
            text = compact(value) if style == "json" else header(value, explode)
            if text.isascii() and text.isprintable() and text == text.strip():
                return value
            value = self.sampler.value(schema)
        raise NoValue("a header")

    def style(self, parameter):
        if self.old:
            schema = {
                key: value for key, value in parameter.items() if key not in ("name", "in", "required", "description")
            }
            formats = {
                "csv": ("form", False),
                "multi": ("form", True),
                "ssv": ("spaceDelimited", False),
                "pipes": ("pipeDelimited", False),
            }
            style, explode = formats[parameter.get("collectionFormat", "csv")]
            if parameter["in"] != "query":
                style = "simple"
            return schema, style if parameter.get("type") == "array" else None, explode
        if "content" in parameter:
            return next(iter(parameter["content"].values())).get("schema", {}), "json", None
        return parameter.get("schema", {}), parameter.get("style"), parameter.get("explode")

    def content(self, item, operation):
        """The representations of the body by media type, and whether it is required."""
        if not self.old:
            body = self.sampler.resolved(operation.get("requestBody")) or {}
            return body.get("content", {}), body.get("required", False)
        parameters = [
            parameter for parameter in self.parameters(item, operation) if parameter["in"] in ("body", "formData")
        ]
        consumes = operation.get("consumes", self.document.get("consumes")) or ["application/json"]
        if not parameters:
            return {}, False
        if parameters[0]["in"] == "body":
            return {kind: {"schema": parameters[0].get("schema", {})} for kind in consumes}, parameters[0].get(
                "required", False
            )
        schema = {"type": "object", "properties": {}, "required": [p["name"] for p in parameters if p.get("required")]}
        encoding = {}
        for parameter in parameters:
            schema["properties"][parameter["name"]], style, explode = self.style(parameter)
            if style:
                encoding[parameter["name"]] = {"style": style, "explode": explode}
        kind = "multipart/form-data" if "multipart/form-data" in consumes else "application/x-www-form-urlencoded"
        return {kind: {"schema": schema, "encoding": encoding}}, bool(schema["required"])

    def body(self, method, item, operation, values, expected, known):
        content, required = self.content(item, operation)
        if not content or method in ("GET", "HEAD"):
            return
        kind = min(content, key=rank)
        media = content[kind]
        schema = media.get("schema", {})
        merged = self.sampler.merged(schema)
        if merged.get("properties") == {} and not required and "additionalProperties" not in merged:
            return
        if not required and self.random.random() < 0.3 and not merged.get("required"):
            return
        value = self.sampler.value(schema)
        if isinstance(value, dict):
            value = {name: own for name, own in value.items() if ("body", name) in known or ("body", None) in known}
            if not value and not required and ("body", None) not in known:
                return
        values[("body", None)] = value
        expected.content_type = "application/json" if "*" in kind else kind.split(";")[0].strip().lower()
        if rank(kind) == 5:
            encoding = media.get("encoding", {})
            expected.body = (
                "pairs",
                [pair for name, own in value.items() for pair in self.field(name, own, encoding.get(name))],
            )
            if not expected.body[1] and not required:
                # An empty object in deepObject is nothing.
                expected.content_type = expected.body = None
        elif rank(kind) == 6:
            expected.body = (
                "parts",
                [(name, part) for name, own in value.items() for part in (own if isinstance(own, list) else [own])],
            )
        elif rank(kind) >= 7:
            expected.body = ("text", value)
        else:
            expected.body = ("json", value)

    def field(self, name, value, encoding):
        encoding = encoding or {}
        if "style" in encoding or "explode" in encoding:
            return pairs(name, value, encoding.get("style", "form"), encoding.get("explode"))
        items = value if isinstance(value, list) else [value]
        if encoding.get("contentType") == "application/json":
            return [f"{enc(name)}={enc(compact(value))}"]
        return [f"{enc(name)}={enc(item)}" for item in items]
