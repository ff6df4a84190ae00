"""The server: it lists tools and resources, calls them, and tells what was refused."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as protocol
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from extensions.mcp.agent_tool import AgentTool, Arguments, WrongArgumentsError, check_arguments
from extensions.mcp.api_tools import list_api_tools
from extensions.mcp.certify_tools import list_certify_tools
from extensions.mcp.documentation import NoPageError, list_pages, read_page
from extensions.mcp.documentation_tools import DOCUMENTATION_TOOLS
from extensions.mcp.started_certifications import CertificationFailedError, StartedCertifications
from rdss_sandbox.client import RefusedError
from rdss_sandbox.version import VERSION
from sandbox.cli.output.exit_codes import explain

_PAGES: Final = "sandbox://docs/"
_ABOUT: Final = (
    "A sandbox is a local emulator of Kinesis, S3, SQS, Lambda and RabbitMQ for messages, with faults on "
    "demand. Begin with status. diagnosis says what the clients of the sandbox do wrong, with evidence and "
    "advice; a certificate judges a client under seeded faults. docs_search finds what the documentation "
    "says of a finding, a clause, a fault or a command."
)
_READING: Final = " This server reads only: sandbox mcp --allow-changes may change the sandbox too."


async def serve_agent(control: str | None, *, allow_changes: bool) -> None:
    """Serve one agent on standard input and output until it leaves."""
    started = StartedCertifications()
    every = (*list_api_tools(control), *list_certify_tools(started), *DOCUMENTATION_TOOLS)
    server = make_server({each.name: each for each in every}, allow_changes=allow_changes)
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        started.end()


def make_server(every: dict[str, AgentTool], *, allow_changes: bool) -> Server[Any]:
    """A server of these tools; without ``allow_changes`` of those alone that change nothing."""
    tools = {name: each for name, each in every.items() if allow_changes or not each.changes}
    resources = {each.uri: each for each in tools.values() if each.uri}

    async def list_tools(_: ServerRequestContext[Any], __: object) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[_describe_tool(each) for each in tools.values()])

    async def call(name: str, given: Arguments) -> str:
        if (tool := tools.get(name)) is None:
            raise WrongArgumentsError(_explain_absence(name, every))
        check_arguments(tool, given)
        return await tool.call(given)

    async def call_tool(
        _: ServerRequestContext[Any], asked: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        try:
            text, failed = await call(asked.name, asked.arguments or {}), False
        except Exception as error:  # noqa: BLE001 -- whatever it is, the agent is told, and the server goes on
            text, failed = _tell(error), True
        return protocol.CallToolResult(
            content=[protocol.TextContent(type="text", text=text)], is_error=failed
        )

    async def list_resources(_: ServerRequestContext[Any], __: object) -> protocol.ListResourcesResult:
        pages = [
            protocol.Resource(uri=f"{_PAGES}{name}", name=name, title=title, mime_type="text/markdown")
            for name, title in list_pages().items()
        ]
        return protocol.ListResourcesResult(
            resources=[*(_describe_resource(uri, each) for uri, each in resources.items()), *pages]
        )

    async def read_resource(
        _: ServerRequestContext[Any], asked: protocol.ReadResourceRequestParams
    ) -> protocol.ReadResourceResult:
        uri = str(asked.uri)
        try:
            if (tool := resources.get(uri)) is not None:
                text, kind = await tool.call({}), "application/json"
            else:
                text, kind = read_page(uri.removeprefix(_PAGES)), "text/markdown"
        except Exception as error:
            raise MCPError(protocol.INVALID_PARAMS, _tell(error)) from error
        return protocol.ReadResourceResult(
            contents=[protocol.TextResourceContents(uri=uri, text=text, mime_type=kind)]
        )

    return Server(
        "rdss-sandbox",
        version=VERSION,
        instructions=_ABOUT if allow_changes else _ABOUT + _READING,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _explain_absence(name: str, every: dict[str, AgentTool]) -> str:
    if name in every:
        return f"{name} changes something; to allow it, start the server with: sandbox mcp --allow-changes"
    return f"there is no tool {name!r}"


def _tell(error: Exception) -> str:
    """The sentence for an error; one of the control API has its code before it."""
    match error:
        case RefusedError():
            return f"{error.code}: {error}"
        case WrongArgumentsError() | NoPageError() | CertificationFailedError():
            return str(error)
    return explain(error)[0]


def _describe_tool(tool: AgentTool) -> protocol.Tool:
    return protocol.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.arguments,
        annotations=protocol.ToolAnnotations(read_only_hint=not tool.changes, open_world_hint=False),
    )


def _describe_resource(uri: str, tool: AgentTool) -> protocol.Resource:
    return protocol.Resource(uri=uri, name=tool.name, description=tool.about, mime_type="application/json")
