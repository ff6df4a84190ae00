"""The targets of ``pause``, ``kill`` and ``isolate``: processes of the sandbox, or named by ``--target``."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from emulator.faults.fault import Done, FaultRefusedError, Hit, Target
from emulator.machine import process_ids


@dataclass(frozen=True, slots=True)
class TargetProcess:
    """A process of this machine. ``born`` tells it from a later process with the same ``pid``."""

    pid: int
    born: str | None

    @classmethod
    def of(cls, pid: int) -> Self:
        """The process that has this id now."""
        return cls(pid, process_ids.start_time(pid))

    @property
    def name(self) -> str:
        return f"pid {self.pid}"

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._signal(signal.SIGCONT)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # The system gives the id of a process that has ended to another one.
        if process_ids.start_time(self.pid) != self.born:
            raise ProcessLookupError(f"process {self.pid} has ended, and its id is another's")
        os.kill(self.pid, number)


@dataclass(frozen=True, slots=True)
class PidFile:
    """The process whose id a file holds. The file is read at each strike, so the process may start later."""

    path: Path

    @property
    def name(self) -> str:
        return f"the process of {self.path}"

    def pause(self) -> None:
        self._process().pause()

    def resume(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process().resume()

    def kill(self) -> None:
        self._process().kill()

    def _process(self) -> TargetProcess:
        try:
            return _process(self.path.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            raise ProcessLookupError(f"{self.path} names no process: {error}") from error


def parse_targets(named: Iterable[str], directory: Path | None = None) -> dict[str, Target]:
    """Parse the values of ``--target``: ``name=pid``, ``name=file`` (in ``directory``), or a pid alone.

    Raises ValueError for a target that must not, or cannot, be struck.
    """
    found: dict[str, Target] = {}
    for written in named:
        name, _, process = written.rpartition("=")
        if process.isdigit():
            found[name or process] = _process(process)
        elif name and process:
            found[name] = PidFile((directory or Path()) / process)
        else:
            raise ValueError(f"{written!r} is no target: give NAME=PID, or NAME=FILE with the pid in it")
    return found


def find_target(written: str, known: Mapping[str, Target]) -> Target:
    """Find a target by its name, or a known process by its pid. Raises FaultRefusedError."""
    if written in known:
        return known[written]
    for target in known.values():
        if isinstance(target, TargetProcess) and written == str(target.pid):
            return target
    names = ", ".join(known) or "none"
    raise FaultRefusedError(
        f"{f'there is no target {written!r}' if written else 'give a target'}: a process that the sandbox "
        f"started, or that sandbox up --target NAME=PID named; known here: {names}"
    )


def _process(pid: str) -> TargetProcess:
    """The running process of this id. Raises ValueError when there is none, or it must not be struck."""
    number = int(pid)
    # To a signal, 0 means the whole group of this process.
    if number in {0, 1, os.getpid()}:
        raise ValueError(f"process {pid} is this sandbox or the whole machine")
    try:
        os.kill(number, 0)
    except (OSError, OverflowError) as error:
        raise ValueError(f"process {pid} cannot be reached: {error}") from error
    return TargetProcess.of(number)


def act_for_a_while(
    hit: Hit, target: Target, did: str, begin: Callable[[], None], end: Callable[[], None]
) -> Done:
    """Do something to a target, and undo it after the seconds of the fault's attribute ``lasts``."""
    seconds = hit.attributes["lasts"]
    # First: what could not be begun must not be undone.
    begin()
    hit.environment.call_later(seconds, end, hit.hold)
    return Done(f"{did} {target.name} for {seconds:g} s", {"target": target.name, "seconds": seconds})
