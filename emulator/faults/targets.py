"""What ``pause`` and ``kill`` act on."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from emulator.faults.fault import FaultRefused


class Target(Protocol):
    """A process or container that can be stopped in its tracks."""

    @property
    def name(self) -> str: ...

    def pause(self) -> None:
        """Halt it where it is. Raises ProcessLookupError when it is gone."""

    def resume(self) -> None:
        """Let it go on, if it is still there."""

    def kill(self) -> None:
        """End it at once, without a chance to tidy up."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine, by its id."""

    pid: int

    @property
    def name(self) -> str:
        return f"pid {self.pid}"

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def find_target(written: str, known: Mapping[str, Target]) -> Target:
    """The target of a known name, or the process of a pid. FaultRefused when it is neither, or our own."""
    if written in known:
        return known[written]
    if not written.isdigit():
        names = ", ".join(known) or "none is known here"
        raise FaultRefused(f"no target {written!r}: give a process id or one of the names known ({names})")
    pid = int(written)
    if pid in {0, 1, os.getpid()}:
        raise FaultRefused(
            f"process {pid} is not to be paused or killed: it is this sandbox or the whole machine"
        )
    try:
        os.kill(pid, 0)
    except OSError as error:
        raise FaultRefused(f"process {pid} cannot be reached: {error.strerror}") from error
    return Process(pid)
