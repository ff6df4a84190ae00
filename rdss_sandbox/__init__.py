"""The public Python API of the sandbox: the client, the shapes of the control API, the pytest fixtures.

    from rdss_sandbox import Client, NewFault

    with Client("http://127.0.0.1:4570") as sandbox:
        sandbox.add_fault(NewFault("duplicate", toxicity=0.5))

``Client`` blocks and ``AsyncClient`` is for asyncio. Every name is imported on first use, so code that only
needs a shape does not load the HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rdss_sandbox.client import AsyncClient, Client, RefusedError, UnreachableError
    from rdss_sandbox.questions.message_filter import FilterError
    from rdss_sandbox.shapes.clock import ClockChange, ClockReading
    from rdss_sandbox.shapes.events import Event
    from rdss_sandbox.shapes.faults import Fault, FaultChange, FaultType, NewFault
    from rdss_sandbox.shapes.messages import MessageDetail, MessageRow, NewMessage, StoredMessage
    from rdss_sandbox.shapes.sequences import SequenceRow
    from rdss_sandbox.shapes.status import Reset, Status
    from rdss_sandbox.shapes.streams import Reshard, Shard, Stream, StreamDetail
    from rdss_sandbox.shapes.topology import AuditTap, Topology

_HOMES: Final = {
    "client": ("AsyncClient", "Client", "RefusedError", "UnreachableError"),
    "questions.message_filter": ("FilterError",),
    "shapes.clock": ("ClockChange", "ClockReading"),
    "shapes.events": ("Event",),
    "shapes.faults": ("Fault", "FaultChange", "FaultType", "NewFault"),
    "shapes.messages": ("MessageDetail", "MessageRow", "NewMessage", "StoredMessage"),
    "shapes.sequences": ("SequenceRow",),
    "shapes.status": ("Reset", "Status"),
    "shapes.streams": ("Reshard", "Shard", "Stream", "StreamDetail"),
    "shapes.topology": ("AuditTap", "Topology"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncClient",
    "AuditTap",
    "Client",
    "ClockChange",
    "ClockReading",
    "Event",
    "Fault",
    "FaultChange",
    "FaultType",
    "FilterError",
    "MessageDetail",
    "MessageRow",
    "NewFault",
    "NewMessage",
    "RefusedError",
    "Reset",
    "Reshard",
    "SequenceRow",
    "Shard",
    "Status",
    "StoredMessage",
    "Stream",
    "StreamDetail",
    "Topology",
    "UnreachableError",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
