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


def no_origin(topology: Topology) -> frozenset[str]:
    """The streams where no message originates: the error and invalid queues and the audit log."""
    return frozenset((*topology.archives, *((topology.audit.stream,) if topology.audit else ())))


def first_stream(topology: Topology) -> str:
    """The default stream to send to."""
    apart = no_origin(topology)
    return next((name for name in topology.streams if name not in apart), "input")
