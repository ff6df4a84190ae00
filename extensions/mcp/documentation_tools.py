"""The project's documentation as tools."""

from __future__ import annotations

from typing import Final

import msgspec

from extensions.mcp.agent_tool import AgentTool, Arguments, WrongArgumentsError, describe_arguments
from extensions.mcp.documentation import list_pages, read_page, search_pages

_FOUND: Final = 8


async def _search(given: Arguments) -> str:
    limit = given.get("limit", _FOUND)
    if not isinstance(limit, int) or limit < 1:
        raise WrongArgumentsError(f"limit is a number from 1, and not {limit!r}")
    return msgspec.json.encode(search_pages(str(given["query"]), limit)).decode()


async def _read(given: Arguments) -> str:
    return read_page(str(given["page"]), str(given.get("heading", "")))


async def _list(_: Arguments) -> str:
    return msgspec.json.encode(list_pages()).decode()


DOCUMENTATION_TOOLS: Final = (
    AgentTool(
        "docs_search",
        "Search the documentation. The answer has sections, the best first, with their page and beginning.",
        describe_arguments(
            {
                "query": {"type": "string", "description": "Words, such as the id of a rule or a clause."},
                "limit": {"type": "integer", "minimum": 1, "default": _FOUND},
            },
            ["query"],
        ),
        _search,
    ),
    AgentTool(
        "docs_read",
        "Read a page of the documentation, in Markdown, or the sections of it that have one heading.",
        describe_arguments(
            {
                "page": {"type": "string", "description": "Its name, such as certify.md."},
                "heading": {"type": "string", "default": "", "description": "Empty for the whole page."},
            },
            ["page"],
        ),
        _read,
    ),
    AgentTool(
        "docs_list",
        "The pages of the documentation: their names and titles.",
        describe_arguments({}, []),
        _list,
    ),
)
