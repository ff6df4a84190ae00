"""The fault stage in a channel: what the stage decides, done to what is published and delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from emulator.channels.channel import Delivery, Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.shards import Fetched
from emulator.clock import Clock
from emulator.faults.delayed_deliveries import DelayedDeliveries, Due
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Call, Direction, Failure, Item, Kind
from emulator.faults.message import Message
from emulator.kinesis.batches import Entry

Put: TypeAlias = Callable[[Sequence[Entry]], list[Outcome]]
Fetch: TypeAlias = Callable[[str, str | None, int], Fetched]
_MOST_HELD: Final = 1000


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """Where the stage, if there is one, meets a channel; ``cut`` closes the channel's connection."""

    fault_engine: FaultEngine | None
    clock: Clock
    channel: str
    kind: Kind
    cut: Callable[[], None] = lambda: None

    def publish(self, entries: Sequence[Entry], put: Put) -> list[Outcome]:
        """Put entries in the channel as the faults in force let it."""
        if self.fault_engine is None or not self.fault_engine.wants(
            Direction.PUBLISH, self.channel, self.kind
        ):
            return put(entries)
        messages = [Message(data, key) for data, key in entries]
        call = self.fault_engine.plan_publish(self.channel, self.kind, messages, single=len(messages) == 1)
        self.fault_engine.wait_for(call)
        failed: list[Outcome] = [_outcome_of(call.failure)] * len(entries) if call.failure else []
        if call.failure and not call.failure.written:
            outcomes = failed
        else:
            outcomes = _put_what_is_left(call, put)
            self.fault_engine.run_actions(call)
        if call.failure and call.failure.kind == "cut":
            self.cut()
        return failed or outcomes

    def delivering(self, deliveries: Sequence[Delivery]) -> Call | None:
        """What becomes of what a read of one shard found; None when no fault may strike it."""
        if self.fault_engine is None or not self.holds_back:
            return None
        messages = [Message(each.data, each.key, each.arrived) for each in deliveries]
        call = self.fault_engine.plan_delivery(self.channel, self.kind, messages)
        self.fault_engine.wait_for(call)
        return call

    @property
    def holds_back(self) -> bool:
        """Whether a fault may strike what is delivered."""
        return self.fault_engine is not None and self.fault_engine.wants(
            Direction.DELIVER, self.channel, self.kind
        )


def _outcome_of(failure: Failure) -> PublishRefusedError | PublishUnknownError:
    """What a producer learns from a failure."""
    unknown = failure.kind == "cut" or failure.status >= 500
    return (PublishUnknownError if unknown else PublishRefusedError)(failure.code, failure.message)


def _put_what_is_left(call: Call, put: Put) -> list[Outcome]:
    """Put the entries that were not refused, then the copies. A producer's retry learns of its last put."""
    outcomes: dict[int, Outcome] = {
        at: PublishRefusedError(item.failure.code, item.failure.message)
        for at, item in enumerate(call.items)
        if item.failure
    }
    places = [at for at, item in enumerate(call.items) if not item.failure]
    while places:
        for at, outcome in zip(places, put([_entry(call, at) for at in places]), strict=True):
            if at not in outcomes or isinstance(outcome, Receipt):
                outcomes[at] = outcome
        places = [at for at in places if call.items[at].copies > 0]
        for at in places:
            call.items[at].copies -= 1
    return [outcomes[at] for at in range(len(call.items))]


def _entry(call: Call, at: int) -> Entry:
    item = call.items[at]
    return item.data, item.message.key


@dataclass(slots=True)
class _Shard:
    """How far one shard was fetched, and what of it the reader was not given yet."""

    after: str | None
    unseen: list[Delivery] = field(default_factory=list)
    pending: DelayedDeliveries[Delivery] = field(default_factory=DelayedDeliveries)
    drained: bool = False

    @property
    def held(self) -> int:
        return len(self.unseen) + len(self.pending)


class FaultedReads:
    """The deliver faults between a channel's broker and its reader.

    ``fetch`` finds deliveries of a shard behind a sequence number. A read that
    fails leaves what it found for the next.
    """

    def __init__(self, point: FaultPoint, fetch: Fetch) -> None:
        self._point = point
        self._fetch = fetch
        self._shards: dict[str, _Shard] = {}

    def take(self, name: str, after: str | None, limit: int) -> Fetched:
        """Up to ``limit`` deliveries of a shard whose turn it is; not drained while any is held back."""
        shard = self._shards.get(name)
        if shard is None:
            if not self._point.holds_back:
                return self._fetch(name, after, limit)
            shard = self._shards[name] = _Shard(after)
        if shard.held < _MOST_HELD and not shard.drained:
            self._fetch_more(name, shard, limit)
        if shard.unseen:
            self._meet(shard)
        due = shard.pending.take(self._point.clock.time(), limit)
        return Fetched([_delivered(each) for each in due], drained=shard.drained and not shard.held)

    @property
    def holds_back(self) -> bool:
        """Whether anything fetched was not given yet."""
        return any(shard.held for shard in self._shards.values())

    def clear(self) -> None:
        """Forget what is held: it will be fetched again."""
        self._shards.clear()

    def _fetch_more(self, name: str, shard: _Shard, limit: int) -> None:
        fetched = self._fetch(name, shard.after, limit)
        shard.unseen += fetched.deliveries
        shard.drained = fetched.drained
        if fetched.deliveries:
            shard.after = fetched.deliveries[-1].sequence_number

    def _meet(self, shard: _Shard) -> None:
        """Let the faults strike what was fetched."""
        call = self._point.delivering(shard.unseen)
        if call is None:
            shard.pending.add((Item(Message(each.data), each.data), each) for each in shard.unseen)
            shard.unseen = []
        elif call.failure is None:
            shard.pending.add(zip(call.items, shard.unseen, strict=True))
            shard.unseen = []
        elif call.failure.kind == "cut":
            self._point.cut()


def _delivered(due: Due[Delivery]) -> Delivery:
    return replace(due.record, data=due.data, redelivered=due.record.redelivered or due.again)
