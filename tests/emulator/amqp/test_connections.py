"""Handshakes, frames that are wrong, and the end of connections."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from emulator.amqp.wire import frames
from emulator.amqp.wire import methods as m
from emulator.amqp.wire.method_codec import encode_method
from tests.emulator.amqp.calls import bind, declared, exchange, hung_up, publish, queue
from tests.emulator.amqp.differences import FOURTH, answer_of
from tests.emulator.amqp.raw_client import CAPABLE, CLOSED, RawClient

_FRAME = "FRAME_ERROR - type"


def test_the_server_says_what_it_is(url: str, version: tuple[int, ...]) -> None:
    """Clients look at its product, its version and what it is capable of."""
    client = RawClient(url)
    start = client.greet()
    assert (start.version_major, start.version_minor, start.locales) == (0, 9, b"en_US")
    assert start.server_properties["product"].value == b"RabbitMQ"
    capabilities = start.server_properties["capabilities"].value
    assert {name for name, field in capabilities.items() if field.value} == {
        *("publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify"),
        *("connection.blocked", "consumer_priorities", "authentication_failure_close", "per_consumer_qos"),
        "direct_reply_to",
    }
    assert {b"PLAIN", b"AMQPLAIN"} <= set(start.mechanisms.split())
    client.close()


def test_tuning(url: str) -> None:
    """2047 channels, frames of 128 KiB, a heartbeat every minute."""
    client = RawClient(url)
    client.greet()
    client.say(m.ConnectionStartOk(CAPABLE, "PLAIN", client.login, "en_US"), 0)
    assert client.next() == m.ConnectionTune(2047, 131_072, 60)
    client.close()


def test_a_wrong_password_is_refused_at_once(url: str) -> None:
    """A client that understands it is told."""
    client = RawClient(url)
    client.greet()
    client.say(m.ConnectionStartOk(CAPABLE, "PLAIN", b"\0guest\0wrong", "en_US"), 0)
    why = (
        "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. "
        "For details see the broker logfile."
    )
    assert client.next() == hung_up(403, why)
    client.close()


def test_a_virtual_host_that_is_not_there(url: str) -> None:
    """There is one, and its name is a slash."""
    client = RawClient(url)
    client.greet()
    client.say(m.ConnectionStartOk(CAPABLE, "PLAIN", client.login, "en_US"), 0)
    client.next()
    client.say(m.ConnectionTuneOk(100, 131_072, 0), 0)
    client.say(m.ConnectionOpen("nope", "", False), 0)
    assert client.next() == hung_up(530, "NOT_ALLOWED - vhost nope not found", (10, 40))
    client.close()


def test_too_many_channels(connect: Callable[..., RawClient]) -> None:
    """Their number counts, not the highest."""
    client = connect(channels=3, channel_max=3)
    why = "NOT_ALLOWED - number of channels opened (3) has reached the negotiated channel_max (3)"
    assert client.ask(m.ChannelOpen(""), 4) == hung_up(530, why)


WRONG: dict[str, tuple[bytes, Any]] = {
    "an unknown type of frame": (
        frames.build_frame(5, 1, b"xx"),
        hung_up(501, f'{_FRAME} 5, all octets = <<"xx">>: unknown_frame'),
    ),
    "a method that is no method": (
        frames.build_frame(1, 1, b"\0\x3c"),
        hung_up(501, f"{_FRAME} 1, all octets = <<0,60>>: unknown_frame"),
    ),
    "a heartbeat with a content": (
        frames.build_frame(8, 0, b"x"),
        hung_up(501, f'{_FRAME} 8, all octets = <<"x">>: unknown_frame'),
    ),
    "a heartbeat on a channel": (
        frames.build_frame(8, 1, b""),
        hung_up(505, "UNEXPECTED_FRAME - type 8, all octets = <<>>"),
    ),
    "no mark at the end": (
        frames.build_frame(1, 1, b"xxxx")[:-1] + b"\0",
        hung_up(501, f'{_FRAME} 1, all octets = <<"xxxx">>: {{invalid_frame_end_marker,\n{" " * 57}0}}'),
    ),
    "a frame too large": (
        frames.build_frame(3, 1, b"x" * 140_000),
        hung_up(501, f"{_FRAME} 3, all octets = <<>>: {{frame_too_large,140000,131064}}"),
    ),
    "arguments that end too early": (
        frames.build_frame(1, 1, b"\0\x32\0\x0a\0"),
        hung_up(501, "FRAME_ERROR - cannot decode <<0>>", (50, 10)),
    ),
    "a publish without arguments": (
        frames.build_frame(1, 1, b"\0\x3c\0\x28"),
        hung_up(501, "FRAME_ERROR - cannot decode <<>>", (60, 40)),
    ),
    "a publish that ends within a name": (
        frames.build_frame(1, 1, b"\0\x3c\0\x28\0\0\0\5ab"),
        hung_up(501, "FRAME_ERROR - cannot decode <<0,0,0,5,97,98>>", (60, 40)),
    ),
    "an acknowledgement that ends too early": (
        frames.build_frame(1, 1, b"\0\x3c\0\x50\0"),
        hung_up(501, "FRAME_ERROR - cannot decode <<0>>", (60, 80)),
    ),
    "a body without a method": (
        frames.build_frame(3, 1, b"x"),
        hung_up(505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead"),
    ),
    "a body without a header": (
        frames.build_frame(1, 1, encode_method(publish())) + frames.build_frame(3, 1, b"x"),
        hung_up(
            505,
            "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead",
            (60, 40),
        ),
    ),
    "a header of another class": (
        frames.build_frame(1, 1, encode_method(publish())) + frames.build_frame(2, 1, b"\0\x32" + b"\0" * 12),
        hung_up(
            505,
            "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead",
            (60, 40),
        ),
    ),
    "a method instead of a body": (
        frames.build_frame(1, 1, encode_method(publish()))
        + frames.build_frame(2, 1, b"\0\x3c\0\0" + b"\0" * 7 + b"\x05\0\0")
        + frames.build_frame(1, 1, encode_method(queue())),
        hung_up(
            505,
            "UNEXPECTED_FRAME - expected content body, got non content body frame instead",
            (60, 40),
        ),
    ),
    "a channel on channel 0": (
        frames.build_frame(1, 0, encode_method(m.ChannelOpen(""))),
        hung_up(504, "CHANNEL_ERROR - unexpected method in connection state running", (20, 10)),
    ),
    "a connection that is open": (
        frames.build_frame(1, 0, encode_method(m.ConnectionOpen("/", "", False))),
        hung_up(504, "CHANNEL_ERROR - unexpected method in connection state running", (10, 40)),
    ),
    "a method of the connection on a channel": (
        frames.build_frame(1, 1, encode_method(m.ConnectionOpen("/", "", False))),
        hung_up(503, "COMMAND_INVALID - unimplemented method", (10, 40)),
    ),
    "a method that nobody knows": (frames.build_frame(1, 1, b"\0\x3c\0\xff"), CLOSED),
    "a class that nobody knows": (frames.build_frame(1, 0, b"\x03\xe7\0\x01"), CLOSED),
}


_NO_TABLES = {
    "a type that nobody knows": b"\x01aU\0",
    "a text beyond the table's end": b"\x01aS\0\0\0\x09x",
    "a double that is no number": b"\x01ad\x7f\xf8\0\0\0\0\0\0",
    "an infinite double": b"\x01ad\xff\xf0\0\0\0\0\0\0",
    "an infinite float in an array": b"\x01aA\0\0\0\x05f\x7f\x80\0\0",
    "a float that is no number in a table": b"\x01aF\0\0\0\x07\x01bf\x7f\xc0\0\0",
}
for _name, _table in _NO_TABLES.items():
    _entries = len(_table).to_bytes(4, "big") + _table
    WRONG[f"{_name}, among arguments"] = (
        frames.build_frame(1, 1, encode_method(queue("q1"))[:-4] + _entries),
        CLOSED,
    )
    WRONG[f"{_name}, among headers"] = (
        frames.build_frame(1, 1, encode_method(publish()))
        + frames.build_frame(2, 1, b"\0\x3c\0\0" + b"\0" * 8 + b"\x20\0" + _entries)
        # An empty body has no frame: what is wrong is found all the same.
        + frames.build_frame(1, 1, encode_method(queue("q1", passive=True))),
        hung_up(541, "INTERNAL_ERROR"),
    )


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_closes_this_connection_alone(
    connect: Callable[..., RawClient], case: str, version: tuple[int, ...]
) -> None:
    """In RabbitMQ's words; another connection goes on."""
    sent, expected = WRONG[case]
    wrong, other = connect(), connect()
    wrong.send(sent)
    assert wrong.next() == answer_of(version, case, expected)
    assert other.ask(queue()) == m.QueueDeclareOk("q1", 0, 0)


PROTOCOLS = {b"AMQP\0\0\x09\0": b"AMQP\0\0\x09\x01", b"HTTP/1.1": b"AMQP\x03\x01\0\0"}


@pytest.mark.parametrize("header", PROTOCOLS)
def test_another_protocol_is_told_which_is_spoken(url: str, version: tuple[int, ...], header: bytes) -> None:
    """RabbitMQ 4 names AMQP 1.0 to those who asked for neither."""
    client = RawClient(url)
    client.send(header)
    answer = b""
    with suppress(ConnectionResetError):
        while piece := client.socket.recv(100):
            answer += piece
    assert answer == (PROTOCOLS[header] if version >= FOURTH else b"AMQP\0\0\x09\x01")
    client.close()


def test_heartbeats_are_sent_when_nothing_else_is(connect: Callable[..., RawClient]) -> None:
    """Every half of the agreed time."""
    client = connect(heartbeat=1)
    client.socket.settimeout(10)
    assert client.socket.recv(8) == frames.BEAT


def test_the_secret_may_be_updated(client: RawClient) -> None:
    """For clients whose password is a token."""
    assert client.ask(m.ConnectionUpdateSecret(b"new", "because"), 0) == m.ConnectionUpdateSecretOk()


def test_a_client_that_hangs_up_is_forgotten(connect: Callable[..., RawClient]) -> None:
    """Whatever it was about to send."""
    gone = connect()
    gone.say(publish())
    gone.socket.shutdown(socket.SHUT_RDWR)
    assert connect().ask(queue()) == m.QueueDeclareOk("q1", 0, 0)


def test_tables_that_are_nested_deep_are_refused(own_url: str) -> None:
    """10,000 tables in each other end the connection with connection.close, and not without a word."""
    nested = b""
    for _ in range(10_000):
        nested = b"\x01aF" + len(nested).to_bytes(4) + nested
    client = RawClient(own_url)
    client.open()
    declare = b"\0\x32\0\x0a" + b"\0\0" + b"\2q1" + b"\0"
    client.send_frame(frames.METHOD, declare + len(nested).to_bytes(4) + nested)
    closed = client.next()
    assert closed == hung_up(502, "SYNTAX_ERROR - tables and arrays are nested 64 deep at most", (50, 10))
    client.close()


@pytest.mark.parametrize(
    "method",
    [
        queue("q\udcff", durable=True),
        queue("q\udcff", arguments={"x-dead-letter-exchange": ""}),
        exchange("e\udcff", durable=True),
        bind("amq.topic", "k\udcff"),
        m.BasicGet(0, "\udcff", False),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_name_that_is_no_utf_8_is_refused(connect: Callable[..., RawClient], method: m.Method) -> None:
    """It could be told to nobody, nor be written down."""
    client = connect()
    assert client.ask(queue()) == declared()
    assert client.ask(method) == hung_up(501, "FRAME_ERROR - Malformed UTF-8 in shortstr")


def test_a_routing_key_may_be_any_bytes(client: RawClient) -> None:
    """What comes with a message is not looked at."""
    client.publish(publish("k\udcff", mandatory=True))
    (returned,) = client.settle()
    assert returned.method.routing_key == "k\udcff"
