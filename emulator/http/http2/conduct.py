"""Limits for HTTP/2 frames that cost work and carry no request (RFC 9113 section 10.5)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from emulator.http.bounds.allowance import Allowance
from emulator.http.bounds.client_limits import Limits

_END_STREAM: Final = 0x1
_ACK: Final = 0x1
_END_HEADERS: Final = 0x4


class Kind(IntEnum):
    """Types of frames (RFC 9113 section 6)."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


class Conduct:
    """Counts the frames of one client. ``in_headers``: headers have begun and have not ended."""

    def __init__(self, limits: Limits) -> None:
        self._head_bytes = limits.head_bytes
        self._resets = Allowance(limits.resets)
        self._empty = Allowance(limits.empty_frames)
        self._by_kind = {
            Kind.RST_STREAM: (self._resets, "requests are cancelled too often"),
            Kind.PING: (Allowance(limits.pings), "too many pings"),
            Kind.SETTINGS: (Allowance(limits.settings), "settings change too often"),
            Kind.PRIORITY: (Allowance(limits.priorities), "priorities change too often"),
            Kind.WINDOW_UPDATE: (Allowance(limits.window_updates), "windows are enlarged too often"),
        }
        self._header_bytes = 0
        self.in_headers = False

    def objection(self, kind: int, flags: int, length: int) -> str | None:
        """Count a frame, and return why it is one too many, or None when it is not."""
        if kind == Kind.DATA:
            if length or flags & _END_STREAM or self._empty.spend():
                return None
            return "too many frames without data"
        if kind in (Kind.HEADERS, Kind.CONTINUATION):
            self._header_bytes = length + (self._header_bytes if kind == Kind.CONTINUATION else 0)
            self.in_headers = not flags & _END_HEADERS
            if self._header_bytes > self._head_bytes:
                return f"the headers of a request have {self._head_bytes} bytes at most"
            return None
        if (kind == Kind.SETTINGS and flags & _ACK) or kind in (Kind.GOAWAY, Kind.PUSH_PROMISE):
            return None
        allowance, why = self._by_kind.get(kind, (self._empty, "too many frames of unknown types"))  # type: ignore[call-overload]
        return None if allowance.spend() else why

    def cancelled(self) -> str | None:
        """Count a request that we cancelled for what the client sent. Returns what ``objection`` returns."""
        return None if self._resets.spend() else "requests are cancelled too often"
