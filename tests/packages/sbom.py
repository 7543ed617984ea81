"""The SBOM is valid, is of this binary, names what Cargo.lock has with its checksums, and says nothing of the machine that
built it. Usage: sbom.py SBOM BINARY CARGO_LOCK"""

import hashlib
import json
import pathlib
import sys
import tomllib

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

file, binary, lock = map(pathlib.Path, sys.argv[1:])
text = file.read_text()
validator = JsonStrictValidator(SchemaVersion.V1_5)
wrong = validator.validate_str(text)
if wrong:
    sys.exit(f"sbom: {wrong}")
bom = json.loads(text)
# A check that cannot fail checks nothing.
assert validator.validate_str(json.dumps({**bom, "component": []})), "a misspelt key was taken for a good one"

component = bom["metadata"]["component"]
assert component["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(binary.read_bytes()).hexdigest()}], "this binary"
locked = {(p["name"], p["version"]): p.get("checksum") for p in tomllib.loads(lock.read_text())["package"]}
for part in bom["components"]:
    checksum = locked[part["name"], part["version"]]
    hashes = [h["content"] for h in part.get("hashes", []) if h["alg"] == "SHA-256"]
    assert hashes == ([checksum] if checksum else []), f"{part['name']}: {hashes}, in Cargo.lock {checksum}"
    assert part["purl"].startswith(f"pkg:cargo/{part['name']}@{part['version']}") and part.get("licenses"), part["name"]
names = {part["name"] for part in bom["components"]}
assert {"pingora-core", "tokio", "rustls", "libsqlite3-sys", "frontdesk-filters"} <= names, "what it surely needs"
assert not {"frontdesk-tests", "proptest", "rcgen"} & names, "what only tests need"
refs = {part["bom-ref"] for part in [component, *bom["components"]]}
for entry in bom["dependencies"]:
    assert {entry["ref"], *entry.get("dependsOn", [])} <= refs, entry["ref"]
top = str(lock.resolve().parent)
assert top not in text and "file:///home" not in text and "/root/" not in text, "no path of this machine"
print(f"packages: SBOM: CycloneDX 1.5, valid, {len(names)} crates")
