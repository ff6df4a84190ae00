"""Commands, which are methods with their contents, and the reader that takes them off a stream of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, TypeVar

from emulator.amqp.message_headers import write_text
from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire import methods
from emulator.amqp.wire.frames import (
    BODY,
    CONTENT_HEAD_BYTES,
    END,
    HEAD,
    HEADER,
    METHOD,
    OVERHEAD,
    PAYLOAD_AT,
    build_content,
    build_frame,
    check_end,
    check_frame_head,
)
from emulator.amqp.wire.method_codec import TruncatedMethodError, decode_method, encode_method
from emulator.amqp.wire.methods import CLASSES, IDS, BasicAck, BasicPublish
from schemas.contract import Contract

GREETING: Final = b"AMQP\x00\x00\x09\x01"
GREETINGS: Final = (GREETING, b"AMQP\x01\x01\x00\x09")
"""The protocol headers that begin AMQP 0-9-1; RabbitMQ takes the older form too."""
_NO_LIMIT: Final = 1 << 32
_OF_CHANNELS: Final = (METHOD, HEADER, BODY)
_METHOD_ID: Final = Struct(">I")
_CONTENT_HEAD: Final = Struct(">BHI4xQ")
_LEAST_HEADER: Final = _CONTENT_HEAD.size + 2 + 1
"""Bytes of a header frame without properties: their flags and the end mark are the last of it."""
_SIZE: Final = Struct(">Q")
_SIZE_AT: Final = 11
"""The offset of the body size in a header frame."""
_PUBLISH: Final = IDS[BasicPublish]
_ACK: Final = IDS[BasicAck]
_ACK_FRAME: Final = Struct(">11sQBB")
"""What the frames of one channel's acks begin with; the tag, the octet of its bit, and the end mark."""
_BASIC_HEAD: Final = Struct(">BHIHHQ")
"""A header frame as far as the properties: class, weight and size of the body are the last of it."""
_BASIC: Final = _PUBLISH >> 16
_MOST_TOGETHER: Final = 128
"""Messages or acks of a run, which are handled at once: others wait for a millisecond at most."""
_MOST_RUN_BYTES: Final = 1 << 16
_Method = TypeVar("_Method", bound=methods.Method)
_WITH_CONTENT: Final = frozenset(
    IDS[each] for each in (BasicPublish, methods.BasicReturn, methods.BasicDeliver, methods.BasicGetOk)
)


@dataclass(slots=True)
class Command:
    """A method with its content, or any other frame; ``frames`` are complete, as on the wire.

    ``kind`` is the class of the method, and None for a frame that is none. ``left`` is the number of body
    bytes that are missing. Bytes that are no frames have been ``refused``.
    """

    channel: int
    kind: type[methods.Method] | None
    frames: list[bytes]
    left: int = 0
    _decoded: methods.Method | None = field(default=None, compare=False, repr=False)
    refused: RefusedError | None = None
    _body: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def method(self) -> int:
        """The id of the method; 0 for what is none."""
        return IDS[self.kind] if self.kind is not None else 0

    def decode(self) -> methods.Method:
        """The method itself, decoded once. Raises what ``decode_method`` does."""
        if self._decoded is None:
            self._decoded = decode_method(self.frames[0][PAYLOAD_AT:-1])
        return self._decoded

    def decode_as(self, kind: type[_Method]) -> _Method:
        """The method, decoded as the class ``kind``, which its ``kind`` is."""
        method = self.decode()
        assert isinstance(method, kind)
        return method

    def with_method(self, method: methods.Method) -> Command:
        """The command with the same content and another method."""
        made = build_command(self.channel, method)
        made.frames += self.frames[1:]
        return made

    @property
    def times(self) -> int:
        """How many commands it stands for."""
        return 1

    def split(self) -> Sequence[Command]:
        """The commands that it stands for: itself."""
        return (self,)

    @property
    def contents(self) -> Sequence[tuple[bytes, bytes]]:
        """The encoded properties and the body of each content."""
        return ((self.properties, self.body),)

    @property
    def body(self) -> bytes:
        if self._body is None:
            # Each byte is copied once, however many frames there are.
            pieces = [memoryview(frame)[PAYLOAD_AT:-1] for frame in self.frames[2:]]
            self._body = pieces[0].tobytes() if len(pieces) == 1 else b"".join(pieces)
        return self._body

    @property
    def properties(self) -> bytes:
        """The encoded properties of the content."""
        return self.frames[1][PAYLOAD_AT + CONTENT_HEAD_BYTES : -1]

    def write_text(self, contract: Contract, body: bytes) -> bytes:
        """A body, with the headers of the content, as a contract judges it."""
        return write_text(contract, body, self.properties)

    @property
    def size(self) -> int:
        return sum(map(len, self.frames))


@dataclass(slots=True)
class PublishRun(Command):
    """Publishes of a channel to one exchange with one key that came in a row. All are one of its frames."""

    messages: Sequence[tuple[bytes, bytes]] = ()

    @property
    def times(self) -> int:
        return len(self.messages)

    @property
    def contents(self) -> Sequence[tuple[bytes, bytes]]:
        return self.messages

    def split(self) -> Sequence[Command]:
        raw = self.frames[0]
        method = raw[: HEAD.unpack_from(raw)[2] + OVERHEAD]
        return [
            Command(
                self.channel, self.kind, [method, *build_content(self.channel, *each, 0)], 0, self._decoded
            )
            for each in self.messages
        ]


@dataclass(slots=True)
class AckRun(Command):
    """Acks of single deliveries that came in a row. All are one of its frames."""

    tags: Sequence[int] = ()

    @property
    def times(self) -> int:
        return len(self.tags)

    def split(self) -> Sequence[Command]:
        raw, size = self.frames[0], _ACK_FRAME.size
        return [Command(self.channel, self.kind, [raw[at : at + size]]) for at in range(0, len(raw), size)]


def build_command(channel: int, method: methods.Method) -> Command:
    """The command of a method without a content."""
    return Command(channel, type(method), [build_frame(METHOD, channel, encode_method(method))], 0, method)


class TooMuchError(Exception):
    """A client exceeds a size limit; ``code`` is the AMQP reply code."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def _count_nothing(_size: int) -> None: ...


class CommandReader:
    """Assembles commands from a stream of bytes.

    ``frame_max`` limits a frame as negotiated, ``most_bytes`` whatever was negotiated; 0 means no limit.
    ``count`` is told how many bytes more, or less, the incomplete contents have; it may raise TooMuchError.
    """

    def __init__(
        self, frame_max: int = 0, most_bytes: int = 0, count: Callable[[int], None] = _count_nothing
    ) -> None:
        self._most_bytes = most_bytes
        self.limit_frames(frame_max)
        self._count = count
        self._open: dict[int, Command] = {}
        self.awaited = 0
        """The bytes of the frame that what is left begins with, when it has not all come."""

    def feed(self, view: memoryview, most: int) -> tuple[list[Command], int]:
        """Consume whole frames until ``most`` bytes of ``view`` are reached.

        Returns the complete commands, of which a run is taken whole, and the bytes consumed. From where no
        frame begins, those are all, and one command that is refused with RabbitMQ's words. Raises
        TooMuchError for a limit that is exceeded.
        """
        found: list[Command] = []
        at, end = 0, len(view)
        most_of_frame = self._most_of_frame
        self.awaited = 0
        while end - at >= OVERHEAD and at < most:
            kind, channel, size = HEAD.unpack_from(view, at)
            after = at + size + OVERHEAD
            # One look at what nearly every frame is. The check has words for the rest, and costs more.
            is_usual = (
                kind in _OF_CHANNELS and size <= most_of_frame and (after > end or view[after - 1] == END)
            )
            if not is_usual:
                if found:
                    break  # what comes before an error is handled before it
                try:
                    self._check(view[at:], kind, channel, size)
                except RefusedError as why:
                    begun = [frame for command in self._open.values() for frame in command.frames]
                    unread = b"".join((*begun, view[at:]))
                    self.clear()
                    return [Command(0, None, [unread], refused=why)], end
            if after > end:
                self.awaited = after - at
                break
            method = _METHOD_ID.unpack_from(view, at + PAYLOAD_AT)[0] if kind == METHOD and size >= 4 else 0
            command = None
            if channel not in self._open and (command := self._find_whole(view, at, after, channel, method)):
                after = at + command.size
            if command or (command := self._complete(kind, channel, method, bytes(view[at:after]))):
                found.append(command)
            at = after
        if at < end < at + OVERHEAD:
            self.awaited = OVERHEAD
        return found, at

    def clear(self) -> None:
        """Forget incomplete commands."""
        self._count(-sum(command.size for command in self._open.values()))
        self._open.clear()

    def limit_frames(self, frame_max: int) -> None:
        """Refuse frames of more than ``frame_max`` bytes from now on; 0 means no limit."""
        self._frame_max = frame_max
        self._most_of_frame = min(frame_max or _NO_LIMIT, self._most_bytes or _NO_LIMIT)

    def _check(self, view: memoryview, kind: int, channel: int, size: int) -> None:
        """Check the frame that begins ``view``, whose head has come. Raises TooMuchError and RefusedError."""
        if size > self._most_bytes > 0:
            raise TooMuchError(501, f"a frame has {self._most_bytes} bytes at most")
        check_frame_head(kind, channel, size, view, self._frame_max)
        if len(view) >= size + OVERHEAD:
            check_end(bytes(view[: size + OVERHEAD]))

    def _find_whole(self, view: memoryview, at: int, after: int, channel: int, method: int) -> Command | None:
        """A command, or a run, that is all there; None for one of whose content more is to come.

        Nothing of it is incomplete, so nothing is counted.
        """
        if method not in _WITH_CONTENT:
            acks = self._find_acks(view, at, after, channel) if method == _ACK else None
            return acks or Command(channel, CLASSES.get(method), [bytes(view[at:after])])
        found = self._find_content(view, at, after, channel, method)
        return self._find_run(view, at, found) if found is not None and method == _PUBLISH else found

    def _find_content(
        self, view: memoryview, at: int, head_at: int, channel: int, method: int
    ) -> Command | None:
        """A method whose content is all there, in one frame of a body; None for one that is not."""
        if len(view) < head_at + _LEAST_HEADER + OVERHEAD:
            return None
        kind, channel_of_head, size, size_of_body = _CONTENT_HEAD.unpack_from(view, head_at)
        body_at = head_at + size + OVERHEAD
        after = body_at + size_of_body + OVERHEAD
        is_whole = (
            kind == HEADER
            and size_of_body
            and size >= _LEAST_HEADER - OVERHEAD
            and after <= len(view)
            and HEAD.unpack_from(view, body_at) == (BODY, channel, size_of_body)
            and channel_of_head == channel
            and view[body_at - 1] == view[after - 1] == END
            and size <= self._most_of_frame >= size_of_body
        )
        if not is_whole:
            return None
        frames = [bytes(view[at:head_at]), bytes(view[head_at:body_at]), bytes(view[body_at:after])]
        command = Command(channel, CLASSES[method], frames)
        return command if method != _PUBLISH or _is_publish(command) else None

    def _find_run(self, view: memoryview, at: int, first: Command) -> Command:
        """The publishes that begin with the ``first`` and go where it goes; itself when it is alone."""
        method = first.frames[0]
        behind = at + first.size
        if view[behind : behind + len(method)] != method:
            return first
        raw = bytes(view[at : at + _MOST_RUN_BYTES])
        channel, begun, position = first.channel, b"", 0
        properties, size = b"", 0
        found: list[tuple[bytes, bytes]] = []
        while raw.startswith(method, position) and len(found) < _MOST_TOGETHER:
            head_at = position + len(method)
            # Nearly all of those in a row have the same properties and size as the one before.
            if not begun or not raw.startswith(begun, head_at):
                if len(raw) < head_at + _LEAST_HEADER + OVERHEAD:
                    break
                kind, number, length, class_id, weight, size = _BASIC_HEAD.unpack_from(raw, head_at)
                body_at = head_at + length + OVERHEAD + HEAD.size
                is_usual = (
                    (kind, number, class_id, weight) == (HEADER, channel, _BASIC, 0)
                    and size
                    and length >= _LEAST_HEADER - OVERHEAD
                    and body_at < len(raw)
                    and raw[body_at - HEAD.size - 1] == END
                    and HEAD.unpack_from(raw, body_at - HEAD.size) == (BODY, channel, size)
                    and length <= self._most_of_frame >= size
                )
                if not is_usual:
                    break
                begun = raw[head_at:body_at]
                properties = begun[PAYLOAD_AT + CONTENT_HEAD_BYTES : -HEAD.size - 1]
            end = head_at + len(begun) + size
            if end >= len(raw) or raw[end] != END:
                break
            found.append((properties, raw[end - size : end]))
            position = end + 1
        if len(found) < 2:
            return first
        return PublishRun(channel, BasicPublish, [raw[:position]], 0, first.decode(), messages=found)

    def _find_acks(self, view: memoryview, at: int, after: int, channel: int) -> Command | None:
        """The acks of single deliveries that begin there; None for fewer than two."""
        size = _ACK_FRAME.size
        head = view[at : at + PAYLOAD_AT + _METHOD_ID.size]
        if after - at != size or view[after : after + len(head)] != head:
            return None
        prefix, tags = bytes(head), []
        room = min(len(view) - at, _MOST_TOGETHER * size) // size * size
        for begun, tag, bits, end in _ACK_FRAME.iter_unpack(view[at : at + room]):
            if begun != prefix or bits or end != END:
                break
            tags.append(tag)
        if len(tags) < 2:
            return None
        return AckRun(channel, BasicAck, [bytes(view[at : at + size * len(tags)])], tags=tags)

    def _complete(self, kind: int, channel: int, method: int, frame: bytes) -> Command | None:
        """Take a frame of a content, or its method; return the command when it is complete."""
        command = self._open.get(channel)
        if command is None:
            command = Command(channel, CLASSES[method], [frame])
            if method == _PUBLISH and not _is_publish(command):
                command.kind = None  # the broker refuses it without waiting for a content
                return command
            self._count(len(frame))
            self._open[channel] = command
            return None
        self._count(len(frame))
        command.frames.append(frame)
        if kind == HEADER and len(frame) >= _SIZE_AT + _SIZE.size + 1:
            command.left = _SIZE.unpack_from(frame, _SIZE_AT)[0]
        elif kind == BODY:
            command.left -= len(frame) - OVERHEAD
        else:
            # This is not a content frame; the broker reports that error itself.
            command.left, command.kind = 0, None
        if command.left > 0:
            return None
        del self._open[channel]
        self._count(-command.size)
        return command


def _is_publish(command: Command) -> bool:
    try:
        command.decode()
    except TruncatedMethodError:
        return False
    return True
