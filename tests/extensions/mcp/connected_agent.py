"""An agent without a mind: the SDK's own client, connected to ``sandbox mcp`` as agents' programs do it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client


class ToolError(Exception):
    """A tool's error, as an agent reads it."""


class ConnectedAgent:
    """``read`` calls a tool and returns its text, ``ask`` what that text is as JSON."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def read(self, tool: str, **arguments: Any) -> str:
        answer = await self.client.call_tool(tool, arguments)
        (content,) = answer.content
        assert content.type == "text"
        if answer.is_error:
            raise ToolError(content.text)
        return content.text

    async def ask(self, tool: str, **arguments: Any) -> Any:
        return json.loads(await self.read(tool, **arguments))

    async def list_tools(self) -> dict[str, Any]:
        return {each.name: each for each in (await self.client.list_tools()).tools}


@asynccontextmanager
async def connect_agent(*options: str, directory: Path) -> AsyncIterator[ConnectedAgent]:
    """Start ``sandbox mcp`` in a directory, and connect to it by its standard input and output."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "sandbox", "mcp", *options], cwd=directory
    )
    async with Client(stdio_client(command)) as client:
        yield ConnectedAgent(client)
