"""``/commands``: the shell command that does the same as a request to the control API."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from emulator.faults.fault_engine import FaultEngine
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.faults import describe_type
from rdss_sandbox.api.endpoint import Endpoint
from rdss_sandbox.api.faults import Faults
from rdss_sandbox.api.messages import Redriving, Samples
from rdss_sandbox.api.queues import Queues
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.api.scenarios import Scenarios
from rdss_sandbox.api.shell_commands import ShellCommands
from rdss_sandbox.api.snapshots import Snapshots
from rdss_sandbox.api.streams import Streams
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import Redrive
from rdss_sandbox.shapes.shell_commands import DescribedRequest, ShellCommand
from rdss_sandbox.text import shell_commands as say

Anything = Endpoint[..., Any, Any, Any]
COMMANDS: Final[Mapping[Anything, Callable[..., str]]] = {
    Faults.add_fault: say.add_fault,
    Faults.remove_fault: say.remove_fault,
    SandboxState.change_clock: say.change_clock,
    Streams.reshard: say.reshard,
    Samples.send_samples: say.send_samples,
    Redriving.redrive_message: lambda row_id, again: say.redrive(row_id, again or Redrive()),
    Queues.claim: say.claim,
    Queues.release: say.release,
    Scenarios.begin: say.begin_run,
    Snapshots.save: say.save_snapshot,
    Snapshots.load: say.load_snapshot,
    Snapshots.remove: say.remove_snapshot,
}
"""What writes the command for each endpoint that changes something and has one.

It takes the endpoint's variables and its body, in this order.
"""
_VARIABLE: Final = re.compile(r"\\\{\w+\\\}")


class SameCommandResources:
    """``/commands``."""

    def __init__(self, fault_engine: FaultEngine) -> None:
        self._fault_engine = fault_engine

    @handles(ShellCommands.command_for)
    def command_for(self, described: DescribedRequest) -> ShellCommand:
        for endpoint, write in COMMANDS.items():
            names = _read_path(endpoint, described)
            if names is not None:
                body = [] if endpoint.body is None else [msgspec.convert(described.body, endpoint.body.type)]
                types = [self._describe(each) for each in body if isinstance(each, NewFault)]
                return ShellCommand(write(*names, *body, *types))
        message = f"no command of the sandbox does the same as {described.method} {described.path}"
        raise ApiError(HTTPStatus.NOT_FOUND, "no_command", message)

    def _describe(self, fault: NewFault) -> Any:
        found = (each for each in self._fault_engine.types() if each.name == fault.type)
        return next(map(describe_type, found), None)


def _read_path(endpoint: Anything, described: DescribedRequest) -> list[str] | None:
    """The variables in the path of a request; None for one to another endpoint."""
    if described.method != endpoint.method:
        return None
    found = re.fullmatch(_VARIABLE.sub("([^/]+)", re.escape(endpoint.path)), described.path)
    return None if found is None else [unquote(each) for each in found.groups()]
