"""A channel whose broker applies no faults, with those that are in force."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from emulator.channels.channel import Channel, Delivery, Outcome, Receipt
from emulator.channels.channel_faults import ChannelFaults
from emulator.channels.faulted_reads import FaultedReads
from emulator.channels.shard_calls import Fetched
from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine


class FaultedChannel:
    """A queue of this ``kind`` with the faults of ``fault_engine``; without one it is the queue as it is.

    A fault that cuts the connection closes the channel below, whose next call has to connect again.
    """

    def __init__(self, channel: Channel, kind: str, fault_engine: FaultEngine | None, clock: Clock) -> None:
        self.name = channel.name
        self._channel = channel
        self._faults = ChannelFaults(fault_engine, clock, channel.name, kind, self._cut)
        self._reads = FaultedReads(self._faults, self._fetch)
        self._wait = 0.0

    def publish(self, data: bytes, key: str) -> Receipt:
        outcome = self.publish_many([(data, key)])[0]
        if isinstance(outcome, Receipt):
            return outcome
        raise outcome

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        return self._faults.publish(entries, self._channel.publish_many)

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        self._wait = wait
        return [] if self.name in in_hand else self._reads.take(self.name, None, limit).deliveries

    def commit(self, delivery: Delivery) -> None:
        self._channel.commit(delivery)

    def close(self) -> None:
        self._channel.close()

    def _fetch(self, _shard: str, _after: str | None, limit: int) -> Fetched:
        return Fetched(self._channel.read(limit=limit, wait=self._wait), drained=False)

    def _cut(self) -> None:
        self._reads.clear()
        self._channel.close()
