"""In which order requests begin: at once while they are few, otherwise from each connection in its turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from emulator.clock import stopwatch
from emulator.limits import REQUESTS_A_TURN, YOUNG_REQUESTS, YOUNG_SECONDS

Begin: TypeAlias = Callable[[], "asyncio.Task[None]"]


class Starts:
    """Bounds how many requests begin in one turn of the event loop, and how many young ones there are.

    A request that lasts, as a subscription does, is soon not young any more and keeps nobody waiting.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._young: dict[asyncio.Task[None], float] = {}
        self._waiting: dict[object, deque[Begin]] = {}
        self._soon = False

    def put(self, connection: object, begin: Begin) -> None:
        """Have ``begin`` called now, or when it is the turn of ``connection``."""
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._next_turn)
        if self._room and not self._waiting:
            self._begin(begin)
        else:
            self._waiting.setdefault(connection, deque()).append(begin)

    @property
    def _room(self) -> bool:
        return self._begun < REQUESTS_A_TURN and len(self._young) < YOUNG_REQUESTS

    def _begin(self, begin: Begin) -> None:
        self._begun += 1
        task = begin()
        self._young[task] = stopwatch()
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._young.pop(task, None)

    def _next_turn(self) -> None:
        self._begun = 0
        self._soon = False
        if not self._waiting:
            return
        grown = stopwatch() - YOUNG_SECONDS
        while self._young and (eldest := next(iter(self._young.items())))[1] < grown:
            del self._young[eldest[0]]
        while self._waiting and self._room:
            self._begin(self._of_the_next_connection())
        if self._waiting:
            self._soon = True
            # No sooner than something can have changed.
            asyncio.get_running_loop().call_later(0.001, self._next_turn)

    def _of_the_next_connection(self) -> Begin:
        connection, begins = next(iter(self._waiting.items()))
        del self._waiting[connection]
        begin = begins.popleft()
        if begins:
            self._waiting[connection] = begins
        return begin
