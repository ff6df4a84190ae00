"""What a client may not do to the AMQP port, and how a connection is closed then."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pamqp import commands
from pamqp.base import Frame
from pamqp.frame import marshal, unmarshal
from pamqp.header import ContentHeader

from emulator.http.bounds.body_memory import ARRIVING
from emulator.http.bounds.client_limits import BODY_BYTES
from tests.emulator.relay.amqp.relay_under_test import Relay

HEARTBEAT = b"\x08\0\0\0\0\0\0\xce"


class Client:
    """A connection of AMQP made by hand, open, with channel 1."""

    def __init__(self, relay: Relay) -> None:
        self._login = urlsplit(relay.url)
        self.socket = socket.create_connection(("127.0.0.1", relay.server.port), timeout=20)
        self._read = b""

    def open(self) -> None:
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self.await_(commands.Connection.Start)
        login = f"\0{self._login.username}\0{self._login.password}"
        self.say(commands.Connection.StartOk({}, "PLAIN", login), 0)
        self.await_(commands.Connection.Tune)
        self.say(commands.Connection.TuneOk(2047, 131_072, 60), 0)
        self.say(commands.Connection.Open("/"), 0)
        self.await_(commands.Connection.OpenOk)
        self.say(commands.Channel.Open(), 1)
        self.await_(commands.Channel.OpenOk)

    def say(self, method: Frame, channel: int = 1) -> None:
        self.socket.sendall(marshal(method, channel))

    def await_(self, kind: type) -> Frame:
        """The next method of a kind; those before it are passed over."""
        while True:
            while len(self._read) > 7 and len(self._read) >= 8 + struct.unpack(">I", self._read[3:7])[0]:
                taken, _, frame = unmarshal(self._read)
                self._read = self._read[taken:]
                if isinstance(frame, kind):
                    return frame
            piece = self.socket.recv(65_536)
            assert piece, f"closed before {kind.__name__}"
            self._read += piece

    def close_seen(self) -> tuple[int, str]:
        """Code and text of the connection.close that comes."""
        seen = self.await_(commands.Connection.Close)
        self.say(commands.Connection.CloseOk(), 0)
        return seen.reply_code, seen.reply_text


@pytest.fixture
def client(relay: Relay) -> Iterator[Client]:
    found = Client(relay)
    with found.socket:
        found.open()
        yield found


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert ARRIVING.left == BODY_BYTES


def test_too_many_heartbeats_close_the_connection(relay: Relay, client: Client) -> None:
    """With 501 and the reason; another connection does not notice."""
    other = relay.channel()
    client.socket.sendall(HEARTBEAT * 5000)
    assert client.close_seen() == (501, "too many heartbeats")
    other.queue_purge(relay.queue)


def test_as_many_heartbeats_as_anybody_sends_are_taken(relay: Relay, client: Client) -> None:
    """And a message behind them comes through."""
    client.socket.sendall(HEARTBEAT * 50)
    client.say(commands.Queue.Declare(queue=relay.queue))
    client.await_(commands.Queue.DeclareOk)


def test_too_long_a_frame_closes_the_connection_before_it_has_come(client: Client) -> None:
    """With 501: what it says it has is not waited for, let alone kept."""
    client.socket.sendall(struct.pack(">BHI", 3, 1, 0xFFFFFFFF) + bytes(1000))
    assert client.close_seen() == (501, "a frame has 1048576 bytes at most")


def test_messages_that_there_is_no_room_for_close_the_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 506: what is begun on many channels and never finished is bounded."""
    with monkeypatch.context() as patched:
        patched.setattr(ARRIVING, "left", 300_000)
        client.say(commands.Basic.Publish(exchange="", routing_key="nobody"))
        client.socket.sendall(marshal(ContentHeader(0, 100_000_000, commands.Basic.Properties()), 1))
        for _ in range(4):
            client.socket.sendall(struct.pack(">BHI", 3, 1, 100_000) + bytes(100_000) + b"\xce")
        code, why = client.close_seen()
        assert code == 506
        assert "try again later" in why
        assert ARRIVING.left == 300_000


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 5_000_000])
def test_messages_of_any_size_pass_in_any_pieces(relay: Relay, size: int) -> None:
    """Work in slices loses and reorders nothing."""
    channel = relay.channel(confirm=True)
    body = bytes(i % 251 for i in range(size))
    for _ in range(3):
        channel.basic_publish("", relay.queue, body)
    assert relay.at_broker() == [body] * 3
