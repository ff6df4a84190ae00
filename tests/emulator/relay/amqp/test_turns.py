"""A client is answered in the turn of the event loop in which it was read, if no fault is in force."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any, cast

import pytest
from pamqp import commands
from pamqp.body import ContentBody
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from emulator.amqp.wire.commands import GREETING
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.http.bounds.turns import Turns
from emulator.relay.amqp import ends
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream
from emulator.relay.amqp.ends import SLICE_BYTES
from emulator.relay.amqp.relayed_connection import Session
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog, stream_of_channel

CONTENT = marshal(ContentHeader(0, 5, commands.Basic.Properties()), 1) + marshal(ContentBody(b"hello"), 1)
METHOD = marshal(commands.Basic.Publish(routing_key="q"), 1)
PUBLISH = METHOD + CONTENT
PERSISTENT = (
    METHOD
    + marshal(ContentHeader(0, 5, commands.Basic.Properties(delivery_mode=2)), 1)
    + marshal(ContentBody(b"hello"), 1)
)


class Written(asyncio.Transport):
    """A client's transport. ``at_write`` is called with each write, before it is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.at_write: Any = lambda: None
        self.is_read = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.at_write()
        self.data += bytes(data)

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def close(self) -> None: ...
    def abort(self) -> None: ...


@asynccontextmanager
async def opened(greeting: Sequence[bytes] = (GREETING,)) -> AsyncIterator[tuple[Session, Written, AmqpLog]]:
    """A session over our own broker, whose client has opened its connection, and the log of its messages."""
    clock = Clock()
    events = Events(clock)
    with (
        closing(AmqpLog(None, clock, DEFAULT_SCOPE)) as log,
        closing(FaultEngine(Chance(1), clock, events)) as fault_engine,
    ):
        upstream = await EmbeddedUpstream.open(None, clock, events)
        session = Session(
            fault_engine,
            clock,
            events,
            Tap(events, log),
            lambda _: None,
            build_broker=upstream.build_end,
            turns=Turns(),
        )
        written = Written()
        await session.connect()
        session.client.connection_made(written)
        login = f"\0{upstream.broker.user}\0{upstream.broker.password}"
        for frame in (
            *greeting,
            marshal(commands.Connection.StartOk({}, "PLAIN", login), 0),
            marshal(commands.Connection.TuneOk(2047, 131_072, 0), 0),
            marshal(commands.Connection.Open(), 0),
        ):
            session.client.data_received(frame)
        assert written.data.endswith(marshal(commands.Connection.OpenOk(), 0))
        yield session, written, log
        session.drop()
        await upstream.close()


async def confirm_one() -> None:
    async with opened() as (session, written, log):

        def say(data: bytes) -> bytes:
            written.data = b""
            session.client.data_received(data)
            return written.data

        say(marshal(commands.Channel.Open(), 1))
        say(marshal(commands.Queue.Declare(queue="q"), 1))
        say(marshal(commands.Confirm.Select(), 1))

        recorded = []
        written.at_write = lambda: recorded.append(count(log))
        assert say(PERSISTENT) == marshal(commands.Basic.Ack(1), 1)
        assert recorded == [1]
        # Some clients send each of its frames alone.
        assert say(METHOD) == b""
        assert say(CONTENT) == marshal(commands.Basic.Ack(2), 1)
        assert count(log) == 2

        # More than a slice has to wait until others had their turn.
        many = SLICE_BYTES // len(PUBLISH) * 3
        assert say(PUBLISH * many) == b""
        for _ in range(100):
            await asyncio.sleep(0)
        assert written.data.endswith(marshal(commands.Basic.Ack(2 + many, multiple=True), 1))
        assert count(log) == 2 + many


async def acknowledge_some() -> tuple[list[bytes], bytes, int]:
    """What a consumer of three messages gets, the answer to its acks 1, 9, 2, and what is left."""
    async with opened() as (session, written, _):
        broker = cast("Any", session.broker)._upstream.broker

        async def say(*frames: Any) -> bytes:
            written.data = b""
            session.client.data_received(
                b"".join(each if isinstance(each, bytes) else marshal(each, 1) for each in frames)
            )
            for _ in range(20):
                await asyncio.sleep(0)
            return written.data

        await say(commands.Channel.Open(), commands.Queue.Declare(queue="q"), PUBLISH * 3)
        came = await say(commands.Basic.Qos(prefetch_count=2), commands.Basic.Consume(queue="q"))
        deliveries = came.split(marshal(ContentBody(b"hello"), 1))
        closed = await say(*(commands.Basic.Ack(tag) for tag in (1, 9, 2)))
        return deliveries, closed, broker.vhost.find_queue("q").ready


def test_acks_in_a_row_hold_up_to_one_that_is_wrong() -> None:
    """The channel is closed for that one, and what is behind it goes back to the queue."""
    deliveries, closed, left = asyncio.run(acknowledge_some())
    assert len(deliveries) == 2 + 1
    assert b"unknown delivery tag 9" in closed
    assert left == 2


async def publish_within(seconds: float, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, bool]:
    """Whether a client with so long a turn is read on after a publish, and when others had theirs."""
    async with opened() as (session, written, _):
        monkeypatch.setattr(ends, "SLICE_SECONDS", seconds)
        session.client.data_received(marshal(commands.Channel.Open(), 1))
        session.client.data_received(PUBLISH)
        at_once = written.is_read
        for _ in range(20):
            await asyncio.sleep(0)
        return at_once, written.is_read


def test_a_client_that_costs_much_is_read_in_turn_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if all of it could be handled: the event loop would read what is behind it before anyone else."""
    assert asyncio.run(publish_within(3600, monkeypatch)) == (True, True)
    assert asyncio.run(publish_within(0, monkeypatch)) == (False, True)


async def open_too_many() -> None:
    async with opened() as (session, written, _):
        frames = [marshal(commands.Channel.Open(), number) for number in range(1, 20_001)]
        session.client.data_received(b"".join(frames))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert b"\x00\x0a\x00\x32" in written.data
        # What the broker had not handled before its answer may open some more than it allows.
        assert len(session._channels) < 5_000


async def close_all() -> None:
    async with opened() as (session, _, _):
        for number in range(1, 11):
            session.client.data_received(marshal(commands.Channel.Open(), number))
            session.client.data_received(marshal(commands.Basic.Qos(), number))
        channels = [weakref.ref(channel) for channel in session._channels.values()]
        assert len(channels) == 10
        for number in range(1, 11):
            session.client.data_received(marshal(commands.Channel.Close(200, "", 0, 0), number))
        for _ in range(100):
            await asyncio.sleep(0)
        assert [channel() for channel in channels if channel() is not None] == []


async def record_after(greeting: Sequence[bytes]) -> int:
    async with opened(greeting) as (session, _, log):
        for frame in (
            marshal(commands.Channel.Open(), 1),
            marshal(commands.Queue.Declare(queue="q"), 1),
            PUBLISH,
        ):
            session.client.data_received(frame)
        return count(log)


@pytest.mark.parametrize(
    "greeting", [(GREETING[:3], GREETING[3:]), (b"AMQP\x01\x01\x00\x09",)], ids=["in pieces", "the older one"]
)
def test_what_is_published_after_another_greeting_is_recorded(greeting: Sequence[bytes]) -> None:
    """As after the usual one in a piece: the relay reads on, and does not pass the bytes as they are."""
    assert asyncio.run(record_after(greeting)) == 1


def test_a_closed_channel_is_gone_at_once() -> None:
    """Two thousand would be a tenth of a second's work of the garbage collector, while all wait."""
    asyncio.run(close_all())


def test_what_a_client_says_after_it_was_refused_costs_nothing() -> None:
    """20,000 channels are opened, of which the broker allows 2,047."""
    asyncio.run(open_too_many())


def count(log: AmqpLog) -> int:
    (stream,) = log.streams(DEFAULT_SCOPE)
    assert stream.name == stream_of_channel("q")
    return sum(shard.records for shard in stream.shards)


def test_a_confirm_leaves_in_the_turn_that_read_the_publish() -> None:
    """With the message on record: before it where it is persistent, and else before the turn is over."""
    asyncio.run(confirm_one())
