"""Deliver faults for enhanced fan-out: they strike the records in SubscribeToShard's events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from math import inf
from typing import Any, TypeAlias

from emulator.clock import Clock
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Kind
from emulator.faults.faulted_message import Message
from emulator.http.asgi import ClientGoneError

Event: TypeAlias = dict[str, Any]
Events: TypeAlias = AsyncIterator[tuple[str, Event]]

_CONTINUATION = "ContinuationSequenceNumber"


async def apply_faults(fault_engine: FaultEngine, clock: Clock, stream: str, events: Events) -> Events:
    """Apply the deliver faults to the records of a subscription's events.

    A fault that makes a read fail closes the connection, and the consumer subscribes again after the last
    record that it got. Records that are held back come with a later event, at the latest with the last event
    of a closed shard. While records are held back, ContinuationSequenceNumber stays before them, so that a
    consumer that subscribes again loses none.
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
