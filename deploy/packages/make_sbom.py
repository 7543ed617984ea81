"""Writes what the binary is made of: a CycloneDX SBOM of every crate that is linked into it or runs in its macros, with
versions, licences and checksums from Cargo.lock. Nothing of the machine that built it is in there.

Usage: make_sbom.py BINARY VERSION TARGET OUTPUT; cargo-cyclonedx is on the PATH.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def written(target: str) -> dict:
    """What cargo-cyclonedx says of the binary, which it writes beside the crate."""
    file = TOP / "proxy" / "frontdesk_bin.cdx.json"
    # The time of the last commit, so that the same source gives the same file.
    committed = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=TOP, capture_output=True, text=True).stdout.strip()
    env = {**os.environ, **({"SOURCE_DATE_EPOCH": committed} if committed else {})}
    command = ["cargo", "cyclonedx", "--manifest-path", str(TOP / "proxy/Cargo.toml"), "--format", "json", "--spec-version",
               "1.5", "--describe", "binaries", "--no-build-deps", "--target", target, "-qq"]
    try:
        subprocess.run(command, check=True, env=env)
        return json.loads(file.read_text())
    finally:
        file.unlink(missing_ok=True)


def without_paths(value):
    """Crates of the workspace are named by where they lie: in the repository, not on this machine."""
    if isinstance(value, dict):
        return {key: without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_paths(inner) for inner in value]
    if isinstance(value, str):
        value = value.replace(f"path+file://{TOP}", "path+file:///frontdesk")
        # A package URL with a path of this machine is none that anybody can resolve.
        return value.split("?download_url=file:")[0] if value.startswith("pkg:cargo/frontdesk") else value
    return value


def main() -> None:
    binary, version, target, out = sys.argv[1:]
    bom = without_paths(written(target))
    # Two runs of the same are the same.
    bom.pop("serialNumber", None)
    component = bom["metadata"]["component"]
    if component["version"] != version:
        sys.exit(f"make_sbom: the binary is {version}, the source {component['version']}")
    component["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(Path(binary).read_bytes()).hexdigest()}]
    Path(out).write_text(json.dumps(bom, indent=1) + "\n")


main()
