"""Makes a Python wheel that only carries the binary, so that `pip install frontdesk` and `uvx frontdesk` work.

Usage: make_wheel.py TREE VERSION MACHINE GLIBC DIRECTORY; GLIBC is `none` for a static binary.
"""

import sys
from pathlib import Path
from zipfile import ZipInfo

from wheel.wheelfile import WheelFile

METADATA = """Metadata-Version: 2.1
Name: frontdesk
Version: {version}
Summary: A reverse proxy that makes a site legible and callable for AI agents
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: frontdesk
Root-Is-Purelib: false
{tags}
"""


def main() -> None:
    tree, version, machine, glibc, out = sys.argv[1:]
    # A static binary needs no C library: its wheel is for each of them.
    kinds = ["manylinux_2_17", "musllinux_1_1"] if glibc == "none" else [f"manylinux_{glibc.replace('.', '_')}"]
    platforms = [f"{kind}_{machine}" for kind in kinds]
    tag = "py3-none-" + ".".join(platforms)
    info, scripts = f"frontdesk-{version}.dist-info", f"frontdesk-{version}.data/scripts"
    with WheelFile(Path(out) / f"frontdesk-{version}-{tag}.whl", "w") as wheel:
        script = ZipInfo(f"{scripts}/frontdesk")
        # An executable file; installers keep the mode.
        script.external_attr = 0o100755 << 16
        wheel.writestr(script, (Path(tree) / "frontdesk").read_bytes(), 8)
        wheel.writestr(f"{info}/licenses/LICENSE", (Path(tree) / "LICENSE").read_text())
        readme = (Path(tree) / "README.md").read_text()
        wheel.writestr(f"{info}/METADATA", METADATA.format(version=version, readme=readme))
        wheel.writestr(f"{info}/WHEEL", WHEEL.format(tags="\n".join(f"Tag: py3-none-{platform}" for platform in platforms)))


main()
