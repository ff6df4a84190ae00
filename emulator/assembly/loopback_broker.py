"""Our own broker on a port of loopback, with no faults in front of it, for channels that apply them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import Scope
from emulator.relay.amqp.amqp_server import AmqpServer
from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream
from emulator.relay.amqp.listening import bind_socket
from emulator.rng import Chance
from emulator.streams.amqp_log import AmqpLog

_HOST = "127.0.0.1"


@contextmanager
def loopback_broker(home: Scope) -> Iterator[str]:
    """Run a broker that keeps nothing, on a thread of its own, for the time of the context; yield its URL.

    Messages live by the machine's time. Raises OSError.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loopback broker", daemon=True)
    thread.start()
    clock = Clock()
    events = Events(clock)
    with ExitStack() as stack:
        stack.callback(loop.close)
        stack.callback(thread.join)
        stack.callback(lambda: loop.call_soon_threadsafe(loop.stop))
        log = stack.enter_context(closing(AmqpLog(None, clock, home)))
        fault_engine = stack.enter_context(closing(FaultEngine(Chance(0), clock, events)))

        async def listen() -> tuple[EmbeddedUpstream, AmqpServer]:
            upstream = await EmbeddedUpstream.open(None, clock, events)
            server = AmqpServer(
                upstream.url,
                bind_socket(_HOST, 0),
                fault_engine=fault_engine,
                clock=clock,
                events=events,
                log=log,
                upstream=upstream,
            )
            await server.listen()
            return upstream, server

        upstream, server = asyncio.run_coroutine_threadsafe(listen(), loop).result()

        async def close() -> None:
            await server.close()
            await upstream.close()

        stack.callback(lambda: asyncio.run_coroutine_threadsafe(close(), loop).result())
        yield server.url
