"""The Python SDK's own client in each generation of the protocol, and fastmcp's, list, call and read. Usage: python.py URL KEY"""

import asyncio
import sys
import warnings

import fastmcp
from mcp import types
from mcp.client import Client

URL, KEY = sys.argv[1], sys.argv[2]


async def visit(mode: str) -> None:
    async with Client(URL, mode=mode) as client:
        # The stateless protocol has no ping.
        if mode == "legacy":
            with warnings.catch_warnings(action="ignore"):
                await client.send_ping()
        tools = (await client.list_tools()).tools
        names = {tool.name for tool in tools}
        assert "flight_search" in names, names
        found = await client.call_tool("flight_search", {"origin": "MAD", "destination": "NRT"})
        assert not found.is_error, found
        assert found.content[0].text and found.structured_content["response"]["payload"], found
        searched = await client.call_tool("content_search", {"query": "baggage"})
        assert not searched.is_error and searched.content[0].text, searched
        refused = await client.call_tool("bookings_hold", {"fare_id": "fare_123"})
        assert refused.is_error and refused.meta["error"]["code"] == "auth_required", refused
        asked = await client.call_tool("bookings_hold", {"fare_id": "fare_123"}, meta={"auth": KEY, "idempotency_key": "k"})
        assert asked.is_error and asked.meta["confirmation"], asked
        resources = (await client.list_resources()).resources
        assert resources, "nothing to read"
        read = await client.read_resource(resources[0].uri)
        assert read.contents[0].text, read
        print(f"{mode}: {len(tools)} tools, {len(resources)} resources")


async def confirm() -> None:
    """The client asks its person; the model's side never sees what confirms."""
    answers = [
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="accept", content={"ok": False}),
        types.ElicitResult(action="accept", content={"ok": True}),
    ]
    asked: list[str] = []

    async def person(context, params) -> types.ElicitResult:
        asked.append(params.message)
        return answers[len(asked) - 1]

    async with Client(URL, mode="2026-07-28", elicitation_callback=person) as client:
        results = []
        for n in range(len(answers)):
            meta = {"auth": KEY, "idempotency_key": f"elicited-{n}"}
            results.append(await client.call_tool("bookings_hold", {"fare_id": "fare_123"}, meta=meta))
        declined, no, held = results
        for result in (declined, no):
            assert "nothing is done" in result.content[0].text, result
        assert not held.is_error and "hold_id" in str(held.structured_content), held
        assert all("fare_123" in message for message in asked) and len(asked) == 3, asked
        assert "confirmation" not in str(results), results
        print("2026-07-28: declined, refused and confirmed by the person")


async def visit_by_fastmcp() -> None:
    async with fastmcp.Client(URL) as client:
        tools = {tool.name for tool in await client.list_tools()}
        found = await client.call_tool("flight_search", {"origin": "MAD", "destination": "NRT"})
        assert found.structured_content["response"]["payload"], found
        searched = await client.call_tool("content_search", {"query": "baggage"})
        assert searched.content[0].text, searched
        resources = await client.list_resources()
        assert (await client.read_resource(resources[0].uri))[0].text
        print(f"fastmcp: {len(tools)} tools, {len(resources)} resources")


for mode in ("legacy", "auto", "2026-07-28"):
    asyncio.run(visit(mode))
asyncio.run(confirm())
asyncio.run(visit_by_fastmcp())
