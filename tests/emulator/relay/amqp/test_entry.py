"""The AMQP port of a sandbox with a token: the token is the password, whatever the broker's own is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pika
import pytest
from pamqp import commands, encode
from pamqp.frame import marshal, unmarshal
from pika.exceptions import AMQPError, ProbableAuthenticationError

from emulator.amqp.wire.commands import GREETING, Command
from emulator.amqp.wire.frames import METHOD, build_frame
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.methods import ConnectionStartOk
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import Scope
from emulator.relay.amqp.amqp_server import AmqpServer
from emulator.relay.amqp.entry import Entry
from emulator.relay.amqp.listening import bind_socket
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog
from tests.emulator.loop_thread import loop_on_a_thread

SECRET = "not/to:be@guessed"
ENTRY = Entry(SECRET, "guest", "guest")


@pytest.fixture
def url(broker_url: str) -> Iterator[str]:
    clock = Clock()
    events = Events(clock)
    fault_engine = FaultEngine(Chance(7), clock, events)
    log = AmqpLog(None, clock, Scope("000000000000", "us-east-1"))

    async def started() -> AmqpServer:
        listening = bind_socket("127.0.0.1", 0)
        server = AmqpServer(
            broker_url,
            listening,
            fault_engine=fault_engine,
            clock=clock,
            events=events,
            log=log,
            entry=Entry.by_token(broker_url, SECRET),
        )
        await server.listen()
        return server

    with loop_on_a_thread() as run:
        server = run(started())
        yield server.url
        run(server.close())
    fault_engine.close()
    log.close()


def test_whoever_has_the_url_gets_in(url: str) -> None:
    """It has the token in it."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.basic_publish("", queue, b"1")
    assert channel.basic_get(queue, auto_ack=True)[2] == b"1"
    connection.close()


@pytest.mark.parametrize("password", ["guest", "", "wrong", SECRET[:-1]])
def test_the_brokers_own_password_does_not_do(url: str, password: str) -> None:
    """The broker refuses it in its own words."""
    given = pika.URLParameters(url)
    given.credentials = pika.PlainCredentials("guest", password)
    with pytest.raises((ProbableAuthenticationError, AMQPError)):
        pika.BlockingConnection(given)


@pytest.mark.parametrize(
    "greeting",
    [b"AMQP\x03\x01\x00\x00", b"AMQP\x00\x01\x00\x00", b"AMQP\x01\x01\x08\x00", b"GET / HTTP/1.1\r\n"],
)
def test_another_protocol_is_answered_with_the_one_that_has_a_password(url: str, greeting: bytes) -> None:
    """Nothing of it comes to the broker."""
    at = pika.URLParameters(url)
    with socket.create_connection((at.host, at.port), timeout=30) as connection:
        connection.sendall(greeting)
        said = b""
        while piece := connection.recv(100):
            said += piece
    assert said == GREETING


@pytest.mark.parametrize(
    ("mechanism", "response", "known"),
    [
        ("PLAIN", f"\0guest\0{SECRET}", True),
        ("PLAIN", f"\0anybody\0{SECRET}", True),
        ("PLAIN", "\0guest\0guest", False),
        ("AMQPLAIN", encode.field_table({"LOGIN": "guest", "PASSWORD": SECRET})[4:].decode(), True),
        ("AMQPLAIN", encode.field_table({"LOGIN": "guest", "PASSWORD": "guest"})[4:].decode(), False),
        ("AMQPLAIN", encode.field_table({"LOGIN": "guest"})[4:].decode(), False),
        ("EXTERNAL", "", False),
        ("PLAIN", "", False),
    ],
)
def test_what_the_broker_gets(mechanism: str, response: str, known: bool) -> None:
    """Its own credentials for the token, none for anything else; the rest of the frame as it was."""
    properties = {"product": "p", "capabilities": {"connection.blocked": True}}
    frame = marshal(commands.Connection.StartOk(properties, mechanism, response, "en_GB"), 0)
    exchanged = encode_method(ENTRY.exchanged(read(frame)))
    found: Any = unmarshal(build_frame(METHOD, 0, exchanged))[2]
    assert (found.mechanism, found.response) == ("PLAIN", "\0guest\0guest" if known else "\0guest\0")
    assert (found.client_properties, found.locale) == (properties, "en_GB")


def read(frame: bytes) -> ConnectionStartOk:
    """The method of a frame of start-ok."""
    return Command(0, ConnectionStartOk, [frame]).decode_as(ConnectionStartOk)


def test_the_brokers_credentials_are_those_of_its_url() -> None:
    """As the URL writes them, and RabbitMQ's own where it has none."""
    assert Entry.by_token("amqp://a:b%2F@h/", "t") == Entry("t", "a", "b/")
    assert Entry.by_usual_login("amqp://a:b%2F@h/") == Entry("guest", "a", "b/", client_user="guest")
    assert Entry.by_token("amqp://h/", "t") == ENTRY._replace(client_password="t")


@pytest.mark.parametrize(
    ("mechanism", "response", "known"),
    [
        ("PLAIN", "\0guest\0guest", True),
        ("AMQPLAIN", encode.field_table({"LOGIN": "guest", "PASSWORD": "guest"})[4:].decode(), True),
        ("PLAIN", "\0guest\0wrong", False),
        ("PLAIN", "\0bob\0guest", False),
        ("PLAIN", "guest", False),
        ("PLAIN", "", False),
        ("AMQPLAIN", encode.field_table({"LOGIN": "bob", "PASSWORD": "guest"})[4:].decode(), False),
        ("EXTERNAL", "", False),
    ],
)
def test_the_usual_login_is_exchanged_and_no_other(mechanism: str, response: str, known: bool) -> None:
    """The broker gets what it knows for guest:guest, and every other login as it came."""
    given = ConnectionStartOk({}, mechanism, response.encode(), "en_GB")
    exchanged = Entry.by_usual_login("amqp://guest:secret@h/").exchanged(given)
    known_login = given._replace(mechanism="PLAIN", response=b"\0guest\0secret")
    assert exchanged == (known_login if known else given)
