"""A fault in force: whom it strikes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from emulator.faults.attributes import read_attributes
from emulator.faults.fault import Direction, FaultType, Phase
from emulator.faults.holding import Hold
from emulator.faults.message import Message
from emulator.faults.when import read_when
from emulator.rng import Chance, Draws
from rdss_sandbox.shapes.faults import Fault

_REMEMBERED: Final = 200_000
"""Of how many messages a fault remembers that it struck them, or their place in the count."""


_KEEPING_OUT: Final = (Phase.CALL, Phase.ENTRY)
"""A payload that is struck in one of these comes again, and is still the same."""


class Chosen(NamedTuple):
    """A message that a fault strikes: what it is remembered by, and the chance that is its alone."""

    memory: str
    draws: Draws


class _Counts:
    """Counts by key, of which the oldest beyond ``size`` are forgotten, so that a long run does not grow."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, int] = OrderedDict()
        self.counted = 0

    def get(self, key: str, default: int = 0) -> int:
        return self._values.get(key, default)

    def put(self, key: str, value: int) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)


class _Memory:
    """What a fault knows of the messages it met: how often it struck each, their order, equal payloads."""

    def __init__(self) -> None:
        self.struck = _Counts(_REMEMBERED)
        self.ordinals = _Counts(_REMEMBERED)
        self.same = _Counts(_REMEMBERED)


class ActiveFault:
    """A fault and its memory. Nothing here depends on another fault, or on how messages were batched.

    Whether a message is struck is drawn from (seed, fault, message, how often
    this fault struck it before): a message that was spared stays spared when
    it comes again because of something else, and one that was struck has a
    chance to pass at the next try. Payloads that are no RDSS messages are told
    apart by their bytes and by how many of the same came through before.
    """

    def __init__(
        self,
        record: Fault,
        type_: FaultType,
        chance: Chance,
        added_at: float,
        before: ActiveFault | None = None,
    ) -> None:
        self.type = type_
        self.direction = Direction(record.direction)
        self.attributes = read_attributes(type_, record.attributes)
        self.when = read_when(record.when)
        self.added_at = added_at
        self.injected = record.injected
        self._record = record
        self._chance = chance
        self.memory: _Memory = before.memory if before else _Memory()
        self.hold: Hold = before.hold if before and not before.hold.ended else Hold()
        type_.check(self.attributes, self.direction)

    @property
    def record(self) -> Fault:
        """The fault as the control API shows it."""
        fields: dict[str, Any] = {
            name: getattr(self._record, name) for name in self._record.__struct_fields__
        }
        return Fault(**(fields | {"attributes": dict(self.attributes), "injected": self.injected}))

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def channel(self) -> str:
        return self._record.channel

    def alive(self, now: float) -> bool:
        """Whether it may strike now or later: enabled, within its limit, its time not over."""
        record, when = self._record, self.when
        spent = record.limit is not None and self.injected >= record.limit
        over = when.lasts is not None and now - self.added_at >= when.at + when.lasts
        return record.enabled and not spent and not over

    def chosen(self, message: Message, channel: str, now: float) -> Chosen | None:
        """Whether the fault strikes this message now; what is drawn from decides also how."""
        if not self.alive(now) or now - self.added_at < self.when.at:
            return None
        if self.when.match and not self.when.matches(message, channel):
            return None
        if message.message_id is not None:
            return self._drawn(channel, message.message_id)
        before = self.memory.same.get(message.digest)
        found = self._drawn(channel, f"{message.digest}/{before}")
        if found is None or self.type.phase not in _KEEPING_OUT:
            self.memory.same.put(message.digest, before + 1)
        return found

    def _drawn(self, channel: str, identity: str) -> Chosen | None:
        when = self.when
        memory = f"{channel}\x1f{identity}"
        if when.counts and not when.counted(self._ordinal(memory)):
            return None
        struck = self.memory.struck.get(memory)
        if when.strikes is not None and struck >= when.strikes:
            return None
        # A state of n failures is chosen once for all n, not anew each time.
        turn = 0 if when.fails is not None else struck
        if self._record.toxicity < 1:
            lot = self._chance.draws("fault", self.name, identity, str(turn)).random()
            if lot >= self._record.toxicity:
                return None
        return Chosen(memory, self._chance.draws("fault", self.name, identity, str(struck), "how"))

    @property
    def timed(self) -> bool:
        """Whether a control fault strikes by the clock alone, and not at a message."""
        return not self.when.counts and not self.when.match and self._record.toxicity == 1

    def chosen_on_time(self, now: float) -> Chosen | None:
        """Whether a timed fault strikes now."""
        spent = self._record.limit is None and self.injected > 0
        if spent or not self.alive(now):
            return None
        return Chosen("", self._chance.draws("fault", self.name, "on time", str(self.injected)))

    def remember(self, chosen: Chosen) -> None:
        """Note that the message was struck."""
        self.memory.struck.put(chosen.memory, self.memory.struck.get(chosen.memory) + 1)

    def _ordinal(self, memory: str) -> int:
        known = self.memory.ordinals.get(memory)
        if not known:
            known = self.memory.ordinals.counted + 1
            self.memory.ordinals.counted = known
            self.memory.ordinals.put(memory, known)
        return known
