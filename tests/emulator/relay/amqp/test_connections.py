"""Loss, flow control and heartbeats, between a bare client and a broker that only listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from pamqp import commands
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from emulator.amqp.wire.commands import GREETING
from emulator.amqp.wire.frames import BEAT
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import serve_amqp
from emulator.relay.amqp.relayed_connection import MOST_HELD
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog
from rdss_sandbox.shapes.faults import NewFault

MEGABYTE = b"x" * 1_000_000


@dataclass
class Wire:
    """A client's socket at one end of the relay and a broker's at the other."""

    fault_engine: FaultEngine
    client: asyncio.StreamReader
    to_relay: asyncio.StreamWriter
    broker: asyncio.StreamReader
    from_broker: asyncio.StreamWriter
    sent: int = field(default=0)

    def publish(self, body: bytes) -> None:
        frames = [
            marshal(commands.Basic.Publish(routing_key="input"), 1),
            marshal(ContentHeader(body_size=len(body)), 1),
            b"\x03\x00\x01" + len(body).to_bytes(4, "big") + body + b"\xce",
        ]
        self.to_relay.write(b"".join(frames))
        self.sent += len(body)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    clock = Clock()
    events = Events(clock)
    fault_engine = FaultEngine(Chance(1), clock, events)
    log = AmqpLog(None, clock, DEFAULT_SCOPE)
    accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    broker = await asyncio.start_server(lambda *ends: accepted.put_nowait(ends), "127.0.0.1", 0)
    upstream = f"amqp://127.0.0.1:{broker.sockets[0].getsockname()[1]}/"
    server = await serve_amqp(
        upstream, "127.0.0.1", 0, fault_engine=fault_engine, clock=clock, events=events, log=log
    )
    client = await asyncio.open_connection("127.0.0.1", server.port)
    client[1].write(GREETING + marshal(commands.Connection.TuneOk(0, 2_000_000, 1), 0))
    client[1].write(marshal(commands.Channel.Open(), 1))
    found = Wire(fault_engine, *client, *(await asyncio.wait_for(accepted.get(), 60)))
    yield found
    for writer in (found.to_relay, found.from_broker):
        writer.transport.abort()
    await server.close()
    broker.close()
    fault_engine.close()


async def test_a_client_that_goes_takes_its_connection_to_the_broker_along(wire: Wire) -> None:
    """With what it wrote delivered first."""
    wire.publish(b"last words")
    wire.to_relay.close()
    assert b"last words" in await asyncio.wait_for(wire.broker.read(-1), 60)


async def test_a_broker_that_goes_ends_the_clients_connection(wire: Wire) -> None:
    """So that the client sees what it would see without the relay."""
    wire.from_broker.close()
    assert await asyncio.wait_for(wire.client.read(-1), 60) == b""


async def test_a_broker_that_does_not_read_stops_the_client(wire: Wire) -> None:
    """The relay holds no more than its buffers and those of the system."""

    async def publish() -> None:
        while wire.sent < 200 * len(MEGABYTE):
            wire.publish(MEGABYTE)
            await wire.to_relay.drain()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(publish(), 1)
    assert wire.sent < 100 * len(MEGABYTE)


async def test_what_faults_hold_back_is_bounded_and_heartbeats_go_on(wire: Wire) -> None:
    """A client whose publishes are held back is read from no more, and neither side thinks the other dead."""
    wire.fault_engine.add(NewFault("throttle"))
    filled = asyncio.Event()

    async def publish_for_ever() -> None:
        while True:
            wire.publish(MEGABYTE)
            await wire.to_relay.drain()
            if wire.sent > MOST_HELD:
                filled.set()

    publishing = asyncio.ensure_future(publish_for_ever())
    await asyncio.wait_for(filled.wait(), 60)
    await asyncio.wait_for(wire.broker.readuntil(BEAT), 60)
    await asyncio.wait_for(wire.client.readuntil(BEAT), 60)
    publishing.cancel()
    assert wire.sent < MOST_HELD + 60 * len(MEGABYTE)
    wire.fault_engine.clear()
    taken = 0
    async with asyncio.timeout(60):
        while taken < MOST_HELD:
            taken += (await wire.broker.read(1 << 20)).count(b"x")
