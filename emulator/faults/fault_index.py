"""Which faults may strike a channel: asked for every call, worked out when the faults in force change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emulator.clock import Clock
from emulator.faults.active import ActiveFault
from emulator.faults.rules import matches_channel

_REMEMBERED_CHANNELS: Final = 1000


class FaultIndex:
    """The faults in force in one direction on one kind of channel, by the channel that they may strike.

    The fault engine keeps it up to date, so an adaptor holds it and asks it for each call. ``channel in
    index`` is True if a fault may strike there now. ``in_force`` is True if any fault is there, also one that
    is spent.
    """

    __slots__ = ("_clock", "_faults", "_kind", "in_force")

    def __init__(self, kind: str, clock: Clock) -> None:
        self._kind = kind
        self._clock = clock
        self.replace(())

    def replace(self, faults: Iterable[ActiveFault]) -> None:
        """Take in the faults that are in force from now on, sorted by phase."""
        self._faults = _ByChannel(self._kind, tuple(faults))
        self.in_force = bool(self._faults.faults)

    def find(self, channel: str) -> tuple[ActiveFault, ...]:
        """Find the faults for a channel, spent ones too, sorted by phase."""
        return self._faults[channel]

    def __contains__(self, channel: object) -> bool:
        if found := self._faults[channel]:  # type: ignore[index]
            now = self._clock.time()
            return any(fault.can_strike(now) for fault in found)
        return False


class _ByChannel(dict[str, tuple[ActiveFault, ...]]):
    """The faults of each channel that was asked for. It is replaced as a whole, so it needs no lock."""

    def __init__(self, kind: str, faults: tuple[ActiveFault, ...]) -> None:
        super().__init__()
        self.faults = faults
        self._kind = kind

    def __missing__(self, channel: str) -> tuple[ActiveFault, ...]:
        if len(self) >= _REMEMBERED_CHANNELS:
            # Whoever makes channels up must not fill the memory.
            self.clear()
        found = tuple(fault for fault in self.faults if matches_channel(fault.channel, channel, self._kind))
        self[channel] = found
        return found
