"""The faults between the broker of a channel of this process and its reader, which asks shard by shard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from emulator.channels.channel import Delivery
from emulator.channels.channel_faults import ChannelFaults
from emulator.channels.shard_calls import Fetch, Fetched
from emulator.faults.fault_point import CallFailedError, run_blocking
from emulator.faults.held_deliveries import HeldDeliveries

# A fault that holds everything back must not have the whole stream fetched.
_MOST_HELD: Final = 1000


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
            replace(
                each.record,
                data=each.data,
                arrived=each.arrived,
                redelivered=each.record.redelivered or each.again,
            )
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
