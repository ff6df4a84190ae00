"""Bytes on the AMQP port, up to the broker, and the tables and properties in them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

from emulator.amqp.message_headers import change_content, write_text
from emulator.amqp.wire import frames, methods
from emulator.amqp.wire.commands import GREETING
from emulator.amqp.wire.field_tables import BadTableError, Field, decode_table, encode_table, plain_table
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.properties import Properties
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.http.bounds.turns import Turns
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream
from emulator.relay.amqp.relayed_connection import Session
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog
from schemas.bound import CONTRACT
from tests.emulator.amqp.calls import bind, exchange, queue, table
from tests.emulator.amqp.raw_client import CAPABLE, build_properties
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals
from tests.fuzz.memory_transport import ByteLoop

_UNREADABLE: Final = (BadTableError, IndexError, struct.error)
"""What reading properties raises, as ``Properties`` says."""


def _open_port() -> Parse:
    """The port with the broker of this process behind it; the input comes before or behind a login."""
    loop = ByteLoop()
    clock = Clock(frozen_at=1_000_000.0)
    events = Events(clock, keep=10)
    loop.watch(events)
    upstream = loop.run(EmbeddedUpstream.open(None, clock, events))
    fault_engine, log = FaultEngine(Chance(1), clock, events), AmqpLog(None, clock, DEFAULT_SCOPE)
    tap, turns = Tap(events, log), Turns()
    login = _logged_in(f"\0{upstream.broker.user}\0{upstream.broker.password}".encode())
    sessions: list[Session] = []

    def accept() -> Any:
        session = Session(
            fault_engine, clock, events, tap, lambda _: None, build_broker=upstream.build_end, turns=turns
        )
        session.client.resume_reading("the broker does not answer yet")
        sessions.append(session)
        return session.client

    def parse(data: bytes) -> None:
        loop.converse(accept, b"" if data.startswith(b"AMQP") else login, data)
        for session in sessions:
            session.drop()
        sessions.clear()
        tap.flush()
        upstream.clear()
        log.clear()

    return parse


def _say(method: methods.Method, channel: int = 1) -> bytes:
    return frames.build_frame(frames.METHOD, channel, encode_method(method))


def _logged_in(response: bytes) -> bytes:
    said = (
        methods.ConnectionStartOk(CAPABLE, "PLAIN", response, "en_US"),
        methods.ConnectionTuneOk(2047, 131_072, 0),
        methods.ConnectionOpen("/", "", False),
    )
    return GREETING + b"".join(_say(each, 0) for each in said) + _say(methods.ChannelOpen(""))


def _publish(name: str, key: str, body: bytes, properties: bytes) -> bytes:
    content = frames.build_content(1, properties, body, 131_072)
    return _say(methods.BasicPublish(0, name, key, False, False)) + b"".join(content)


def _port_seeds() -> Iterable[tuple[str, bytes]]:
    consumed = methods.BasicConsume(0, "q1", "c", False, False, False, False, {})
    properties = build_properties({"a": 1, "b": [True, "x"]}, 2, expiration="100", reply_to="r")
    declared = _say(queue(arguments={"x-max-length": 3, "x-dead-letter-exchange": ""}))
    yield "greeting", _logged_in(b"\0guest\0wrong")
    yield "queue", declared + _publish("", "q1", b"body", properties) + _say(consumed)
    yield (
        "exchange",
        _say(exchange("e", "topic", durable=True))
        + _say(queue())
        + _say(bind("e", "a.*.#"))
        + _publish("e", "a.b", b"", b"\0\0"),
    )
    yield (
        "headers",
        _say(exchange("h", "headers")) + declared + _say(bind("h", "", **{"x-match": "any", "a": 1})),
    )
    yield (
        "settling",
        declared
        + _publish("", "q1", b"x", b"\0\0")
        + _say(methods.BasicGet(0, "q1", False))
        + _say(methods.BasicAck(1, True))
        + _say(methods.BasicReject(1, True)),
    )
    yield (
        "in-a-row",
        _say(methods.ConfirmSelect(False))
        + _say(queue())
        + _say(methods.BasicQos(0, 3, False))
        + _say(consumed)
        + b"".join(_publish("", "q1", b"x" * size, b"\x10\0\x02") for size in (3, 3, 1, 3))
        + b"".join(_say(methods.BasicAck(tag, False)) for tag in (1, 3, 2)),
    )
    yield (
        "transaction",
        _say(methods.TxSelect()) + declared + _publish("", "q1", b"x", properties) + _say(methods.TxCommit()),
    )
    yield "confirms", _say(methods.ConfirmSelect(False)) + _publish("", "nowhere", b"x" * 300, b"\0\0")
    yield (
        "end",
        frames.BEAT
        + _say(methods.ChannelClose(200, "", 0, 0))
        + _say(methods.ConnectionClose(200, "", 0, 0), 0),
    )


def _open_tables() -> Parse:
    def parse(data: bytes) -> None:
        with refusals(BadTableError):
            found, end = decode_table(data)
            plain_table(found)
            assert decode_table(encode_table(found))[0] == found, "a table comes back as it was sent"
            assert end <= len(data)
        with refusals(*_UNREADABLE):
            properties = Properties(data)
            assert Properties(properties.encode()).headers() == properties.headers()
        text = write_text(CONTRACT, b'{"a": 1}', data)
        change_content(CONTRACT, text, data)

    return parse


def _table_seeds() -> Iterable[tuple[str, bytes]]:
    nested = {"a": Field("F", table({"b": [1, "two", 3.0, None, True]})), "t": Field("T", 1_700_000_000)}
    others = {"D": Field("D", (2, 314)), "L": Field("l", -1), "x": Field("x", b"\xff"), "u": Field("u", 9)}
    yield "table", encode_table(nested | others)
    yield "array", encode_table({"a": Field("A", [Field("A", [Field("V", None)])])})
    yield (
        "properties",
        build_properties({"a": 1, "b": [True, "x"]}, 2, expiration="100", reply_to="r", type="t"),
    )
    yield (
        "all",
        b"\xff\xfc\1a\1b" + encode_table(others) + b"\2\7" + b"\1c\1d\0031.0\1e" + bytes(8) + b"\1f\1g\1h\1i",
    )


AMQP = FuzzedParser("frames on the AMQP port", _open_port, _port_seeds)
AMQP_TABLES = FuzzedParser("tables and properties in AMQP frames", _open_tables, _table_seeds, longest=1024)
