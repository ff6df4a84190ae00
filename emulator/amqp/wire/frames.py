"""Frames of AMQP 0-9-1 (section 4.2.3), with RabbitMQ's words for those that are none."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NoReturn

from emulator.amqp.refusals import RefusedError, describe_bytes

METHOD: Final = 1
HEADER: Final = 2
BODY: Final = 3
HEARTBEAT: Final = 8
OVERHEAD: Final = 8
"""Bytes of a frame besides its payload."""
BEAT: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"
HEAD: Final = Struct(">BHI")
"""The type of a frame, its channel and the bytes of its payload."""
PAYLOAD_AT: Final = HEAD.size
END: Final = 0xCE
END_BYTE: Final = b"\xce"
_SHOWN_BYTES: Final = 64
_CONTENT_HEAD: Final = Struct(">HHQ")
CONTENT_HEAD_BYTES: Final = _CONTENT_HEAD.size
"""Bytes of a header's payload before the properties."""
_BASIC: Final = 60
# Erlang's printer breaks the line within this tuple, and indents the rest of it.
_MARGIN: Final = " " * 57


def check_frame_head(kind: int, channel: int, size: int, view: memoryview, frame_max: int) -> None:
    """Check the head of the frame that ``view`` begins with. Raises RefusedError once it is to be refused."""
    payload = bytes(view[PAYLOAD_AT : PAYLOAD_AT + min(size, _SHOWN_BYTES)])
    if kind not in (METHOD, HEADER, BODY, HEARTBEAT) or (kind == HEARTBEAT and size):
        if len(view) >= size + OVERHEAD or size > _SHOWN_BYTES:
            raise _refuse(501, kind, payload, "unknown_frame")
    elif kind == HEARTBEAT and channel:
        raise _refuse(505, kind, payload)
    elif size > frame_max > 0:
        raise _refuse(501, kind, b"", f"{{frame_too_large,{size},{frame_max - OVERHEAD}}}")


def check_end(frame: bytes) -> None:
    """Check the end mark of a frame. Raises RefusedError."""
    if frame[-1] != END:
        why = f"{{invalid_frame_end_marker,\n{_MARGIN}{frame[-1]}}}"
        raise _refuse(501, frame[0], frame[PAYLOAD_AT:-1], why)


def _refuse(code: int, kind: int, payload: bytes, why: str = "") -> RefusedError:
    text = f"type {kind}, all octets = {describe_bytes(payload)}" + (f": {why}" if why else "")
    return RefusedError(code, text, method=0)


def build_frame(kind: int, channel: int, payload: bytes) -> bytes:
    return b"".join((HEAD.pack(kind, channel, len(payload)), payload, END_BYTE))


def build_header(channel: int, properties: bytes, size: int) -> bytes:
    """The header frame of a content whose body has ``size`` bytes."""
    return build_frame(HEADER, channel, _CONTENT_HEAD.pack(_BASIC, 0, size) + properties)


def build_content(channel: int, properties: bytes, body: bytes, frame_max: int) -> list[bytes]:
    """The header and body frames of a content. The header is never split, the body as the receiver wants."""
    frames = [build_header(channel, properties, len(body))]
    most = frame_max - OVERHEAD if frame_max else len(body) or 1
    frames += [build_frame(BODY, channel, body[at : at + most]) for at in range(0, len(body), most)]
    return frames


def read_properties(content: Sequence[bytes]) -> bytes:
    """The encoded properties in the frames of a publish's content.

    Raises RefusedError for another frame where the header or a part of the body should be, and
    ``struct.error`` for a header that is too short.
    """
    head = content[0]
    if head[0] != HEADER:
        _refuse_content("header", f"for class {_BASIC}, got non content header frame instead")
    class_id, weight, _ = _CONTENT_HEAD.unpack_from(head, PAYLOAD_AT)
    if weight:
        _refuse_content("header", f"for class {_BASIC}, got non content header frame instead")
    if class_id != _BASIC:
        _refuse_content("header", f"for class {_BASIC}, got one for class {class_id} instead")
    for piece in content[1:]:
        if piece[0] != BODY:
            _refuse_content("body,", "got non content body frame instead")
    return head[PAYLOAD_AT + CONTENT_HEAD_BYTES : -1]


def _refuse_content(expected: str, found: str) -> NoReturn:
    raise RefusedError(505, f"expected content {expected} {found}")
