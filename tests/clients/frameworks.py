"""The MCP adapters of LangChain and of OpenAI's agents list the tools, call one, and confirm an action in the name of a
person who said yes. No model takes part: this is what the adapter does with what a model would write.

Usage: frameworks.py URL KEY
"""

import asyncio
import re
import sys

from agents.mcp import MCPServerStreamableHttp
from langchain_mcp_adapters.client import MultiServerMCPClient

URL, KEY = sys.argv[1], sys.argv[2]
HEADERS = {"Authorization": f"Bearer {KEY}"}
FLIGHT = {"query": "A flight from Madrid to Tokyo", "origin": "MAD", "destination": "NRT"}


def token(text: str) -> str:
    """What confirms, as the answer of an unconfirmed action tells it."""
    return re.search('"confirmation": "([0-9a-f]+)"', text).group(1)


async def langchain() -> None:
    client = MultiServerMCPClient({"site": {"transport": "streamable_http", "url": URL, "headers": HEADERS}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    found = await tools["flight_search"].ainvoke(FLIGHT)
    assert "fare_" in str(found), found
    hold = {"query": "Hold this fare", "fare_id": "fare_123", "idempotency_key": "langchain-1"}
    asked = ""
    try:
        asked = str(await tools["bookings_hold"].ainvoke(hold))
    except Exception as refused:  # The adapter raises what a tool reports as an error.
        asked = str(refused)
    held = await tools["bookings_hold"].ainvoke(hold | {"confirmation": token(asked)})
    assert "hold_id" in str(held), held
    again = await tools["bookings_hold"].ainvoke(hold | {"confirmation": token(asked)})
    assert re.search("hold_[a-z0-9]+", str(again)).group() == re.search("hold_[a-z0-9]+", str(held)).group(), again
    print(f"langchain-mcp-adapters: {len(tools)} tools, found, confirmed, and the same hold again")


async def openai() -> None:
    async with MCPServerStreamableHttp(params={"url": URL, "headers": HEADERS}, client_session_timeout_seconds=20) as server:
        tools = [tool.name for tool in await server.list_tools()]
        found = await server.call_tool("flight_search", FLIGHT)
        assert not found.isError and "fare_" in str(found.structuredContent), found
        hold = {"query": "Hold this fare", "fare_id": "fare_123", "idempotency_key": "openai-1"}
        asked = await server.call_tool("bookings_hold", hold)
        assert asked.isError, asked
        held = await server.call_tool("bookings_hold", hold | {"confirmation": token(asked.content[0].text)})
        assert not held.isError and "hold_id" in str(held.structuredContent), held
        print(f"openai-agents: {len(tools)} tools, found and confirmed")


asyncio.run(langchain())
asyncio.run(openai())
