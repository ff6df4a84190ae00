"""The outbox of a client: messages that wait for the network."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Final

from extensions.topics.engine.outgoing_messages import Message, OofMessage, PublishMessage, SowMessage

MOST_BYTES: Final = 1 << 28
_HEADER_BYTES: Final = 100


class UnsentMessages:
    """A queue that is filled on any thread and emptied in the event loop that created it.

    ``closed`` is the reason after the outbox was closed; ``over`` is set then. It is closed as ``slow`` when
    more than ``MOST_BYTES`` wait.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._messages: deque[Message] = deque()
        self._bytes = 0
        self._more = asyncio.Event()
        self._woken = False
        self.closed: str | None = None
        self.over = asyncio.Event()

    def put(self, message: Message) -> None:
        with self._lock:
            self._bytes += _size(message)
            self._messages.append(message)
            slow = self._bytes > MOST_BYTES
        if slow:
            self.close("slow")
        elif not self._woken and not self._loop.is_closed():
            self._woken = True
            self._loop.call_soon_threadsafe(self._more.set)

    def close(self, reason: str) -> None:
        """Close the outbox and wake its reader; the first reason counts."""
        self.closed = self.closed or reason
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def waiting(self) -> list[Message]:
        """The waiting messages, which stay in the outbox."""
        with self._lock:
            return list(self._messages)

    def taken(self) -> list[Message]:
        """Remove and return the waiting messages, in order."""
        with self._lock:
            messages, self._messages = list(self._messages), deque()
            self._bytes = 0
        self._woken = False
        self._more.clear()
        return messages

    async def wait(self) -> None:
        """Wait until there is a message or the outbox is closed."""
        while not self._messages and self.closed is None:
            self._woken = False
            self._more.clear()
            await self._more.wait()

    def _end(self) -> None:
        self._more.set()
        self.over.set()


def _size(message: Message) -> int:
    if isinstance(message, PublishMessage | OofMessage):
        return len(message.data) + _HEADER_BYTES
    if isinstance(message, SowMessage):
        return sum(len(record.data) + _HEADER_BYTES for record in message.data)
    return _HEADER_BYTES
