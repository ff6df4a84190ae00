"""Refusals, each with RabbitMQ's reply code and text."""

from __future__ import annotations

from typing import Final

from emulator.amqp.wire.field_tables import TEXT

_NAMES: Final = {
    311: "CONTENT_TOO_LARGE",
    312: "NO_ROUTE",
    313: "NO_CONSUMERS",
    320: "CONNECTION_FORCED",
    402: "INVALID_PATH",
    403: "ACCESS_REFUSED",
    404: "NOT_FOUND",
    405: "RESOURCE_LOCKED",
    406: "PRECONDITION_FAILED",
    501: "FRAME_ERROR",
    502: "SYNTAX_ERROR",
    503: "COMMAND_INVALID",
    504: "CHANNEL_ERROR",
    505: "UNEXPECTED_FRAME",
    506: "RESOURCE_ERROR",
    530: "NOT_ALLOWED",
    540: "NOT_IMPLEMENTED",
    541: "INTERNAL_ERROR",
}
CODES: Final = {name: code for code, name in _NAMES.items()}
_MOST_BYTES: Final = 255
"""What a short string holds, as a reply text is one."""
_CUT: Final = "..."


class RefusedError(Exception):
    """What a client asked for is refused, with an AMQP reply ``code`` and RabbitMQ's ``text``.

    ``whole`` says that it closes the connection; otherwise it closes the channel. ``method`` is the id of the
    offending method; 0 for a frame, and None for the method that is being handled.
    """

    def __init__(self, code: int, why: str = "", *, method: int | None = None) -> None:
        text = shorten(f"{_NAMES[code]} - {why}" if why else _NAMES[code])
        super().__init__(text)
        self.code = code
        self.text = text
        self.method = method

    @property
    def whole(self) -> bool:
        return self.code in (320, 402) or self.code >= 500


def shorten(text: str) -> str:
    """A text that fits into a short string; what is left out leaves three dots."""
    encoded = text.encode(*TEXT)
    if len(encoded) <= _MOST_BYTES:
        return text
    return encoded[: _MOST_BYTES - len(_CUT)].decode("utf-8", "ignore") + _CUT


def not_found(kind: str, name: str, vhost: str) -> RefusedError:
    """No exchange or queue has the name."""
    return RefusedError(404, f"no {kind} '{name}' in vhost '{vhost}'")


def describe_bytes(data: bytes) -> str:
    """Bytes as Erlang prints a binary: as text where all of it can be printed, else as numbers."""
    if all(32 <= byte < 127 or byte in b"\n\r\t" for byte in data) and data:
        escaped = data.decode().replace("\\", "\\\\").replace('"', '\\"')
        return '<<"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '">>'
    return f"<<{','.join(map(str, data))}>>"
