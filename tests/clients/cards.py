"""What cards, catalog and skills announce is used once: the MCP card by the Python SDK's client, each entry of the catalog
by a GET, each skill by running its examples that only read. Usage: cards.py URL"""

import asyncio
import hashlib
import json
import re
import subprocess
import sys
import urllib.request

from mcp.client import Client

URL = sys.argv[1]


def get(url: str) -> tuple[str, bytes]:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": "cards.py"}), timeout=10) as answer:
        return answer.headers.get_content_type(), answer.read()


def document(url: str) -> dict:
    return json.loads(get(url)[1])


async def by_card(card: dict) -> None:
    (remote,) = card["remotes"]
    assert remote["type"] == "streamable-http", remote
    async with Client(remote["url"], mode="legacy") as client:
        info = client.server_info
        assert (info.name, info.version) == (card["title"], card["version"]), (info, card)
        assert client.protocol_version in remote["supportedProtocolVersions"], client.protocol_version
        tools = (await client.list_tools()).tools
        assert tools, "no tools"
        print(f"server card: {card['name']} {card['version']}, {len(tools)} tools")


def by_skills(index: dict) -> None:
    ran = 0
    for skill in index["skills"]:
        kind, text = get(skill["url"])
        assert kind == "text/markdown", kind
        assert skill["digest"] == f"sha256:{hashlib.sha256(text).hexdigest()}", skill
        sections = re.split(r"^## ", text.decode(), flags=re.M)
        for section in sections:
            if "It changes something" in section or "Credential: required" in section:
                continue
            for command in re.findall(r"```sh\n(.*?)```", section, flags=re.S):
                done = subprocess.run(
                    ["bash", "-c", command.replace("curl -s", "curl -sf")], capture_output=True, timeout=20
                )
                assert done.returncode == 0 and done.stdout, (command, done)
                ran += 1
    assert ran, "no example was run"
    print(f"skills: {len(index['skills'])}, {ran} examples run")


def main() -> None:
    catalog = document(f"{URL}/.well-known/ai-catalog.json")
    entries = {entry["identifier"].split(":")[-2]: entry for entry in catalog["entries"]}
    for entry in catalog["entries"]:
        kind, body = get(entry["url"])
        assert kind == entry["type"].split(";")[0] and body, (kind, entry)
    print(f"catalog: {len(entries)} entries")
    asyncio.run(by_card(document(entries["mcp"]["url"])))
    by_skills(document(entries["skills"]["url"]))


main()
