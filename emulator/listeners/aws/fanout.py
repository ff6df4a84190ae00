"""Deliver faults for enhanced fan-out: they strike the records in SubscribeToShard's events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

from emulator.faults.fault_point import CallFailedError
from emulator.faults.held_deliveries import HeldDeliveries
from emulator.http.asgi import ClientGoneError

Event: TypeAlias = dict[str, Any]
Events: TypeAlias = AsyncIterator[tuple[str, Event]]

_CONTINUATION = "ContinuationSequenceNumber"


async def apply_faults(held: HeldDeliveries[Event], may_strike: Callable[[], bool], events: Events) -> Events:
    """Apply the deliver faults to the records of a subscription's events, while they ``may_strike``.

    A fault that makes a read fail closes the connection, and the consumer subscribes again after the last
    record that it got. Records that are held back come with a later event, at the latest with the last event
    of a closed shard. While records are held back, ContinuationSequenceNumber stays before them, so that a
    consumer that subscribes again loses none.
    """
    safe: str | None = None
    async for kind, event in events:
        if not len(held) and not may_strike():
            safe = event.get(_CONTINUATION)
            yield kind, event
            continue
        held.add(event.get("Records", ()))
        try:
            await held.meet()
        except CallFailedError as failed:
            raise ClientGoneError from failed
        rest = held.copy()
        due = rest.take(len(rest)) if _CONTINUATION in event else rest.drop()
        if len(rest) and safe is None:
            continue
        held = rest
        told = {**event, "Records": [{**each.record, "Data": each.data} for each in due]}
        if len(rest):
            told[_CONTINUATION] = safe
        else:
            safe = event.get(_CONTINUATION)
        yield kind, told
