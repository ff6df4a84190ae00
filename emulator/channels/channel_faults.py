"""The faults on one channel of this process, whose calls block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from emulator.channels.channel import Delivery, Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.clock import Clock
from emulator.faults.fault import Failure, Item
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import CallFailedError, FaultPoint, run_blocking
from emulator.faults.faulted_message import Message
from emulator.faults.held_deliveries import Form, HeldDeliveries
from emulator.faults.waits import OnThread
from emulator.kinesis.batches import Entry

Put: TypeAlias = Callable[[Sequence[Entry]], list[Outcome]]


class ChannelFaults:
    """The faults on one channel; none without a fault engine. ``cut`` closes the channel's connection."""

    def __init__(
        self,
        fault_engine: FaultEngine | None,
        clock: Clock,
        channel: str,
        kind: str,
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
