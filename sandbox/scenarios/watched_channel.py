"""A channel wrapper that emits an event for each message; scenarios are judged by these events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import Any

from emulator.channels.channel import Channel, Delivery, Outcome, Receipt
from emulator.events import Events
from sandbox.scenarios.workload import identity
from schemas.bound import CONTRACT


class WatchedChannel:
    """Emits ``message.acknowledged``, ``.refused`` and ``.delivered``; calls ``committed`` after each commit.

    The events show what the broker answered and delivered, whatever the client does with it. A message that
    was taken has its SHA-256. A read that finds nothing is the event ``receiver.read_empty``.
    """

    def __init__(self, channel: Channel, events: Events, committed: Callable[[], None]) -> None:
        self._channel = channel
        self._events = events
        self._committed = committed

    @property
    def name(self) -> str:
        return self._channel.name

    def publish(self, data: bytes, key: str) -> Receipt:
        outcome = self.publish_many([(data, key)])[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        outcomes = self._channel.publish_many(entries)
        for (data, _), outcome in zip(entries, outcomes, strict=True):
            if isinstance(outcome, Receipt):
                answer = {"shard": outcome.shard, "sequence_number": outcome.sequence_number}
                answer["digest"] = sha256(data).hexdigest()
                self._events.emit("message.acknowledged", **self._event_fields(data), **answer)
            else:
                self._events.emit("message.refused", **self._event_fields(data), code=outcome.code)
        return outcomes

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        deliveries = self._channel.read(limit=limit, wait=wait, in_hand=in_hand)
        if not deliveries:
            self._events.emit("receiver.read_empty", channel=self.name)
        for each in deliveries:
            place = {"shard": each.shard, "sequence_number": each.sequence_number}
            self._events.emit("message.delivered", **self._event_fields(each.data), **place)
        return deliveries

    def commit(self, delivery: Delivery) -> None:
        self._channel.commit(delivery)
        self._committed()

    def close(self) -> None:
        self._channel.close()

    def _event_fields(self, data: bytes) -> dict[str, Any]:
        part = CONTRACT.peek(data).part
        sequence = {"sequence": part.sequence, "position": part.position} if part else {}
        return {"channel": self.name, "message_id": identity(data), "size": len(data), **sequence}
