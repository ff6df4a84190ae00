"""A client of AMQP that sends what it is told, right or wrong, and returns whatever comes."""

from __future__ import annotations

import socket
from struct import Struct
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from emulator.amqp.wire import frames, methods
from emulator.amqp.wire.commands import Command, CommandReader
from emulator.amqp.wire.field_tables import Field, Table
from emulator.amqp.wire.method_codec import decode_method, encode_method
from emulator.amqp.wire.methods import Method
from emulator.amqp.wire.properties import EMPTY, Properties
from tests.emulator.amqp.calls import table

CAPABLE: Table = {
    "capabilities": Field(
        "F",
        {
            "consumer_cancel_notify": Field("t", True),
            "authentication_failure_close": Field("t", True),
            "connection.blocked": Field("t", True),
        },
    )
}
CONTENT = Struct(">HHQ")
CLOSED = "closed"
NO_ANSWER = (
    methods.BasicPublish,
    methods.BasicAck,
    methods.BasicNack,
    methods.BasicReject,
    methods.BasicRecoverAsync,
)


class Came(NamedTuple):
    """A method with the content that came with it."""

    method: Method
    properties: Properties
    body: bytes

    @property
    def headers(self) -> dict[str, Any]:
        return {name: _plain(field) for name, field in self.properties.headers().items()}


def _plain(field: Field) -> Any:
    if field.tag == "F":
        return {name: _plain(each) for name, each in field.value.items()}
    if field.tag == "A":
        return [_plain(each) for each in field.value]
    return field.value.decode() if field.tag == "S" else field.value


def build_properties(headers: dict[str, Any] | None = None, mode: int = 0, **texts: str) -> bytes:
    properties = Properties()
    if headers is not None:
        properties.set_headers(table(headers))
    for name, value in texts.items():
        properties.set_text(name, value)
    if mode:
        properties._values[12] = bytes((mode,))
    return properties.encode()


class RawClient:
    """A connection. ``url`` has the login."""

    def __init__(self, url: str, *, properties: Table = CAPABLE, frame_max: int = 131_072) -> None:
        self._login = urlsplit(url)
        self._properties = properties
        self._frame_max = frame_max
        self._reader = CommandReader()
        self._unread = b""
        self._commands: list[Command] = []
        self.socket = socket.create_connection(
            (self._login.hostname or "", self._login.port or 5672), timeout=20
        )
        # As clients do: small frames are not held back until what went before is acknowledged.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def login(self) -> bytes:
        user, password = unquote(self._login.username or ""), unquote(self._login.password or "")
        return f"\0{user}\0{password}".encode()

    def open(self, channels: int = 1, *, heartbeat: int = 0, channel_max: int = 2047) -> None:
        self.greet()
        self.say(methods.ConnectionStartOk(self._properties, "PLAIN", self.login, "en_US"), 0)
        self.next()
        self.say(methods.ConnectionTuneOk(channel_max, self._frame_max, heartbeat), 0)
        self.say(methods.ConnectionOpen("/", "", False), 0)
        assert self.next() == methods.ConnectionOpenOk("")
        for number in range(1, channels + 1):
            assert self.ask(methods.ChannelOpen(""), number) == methods.ChannelOpenOk(b"")

    def greet(self) -> Any:
        self.send(b"AMQP\0\0\x09\x01")
        return self.next()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_frame(self, kind: int, payload: bytes, channel: int = 1) -> None:
        self.send(frames.build_frame(kind, channel, payload))

    def say(self, method: Method, channel: int = 1) -> None:
        self.send_frame(frames.METHOD, encode_method(method), channel)

    def ask(self, method: Method, channel: int = 1) -> Any:
        """What comes next on the wire after a method; nothing is waited for where none comes."""
        self.say(method, channel)
        return None if isinstance(method, NO_ANSWER) or getattr(method, "nowait", False) else self.next()

    def publish(
        self, method: Method, body: bytes = b"m", properties: bytes = EMPTY, channel: int = 1
    ) -> None:
        self.say(method, channel)
        head = CONTENT.pack(60, 0, len(body)) + properties
        self.send_frame(frames.HEADER, head, channel)
        for at in range(0, len(body), self._frame_max - 8):
            self.send_frame(frames.BODY, body[at : at + self._frame_max - 8], channel)

    def next(self) -> Any:
        """The next method, with its content if it has one; ``closed`` at the end of the connection."""
        command = self._next_command()
        if command is None:
            return CLOSED
        return self.next() if command.frames[0][0] == frames.HEARTBEAT else read_command(command)

    def await_confirms(self, last: int) -> list[Any]:
        """What comes until the publish of this number is confirmed, besides confirms."""
        waiting, came = set(range(1, last + 1)), []
        while waiting:
            found = self.next()
            if isinstance(found, methods.BasicAck):
                tag, multiple = found
                waiting -= {each for each in waiting if each == tag or (multiple and each < tag)}
            else:
                came.append(found)
        return came

    def settle(self, channel: int = 1) -> list[Any]:
        """All that comes until the server has handled everything sent on the channel so far."""
        self.say(methods.BasicQos(0, 0, False), channel)
        came = []
        while (found := self.next()) != methods.BasicQosOk():
            came.append(found)
            if found == CLOSED or isinstance(found, methods.ChannelClose | methods.ConnectionClose):
                break
        return came

    def close(self) -> None:
        self.socket.close()

    def _next_command(self) -> Command | None:
        while not self._commands:
            try:
                piece = self.socket.recv(1 << 20)
            except ConnectionResetError:
                piece = b""
            if not piece:
                return None
            self._commands, self._unread = read_all(self._reader, self._unread + piece)
        return self._commands.pop(0)


def read_all(reader: CommandReader, data: bytes) -> tuple[list[Command], bytes]:
    """The commands that are complete with ``data``, and the bytes behind them."""
    found: list[Command] = []
    while True:
        more, taken = reader.feed(memoryview(data), len(data))
        found += [each for command in more for each in command.split()]
        data = data[taken:]
        if not taken:
            return found, data


def read_command(command: Command) -> Any:
    """The method of a command, with its content if it has one."""
    method = decode_method(command.frames[0][frames.PAYLOAD_AT : -1])
    if not isinstance(method, methods.BasicDeliver | methods.BasicGetOk | methods.BasicReturn):
        return method
    return Came(method, Properties(frames.read_properties(command.frames[1:])), command.body)
