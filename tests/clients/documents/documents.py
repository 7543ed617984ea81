"""The three largest public documents that npm has, and small random ones: imported, checked, run, and called.

Every call is drawn by a seed and compared with what the document says. Usage: documents.py FRONTDESK DIRECTORY SEED
[NAME=FILE...] [--random COUNT] [--before FRONTDESK] [--calls COUNT]
"""

import argparse
import json
import pathlib
import random
import socket
import subprocess
import sys
import time

from desk import Desk, Imported, Inputs, Site, differences, imported, opened
from expect import Operations
from random_documents import document as random_document
from sample import NoValue


def ports():
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def tokens(at, tools):
    """The tokens of a list, by the o200k vocabulary of an npm package."""
    (at / "tools.json").write_text(json.dumps(tools, separators=(",", ":"), ensure_ascii=False))
    script = "const {encode} = require('gpt-tokenizer/encoding/o200k_base'); console.log(encode(require('fs').readFileSync(process.argv[1], 'utf8')).length)"
    done = subprocess.run(["node", "-e", script, at / "tools.json"], cwd=at, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else None


def called(desk, site, capability, said, through):
    site.asked.clear()
    name = capability["id"].replace(".", "_").lower()
    if through:
        answer = desk.rpc("tools/call", {"name": "call_capability", "arguments": {"name": name, "input": said}})
    else:
        answer = desk.rpc("tools/call", {"name": name, "arguments": {**said, "an extra": "x", "toolCallId": 1}})
    return answer.get("result", answer)


def calls(drawn, operations, capabilities, desk, site, count, through, told):
    """Calls that many operations; the number of those that arrived."""
    done = 0
    for method, path, item, operation in drawn:
        if done == count:
            break
        capability = capabilities.find(method, path)
        if capability is None or capability.get("exposed") is False or "url" in capability["upstream"]:
            told["not here"] += 1
            continue
        inputs = Inputs(capability, path)
        try:
            values, expected = operations.draw(method, path, item, operation, inputs.inputs)
        except NoValue:
            told["not drawn"] += 1
            continue
        answer = called(desk, site, capability, inputs.said(values), through)
        where = f"{method} {path} with {json.dumps(inputs.said(values))[:1500]}"
        assert not answer.get("isError") and "error" not in answer and len(site.asked) == 1, (
            f"{where}: {json.dumps(answer)[:1500]}"
        )
        found = differences(expected, site.asked[0])
        assert not found, f"{where}: {'; '.join(found)}"
        done += 1
    return done


def large(frontdesk, at, name, file, seed, count, before):
    at.mkdir(exist_ok=True)
    began = time.monotonic()
    text, said = imported(frontdesk, file, at)
    took = time.monotonic() - began
    document = json.loads(pathlib.Path(file).read_text())
    rng = random.Random(f"{seed} {name}")
    operations = Operations(document, rng)
    capabilities, site = Imported(text), Site()
    began = time.monotonic()
    desk = Desk(frontdesk, opened(text, site.url), at, ports())
    started = time.monotonic() - began
    try:
        tools = desk.tools()
        names = {tool["name"] for tool in tools}
        counted = tokens(at, tools)
        assert counted is None or counted < 20_000, f"{counted} tokens"
        drawn = list(operations.all())
        total = len(drawn)
        rng.shuffle(drawn)
        told = {"not here": 0, "not drawn": 0}
        done = calls(drawn, operations, capabilities, desk, site, count, "call_capability" in names, told)
        assert done == count, f"only {done} calls"
    finally:
        desk.stop()
    print(
        f"{name}: {said}; {len(text) // 1024} KB of {total} operations in {took:.1f} s, checked; runs after {started:.1f} s; "
        f"{done} calls arrived as the document says (passed over: {told['not here']} not exposed, {told['not drawn']} not drawn); "
        f"tools/list {len(tools)} tools, {counted} tokens{earlier(before, file, at) if before else ''}",
        flush=True,
    )


def earlier(before, file, at):
    """The tokens of `tools/list` with another build, where it gets that far."""
    out, document = at / "before.toml", file
    done = subprocess.run(
        [before, "import", "openapi", document, "--out", out, "--force"], capture_output=True, text=True
    )
    if done.returncode:
        return f" (before: import fails: {done.stderr.strip()[:100]})"
    listed = subprocess.run([before, "export", "mcp", out], capture_output=True, text=True)
    if listed.returncode:
        return f" (before: check fails: {(listed.stdout + listed.stderr).strip()[:100]})"
    tools = json.loads(listed.stdout)["tools"]
    return f" (before: {len(tools)} tools, {tokens(at, tools)} tokens)"


def small(frontdesk, at, seed, count):
    at.mkdir(exist_ok=True)
    told, done, failed = {"not here": 0, "not drawn": 0}, 0, []
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        document = random_document(rng)
        file = at / "document.json"
        file.write_text(json.dumps(document, indent=1))
        try:
            text, _ = imported(frontdesk, file, at)
            site = Site()
            desk = Desk(frontdesk, opened(text, site.url), at, ports())
            try:
                operations, capabilities = Operations(document, rng), Imported(text)
                every = list(operations.all())
                assert all(capabilities.find(method, path) for method, path, _, _ in every), "an operation is missing"
                names = [tool["name"] for tool in desk.tools()]
                assert len(set(names)) == len(names) and all(len(name) <= 64 for name in names), names
                for _ in range(3):
                    done += calls(every, operations, capabilities, desk, site, 100, False, told)
            finally:
                desk.stop()
                site.server.server_close()
        except AssertionError as wrong:
            (at / f"failed-{seed}-{number}.json").write_text(file.read_text())
            failed.append(f"document {number} of seed {seed} ({at}/failed-{seed}-{number}.json): {wrong}")
    assert not failed, "\n".join([f"{len(failed)} of {count} random documents", *failed[:10]])
    assert done > count, f"only {done} calls"
    print(
        f"random documents: {count} imported, checked and run; {done} calls arrived as the documents say "
        f"(passed over: {told['not here']} not exposed, {told['not drawn']} not drawn)",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("frontdesk")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("documents", nargs="*")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--before")
    args = parser.parse_args()
    args.directory = args.directory.resolve()
    args.directory.mkdir(parents=True, exist_ok=True)
    failed = 0
    work = [
        lambda at=entry: large(
            args.frontdesk, args.directory / at.split("=")[0], *at.split("=", 1), args.seed, args.calls, args.before
        )
        for entry in args.documents
    ]
    if args.random:
        work.append(lambda: small(args.frontdesk, args.directory / "random", args.seed, args.random))
    for one in work:
        try:
            one()
        except AssertionError as wrong:
            failed += 1
            print(f"FAILED: {wrong}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


main()
