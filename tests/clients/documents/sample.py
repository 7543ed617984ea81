"""Values that fit a schema of an OpenAPI or Swagger document, drawn by a random number generator."""

import re

FORMATS = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "uri": "https://example.com/a?b=c",
    "email": "a@example.com",
    "uuid": "6f1c7e1e-8c4b-4d8e-9a53-0a6c7c1f2b11",
    "ipv4": "192.0.2.1",
    "time": "03:04:05Z",
    "hostname": "example.com",
    "repo.nwo": "a/b",
    "url": "https://example.com/",
    "byte": "YWJj",
}
WORDS = ["alpha", "b c", "a,b", "x|y", "50%", "ä", "q=1&r", "plus+", "semi;colon", "7", "Z"]


class NoValue(Exception):
    """The schema asks for what this sampler cannot make."""


class Sampler:
    def __init__(self, document, random):
        self.document, self.random = document, random

    def resolved(self, value):
        for _ in range(20):
            if not isinstance(value, dict) or "$ref" not in value:
                return value
            there = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                there = there[part.replace("~1", "/").replace("~0", "~")]
            value = there
        raise NoValue("references")

    def merged(self, schema, depth=0):
        """The schema with its allOf, and one of its alternatives, put into it."""
        schema = dict(self.resolved(schema) or {})
        if depth > 8:
            return schema
        parts = [self.merged(part, depth + 1) for part in schema.pop("allOf", [])]
        for key in ("oneOf", "anyOf"):
            choices = [part for part in schema.pop(key, []) if (self.resolved(part) or {}).get("type") != "null"]
            if choices:
                parts.append(self.merged(self.random.choice(choices), depth + 1))
        for part in parts:
            properties = {**schema.get("properties", {}), **part.get("properties", {})}
            required = list(dict.fromkeys(schema.get("required", []) + part.get("required", [])))
            schema = {**part, **schema}
            if properties:
                schema["properties"] = properties
            if required:
                schema["required"] = required
        return schema

    def value(self, schema, depth=0):
        if schema is True:
            return self.random.choice(WORDS)
        schema = self.merged(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            known = [one for one in schema["enum"] if one is not None]
            if not known:
                raise NoValue("only null")
            return self.random.choice(known)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next(one for one in kind if one != "null")
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        return getattr(self, "_" + kind)(schema, depth)

    def _boolean(self, schema, depth):
        return self.random.random() < 0.5

    def _integer(self, schema, depth):
        low, high = schema.get("minimum"), schema.get("maximum")
        low = low if low is not None else min(0, high if high is not None else 0)
        high = high if high is not None else low + 1000
        low += 1 if schema.get("exclusiveMinimum") is True else 0
        if isinstance(schema.get("exclusiveMinimum"), (int, float)) and schema.get("exclusiveMinimum") is not True:
            low = max(low, schema["exclusiveMinimum"] + 1)
        number = self.random.randint(int(low), int(max(low, min(high, low + 1000))))
        step = schema.get("multipleOf")
        return number - number % int(step) if step and step >= 1 else number

    def _number(self, schema, depth):
        return self._integer({key: value for key, value in schema.items() if key != "multipleOf"}, depth)

    def _string(self, schema, depth):
        if schema.get("format") == "binary":
            raise NoValue("a file")
        candidates = [FORMATS[schema["format"]]] if schema.get("format") in FORMATS else list(WORDS)
        self.random.shuffle(candidates)
        pattern, least, most = schema.get("pattern"), schema.get("minLength", 0), schema.get("maxLength", 10**6)
        candidates += [
            "abc",
            "a",
            "1",
            "12345678",
            "abcdefabcdefabcdefabcdefabcdefabcdefabcd",
            "2026-01-02T03:04:05Z",
            "x" * least,
        ]
        for text in candidates:
            try:
                if least <= len(text) <= most and (not pattern or re.search(pattern, text)):
                    return text
            except re.error:
                raise NoValue("a pattern")
        raise NoValue("a string")

    def _array(self, schema, depth):
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 3), 3 if depth < 3 else 1)
        count = max(least, self.random.randint(min(1, most), max(1, most)) if most else 0)
        if depth > 6:
            count = least
        items = [self.value(schema.get("items", {}), depth + 1) for _ in range(count)]
        if schema.get("uniqueItems"):
            unique = [item for at, item in enumerate(items) if item not in items[:at]]
            if len(unique) < least:
                raise NoValue("unique items")
            return unique
        return items

    def _object(self, schema, depth):
        value = {}
        required = set(schema.get("required", []))
        chance = 0.5 if depth < 3 else 0.0
        least = schema.get("minProperties", 0)
        for name, member in schema.get("properties", {}).items():
            own = self.resolved(member)
            own = own if isinstance(own, dict) else {}
            if own.get("readOnly"):
                continue
            wanted = name in required or len(value) < least or self.random.random() < chance
            if not wanted:
                continue
            try:
                value[name] = self.value(member, depth + 1)
            except NoValue:
                if name in required:
                    raise
        if (
            required
            - set(value)
            - {n for n, m in schema.get("properties", {}).items() if (self.resolved(m) or {}).get("readOnly")}
        ):
            for name in required - set(value):
                if name not in schema.get("properties", {}):
                    value[name] = "x"
        if len(value) < least:
            raise NoValue("too few members")
        return value
