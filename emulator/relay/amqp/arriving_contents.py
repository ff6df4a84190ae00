"""The memory that a client's messages take before they are complete."""

from __future__ import annotations

from emulator.amqp.wire.commands import TooMuchError
from emulator.http.bounds.body_memory import ARRIVING, NO_ROOM


class ArrivingContents:
    """Counts the incomplete contents of a client's channels: ``most`` bytes, within what all ports share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0

    def count(self, size: int) -> None:
        """Count ``size`` more bytes, or fewer below 0. Raises TooMuchError."""
        if self._bytes + size > self._most:
            raise TooMuchError(501, f"messages under way have {self._most} bytes at most")
        if size > 0 and not ARRIVING.take(size):
            raise TooMuchError(506, NO_ROOM)
        if size < 0:
            ARRIVING.give_back(-size)
        self._bytes += size
