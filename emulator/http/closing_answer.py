"""The last answer on a connection whose client may still be sending: it is to be read before the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from emulator.http.answer_date import AnswerDate

_LOOK_SECONDS: Final = 1.0
_PATIENT_LOOKS: Final = 30
_MOST_BYTES: Final = 1 << 24


def refusal(status: HTTPStatus, why: str, date: AnswerDate) -> bytes:
    """An answer in HTTP/1.1 that closes the connection, with the reason as text."""
    body = f"{why}\n".encode()
    told = b"date: %b\r\ncontent-type: text/plain\r\nconnection: close\r\n" % date.header()[1]
    line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    return b"%b%bcontent-length: %d\r\n\r\n%b" % (line, told, len(body), body)


def close_with_answer(transport: asyncio.Transport, words: bytes, lost: Callable[[], None]) -> None:
    """Send ``words``, leave unread what comes, and close; ``lost`` is called when the connection is.

    A connection closed while something of the client's lies unread is reset, and its client loses the answer.
    """
    farewell = _Farewell(transport, lost)
    transport.write(words)
    transport.set_protocol(farewell)
    try:
        transport.write_eof()
    except OSError:
        # It has left, and its end is on its way to us.
        transport.abort()
        return
    transport.resume_reading()
    farewell.look_later()


class _Farewell(asyncio.Protocol):
    """Reads on without looking, for a bounded while, as long as the client takes what it is sent."""

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
