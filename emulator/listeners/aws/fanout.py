"""The deliver faults on records that are pushed to a consumer: SubscribeToShard's events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from math import inf
from typing import Any, TypeAlias

from emulator.clock import Clock
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Kind
from emulator.faults.message import Message
from emulator.http.asgi import ClientGoneError

Event: TypeAlias = dict[str, Any]
Events: TypeAlias = AsyncIterator[tuple[str, Event]]

_CONTINUATION = "ContinuationSequenceNumber"


async def struck(fault_engine: FaultEngine, clock: Clock, stream: str, events: Events) -> Events:
    """A subscription's events, with what the faults make of their records.

    A read that is to fail closes the connection: the consumer subscribes again
    behind what it was given. What is held back comes with a later event, at the
    latest with the last of a closed shard. While something is held, the
    consumer is told to continue where nothing was.
    """
    pending: DelayedDeliveries[Event] = DelayedDeliveries()
    safe: str | None = None
    async for kind, event in events:
        if records := event.get("Records"):
            call = fault_engine.plan_delivery(stream, Kind.KINESIS, [_message(record) for record in records])
            await fault_engine.sleep_for(call)
            if call.failure:
                raise ClientGoneError
            pending.add(zip(call.items, records, strict=True))
        rest = pending.copy()
        due = rest.take(clock.time() if _CONTINUATION in event else inf, len(rest))
        if len(rest) and safe is None:
            continue
        pending = rest
        told = {**event, "Records": [{**each.record, "Data": each.data} for each in due]}
        if len(rest):
            told[_CONTINUATION] = safe
        else:
            safe = event.get(_CONTINUATION)
        yield kind, told


def _message(record: Event) -> Message:
    return Message(record["Data"], record["PartitionKey"], record["ApproximateArrivalTimestamp"])
