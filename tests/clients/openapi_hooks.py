"""What Schemathesis has to know of a question that an OpenAPI document cannot say. Loaded by SCHEMATHESIS_HOOKS.

- A session is begun by the server: an invented id is refused.
- An idempotency key is used once. It may come in a header or in `context`; operations that need one say so in words.
- Null is as good as nothing.
- A number that cannot be passed on as it was written is refused, wherever it stands.
- What a question lacks is asked back for (200, `clarification_needed`), and inputs may come without a question.

So the checks of accepted and refused data are written here, with these exceptions; everything else is Schemathesis' own.
"""

import copy
import json
import uuid

import jsonschema_rs
import schemathesis
from schemathesis.core import NOT_SET


@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.body, dict):
        if isinstance(case.body.get("session_id"), str):
            del case.body["session_id"]
        around = case.body.get("context")
        if isinstance(around, dict) and isinstance(key := around.get("idempotency_key"), str) and 1 <= len(key) <= 255:
            around["idempotency_key"] = uuid.uuid4().hex
    if case.headers is not None and "Idempotency-Key" not in case.headers:
        case.headers["Idempotency-Key"] = uuid.uuid4().hex


def schema_of(case) -> dict:
    return case.operation.definition.raw["requestBody"]["content"]["application/json"]["schema"]


def without_nulls(body):
    if not isinstance(body, dict):
        return body
    kept = {name: value for name, value in body.items() if value is not None}
    if isinstance(kept.get("context"), dict):
        kept["context"] = {name: value for name, value in kept["context"].items() if value is not None}
    return kept


def fits(body, schema: dict) -> bool:
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(body)


def in_words(schema: dict) -> dict:
    """The same where words may hold what is required, and inputs may stand for the words."""
    schema = copy.deepcopy(schema)
    del schema["required"]
    # One type of several is enough.
    schema["properties"].get("context", {}).get("properties", {}).pop("accept_types", None)
    return schema


def is_json(case) -> bool:
    if case.body is NOT_SET or case.media_type != "application/json":
        return False
    try:
        json.dumps(case.body)
        return True
    except TypeError:
        return False


@schemathesis.check
def what_fits_the_schema_is_taken(context, response, case):
    if not is_json(case) or not fits(case.body, schema_of(case)) or response.status_code != 400:
        return
    told = response.json()
    violations = told.get("violations", [])
    not_in_words = violations and all("is a required property" in violation["message"] for violation in violations)
    not_exact = told["message"].startswith("A number is too large")
    assert not_in_words or not_exact, f"refused: {told}"


@schemathesis.check
def what_does_not_fit_is_refused(context, response, case):
    if not is_json(case) or not 200 <= response.status_code < 300:
        return
    assert fits(without_nulls(case.body), in_words(schema_of(case))), f"taken: {json.dumps(case.body)[:500]}"
