"""Our broker is reminded of its work on every event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from emulator.clock import Clock
from emulator.events import Events
from emulator.relay.amqp.embedded_upstream import EmbeddedUpstream


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_reminder_within_the_same_millisecond_may_be_asked_for_again(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """The earlier one counts, and the broker goes on."""

    async def ask_twice() -> None:
        upstream = await EmbeddedUpstream.open(None, Clock(), Events(Clock()))
        upstream.wake_in(0.0001)
        upstream.wake_in(0.00005)
        upstream.wake_in(10.0)
        await upstream.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(ask_twice())
