"""The message filter of each screen, made from the stream names of the sandbox's topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rdss_sandbox.shapes.topology import Topology

Scope: TypeAlias = Callable[[Topology], str]


def everything_once(topology: Topology) -> str:
    """Every message except the copies in the audit log."""
    return f"-stream:{topology.audit.stream}" if topology.audit else ""


def refused(topology: Topology) -> str:
    """The messages in the error and invalid queues; without such queues, those with an error code."""
    return f"stream:{','.join(topology.archives)}" if topology.archives else "-code:none"
