"""Every type of fault, registered once: read by the API, the command's help, the TUI and docs/faults.md."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
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
from rdss_sandbox.installed_extensions import with_declared
from schemas.bound import CONTRACT
from schemas.contract import Contract


def list_own_types(contract: Contract) -> tuple[FaultType, ...]:
    """The types of this project that can strike messages of this contract."""
    changes = contract.changes
    larger = (oversize.build_type(contract, changes),) if changes else ()
    bad = (mutate.build_type(contract, changes),) if changes else ()
    return (
        reshard.TYPE,
        duplicate.TYPE,
        latency.TYPE,
        *larger,
        reorder.TYPE,
        throttle.TYPE,
        partial_failure.TYPE,
        error.TYPE,
        expire_iterator.TYPE,
        disconnect.TYPE,
        corrupt.build_type(contract),
        *bad,
        stale_read.TYPE,
        pause.TYPE,
        kill.TYPE,
        isolate.TYPE,
    )


def list_types(contract: Contract) -> dict[str, FaultType]:
    """Every type by its name, those of extensions too."""
    every = with_declared("faults", list_own_types(contract), attrgetter("name"))
    return {type_.name: type_ for type_ in every}


TYPES: Final = list_types(CONTRACT)


def known_type(name: str, types: Mapping[str, FaultType] = TYPES) -> FaultType:
    """The fault type of this name. Raises FaultRefusedError, which lists the known types."""
    if name not in types:
        raise FaultRefusedError(f"no fault type {name!r}; there are {', '.join(types)}")
    return types[name]
