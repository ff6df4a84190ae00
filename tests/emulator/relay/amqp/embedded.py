"""The broker of the emulator behind ports of a test: one with faults in front of it, and one without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import AmqpServer
from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream
from emulator.relay.amqp.listening import bind_socket
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog


async def start_upstream(directory: Path | None, clock: Clock, events: Events) -> EmbeddedUpstream:
    return await EmbeddedUpstream.open(directory, clock, events)


async def listen(
    upstream: EmbeddedUpstream, clock: Clock, events: Events, fault_engine: FaultEngine, log: AmqpLog
) -> AmqpServer:
    server = AmqpServer(
        upstream.url,
        bind_socket("127.0.0.1", 0),
        fault_engine=fault_engine,
        clock=clock,
        events=events,
        log=log,
        upstream=upstream,
    )
    await server.listen()
    return server


@contextmanager
def without_faults(
    run: Callable[[Any], Any], upstream: EmbeddedUpstream, clock: Clock, events: Events
) -> Iterator[AmqpServer]:
    """A port of the broker with no faults in front of it."""
    fault_engine, log = FaultEngine(Chance(1), clock, events), AmqpLog(None, clock, DEFAULT_SCOPE)
    server = run(listen(upstream, clock, events, fault_engine, log))
    try:
        yield server
    finally:
        run(server.close())
        fault_engine.close()
        log.close()
