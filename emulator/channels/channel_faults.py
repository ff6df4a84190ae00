"""The faults on what a channel of this process publishes and delivers; its calls block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from emulator.channels.channel import Delivery, Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.shards import Fetched
from emulator.clock import Clock
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Failure, Item, Kind
from emulator.faults.fault_point import CallFailedError, FaultPoint, run_blocking
from emulator.faults.faulted_message import Message
from emulator.faults.held_deliveries import Form, HeldDeliveries
from emulator.faults.waits import OnThread
from emulator.kinesis.batches import Entry

Put: TypeAlias = Callable[[Sequence[Entry]], list[Outcome]]
Fetch: TypeAlias = Callable[[str, str | None, int], Fetched]
_MOST_HELD: Final = 1000


class ChannelFaults:
    """The faults on one channel; none without a fault engine. ``cut`` closes the channel's connection."""

    def __init__(
        self,
        fault_engine: FaultEngine | None,
        clock: Clock,
        channel: str,
        kind: Kind,
        cut: Callable[[], None] = lambda: None,
    ) -> None:
        self.cut = cut
        self._channel = channel
        self._point = FaultPoint(fault_engine, clock, kind, OnThread(clock)) if fault_engine else None
        if self._point is not None:
            self._point.note_channel(channel)

    def publish(self, entries: Sequence[Entry], put: Put) -> list[Outcome]:
        """Put entries with ``put``, as the faults in force let them through."""
        if self._point is None or self._channel not in self._point.publishes:
            return put(entries)

        async def put_items(items: Sequence[Item], _turn: int) -> list[Outcome]:
            return put([(item.data, item.message.key) for item in items])

        messages = [Message(data, key) for data, key in entries]
        call = self._point.plan_publish(self._channel, messages, single=len(messages) == 1)
        try:
            outcomes = run_blocking(
                self._point.publish(call, put_items, lambda outcome: isinstance(outcome, Receipt))
            )
        except CallFailedError as failed:
            if failed.failure.kind == "cut":
                self.cut()
            unknown = failed.failure.kind == "cut" or failed.failure.status >= 500
            outcome = PublishUnknownError if unknown else PublishRefusedError
            return [outcome(failed.failure.code, failed.failure.message)] * len(entries)
        return [
            PublishRefusedError(each.code, each.message) if isinstance(each, Failure) else each
            for each in outcomes
        ]

    def hold(self) -> HeldDeliveries[Delivery] | None:
        """Begin to hold the deliveries of one shard; None while no fault may strike them."""
        if self._point is None or self._channel not in self._point.deliveries:
            return None
        form: Form[Delivery] = Form(
            lambda _: self._channel, lambda each: Message(each.data, each.key, each.arrived)
        )
        return HeldDeliveries(self._point, form)


@dataclass(slots=True)
class _Shard:
    """How far one shard was fetched, and the records that the reader has not been given yet."""

    after: str | None
    held: HeldDeliveries[Delivery]
    drained: bool = False


class FaultedReads:
    """The deliver faults between a channel's broker and its reader.

    ``fetch`` finds deliveries of a shard after a sequence number.
    """

    def __init__(self, faults: ChannelFaults, fetch: Fetch) -> None:
        self._faults = faults
        self._fetch = fetch
        self._shards: dict[str, _Shard] = {}

    def take(self, name: str, after: str | None, limit: int) -> Fetched:
        """Up to ``limit`` due deliveries of a shard. It is not drained while a delivery is held back."""
        shard = self._shards.get(name)
        if shard is None:
            if (held := self._faults.hold()) is None:
                return self._fetch(name, after, limit)
            shard = self._shards[name] = _Shard(after, held)
        if len(shard.held) < _MOST_HELD and not shard.drained:
            fetched = self._fetch(name, shard.after, limit)
            shard.held.add(fetched.deliveries)
            shard.drained = fetched.drained
            if fetched.deliveries:
                shard.after = fetched.deliveries[-1].sequence_number
        try:
            run_blocking(shard.held.meet())
        except CallFailedError as failed:
            if failed.failure.kind == "cut":
                self._faults.cut()
        deliveries = [
            replace(each.record, data=each.data, redelivered=each.record.redelivered or each.again)
            for each in shard.held.take(limit)
        ]
        return Fetched(deliveries, drained=shard.drained and not len(shard.held))

    @property
    def holds_back(self) -> bool:
        """Whether any fetched record has not been given to the reader."""
        return any(len(shard.held) for shard in self._shards.values())

    def clear(self) -> None:
        """Forget what is held. It will be fetched again."""
        self._shards.clear()
