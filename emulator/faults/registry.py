"""Every type of fault, registered once: read by the API, the command's help, the TUI and docs/faults.md."""

from __future__ import annotations

from typing import Final

from emulator.faults.fault import FaultRefusedError, FaultType
from emulator.faults.types import (
    corrupt,
    disconnect,
    duplicate,
    error,
    expire_iterator,
    isolate,
    kill,
    latency,
    mutate,
    oversize,
    partial_failure,
    pause,
    reorder,
    reshard,
    stale_read,
    throttle,
)

TYPES: Final[dict[str, FaultType]] = {
    module.TYPE.name: module.TYPE
    for module in (
        reshard,
        duplicate,
        latency,
        oversize,
        reorder,
        throttle,
        partial_failure,
        error,
        expire_iterator,
        disconnect,
        corrupt,
        mutate,
        stale_read,
        pause,
        kill,
        isolate,
    )
}


def known_type(name: str) -> FaultType:
    """The fault type of this name. Raises FaultRefusedError, which lists the known types."""
    if name not in TYPES:
        raise FaultRefusedError(f"no fault type {name!r}; there are {', '.join(TYPES)}")
    return TYPES[name]
