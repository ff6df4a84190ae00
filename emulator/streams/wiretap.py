"""What passes the ports, for those who record it. While nobody does, it costs one look at ``on``."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from emulator.clock import Clock, stopwatch
from rdss_sandbox.shapes.recordings import Passed
from rdss_sandbox.shapes.tape import TapedLoss

_MOST_BYTES: Final = 64 << 20
_MOST_LISTENERS: Final = 4
_FORGOTTEN_SECONDS: Final = 60.0
"""Real seconds after which a listener that takes nothing is gone."""


class TooManyListenersError(Exception):
    """So many recordings are under way that another would cost clients too much."""


class Listener:
    """What waits for one who records. Of what is beyond 64 MiB it is only told how much is lost."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.waiting = 0
        self._taken = stopwatch()
        self._passed: deque[tuple[Passed, int]] = deque()
        self._lost = 0
        self._lock = threading.Lock()

    def note(self, passed: Passed, size: int) -> None:
        with self._lock:
            if self.waiting + size > _MOST_BYTES:
                self._lost += 1
            else:
                self.waiting += size
                self._passed.append((passed, size))

    def is_quiet(self, moment: float) -> bool:
        """Whether nothing was taken for a minute before this reading of the stopwatch."""
        return moment - self._taken >= _FORGOTTEN_SECONDS

    def take(self, now: float) -> list[Passed]:
        """Take what passed since the last time; ``now`` is the time of the clock."""
        self._taken = stopwatch()
        with self._lock:
            found, self._passed = self._passed, deque()
            lost, self._lost, self.waiting = self._lost, 0, 0
        items = [passed for passed, _ in found]
        if lost:
            items.append(TapedLoss(now, lost, "what passed was not taken fast enough"))
        return items


class Wiretap:
    """Everything that passes, to every listener. Thread-safe.

    ``stream_of_iterator`` names the stream of a shard iterator, as far as it is known.
    """

    def __init__(self, clock: Clock, stream_of_iterator: Callable[[str], str | None]) -> None:
        self.clock = clock
        self.stream_of_iterator = stream_of_iterator
        self.on = False
        self._listeners: tuple[Listener, ...] = ()
        self._last = 0
        self._lock = threading.Lock()

    def note(self, passed: Passed, size: int) -> None:
        """Hand what passed, of so many bytes, to every listener."""
        now, quiet = stopwatch(), False
        for each in self._listeners:
            each.note(passed, size)
            quiet = quiet or each.is_quiet(now)
        if quiet:
            with self._lock:
                self._forget_quiet()

    def listen(self) -> Listener:
        """Begin to listen. Raises ``TooManyListenersError``."""
        with self._lock:
            self._forget_quiet()
            if len(self._listeners) >= _MOST_LISTENERS:
                raise TooManyListenersError(
                    f"{_MOST_LISTENERS} recordings are under way: end one of them first"
                )
            self._last += 1
            found = Listener(self._last)
            self._listeners = (*self._listeners, found)
            self.on = True
        return found

    def list_listeners(self) -> tuple[Listener, ...]:
        with self._lock:
            self._forget_quiet()
            return self._listeners

    def leave(self, listener: Listener) -> None:
        """Listen no more."""
        with self._lock:
            self._keep([each for each in self._listeners if each is not listener])

    def _forget_quiet(self) -> None:
        now = stopwatch()
        self._keep([each for each in self._listeners if not each.is_quiet(now)])

    def _keep(self, kept: list[Listener]) -> None:
        self._listeners, self.on = tuple(kept), bool(kept)
