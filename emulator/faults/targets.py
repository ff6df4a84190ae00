"""What ``pause``, ``kill`` and ``isolate`` act on: processes of this machine, and what a sandbox names."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emulator.faults.fault import Done, FaultRefused, Hit, Target


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


def for_a_while(
    hit: Hit, target: Target, did: str, begin: Callable[[], None], end: Callable[[], None]
) -> Done:
    """Do something to a target, and undo it after the fault's attribute ``lasts``."""
    seconds = hit.attributes["lasts"]
    begin()
    hit.world.later(seconds, end, hit.hold)
    return Done(f"{did} {target.name} for {seconds:g} s", {"target": target.name, "seconds": seconds})
