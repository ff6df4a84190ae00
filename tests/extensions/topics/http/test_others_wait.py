"""What one client has topics do, and what the others notice of it: they are served meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from time import thread_time
from typing import Any, Self

from extensions.topics.engine.commands import Subscribe
from tests.extensions.topics.http.topics_port import Port
from tests.waiting import wait_until


class Pulse:
    """Counts turns of the event loop while the context lasts; ``longest`` is that between two of them.

    In seconds of the processor that the loop's thread had, so that what else the machine does takes no part.
    """

    def __init__(self) -> None:
        self.turns = 0
        self.longest = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _beat(self) -> None:
        last = thread_time()
        while True:
            await asyncio.sleep(0)
            self.longest = max(self.longest, (now := thread_time()) - last)
            self.turns, last = self.turns + 1, now


async def test_many_commands_in_a_body_are_done_in_turns(port: Port) -> None:
    """Others are served between them, and none is lost: the last is acknowledged as durable too."""
    commands = [
        {"cmd": "publish", "topic": "orders", "data": {"id": n}, "cmd_id": str(n), "ack_type": "persisted"}
        for n in range(20_000)
    ]
    began = thread_time()
    async with Pulse() as pulse:
        answer = await port.post(*commands)
    took = thread_time() - began
    persisted = {each["cmd_id"] for each in answer.json()["messages"] if each["ack_type"] == "persisted"}
    assert persisted == set(map(str, range(20_000)))
    assert pulse.longest < took / 6


async def test_nobody_waits_for_topics_that_are_busy(opened: Callable[..., Any]) -> None:
    """A client of topics does until they are free; the event loop, which is everybody's, does not."""
    port = await opened()
    await port.post({"cmd": "publish", "topic": "orders", "data": {"id": 1}})
    lock = port.service.open().lock
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    await asyncio.to_thread(held.wait, 60)
    asking = asyncio.create_task(port.post({"cmd": "publish", "topic": "orders", "data": {"id": 2}}))
    async with Pulse() as pulse:
        await asyncio.to_thread(wait_until, lambda: pulse.turns > 1000)
    assert not asking.done()
    release.set()
    assert (await asking).json()["messages"][0]["status"] == "success"
    await asyncio.to_thread(holding.join)


async def test_a_long_message_is_taken_apart_beside_the_event_loop(port: Port) -> None:
    """It may hold a million arrays; a short one is faster where it is."""
    threads: list[int] = []
    session = port.service.open().session("bob", lambda _: threads.append(threading.get_ident()))
    session.execute(Subscribe("orders", sub_id="s"))
    await port.post({"cmd": "publish", "topic": "orders", "data": {"id": 1}})
    assert threads.pop() == threading.get_ident()
    await port.post({"cmd": "publish", "topic": "orders", "data": {"id": 2, "a": [[]] * 50_000}})
    assert threads.pop() != threading.get_ident()
