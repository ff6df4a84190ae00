"""The order in which requests start: at once while few run, otherwise one from each connection in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from emulator.http.bounds.client_limits import YOUNG_REQUESTS, YOUNG_SECONDS

Begin: TypeAlias = Callable[[], None]
_LOOK_SECONDS: Final = 0.001


class RequestQueue:
    """Bounds how many young requests run.

    A request is young for its first moments. One that lasts, as a subscription does, soon stops counting, so
    it does not keep others waiting.
    """

    def __init__(self) -> None:
        self._young: set[asyncio.Task[None]] = set()
        self._growing: set[asyncio.Task[None]] = set()
        self._waiting: dict[object, deque[Begin]] = {}
        self._looks = 0

    @property
    def room(self) -> bool:
        """Whether a request may start at once."""
        return len(self._young) < YOUNG_REQUESTS and not self._waiting

    def begun(self, task: asyncio.Task[None]) -> None:
        self._young.add(task)

    def ended(self, task: asyncio.Task[None]) -> None:
        self._young.discard(task)

    def put(self, connection: object, begin: Begin) -> None:
        """Call ``begin`` when it is the turn of ``connection``."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._go_round)
        self._waiting.setdefault(connection, deque()).append(begin)

    def _go_round(self) -> None:
        self._looks += 1
        if self._looks * _LOOK_SECONDS >= YOUNG_SECONDS:
            self._looks = 0
            self._young -= self._growing
            self._growing = set(self._young)
        while self._waiting and len(self._young) < YOUNG_REQUESTS:
            connection, begins = next(iter(self._waiting.items()))
            del self._waiting[connection]
            begin = begins.popleft()
            if begins:
                self._waiting[connection] = begins
            begin()
        if self._waiting:
            asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._go_round)
