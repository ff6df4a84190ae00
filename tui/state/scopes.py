"""What each screen's messages are, by the names that the sandbox at hand has for its streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rdss_sandbox.shapes.topology import Topology

Scope: TypeAlias = Callable[[Topology], str]


def everything_once(topology: Topology) -> str:
    """Every message, but not the copies that the audit log keeps."""
    return f"-stream:{topology.audit.stream}" if topology.audit else ""


def refused(topology: Topology) -> str:
    """The messages in the queues for what cannot be processed; without such queues, those with a code."""
    return f"stream:{','.join(topology.archives)}" if topology.archives else "-code:none"


def no_origin(topology: Topology) -> frozenset[str]:
    """The streams that no message begins in: the queues and the audit log."""
    return frozenset((*topology.archives, *((topology.audit.stream,) if topology.audit else ())))


def first_stream(topology: Topology) -> str:
    """The stream to send to when nothing names one."""
    apart = no_origin(topology)
    return next((name for name in topology.streams if name not in apart), "input")
