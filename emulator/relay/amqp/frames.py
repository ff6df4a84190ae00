"""AMQP 0-9-1 frames, and commands assembled from them: a method with its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from struct import Struct, error
from typing import Any, Final, TypeVar

from emulator.amqp.message_headers import KEY_HEADER, write_text
from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire import method_codec, methods
from emulator.amqp.wire.field_tables import BadTableError, plain_table
from emulator.amqp.wire.frames import METHOD, build_frame
from emulator.amqp.wire.methods import IDS
from emulator.amqp.wire.properties import Properties
from emulator.http.bounds.body_memory import ARRIVING, NO_ROOM
from emulator.http.bounds.client_limits import SLICE_BYTES
from schemas.contract import Contract

GREETING: Final = b"AMQP\x00\x00\x09\x01"
HEARTBEAT: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"
OVERHEAD: Final = 8
"""Bytes of a frame besides its payload: type, channel and size before it, the end mark behind it."""
_HEAD: Final = Struct(">BHI")
_METHOD: Final = Struct(">I")
_CONTENT_HEAD: Final = Struct(">BHI4xQ")
_LEAST_HEADER: Final = _CONTENT_HEAD.size + 2 + 1
"""Bytes of a header frame without properties: their flags and the end mark are the last of it."""
_SIZE: Final = Struct(">Q")
_TAG: Final = Struct(">Q")
_END: Final = 0xCE
_TYPES: Final = (1, 2, 3, 8)
_TICKET_BYTES: Final = 2
ARGUMENTS: Final = 11
"""The offset of the arguments in the frame of a method."""
_SIZE_AT: Final = 11
"""The offset of the body size in a header frame."""
_PROPERTIES_AT: Final = _SIZE_AT + _SIZE.size
_PAYLOAD_AT: Final = 7
_Method = TypeVar("_Method", bound=methods.Method)


class Method(IntEnum):
    """The ids of the methods that the relay handles."""

    START_OK = IDS[methods.ConnectionStartOk]
    TUNE_OK = IDS[methods.ConnectionTuneOk]
    CONNECTION_CLOSE = IDS[methods.ConnectionClose]
    CONNECTION_CLOSE_OK = IDS[methods.ConnectionCloseOk]
    CHANNEL_OPEN = IDS[methods.ChannelOpen]
    CHANNEL_CLOSE = IDS[methods.ChannelClose]
    CHANNEL_CLOSE_OK = IDS[methods.ChannelCloseOk]
    QUEUE_DECLARE = IDS[methods.QueueDeclare]
    QUEUE_DECLARE_OK = IDS[methods.QueueDeclareOk]
    QOS = IDS[methods.BasicQos]
    CONSUME = IDS[methods.BasicConsume]
    CONSUME_OK = IDS[methods.BasicConsumeOk]
    CANCEL = IDS[methods.BasicCancel]
    CANCEL_OK = IDS[methods.BasicCancelOk]
    PUBLISH = IDS[methods.BasicPublish]
    RETURN = IDS[methods.BasicReturn]
    DELIVER = IDS[methods.BasicDeliver]
    GET = IDS[methods.BasicGet]
    GET_OK = IDS[methods.BasicGetOk]
    GET_EMPTY = IDS[methods.BasicGetEmpty]
    ACK = IDS[methods.BasicAck]
    REJECT = IDS[methods.BasicReject]
    RECOVER_OK = IDS[methods.BasicRecoverOk]
    NACK = IDS[methods.BasicNack]
    CONFIRM_SELECT = IDS[methods.ConfirmSelect]
    TX_SELECT = IDS[methods.TxSelect]
    TX_COMMIT_OK = IDS[methods.TxCommitOk]
    TX_ROLLBACK_OK = IDS[methods.TxRollbackOk]


_WITH_CONTENT: Final = frozenset({Method.PUBLISH, Method.RETURN, Method.DELIVER, Method.GET_OK})


class NotAmqpError(ValueError):
    """The bytes are not valid frames of AMQP 0-9-1."""


@dataclass(slots=True)
class Command:
    """A method with its content, or any other frame; ``frames`` are complete, as on the wire.

    ``method`` is 0 for a frame that is not a method. ``left`` is the number of body bytes that are missing.
    """

    channel: int
    method: int
    frames: list[bytes]
    left: int = 0

    @property
    def body(self) -> bytes:
        return b"".join([frame[7:-1] for frame in self.frames[2:]])

    @property
    def properties(self) -> bytes:
        """The encoded properties of the content."""
        return self.frames[1][_PROPERTIES_AT:-1]

    def write_text(self, contract: Contract, body: bytes) -> bytes:
        """A body, with the headers of the content, as a contract judges it."""
        return write_text(contract, body, self.properties)

    @property
    def size(self) -> int:
        return sum(map(len, self.frames))


class TooMuchError(Exception):
    """A client exceeds a size limit; ``code`` is the AMQP reply code."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class CommandReader:
    """Assembles commands from a stream of bytes.

    ``most_bytes`` limits a frame, ``most_content`` the incomplete contents of all channels; 0 means no limit.
    """

    def __init__(self, most_bytes: int = 0, most_content: int = 0) -> None:
        self._most_bytes = most_bytes
        self._most_content = most_content
        self._incomplete_bytes = 0
        self._open: dict[int, Command] = {}

    def feed(self, view: memoryview, most: int = SLICE_BYTES) -> tuple[list[Command], int]:
        """Consume whole frames until ``most`` bytes of ``view`` are reached.

        Returns the complete commands and the bytes consumed.

        Raises NotAmqpError for bytes that are not frames, TooMuchError for a limit that is exceeded.
        """
        found: list[Command] = []
        at, end = 0, len(view)
        while end - at >= OVERHEAD and at < most:
            kind, channel, size = _HEAD.unpack_from(view, at)
            after = at + size + OVERHEAD
            if kind not in _TYPES:
                raise NotAmqpError(f"a frame of type {kind}")
            if size > self._most_bytes > 0:
                raise TooMuchError(501, f"a frame has {self._most_bytes} bytes at most")
            if after > end:
                break
            if view[after - 1] != _END:
                raise NotAmqpError("a frame without its end mark")
            method = _METHOD.unpack_from(view, at + 7)[0] if kind == 1 and size >= _METHOD.size else 0
            command = None
            if channel not in self._open:
                if method not in _WITH_CONTENT:
                    command = Command(channel, method, [bytes(view[at:after])])
                elif command := self._find_content(view, at, after):
                    after = at + command.size
            if command or (command := self._complete(kind, channel, method, bytes(view[at:after]))):
                found.append(command)
            at = after
        return found, at

    @property
    def unfinished(self) -> bytes:
        """The frames of commands that are not complete yet."""
        return b"".join(frame for command in self._open.values() for frame in command.frames)

    def clear(self) -> None:
        """Forget incomplete commands."""
        self._open.clear()
        self._count(-self._incomplete_bytes)

    def _count(self, size: int) -> None:
        """Count ``size`` more bytes of incomplete contents. Raises TooMuchError."""
        if not self._most_content:
            return
        if self._incomplete_bytes + size > self._most_content:
            raise TooMuchError(501, f"messages under way have {self._most_content} bytes at most")
        if size > 0 and not ARRIVING.take(size):
            raise TooMuchError(506, NO_ROOM)
        if size < 0:
            ARRIVING.give_back(-size)
        self._incomplete_bytes += size

    def _find_content(self, view: memoryview, at: int, head_at: int) -> Command | None:
        """A method whose content is all there, in one frame of a body; None for one that is not.

        Nothing of it is incomplete, so nothing is counted.
        """
        if len(view) < head_at + _LEAST_HEADER + OVERHEAD:
            return None
        kind, channel, size, size_of_body = _CONTENT_HEAD.unpack_from(view, head_at)
        body_at = head_at + size + OVERHEAD
        after = body_at + size_of_body + OVERHEAD
        is_whole = (
            kind == 2
            and size_of_body
            and size >= _LEAST_HEADER - OVERHEAD
            and after <= len(view)
            and _HEAD.unpack_from(view, body_at) == (3, channel, size_of_body)
            and _HEAD.unpack_from(view, at)[1] == channel
            and view[body_at - 1] == view[after - 1] == _END
            and not max(size, size_of_body) > self._most_bytes > 0
        )
        if not is_whole:
            return None
        method = _METHOD.unpack_from(view, at + 7)[0]
        frames = [bytes(view[at:head_at]), bytes(view[head_at:body_at]), bytes(view[body_at:after])]
        return Command(channel, method, frames)

    def _complete(self, kind: int, channel: int, method: int, frame: bytes) -> Command | None:
        """Take a frame of a content, or its method; return the command when it is complete."""
        command = self._open.get(channel)
        if command is None:
            if method == Method.PUBLISH and not _has_target(frame):
                return Command(channel, 0, [frame])  # the broker refuses it without waiting for a content
            self._count(len(frame))
            self._open[channel] = Command(channel, method, [frame])
            return None
        self._count(len(frame))
        command.frames.append(frame)
        if kind == 2 and len(frame) >= _SIZE_AT + 8 + 1:
            command.left = _SIZE.unpack_from(frame, _SIZE_AT)[0]
        elif kind == 3:
            command.left -= len(frame) - OVERHEAD
        else:
            # This is not a content frame; the broker reports that error itself.
            command.left, command.method = 0, 0
        if command.left > 0:
            return None
        del self._open[channel]
        self._count(-command.size)
        return command


class PublishTarget:
    """The target of a publish. ``channel`` is its name for faults.

    That is the queue on the default exchange, and otherwise the exchange. Raises IndexError and NotAmqpError
    for arguments that end too early.
    """

    __slots__ = ("bits_at", "channel", "exchange", "routing_key")

    def __init__(self, frame: bytes) -> None:
        self.exchange, at = read_short_string(frame, ARGUMENTS + _TICKET_BYTES)
        self.routing_key, self.bits_at = read_short_string(frame, at)
        if self.bits_at > len(frame) - 2:  # the last byte is the end mark
            raise NotAmqpError("the arguments of a publish end too early")
        self.channel = self.exchange or self.routing_key


@lru_cache(maxsize=512)
def read_target(frame: bytes) -> PublishTarget:
    """Read the target of a publish's method; publishers send the same one again and again."""
    return PublishTarget(frame)


def _has_target(frame: bytes) -> bool:
    try:
        read_target(frame)
    except (NotAmqpError, IndexError):
        return False
    return True


def encode_method(method: methods.Method, channel: int) -> bytes:
    """The frame of a method."""
    return build_frame(METHOD, channel, method_codec.encode_method(method))


def decode_method(frame: bytes, wanted: type[_Method]) -> _Method:
    """Decode the method of a frame, which is of the class ``wanted``. Raises NotAmqpError."""
    try:
        method = method_codec.decode_method(frame[_PAYLOAD_AT:-1])
    except (method_codec.UnknownMethodError, method_codec.TruncatedMethodError, RefusedError) as why:
        raise NotAmqpError(str(why)) from why
    if not isinstance(method, wanted):
        raise NotAmqpError(f"{type(method).__name__} where {wanted.__name__} was expected")
    return method


def read_headers(command: Command) -> dict[str, Any]:
    """Read the headers of a command's content; none when they are missing or not readable."""
    try:
        return plain_table(Properties(command.properties).headers())
    except (BadTableError, IndexError, error):
        return {}


def read_partition_key(command: Command) -> str:
    """Read the partition key in the headers of a command's content; empty when there is none."""
    return str(read_headers(command).get(KEY_HEADER, ""))


def replace_body(frames: Sequence[bytes], data: bytes, frame_max: int) -> list[bytes]:
    """Replace the body of a content by ``data``, in frames of at most ``frame_max`` bytes (0: no limit)."""
    method, header = frames[0], frames[1]
    header = header[:_SIZE_AT] + _SIZE.pack(len(data)) + header[_SIZE_AT + 8 :]
    most = (frame_max or len(data) + OVERHEAD) - OVERHEAD
    channel = _HEAD.unpack_from(method)[1]
    pieces = (data[at : at + most] for at in range(0, len(data), most)) if data else ()
    return [method, header, *(_body(channel, piece) for piece in pieces)]


def _body(channel: int, piece: bytes) -> bytes:
    return b"".join((_HEAD.pack(3, channel, len(piece)), piece, b"\xce"))


def read_short_string(frame: bytes, at: int) -> tuple[str, int]:
    """Read the short string at an offset in a frame; return it and the offset behind it."""
    end = at + 1 + frame[at]
    return frame[at + 1 : end].decode("utf-8", "surrogateescape"), end


def read_delivery_tag(frame: bytes, at: int) -> int:
    """Read the delivery tag at an offset in a frame."""
    tag: int = _TAG.unpack_from(frame, at)[0]
    return tag


def replace_tag(frame: bytes, at: int, tag: int, *, redelivered: bool) -> bytes:
    """Replace the tag in a delivery's method; ``redelivered`` sets that flag and never clears it."""
    flag = bytes((frame[at + 8] | redelivered,))
    return b"".join((frame[:at], _TAG.pack(tag), flag, frame[at + 9 :]))
