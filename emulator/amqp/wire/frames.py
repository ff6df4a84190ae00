"""Frames of AMQP 0-9-1 (section 4.2.3), with RabbitMQ's words for those that are none."""

from __future__ import annotations

from collections.abc import Generator
from struct import Struct
from typing import Final, NamedTuple

from emulator.amqp.refusals import RefusedError, describe_bytes

METHOD: Final = 1
HEADER: Final = 2
BODY: Final = 3
HEARTBEAT: Final = 8
OVERHEAD: Final = 8
"""Bytes of a frame besides its payload."""
BEAT: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"
_OF_CHANNELS: Final = (METHOD, HEADER, BODY)
_HEAD: Final = Struct(">BHI")
_END: Final = 0xCE
_END_BYTE: Final = b"\xce"
_SHOWN_BYTES: Final = 64
_CONTENT_HEAD: Final = Struct(">HHQ")
_HEADER_FRAME: Final = Struct(">BHIHHQ")
_LEAST_CONTENT: Final = _HEADER_FRAME.size + 1 + OVERHEAD
_BASIC: Final = 60
_PUBLISH: Final = b"\x00\x3c\x00\x28"
_MARGIN: Final = " " * 57


class AmqpFrame(NamedTuple):
    """A frame as it came, without its end mark.

    A publish may have its ``content`` with it, the payloads of the header and of the body, when it came in
    one piece and the body in one frame.
    """

    type: int
    channel: int
    payload: bytes
    content: tuple[bytes, bytes] | None = None


class FrameReader:
    """Takes frames off a stream of bytes. ``frame_max`` limits a frame, as negotiated; 0 means no limit."""

    def __init__(self, frame_max: int) -> None:
        self.frame_max = frame_max
        self._unread = bytearray()

    def keep(self, data: bytes) -> None:
        """Keep bytes for the next ``feed``."""
        self._unread += data

    def clear(self) -> None:
        """Forget what was not taken."""
        self._unread.clear()

    def feed(self, data: bytes) -> Generator[AmqpFrame, None, None]:
        """Yield the frames that are complete with ``data``. Raises RefusedError for bytes that are none.

        What is not taken until it is closed is kept.
        """
        unread = self._unread
        if unread:
            unread += data
        # Whole frames, which most input is, are cut out of it where it is.
        source = unread or data
        at = 0
        try:
            while len(source) - at >= OVERHEAD:
                kind, channel, size = _HEAD.unpack_from(source, at)
                if kind not in _OF_CHANNELS or size > self.frame_max:
                    self._check(kind, channel, size, source, at)
                after = at + size + OVERHEAD
                if len(source) < after:
                    return
                payload = bytes(source[at + 7 : after - 1])
                if source[after - 1] != _END:
                    end = source[after - 1]
                    raise _refuse(501, kind, payload, f"{{invalid_frame_end_marker,\n{_MARGIN}{end}}}")
                at = after
                content = None
                if payload[:4] == _PUBLISH and kind == METHOD:
                    content = self._find_content(channel, source, at)
                    if content is not None:
                        at += len(content[0]) + len(content[1]) + 2 * OVERHEAD
                yield AmqpFrame(kind, channel, payload, content)
        finally:
            if source is unread:
                del unread[:at]
            else:
                unread += source[at:]

    def _find_content(
        self, channel: int, source: bytes | bytearray, head_at: int
    ) -> tuple[bytes, bytes] | None:
        """The payloads of a header and of its only body, if both are there and as they must be."""
        if len(source) < head_at + _LEAST_CONTENT:
            return None
        kind, same, length, *head, size = _HEADER_FRAME.unpack_from(source, head_at)
        body_at = head_at + length + OVERHEAD
        after = body_at + size + OVERHEAD
        is_whole = (
            (kind, same, head) == (HEADER, channel, [_BASIC, 0])
            and length >= _CONTENT_HEAD.size
            and size
            and after <= len(source)
            and _HEAD.unpack_from(source, body_at) == (BODY, channel, size)
            and source[body_at - 1] == source[after - 1] == _END
            and not max(length, size) > self.frame_max > 0
        )
        if not is_whole:
            return None
        return bytes(source[head_at + 7 : body_at - 1]), bytes(source[body_at + 7 : after - 1])

    def _check(self, kind: int, channel: int, size: int, unread: bytes | bytearray, at: int) -> None:
        payload = bytes(unread[at + 7 : at + 7 + min(size, _SHOWN_BYTES)])
        if kind not in (METHOD, HEADER, BODY, HEARTBEAT) or (kind == HEARTBEAT and size):
            if len(unread) - at >= size + OVERHEAD or size > _SHOWN_BYTES:
                raise _refuse(501, kind, payload, "unknown_frame")
        elif kind == HEARTBEAT and channel:
            raise _refuse(505, kind, payload)
        elif size > self.frame_max > 0:
            limit = self.frame_max - OVERHEAD
            raise _refuse(501, kind, b"", f"{{frame_too_large,{size},{limit}}}")


def _refuse(code: int, kind: int, payload: bytes, why: str = "") -> RefusedError:
    text = f"type {kind}, all octets = {describe_bytes(payload)}" + (f": {why}" if why else "")
    return RefusedError(code, text, method=0)


def build_frame(kind: int, channel: int, payload: bytes) -> bytes:
    return b"".join((_HEAD.pack(kind, channel, len(payload)), payload, _END_BYTE))


def build_content(channel: int, properties: bytes, body: bytes, frame_max: int) -> list[bytes]:
    """The header and body frames of a content. The header is never split, the body as the receiver wants."""
    head = _CONTENT_HEAD.pack(60, 0, len(body)) + properties
    frames = [build_frame(HEADER, channel, head)]
    most = frame_max - OVERHEAD if frame_max else len(body) or 1
    frames += [build_frame(BODY, channel, body[at : at + most]) for at in range(0, len(body), most)]
    return frames


def read_content_head(payload: bytes) -> tuple[int, int, int]:
    """The class id, the weight and the size of the body. Raises ``struct.error``."""
    class_id, weight, size = _CONTENT_HEAD.unpack_from(payload)
    return class_id, weight, size


CONTENT_HEAD_BYTES: Final = _CONTENT_HEAD.size
