"""Small random documents: OpenAPI 3.0 and 3.1, and Swagger 2.0, with every style of parameter and kind of body."""

NAMES = [
    "id",
    "tags",
    "page[size]",
    "$filter",
    "q",
    "query",
    "session_id",
    "sort.by",
    "user name",
    "X-Y",
    "a" * 70,
    "limit",
    "format",
    "_method",
    "filter",
    "page",
    "größe",
    "confirmation",
    "context",
    "auth",
    "capability",
    "input",
    "body",
]
FIELDS = [
    "name",
    "id",
    "tags",
    "@type",
    "meta data",
    "amount",
    "items",
    "when",
    "query",
    "filter",
    "ref",
    "body",
    "b" * 66,
]


def leaf(rng):
    return rng.choice(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 1, "maximum": 99},
            {"type": "boolean"},
            {"type": "string", "enum": ["x", "y z", "a,b"]},
            {"type": "string", "format": "date"},
            {"type": "number"},
            {"type": "string", "maxLength": 5, "minLength": 1},
        ]
    )


def flat(rng, names=("R", "G", "long name", "n")):
    members = {name: leaf(rng) for name in rng.sample(names, rng.randint(1, 3))}
    return {"type": "object", "properties": members, "required": [rng.choice(list(members))]}


def nested(rng, depth=0):
    kind = rng.random()
    if depth > 2 or kind < 0.5:
        return leaf(rng)
    if kind < 0.7:
        return {"type": "array", "items": nested(rng, depth + 1), "minItems": 1}
    members = {name: nested(rng, depth + 1) for name in rng.sample(FIELDS, rng.randint(1, 3))}
    return {
        "type": "object",
        "properties": members,
        "required": rng.sample(list(members), rng.randint(0, len(members))),
    }


def parameter(rng, name, place, swagger):
    own = {"name": name, "in": place}
    if place == "path" or rng.random() < 0.4:
        own["required"] = True
    compound = rng.random() < 0.6
    if swagger:
        own.update({"type": "array", "items": leaf(rng), "minItems": 1} if compound else leaf(rng))
        if compound and rng.random() < 0.7:
            own["collectionFormat"] = rng.choice(["csv", "ssv", "pipes", "multi"] if place == "query" else ["csv"])
        return own
    listed = {"type": "array", "items": leaf(rng), "minItems": 1}
    schema = rng.choice([listed, flat(rng)]) if compound else leaf(rng)
    own["schema"] = schema
    style = {
        "query": ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
        "path": ["simple", "label", "matrix"],
        "header": ["simple"],
    }[place]
    if rng.random() < 0.8:
        own["style"] = rng.choice([one for one in style if one != "deepObject" or schema.get("type") == "object"])
    if rng.random() < 0.7 and own.get("style") not in ("spaceDelimited", "pipeDelimited", "deepObject"):
        own["explode"] = rng.random() < 0.5
    if rng.random() < 0.1:
        del own["schema"]
        own.pop("style", None)
        own.pop("explode", None)
        own["content"] = {"application/json": {"schema": schema}}
    return own


def body(rng):
    kind = rng.choice(
        [
            "application/json",
            "application/json",
            "application/merge-patch+json",
            "application/vnd.api+json",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain",
            "*/*",
        ]
    )
    fields = {name: nested(rng) for name in rng.sample(FIELDS, rng.randint(1, 4))}
    schema = {
        "type": "object",
        "properties": fields,
        "required": rng.sample(list(fields), rng.randint(0, 2) if len(fields) > 1 else 0),
    }
    media = {"schema": schema}
    if kind == "text/plain":
        media["schema"] = {"type": "string"}
    elif kind == "application/x-www-form-urlencoded":
        for name in fields:
            fields[name] = rng.choice([leaf(rng), {"type": "array", "items": leaf(rng), "minItems": 1}, flat(rng)])
        media["encoding"] = {
            name: {"style": "deepObject", "explode": True}
            for name, own in fields.items()
            if own["type"] == "object" and rng.random() < 0.6
        }
    elif kind != "multipart/form-data":
        choice = rng.random()
        if choice < 0.15:
            media["schema"] = {"type": "array", "items": nested(rng), "minItems": 1}
        elif choice < 0.3:
            media["schema"] = {"type": "object", "additionalProperties": True, "properties": fields}
        elif choice < 0.4:
            schema["additionalProperties"] = False
        elif choice < 0.5:
            media["schema"] = {"allOf": [schema, {"type": "object", "properties": {"more": leaf(rng)}}]}
    return {"required": rng.random() < 0.6, "content": {kind: media}}


def operation(rng, path, placeholders, swagger, method):
    own = {"responses": {"200": {"description": "ok"}}}
    if rng.random() < 0.5:
        own["operationId"] = rng.choice(["list", "get/it", "aVeryLongOperationId" * 5]) + f"_{method}_{len(path) % 7}"
    if rng.random() < 0.5:
        own["tags"] = [rng.choice(["one", "two words", "é"])]
    taken = set(placeholders)
    parameters = [parameter(rng, name, "path", swagger) for name in placeholders]
    for name in rng.sample(NAMES, rng.randint(0, 4)):
        # One name in two places is told apart, but a tester of requests cannot.
        place = "header" if name in ("X-Y",) else "query"
        if name not in taken or rng.random() < 0.5:
            parameters.append(parameter(rng, name, place, swagger))
            taken.add(name)
    spread = [
        one
        for one in parameters
        if one["in"] == "query"
        and one.get("schema", {}).get("type") == "object"
        and one.get("explode", one.get("style", "form") == "form")
        and one.get("style", "form") == "form"
    ]
    # Two objects whose members become parameters of their own would mix.
    for one in spread[1:]:
        parameters.remove(one)
    own["parameters"] = parameters
    if method not in ("get",) and rng.random() < 0.7:
        if not swagger:
            own["requestBody"] = body(rng)
        elif rng.random() < 0.6:
            parameters.append({"name": "whole", "in": "body", "required": True, "schema": nested(rng)})
            own["consumes"] = rng.choice([["application/json"], ["*/*"], ["application/merge-patch+json"]])
        else:
            own["consumes"] = [rng.choice(["application/x-www-form-urlencoded", "multipart/form-data"])]
            for name in rng.sample([field for field in FIELDS if field not in taken], 2):
                parameters.append({"name": name, "in": "formData", "required": rng.random() < 0.5, **leaf(rng)})
    return own


def document(rng):
    kind = rng.choice(["3.0.3", "3.1.0", "2.0"])
    swagger = kind == "2.0"
    paths = {}
    for number in range(rng.randint(1, 4)):
        placeholders = rng.sample(["id", "tags", "petId", "the-key"], rng.randint(0, 2))
        long = "/" + "segment/" * 12 if rng.random() < 0.2 else "/"
        path = f"{long}p{number}" + "".join(f"/{{{name}}}" for name in placeholders)
        methods = rng.sample(["get", "post", "put", "patch", "delete"], rng.randint(1, 3))
        paths[path] = {method: operation(rng, path, placeholders, swagger, method) for method in methods}
    if swagger:
        return {
            "swagger": "2.0",
            "info": {"title": "Random", "version": "1"},
            "basePath": rng.choice(["/", "/v1"]),
            "paths": paths,
        }
    servers = rng.choice([[], [{"url": "/v2"}], [{"url": "https://api.example.com/v3/"}]])
    return {"openapi": kind, "info": {"title": "Random", "version": "1"}, "servers": servers, "paths": paths}
