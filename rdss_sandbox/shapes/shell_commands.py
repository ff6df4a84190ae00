"""Requests of the control API, and the shell commands that do the same."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec


class DescribedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to this API: its method, its path with every name quoted, and its body as JSON."""

    method: Annotated[str, msgspec.Meta(examples=["DELETE"])]
    path: Annotated[str, msgspec.Meta(examples=["/faults/duplicate"], max_length=16_384)]
    body: Any = None


class ShellCommand(msgspec.Struct, frozen=True):
    """A command for a shell in the directory in which the sandbox was started."""

    command: str
