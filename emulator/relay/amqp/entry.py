"""Who may log in at the AMQP port of a sandbox with a token: whoever gives that as the password."""

from __future__ import annotations

import hmac
from struct import Struct, error
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pamqp import decode
from pamqp.exceptions import UnmarshalingException

from emulator.relay.amqp.frames import NotAmqpError, text_at

_HEAD: Final = Struct(">BHI")
_LONG: Final = Struct(">I")
_PROPERTIES_AT: Final = 11
"""Where in a frame of start-ok the client's properties begin: after the frame's head and the method."""


class Entry(NamedTuple):
    """The ``token`` that clients give, and the ``user`` and ``password`` that the broker gets instead."""

    token: str
    user: str
    password: str

    @classmethod
    def of(cls, url: str, token: str | None) -> Entry | None:
        """With the credentials of the broker's URL. None without a token: then clients have their own."""
        parts = urlsplit(url)
        if token is None:
            return None
        return cls(token, unquote(parts.username or "guest"), unquote(parts.password or "guest"))

    def exchanged(self, frame: bytes) -> bytes:
        """The frame of start-ok (section 1.4.2.2 of the specification) as the broker gets it.

        Without the token there is no password in it, and the broker refuses it in its own words. Raises
        ``NotAmqpError`` for what is no such frame.
        """
        try:
            (length,) = _LONG.unpack_from(frame, _PROPERTIES_AT)
            at = _PROPERTIES_AT + _LONG.size + length
            mechanism, response_at = text_at(frame, at)
            (size,) = _LONG.unpack_from(frame, response_at)
            end = response_at + _LONG.size + size
            given = _password(mechanism, frame[response_at + _LONG.size : end])
        except (error, IndexError, ValueError, UnmarshalingException) as why:
            raise NotAmqpError(str(why)) from why
        known = hmac.compare_digest(given, self.token.encode())
        login = f"\0{self.user}\0{self.password if known else ''}".encode()
        payload = b"".join(
            (frame[7:at], b"\x05PLAIN", _LONG.pack(len(login)), login, frame[end:-1]),
        )
        kind, channel, _ = _HEAD.unpack_from(frame)
        return b"".join((_HEAD.pack(kind, channel, len(payload)), payload, frame[-1:]))


def _password(mechanism: str, response: bytes) -> bytes:
    """What a client gives as its password; nothing in a mechanism that has none."""
    if mechanism == "PLAIN":
        return response.split(b"\0")[-1]
    if mechanism == "AMQPLAIN":
        given = decode.field_table(_LONG.pack(len(response)) + response)[1].get("PASSWORD", "")
        return given if isinstance(given, bytes) else str(given).encode()
    return b""
