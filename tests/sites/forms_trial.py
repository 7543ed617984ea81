"""The forms of forms.py: what a headless Chromium sends for the same inputs, Frontdesk sends too, to the byte.

Usage: forms_trial.py FRONTDESK [CASE ...]. `run` installs what it needs; wants chromium.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from desk import HERE, LISTEN, NODE_PATH, Trial, expect, finish
from forms import CASES


def toml(value):
    """A value as TOML; JSON's texts are TOML's."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def method(case):
    return case.get("method") or ("POST" if "method=post" in case["html"].lower() else "GET")


def declaration(name, case):
    schema = {"type": "object", "properties": {one: {} for one in case["inputs"]}}
    action = case.get("action") or ("/t" if case.get("submit") == "drop" else "/s")
    form = {"page": f"/page/{name}{case.get('query', '')}"} | {key: case[key] for key in ("select", "submit") if key in case}
    return f"""
[[capabilities]]
id = "form.{name}"
type = "prepare_action"
description = "Sends the form."
endpoint = "/agent/{name}"
risk_level = "low"
auth = "required"
requires_user_confirmation = false
input_schema = {toml(schema)}
[capabilities.upstream]
method = "{method(case)}"
path = "{action}"
rename_input = {toml(case.get("rename", {}))}
form = {toml(form)}
"""


def chromium_sends(site, names):
    for found in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(found):
            chromium = shutil.which(found)
            break
    else:
        raise SystemExit("forms: chromium is missing: deploy/setup chromium")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "cases.json"
        cases = []
        for name in names:
            case = CASES[name]
            inputs = {case.get("rename", {}).get(one, one): value for one, value in case["inputs"].items()}
            cases.append({"name": name, "query": case.get("query", ""), "select": case.get("select"), "submit": case.get("submit"),
                          "inputs": inputs, "action": case.get("action", "/s")})
        file.write_text(json.dumps(cases))
        done = subprocess.run(["node", HERE / "forms_browser.cjs", chromium, site, file], capture_output=True, text=True,
                              timeout=300, env={**os.environ, "NODE_PATH": str(NODE_PATH)}, check=False)
    if done.returncode:
        raise SystemExit(f"forms: Chromium did not get through: {done.stderr}")
    return json.loads(done.stdout)


def plain(sent):
    """The same for everybody: each multipart body has a boundary of its own."""
    if len(sent) != 1:
        return sent
    one = dict(sent[0])
    if boundary := re.search(r"boundary=(\S+)", one["content_type"]):
        one = {key: value.replace(boundary[1], "BOUNDARY") for key, value in one.items()}
    return one


def main():
    names = sys.argv[2:] or list(CASES)
    print("forms")
    config = LISTEN + '[upstream]\nurl = "http://127.0.0.1:SITE"\n' + "".join(declaration(name, CASES[name]) for name in names)
    with Trial(sys.argv[1], "forms_site.py", config) as trial:
        browser = chromium_sends(trial.url, names)
        for name in names:
            urllib.request.urlopen(f"{trial.url}/record").read()
            answer = trial.call(f"/agent/{name}", CASES[name]["inputs"])
            ours = json.loads(urllib.request.urlopen(f"{trial.url}/record").read())
            wanted = plain(browser[name])
            if "why" in CASES[name]:
                differs = wanted["body"] != CASES[name]["ours"]
                expect(f"{name}: not as Chromium, since {CASES[name]['why']}", (differs, plain(ours)["body"]), (True, CASES[name]["ours"]))
                continue
            expect(name, plain(ours) or answer, wanted)
    finish()


if __name__ == "__main__":
    main()
