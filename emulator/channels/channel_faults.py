"""Carries out what the fault engine plans, on the messages that a channel publishes and delivers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from emulator.channels.channel import Delivery, Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.shards import Fetched
from emulator.clock import Clock
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Call, Direction, Failure, Item, Kind
from emulator.faults.faulted_message import Message
from emulator.kinesis.batches import Entry

Put: TypeAlias = Callable[[Sequence[Entry]], list[Outcome]]
Fetch: TypeAlias = Callable[[str, str | None, int], Fetched]
_MOST_HELD: Final = 1000


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """Connects one channel to the fault engine, if there is one. ``cut`` closes the channel's connection."""

    fault_engine: FaultEngine | None
    clock: Clock
    channel: str
    kind: Kind
    cut: Callable[[], None] = lambda: None

    def publish(self, entries: Sequence[Entry], put: Put) -> list[Outcome]:
        """Put entries with ``put``, as the faults in force let them through."""
        if self.fault_engine is None or self.channel not in self.fault_engine.index(
            Direction.PUBLISH, self.kind
        ):
            return put(entries)
        messages = [Message(data, key) for data, key in entries]
        call = self.fault_engine.plan_publish(self.channel, self.kind, messages, single=len(messages) == 1)
        self.fault_engine.wait_for(call)
        failed: list[Outcome] = [_build_outcome(call.failure)] * len(entries) if call.failure else []
        if call.failure and not call.failure.written:
            outcomes = failed
        else:
            outcomes = _put_remaining(call, put)
            self.fault_engine.run_actions(call)
        if call.failure and call.failure.kind == "cut":
            self.cut()
        return failed or outcomes

    def plan_delivery(self, deliveries: Sequence[Delivery]) -> Call | None:
        """Plan the deliveries of one read of one shard; None when no fault may strike them."""
        if self.fault_engine is None or not self.holds_back:
            return None
        messages = [Message(each.data, each.key, each.arrived) for each in deliveries]
        call = self.fault_engine.plan_delivery(self.channel, self.kind, messages)
        self.fault_engine.wait_for(call)
        return call

    @property
    def holds_back(self) -> bool:
        """Whether a fault may strike what is delivered."""
        return self.fault_engine is not None and self.channel in self.fault_engine.index(
            Direction.DELIVER, self.kind
        )


def _build_outcome(failure: Failure) -> PublishRefusedError | PublishUnknownError:
    """The outcome that a failure gives to a producer."""
    unknown = failure.kind == "cut" or failure.status >= 500
    return (PublishUnknownError if unknown else PublishRefusedError)(failure.code, failure.message)


def _put_remaining(call: Call, put: Put) -> list[Outcome]:
    """Put the entries that were not refused, then their copies.

    A copy is a producer's retry, so the outcome of an entry is that of its last put, unless that failed.
    """
    outcomes: dict[int, Outcome] = {
        at: PublishRefusedError(item.failure.code, item.failure.message)
        for at, item in enumerate(call.items)
        if item.failure
    }
    remaining = [at for at, item in enumerate(call.items) if not item.failure]
    while remaining:
        entries = [(call.items[at].data, call.items[at].message.key) for at in remaining]
        for at, outcome in zip(remaining, put(entries), strict=True):
            if at not in outcomes or isinstance(outcome, Receipt):
                outcomes[at] = outcome
        remaining = [at for at in remaining if call.items[at].copies > 0]
        for at in remaining:
            call.items[at].copies -= 1
    return [outcomes[at] for at in range(len(call.items))]


@dataclass(slots=True)
class _Shard:
    """How far one shard was fetched, and the records that the reader has not been given yet."""

    after: str | None
    unseen: list[Delivery] = field(default_factory=list)
    pending: DelayedDeliveries[Delivery] = field(default_factory=DelayedDeliveries)
    drained: bool = False

    @property
    def held(self) -> int:
        return len(self.unseen) + len(self.pending)


class FaultedReads:
    """The deliver faults between a channel's broker and its reader.

    ``fetch`` finds deliveries of a shard after a sequence number. When a fault fails a
    read, the records stay in ``unseen`` for the next read.
    """

    def __init__(self, point: FaultPoint, fetch: Fetch) -> None:
        self._point = point
        self._fetch = fetch
        self._shards: dict[str, _Shard] = {}

    def take(self, name: str, after: str | None, limit: int) -> Fetched:
        """Up to ``limit`` due deliveries of a shard. It is not drained while a delivery is held back."""
        shard = self._shards.get(name)
        if shard is None:
            if not self._point.holds_back:
                return self._fetch(name, after, limit)
            shard = self._shards[name] = _Shard(after)
        if shard.held < _MOST_HELD and not shard.drained:
            self._fetch_more(name, shard, limit)
        if shard.unseen:
            self._plan(shard)
        due = shard.pending.take(self._point.clock.time(), limit)
        deliveries = [
            replace(each.record, data=each.data, redelivered=each.record.redelivered or each.again)
            for each in due
        ]
        return Fetched(deliveries, drained=shard.drained and not shard.held)

    @property
    def holds_back(self) -> bool:
        """Whether any fetched record has not been given to the reader."""
        return any(shard.held for shard in self._shards.values())

    def clear(self) -> None:
        """Forget what is held. It will be fetched again."""
        self._shards.clear()

    def _fetch_more(self, name: str, shard: _Shard, limit: int) -> None:
        fetched = self._fetch(name, shard.after, limit)
        shard.unseen += fetched.deliveries
        shard.drained = fetched.drained
        if fetched.deliveries:
            shard.after = fetched.deliveries[-1].sequence_number

    def _plan(self, shard: _Shard) -> None:
        """Let the faults strike what was fetched."""
        call = self._point.plan_delivery(shard.unseen)
        if call is None:
            shard.pending.add((Item(Message(each.data), each.data), each) for each in shard.unseen)
            shard.unseen = []
        elif call.failure is None:
            shard.pending.add(zip(call.items, shard.unseen, strict=True))
            shard.unseen = []
        elif call.failure.kind == "cut":
            self._point.cut()
