"""Processes that carry a mark in their environment: all that a command starts, wherever it goes."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from emulator.clock import Clock

_VARIABLE: Final = "SANDBOX_CERTIFY_RUN"
_BETWEEN: Final = ","
_MOST_SECONDS: Final = 2.0
_SWEEPS: Final = 2
_SWEEP_SECONDS: Final = 0.01


def add_mark(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment with a mark, beside the marks of those who started this process."""
    outer = environment.get(_VARIABLE)
    return {**environment, _VARIABLE: f"{outer}{_BETWEEN}{mark}" if outer else mark}


def kill_marked(mark: str) -> None:
    """Kill every process that carries a mark, wherever it went, and wait until it is gone (Linux only)."""
    clock, sweeps_without = Clock(), 0
    until = clock.elapsed() + _MOST_SECONDS
    # One sweep can miss a process that is just being started, whose environment cannot be read yet.
    while sweeps_without < _SWEEPS and clock.elapsed() < until:
        found = _find_carriers(mark)
        sweeps_without = 0 if found else sweeps_without + 1
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        clock.wait(_SWEEP_SECONDS)


def _find_carriers(mark: str) -> list[int]:
    """The processes that inherited this mark, also those that left the process group (Linux only)."""
    found = []
    prefix = f"{_VARIABLE}=".encode()
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = place.read_bytes().split(b"\0")
        except OSError:
            continue
        marks = next((each.removeprefix(prefix) for each in variables if each.startswith(prefix)), b"")
        if mark.encode() in marks.split(_BETWEEN.encode()):
            found.append(int(place.parent.name))
    return found
