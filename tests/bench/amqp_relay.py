"""The AMQP relay alone in a process: ``python -m tests.bench.amqp_relay URL`` prints the port it took."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import serve_amqp
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog


async def main(upstream: str) -> None:
    """Relay until killed."""
    clock = Clock()
    events = Events(clock)
    fault_engine = FaultEngine(Chance(1), clock, events)
    log = AmqpLog(None, clock, DEFAULT_SCOPE)
    server = await serve_amqp(
        upstream, "127.0.0.1", 0, fault_engine=fault_engine, clock=clock, events=events, log=log
    )
    print(server.port, flush=True)  # noqa: T201 -- stdout is what it answers with
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
