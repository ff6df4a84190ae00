"""What ends a connection, and what the protocol has beside publishing and consuming, through the relay."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pika
import pytest
from pamqp import commands
from pamqp.frame import marshal
from pika import exceptions

from emulator.amqp.wire.commands import GREETING
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.machine.certificate_authority import new_authority
from emulator.relay.amqp.amqp_server import serve_amqp
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog
from tests.emulator.relay.amqp.relay_under_test import Relay, consumed


@pytest.mark.parametrize("faulted", [False, True])
def test_recover_brings_back_what_was_not_acknowledged(relay: Relay, faulted: bool) -> None:
    """Marked redelivered, in its order, and acknowledged by its new tag; also while a fault watches."""
    channel = relay.channel(confirm=True)
    if faulted:
        relay.fault("duplicate", direction="deliver", when={"after": 1000})
    for number in range(3):
        channel.basic_publish("", relay.queue, b"%d" % number)
    first = consumed(channel, relay.queue, 3, ack=False)
    assert [body for _, _, body in first] == [b"0", b"1", b"2"]
    channel.basic_recover(requeue=True)
    again = consumed(channel, relay.queue, 3)
    assert [(body, method.redelivered) for method, _, body in again] == [(b"%d" % n, True) for n in range(3)]
    channel.connection.close()
    assert relay.at_broker() == []


def test_flow_is_answered_by_the_broker(relay: Relay) -> None:
    """Active again it is granted; to stop it RabbitMQ closes the connection, with its own code."""
    channel = relay.channel()
    assert channel.flow(True) is True
    with pytest.raises(exceptions.AMQPError, match="540"):
        channel.flow(False)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (commands.Basic.Qos(0, 1, False), 504),
        (commands.Connection.Open("/"), 504),
        (commands.Queue.Declare(queue="x" * 8, exclusive=True), 504),
    ],
)
def test_connection_errors_are_the_brokers(relay: Relay, sent: Any, code: int) -> None:
    """A method on a channel that is not open, or out of its turn: connection.close with RabbitMQ's code."""
    answers = [closed_with(url, sent) for url in (relay.url, relay.direct_url)]
    assert answers[0] == answers[1]
    assert answers[0][0] == code


def direct_port(relay: Relay) -> int:
    return pika.URLParameters(relay.direct_url).port


def closed_with(url: str, method: Any) -> tuple[int, str]:
    """The code and the text with which a connection is closed after a method that is wrong there."""
    number = 0 if isinstance(method, commands.Connection.Open) else 9
    at = urlsplit(url)
    with socket.create_connection((at.hostname, at.port), timeout=10) as connection:
        connection.sendall(GREETING)
        connection.recv(65536)
        start = commands.Connection.StartOk({}, "PLAIN", f"\0{at.username}\0{at.password}", "en_US")
        connection.sendall(marshal(start, 0))
        connection.recv(65536)
        opening = marshal(commands.Connection.TuneOk(10, 131072, 0), 0)
        connection.sendall(opening + marshal(commands.Connection.Open("/"), 0))
        connection.recv(65536)
        connection.sendall(marshal(method, number))
        frame = connection.recv(65536)
    return int.from_bytes(frame[11:13], "big"), frame[14 : 14 + frame[13]].decode()


async def tls_in_front_of(relay: Relay, context: ssl.SSLContext) -> asyncio.Server:
    """The broker's port, encrypted."""
    port = direct_port(relay)

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        finally:
            writer.close()

    async def both(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pipe(reader, inner[1]), pipe(inner[0], writer), return_exceptions=True)

    return await asyncio.start_server(both, "127.0.0.1", 0, ssl=context)


async def test_an_upstream_with_tls_is_verified(
    relay: Relay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything works as without; to one that nobody vouches for no word of a client's goes."""
    clock = Clock()
    authority = new_authority(clock)
    (tmp_path / "broker.pem").write_bytes(authority.issue(["localhost"], clock))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "broker.pem")
    broker = await tls_in_front_of(relay, context)
    login = urlsplit(relay.direct_url).netloc.partition("@")[0]
    upstream = f"amqps://{login}@localhost:{broker.sockets[0].getsockname()[1]}/%2F"
    events, log = Events(clock), AmqpLog(None, clock, DEFAULT_SCOPE)
    fault_engine = FaultEngine(Chance(1), clock, events)
    server = await serve_amqp(
        upstream, "127.0.0.1", 0, fault_engine=fault_engine, clock=clock, events=events, log=log
    )
    parameters = pika.URLParameters(server.url)

    def published_and_got() -> bytes:
        connection = pika.BlockingConnection(parameters)
        channel = connection.channel()
        channel.queue_declare(relay.queue)
        channel.basic_publish("", relay.queue, b"encrypted behind the relay")
        body: bytes = channel.basic_get(relay.queue, auto_ack=True)[2]
        connection.close()
        return body

    with pytest.raises(exceptions.AMQPConnectionError):
        await asyncio.to_thread(published_and_got)
    told = [event.fields["why"] for event in events.since() if event.kind == "relay.amqp.unreachable"]
    assert "CERTIFICATE_VERIFY_FAILED" in told[0]
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.write_certificate(tmp_path / "authority.pem")))
    assert await asyncio.to_thread(published_and_got) == b"encrypted behind the relay"
    await server.close()
    broker.close()
    fault_engine.close()
    log.close()
