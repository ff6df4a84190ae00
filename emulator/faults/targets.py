"""What ``pause``, ``kill`` and ``isolate`` act on: what the sandbox started, and what was named to it."""

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
class Process:
    """A process of this machine, by its id. ``born`` tells it from a later one of that id, left alone."""

    pid: int
    born: str | None

    @classmethod
    def of(cls, pid: int) -> Self:
        """The one that has this id now."""
        return cls(pid, process_ids.born(pid))

    @property
    def name(self) -> str:
        return f"pid {self.pid}"

    def pause(self) -> None:
        self._tell(signal.SIGSTOP)

    def resume(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._tell(signal.SIGCONT)

    def kill(self) -> None:
        self._tell(signal.SIGKILL)

    def _tell(self, word: signal.Signals) -> None:
        if process_ids.born(self.pid) != self.born:
            raise ProcessLookupError(f"process {self.pid} has ended, and its id is another's")
        os.kill(self.pid, word)


@dataclass(frozen=True, slots=True)
class PidFile:
    """Whatever process a file names when it is struck, as a server writes it that is started later."""

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

    def _process(self) -> Process:
        try:
            return _process(self.path.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            raise ProcessLookupError(f"{self.path} names no process: {error}") from error


def named_targets(named: Iterable[str], directory: Path | None = None) -> dict[str, Target]:
    """The targets that are named at the start, as ``name=pid``, ``name=file`` or a pid alone.

    ValueError for one that cannot be struck.
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
    """The target of a known name, or the process of a pid if that is one. FaultRefusedError for any other."""
    if written in known:
        return known[written]
    for target in known.values():
        if isinstance(target, Process) and written == str(target.pid):
            return target
    names = ", ".join(known) or "none"
    raise FaultRefusedError(
        f"no target {written!r}: only what the sandbox started, or what it was told of at its start by "
        f"--target NAME=PID, can be struck; known here: {names}"
    )


def _process(pid: str) -> Process:
    """ValueError when it is none, or one that must not be struck."""
    number = int(pid)
    if number in {0, 1, os.getpid()}:
        raise ValueError(f"process {pid} is this sandbox or the whole machine")
    try:
        os.kill(number, 0)
    except (OSError, OverflowError) as error:
        raise ValueError(f"process {pid} cannot be reached: {error}") from error
    return Process.of(number)


def for_a_while(
    hit: Hit, target: Target, did: str, begin: Callable[[], None], end: Callable[[], None]
) -> Done:
    """Do something to a target, and undo it after the fault's attribute ``lasts``."""
    seconds = hit.attributes["lasts"]
    begin()
    hit.world.later(seconds, end, hit.hold)
    return Done(f"{did} {target.name} for {seconds:g} s", {"target": target.name, "seconds": seconds})
