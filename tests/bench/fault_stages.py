"""One engine behind four AWS ports: ``python -m tests.bench.fault_stages`` prints the ports it took.

The first has no fault stage in front, the second one without a fault, the third one whose faults are for
another channel. The fourth is as the first, with the recorder that the diagnosis of clients is made from.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop

from emulator.clock import Clock
from emulator.diagnosis.recorder import Recorder
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.http.server import serve
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.listeners.aws.interception import Interceptor
from emulator.listeners.aws.kinesis_faults import KinesisFaults
from emulator.rng import Chance
from emulator.streams.wiretap import Wiretap
from rdss_sandbox.shapes.faults import NewFault


async def main() -> None:
    """Serve until standard input ends."""
    clock = Clock()
    events = Events(clock)
    engine = Engine(None, clock, events)
    backend = EngineBackend(engine, clock)
    ports = []
    bare: list[Interceptor] = []
    for interceptors, recorder in (
        (bare, None),
        ([_fault_engine(engine, clock, events)], None),
        ([_fault_engine(engine, clock, events, "elsewhere")], None),
        (bare, Recorder(clock, Wiretap(clock, lambda _: None))),
    ):
        server = await serve(AwsApp(backend, events, interceptors, recorder=recorder), "127.0.0.1", 0)
        ports.append(server.port)
    print(*ports, flush=True)  # noqa: T201 -- stdout is what it answers with
    await asyncio.to_thread(sys.stdin.read)


def _fault_engine(engine: Engine, clock: Clock, events: Events, *channels: str) -> Interceptor:
    fault_engine = FaultEngine(Chance(1), clock, events)
    for channel in channels:
        fault_engine.add(NewFault("duplicate", name="twice", channel=channel))
        fault_engine.add(NewFault("latency", channel=channel, direction="deliver"))
    return KinesisFaults(fault_engine, clock, engine.stream_of_iterator)


if __name__ == "__main__":
    uvloop.run(main())
