"""What functions wrote, in the groups and streams of CloudWatch Logs. Memory has the latest lines."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from emulator.clock import Clock

MOST_LINES: Final = 10_000
"""The lines that are kept of each function."""


class LogLine(NamedTuple):
    """A line. ``time`` is milliseconds since the epoch; ``number`` grows by one with each line of all."""

    number: int
    time: int
    stream: str
    message: str


class FunctionLogs:
    """The lines of each group, oldest first. ``heard`` gets them as they come, with their group."""

    def __init__(self, clock: Clock) -> None:
        self.heard: Callable[[str, Sequence[str]], object] = lambda _group, _lines: None
        self._clock = clock
        self._lock = threading.Lock()
        self._groups: dict[str, deque[LogLine]] = {}
        self._number = 0

    def write(self, group: str, stream: str, lines: Sequence[str]) -> None:
        self.heard(group, lines)
        now = int(self._clock.time() * 1000)
        with self._lock:
            kept = self._groups.setdefault(group, deque(maxlen=MOST_LINES))
            for line in lines:
                self._number += 1
                kept.append(LogLine(self._number, now, stream, line))

    def groups(self) -> list[str]:
        with self._lock:
            return sorted(self._groups)

    def read(self, group: str, after: int = 0) -> list[LogLine] | None:
        """The lines of a group behind a number; None where there is no such group."""
        with self._lock:
            kept = self._groups.get(group)
            return None if kept is None else [line for line in kept if line.number > after]

    def clear(self) -> None:
        with self._lock:
            self._groups.clear()


def group_of(function: str) -> str:
    """The log group of a function, by its name."""
    return f"/aws/lambda/{function}"


class OutputLines:
    """Makes lines of what a process writes; one without an end is cut at ``MOST_BYTES``."""

    MOST_BYTES: Final = 256 << 10

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
        while len(self._rest) > self.MOST_BYTES:
            yield self._rest[: self.MOST_BYTES].decode(errors="replace")
            self._rest = self._rest[self.MOST_BYTES :]

    def end(self) -> Iterator[str]:
        """What came last without an end."""
        if self._rest:
            yield self._rest.decode(errors="replace")
        self._rest = b""
