"""What a test does to its sandbox: faults, the clock, shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from rdss_sandbox.shapes.faults import Fault, NewFault
from rdss_sandbox.shapes.streams import Reshard, StreamDetail
from rdss_sandbox.text.durations import seconds
from rdss_sandbox.text.timestamps import read_timestamp

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


class Faults:
    """The faults of a sandbox; iteration gives those in force."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._client.faults())

    def add(
        self,
        fault: str | NewFault,
        *,
        name: str | None = None,
        channel: str | None = None,
        direction: str | None = None,
        toxicity: float | None = None,
        when: dict[str, Any] | None = None,
        limit: int | None = None,
        **attributes: Any,
    ) -> Fault:
        """Put a fault in force and return it: its type, with attributes by name, or a whole ``NewFault``.

        Raises ``RefusedError`` for one that cannot be.
        """
        if isinstance(fault, str):
            fault = NewFault(
                fault,
                name=name,
                channel=channel,
                direction=direction,
                toxicity=toxicity,
                attributes=attributes,
                when=when or {},
                limit=limit,
            )
        return self._client.add_fault(fault)

    def get(self, name: str) -> Fault:
        """The fault as it is now; ``injected`` counts its strikes."""
        return self._client.fault(name)

    def remove(self, name: str) -> Fault:
        """Remove a fault and return its final state."""
        return self._client.remove_fault(name)

    def clear(self) -> None:
        """Remove every fault."""
        for fault in self:
            self.remove(fault.name)


class SandboxClock:
    """The clock of a sandbox. Durations are seconds, or texts such as ``200ms``, ``6m`` and ``24h``."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self) -> ClockReading:
        """What the clock shows."""
        return self._client.clock()

    def advance(self, duration: float | str) -> ClockReading:
        """Let time pass at once."""
        return self._change(ClockChange("advance", seconds=seconds(duration)))

    def set(self, time: float | str) -> ClockReading:
        """Show this time, RFC 3339 or seconds since the epoch, and go on from it at the present speed."""
        return self._change(ClockChange("set", time=read_timestamp(str(time))))

    def freeze(self) -> ClockReading:
        """Stop the clock where it is."""
        return self._change(ClockChange("freeze"))

    def run_at(self, speed: float) -> ClockReading:
        """Go on at ``speed`` clock seconds a second."""
        return self._change(ClockChange("speed", speed=speed))

    def resume_real_time(self) -> ClockReading:
        """Show the machine's time again."""
        return self._change(ClockChange("real"))

    def _change(self, change: ClockChange) -> ClockReading:
        return self._client.change_clock(change)


class Resharding:
    """Changes of the shards of a sandbox's streams. Raises ``RefusedError`` for one that cannot be."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def split(self, stream: str, shard: str | None = None, *, hash_key: str | None = None) -> StreamDetail:
        """Split a shard, by default the widest, and return the stream afterwards."""
        return self._client.reshard(stream, Reshard("split", shard=shard, hash_key=hash_key))

    def merge(self, stream: str, shard: str | None = None, adjacent: str | None = None) -> StreamDetail:
        """Merge two neighbours, by default the narrowest, and return the stream afterwards."""
        return self._client.reshard(stream, Reshard("merge", shard=shard, adjacent=adjacent))

    def scale(self, stream: str, count: int) -> StreamDetail:
        """Scale a stream to ``count`` open shards and return it afterwards."""
        return self._client.reshard(stream, Reshard("scale", count=count))
