"""SubscribeToShard: events of the engine's subscriptions, pushed as soon as there are new records."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from emulator.clock import Clock
from emulator.kinesis import Engine
from emulator.kinesis.shard_subscriptions import LIFETIME_SECONDS, Subscription
from emulator.listeners.aws.interception import EventStream

EVENT = "SubscribeToShardEvent"

# KCL gives up a subscription that sends nothing for 35 seconds.
_HEARTBEAT_SECONDS = 5.0


class OpenSubscriptions:
    """Wakes the open subscriptions of an engine."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._waiting: defaultdict[tuple[str, str], set[asyncio.Event]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def events(self, subscription: Subscription) -> EventStream:
        """The subscription's events as they arrive, and an empty one after five real seconds without any."""
        woken = asyncio.Event()
        timers = [self._timer(LIFETIME_SECONDS, woken)]
        resharded: asyncio.Future[None] | None = None
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._engine.on_records(self._on_records)
        waiting = self._waiting[subscription.stream_name, subscription.shard_id]
        waiting.add(woken)
        quiet = True
        try:
            while True:
                woken.clear()
                batch = subscription.next_batch(empty=quiet)
                if batch is not None:
                    yield EVENT, batch
                if subscription.ended is not None:
                    return
                seconds = subscription.resharded_in
                if seconds is not None and (resharded is None or resharded.done()):
                    resharded = self._timer(seconds, woken)
                    timers.append(resharded)
                quiet = batch is None and not await _set_within(woken, _HEARTBEAT_SECONDS)
        finally:
            for timer in timers:
                timer.cancel()
            waiting.discard(woken)
            subscription.close()

    def _timer(self, seconds: float, woken: asyncio.Event) -> asyncio.Future[None]:
        """Set ``woken`` after ``seconds`` of the clock."""
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        timer.add_done_callback(lambda _: woken.set())
        return timer

    def _on_records(self, stream: str, shard_id: str) -> None:
        if self._loop and self._waiting.get((stream, shard_id)):
            self._loop.call_soon_threadsafe(self._wake, stream, shard_id)

    def _wake(self, stream: str, shard_id: str) -> None:
        for woken in self._waiting[stream, shard_id]:
            woken.set()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait((waiting,), timeout=seconds)
    waiting.cancel()
    return event.is_set()
