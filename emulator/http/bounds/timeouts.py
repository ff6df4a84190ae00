"""How long a port waits for its clients. Connections that keep it waiting for longer are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from enum import Enum
from math import inf
from typing import Final, NamedTuple, Protocol

from emulator.http.bounds.client_limits import Limits

_LOOKS: Final = 8
"""How many looks the shortest timeout has."""
_LONGEST_LOOK: Final = 1.0


class Awaited(Enum):
    """What a connection waits for its client to do."""

    IDLE = "the next request"
    HEAD = "the headers of a request"
    BODY = "the body of a request"
    READER = "an answer to be read"


class Waiting(NamedTuple):
    """What a connection waits for. The timeout starts again whenever ``progress`` changes."""

    what: Awaited
    progress: int


class WaitingConnection(Protocol):
    """A connection whose client can keep it waiting."""

    def waiting(self) -> Waiting | None:
        """What the connection waits for its client to do; None while the client waits for us."""

    def give_up(self, waiting: Waiting) -> None:
        """Close the connection: what it waited for did not come in time."""


class ClientTimeouts:
    """Looks at the ``clients`` at intervals, while there are any.

    It counts looks and does not read a clock: if the whole process was suspended, no client was late.
    """

    def __init__(
        self,
        limits: Limits,
        clients: Callable[[], Collection[WaitingConnection]],
        crowded: Callable[[], bool],
    ) -> None:
        self._crowded_seconds = limits.crowded_seconds
        self._clients = clients
        self._crowded = crowded
        self._seconds = {
            Awaited.IDLE: limits.idle_seconds,
            Awaited.HEAD: limits.head_seconds,
            Awaited.BODY: limits.body_seconds,
            Awaited.READER: limits.unread_seconds,
        }
        self._every = min(_LONGEST_LOOK, *(seconds / _LOOKS for seconds in self._seconds.values()))
        self._last_looks: dict[WaitingConnection, tuple[Waiting, int]] = {}
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start looking, unless it has started."""
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(self._every, self._look)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _look(self) -> None:
        self._next = None
        clients = tuple(self._clients())
        if clients:
            self.start()
        most = self._crowded_seconds if self._crowded() else inf
        last_looks, self._last_looks = self._last_looks, {}
        for client in clients:
            waiting = client.waiting()
            if waiting is None:
                continue
            before, looks = last_looks.get(client, (waiting, 0))
            looks = looks + 1 if before == waiting else 0
            if looks * self._every >= min(self._seconds[waiting.what], most):
                client.give_up(waiting)
            else:
                self._last_looks[client] = waiting, looks
