"""The Python SDK 1.x asks its person on the stream of a call, and hears of progress. Usage: mcp_1x.py URL KEY"""

import asyncio
import re
import sys

from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client

URL, KEY = sys.argv[1], sys.argv[2]
ANSWERS = [
    types.ElicitResult(action="decline"),
    types.ElicitResult(action="cancel"),
    types.ElicitResult(action="accept", content={"ok": False}),
    types.ErrorData(code=types.INVALID_REQUEST, message="nobody is there"),
    types.ElicitResult(action="accept", content={"ok": True}),
]


async def confirm() -> None:
    asked: list = []

    async def person(context, params) -> types.ElicitResult | types.ErrorData:
        asked.append(params)
        return ANSWERS[len(asked) - 1]

    async with (
        streamablehttp_client(URL) as (read, write, session_id),
        ClientSession(read, write, elicitation_callback=person) as session,
    ):
        begun = await session.initialize()
        assert session_id(), "the server gives a session"
        results = []
        for n in range(len(ANSWERS)):
            meta = {"auth": KEY, "idempotency_key": f"streamed-{n}"}
            results.append(await session.call_tool("bookings_hold", {"fare_id": "fare_123"}, meta=meta))
        *refused, held = results
        for result in refused:
            text = result.content[0].text.lower()
            assert "nothing is done" in text or "nothing was done" in text, result
        assert not held.isError and "hold_id" in str(held.structuredContent), held
        assert len(asked) == len(ANSWERS) and all("fare_123" in params.message for params in asked), asked
        assert all(params.requestedSchema["required"] == ["ok"] for params in asked), asked
        assert not re.search("[0-9a-f]{64}", str(results)), "nothing that confirms reaches the model"
        print(f"mcp 1.x, {begun.protocolVersion}: asked {len(asked)} times, carried out once")


async def without() -> None:
    """A client that cannot ask is told what to show its person, as before."""
    async with streamablehttp_client(URL) as (read, write, session_id), ClientSession(read, write) as session:
        await session.initialize()
        assert session_id() is None, "nothing is kept for it"
        asked = await session.call_tool(
            "bookings_hold", {"fare_id": "fare_123"}, meta={"auth": KEY, "idempotency_key": "k"}
        )
        assert asked.isError and asked.meta["confirmation"], asked


asyncio.run(confirm())
asyncio.run(without())
