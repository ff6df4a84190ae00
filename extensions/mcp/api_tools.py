"""The endpoints of the control API as tools: names, arguments and sentences are those declared there."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from emulator.listeners.control.openapi import NOTES
from extensions.mcp.agent_tool import AgentTool, Arguments, Schema, describe_arguments
from rdss_sandbox.api.access import Access
from rdss_sandbox.api.buckets import Buckets
from rdss_sandbox.api.contract import MessageContract
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.diagnosis import ClientDiagnosis
from rdss_sandbox.api.endpoint import JSON, Endpoint, Parameter, Subject, list_endpoints
from rdss_sandbox.api.events import Events
from rdss_sandbox.api.faults import Faults
from rdss_sandbox.api.messages import Messages, Redriving, Samples, Sending, Sequences, StoredMessages
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.api.scenarios import Scenarios
from rdss_sandbox.api.snapshots import Snapshots
from rdss_sandbox.api.streams import Streams
from rdss_sandbox.client import AsyncClient
from sandbox.cli.options.control_connection import reach

Declared: TypeAlias = Endpoint[..., Any, Any, Any]

_SUBJECTS: Final[tuple[type[Subject[Any]], ...]] = (
    SandboxState, Streams, ClientDiagnosis, Messages, StoredMessages, Sending, Samples, Redriving, Sequences,
    MessageContract, Events, Faults, Access, Buckets, Scenarios, Snapshots,
)  # fmt: skip
_NOT_FOR_AGENTS: Final = frozenset(
    {SandboxState.health, SandboxState.picture, ClientDiagnosis.recorded_exchange}
)
"""What only programs and pages need, and what is too long to be read."""
_CHANGE_NOTHING: Final = frozenset({MessageContract.judge})
"""The endpoints that take a body, and put it nowhere."""
_MOST_ROWS: Final = 50
"""How many rows an answer has where no ``limit`` is given: an agent reads all that it gets."""
_FILTERS: Final = (
    'The filter language is in the page tui.md, "The filter language"; for example type:*Create.'
)


def list_api_tools(control: str | None) -> Iterator[AgentTool]:
    """A tool for each endpoint that answers in JSON; they ask the sandbox at ``control``, or the one here."""
    for subject in _SUBJECTS:
        for endpoint in list_endpoints(subject):
            if endpoint.media_type == JSON and endpoint not in _NOT_FOR_AGENTS:
                yield _make_tool(subject, endpoint, control)


def _make_tool(subject: type[Subject[Any]], endpoint: Declared, control: str | None) -> AgentTool:
    part = SUBJECTS[subject].removeprefix("client").lstrip(".")
    body = (endpoint.body,) if endpoint.body else ()
    parameters = {each.sent_as: each for each in (*endpoint.variables, *endpoint.query, *body)}
    arguments = _describe(parameters)

    async def call(given: Arguments) -> str:
        url, token = reach(control)
        chosen = {"limit": _MOST_ROWS, **given} if "limit" in parameters else given
        named = {parameters[name].name: value for name, value in chosen.items()}
        async with AsyncClient(url, token=token) as client:
            of = subject(client.transport)
            answer: str = await client.transport.ask(endpoint.build_request(of, **named), bytes.decode)
            return answer

    changes = endpoint.method != "GET" and endpoint not in _CHANGE_NOTHING
    return AgentTool(
        f"{part}_{endpoint.name}" if part else endpoint.name,
        _tell(endpoint, arguments),
        arguments,
        call,
        changes=changes,
        uri="" if changes or arguments["required"] else f"sandbox:/{endpoint.path}",
    )


def _describe(parameters: dict[str, Parameter]) -> Schema:
    types = [each.type for each in parameters.values()]
    schemas, shapes = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    properties = dict(zip(parameters, schemas, strict=True))
    for name, each in parameters.items():
        if each.default not in {msgspec.NODEFAULT, None}:
            default = min(each.default, _MOST_ROWS) if name == "limit" else each.default
            properties[name] = {**properties[name], "default": default}
    needed = [name for name, each in parameters.items() if each.default is msgspec.NODEFAULT]
    described = describe_arguments(properties, needed)
    return {**described, "$defs": shapes} if shapes else described


def _tell(endpoint: Declared, arguments: Schema) -> str:
    said = [inspect.getdoc(endpoint.declared) or "", NOTES.get(endpoint, "")]
    if "filter" in arguments["properties"]:
        said.append(_FILTERS)
    return "\n\n".join(filter(None, said))
