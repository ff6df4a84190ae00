"""Closing a connection with a last answer that the client can read even while it is still sending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from emulator.http.answer_date import AnswerDate

_LOOK_SECONDS: Final = 1.0
_PATIENT_LOOKS: Final = 30
_MOST_BYTES: Final = 1 << 24


def refusal(status: HTTPStatus, why: str, date: AnswerDate, more: bytes = b"") -> bytes:
    """An HTTP/1.1 answer that closes the connection, with the reason as text. ``more`` are header lines."""
    body = f"{why}\n".encode()
    headers = b"date: %b\r\ncontent-type: text/plain\r\nconnection: close\r\n%b" % (date.header()[1], more)
    line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    return b"%b%bcontent-length: %d\r\n\r\n%b" % (line, headers, len(body), body)


def close_with_answer(transport: asyncio.Transport, answer: bytes, lost: Callable[[], None]) -> None:
    """Send ``answer``, discard what the client still sends, and close. ``lost`` is called at the end.

    The kernel resets a connection that is closed with unread input, and the client then loses the answer.
    """
    discarding = _Discarding(transport, lost)
    transport.write(answer)
    transport.set_protocol(discarding)
    # TLS ends both directions at once: there the client ends the connection, or the look does.
    if transport.can_write_eof():
        try:
            transport.write_eof()
        except OSError:
            # The client has left, and the loop has not told us yet.
            transport.abort()
            return
    transport.resume_reading()
    discarding.look_later()


class _Discarding(asyncio.Protocol):
    """Discards up to 16 MiB of input while the client reads its answer, and gives up on one that does not."""

    def __init__(self, transport: asyncio.Transport, lost: Callable[[], None]) -> None:
        self._transport = transport
        self._lost = lost
        self._left = _MOST_BYTES
        self._unsent = transport.get_write_buffer_size()
        self._looks = 0
        self._timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self._transport.abort()

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._lost()

    def look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        self._looks = self._looks + 1 if self._unsent == before else 0
        if not self._unsent or self._looks >= _PATIENT_LOOKS:
            self._transport.abort()
        else:
            self.look_later()
