"""A fault in force, and which messages it strikes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

import msgspec

from emulator.faults.attributes import read_attributes
from emulator.faults.fault import Direction, FaultType, Hold, Phase
from emulator.faults.faulted_message import Message
from emulator.faults.when import read_when
from emulator.rng import Chance, Draws
from rdss_sandbox.shapes.faults import Fault
from schemas.contract import Contract

_REMEMBERED: Final = 200_000
"""Messages whose strikes and ordinals a fault remembers; the oldest are forgotten first."""

_REFUSING: Final = (Phase.CALL, Phase.ENTRY)
"""The phases that refuse a message, which its producer then puts again with the same payload."""


class Chosen(NamedTuple):
    """A message that a fault strikes: ``memory`` is its key in the fault's counts, ``draws`` its chance."""

    memory: str
    draws: Draws


class SavedCounts(msgspec.Struct, array_like=True):
    """Counts by key, oldest first, and the number given last."""

    counted: int
    values: list[tuple[str, int]]


class SavedFault(msgspec.Struct):
    """A fault in force with its memory; ``added_at`` is in seconds since the epoch."""

    record: Fault
    added_at: float
    struck: SavedCounts
    ordinals: SavedCounts
    same: SavedCounts


class _Counts:
    """Counts by key. Beyond ``size`` keys the oldest is forgotten, so that a long run does not grow."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, int] = OrderedDict()
        self.counted = 0

    def save(self) -> SavedCounts:
        return SavedCounts(self.counted, list(self._values.items()))

    def load(self, saved: SavedCounts) -> None:
        self.counted = saved.counted
        self._values = OrderedDict(saved.values)

    def get(self, key: str, default: int = 0) -> int:
        return self._values.get(key, default)

    def put(self, key: str, value: int) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)


class _Memory:
    """What a fault remembers: strikes of each message, the order of messages, and equal payloads."""

    def __init__(self) -> None:
        self.struck = _Counts(_REMEMBERED)
        self.ordinals = _Counts(_REMEMBERED)
        self.same = _Counts(_REMEMBERED)


class ActiveFault:
    """A fault and its memory. It depends neither on other faults nor on how messages are batched.

    Whether a message is struck is drawn from (seed, fault, message, earlier strikes of this
    message by this fault). A spared message stays spared when it comes again for another
    reason. A struck message has a new chance to pass at its next try. A payload that has
    no id is identified by its bytes and by the number of equal payloads before it.
    """

    def __init__(
        self,
        record: Fault,
        type_: FaultType,
        chance: Chance,
        added_at: float,
        *,
        contract: Contract,
        before: ActiveFault | None = None,
    ) -> None:
        self.type = type_
        self.direction = Direction(record.direction)
        self.attributes = read_attributes(type_, record.attributes)
        self.when = read_when(record.when, contract)
        self.added_at = added_at
        self.injected = record.injected
        self._record = record
        self._chance = chance
        # A fault that is changed still knows which messages it has struck.
        self.memory: _Memory = before.memory if before else _Memory()
        # What is held now ends with the fault as it is after the change.
        self.hold: Hold = before.hold if before and not before.hold.ended else Hold()
        type_.check(self.attributes, self.direction)

    @property
    def record(self) -> Fault:
        """The fault as the control API shows it."""
        return msgspec.structs.replace(self._record, attributes=dict(self.attributes), injected=self.injected)

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def channel(self) -> str:
        return self._record.channel

    def strikes_on(self, kind: str, direction: Direction) -> bool:
        """Whether it may strike there. A publish sets off the control faults that are not timed."""
        if not self._record.enabled or (self.type.kinds and kind not in self.type.kinds):
            return False
        if self.direction is Direction.CONTROL:
            # A message is put once, and may be read by many.
            return direction is Direction.PUBLISH and not self.timed
        return self.direction is direction

    def save(self) -> SavedFault:
        """Return a copy of the fault and what it remembers, not of what it holds."""
        memory = self.memory
        counts = (each.save() for each in (memory.struck, memory.ordinals, memory.same))
        return SavedFault(self.record, self.added_at, *counts)

    def recall(self, saved: SavedFault) -> None:
        self.added_at = saved.added_at
        self.memory.struck.load(saved.struck)
        self.memory.ordinals.load(saved.ordinals)
        self.memory.same.load(saved.same)

    def can_strike(self, now: float) -> bool:
        """Whether it may strike, now or later: it is enabled, below its limit, and its time is not over."""
        record, when = self._record, self.when
        spent = record.limit is not None and self.injected >= record.limit
        over = when.lasts is not None and now - self.added_at >= when.at + when.lasts
        return record.enabled and not spent and not over

    def choose(self, message: Message, channel: str, now: float) -> Chosen | None:
        """Draw whether the fault strikes this message now; None when it does not."""
        if not self.can_strike(now) or now - self.added_at < self.when.at:
            return None
        # Before the message is counted: an ordinal is one among those that match.
        if self.when.chooses and not self.when.matches(message, channel):
            return None
        if message.message_id is not None:
            return self._draw(channel, message.message_id)
        before = self.memory.same.get(message.digest)
        found = self._draw(channel, f"{message.digest}/{before}")
        # A refused payload comes again and is the same message, so only one that passes counts.
        if found is None or self.type.phase not in _REFUSING:
            self.memory.same.put(message.digest, before + 1)
        return found

    def _draw(self, channel: str, identity: str) -> Chosen | None:
        when = self.when
        memory = f"{channel}\x1f{identity}"
        if when.counts and not when.selects(self._assign_ordinal(memory)):
            return None
        struck = self.memory.struck.get(memory)
        if when.strikes is not None and struck >= when.strikes:
            return None
        # With ``fails: n`` one draw decides all n strikes of a message.
        turn = 0 if when.fails is not None else struck
        if self._record.toxicity < 1:
            lot = self._chance.draws("fault", self.name, identity, str(turn)).random()
            if lot >= self._record.toxicity:
                return None
        # Draws of their own, so that a toxicity changes whom it strikes, and not how.
        return Chosen(memory, self._chance.draws("fault", self.name, identity, str(struck), "how"))

    @property
    def timed(self) -> bool:
        """Whether a control fault strikes by the clock alone, not at a message."""
        return not self.when.counts and not self.when.chooses and self._record.toxicity == 1

    def choose_on_time(self, now: float) -> Chosen | None:
        """Draw the chance of a timed fault that strikes now; None when it may not strike."""
        # Without a limit one strike is all: a change of the fault must not set it off again.
        spent = self._record.limit is None and self.injected > 0
        if spent or not self.can_strike(now):
            return None
        return Chosen("", self._chance.draws("fault", self.name, "on time", str(self.injected)))

    def remember(self, chosen: Chosen) -> None:
        """Count one strike of the message."""
        self.memory.struck.put(chosen.memory, self.memory.struck.get(chosen.memory) + 1)

    def _assign_ordinal(self, memory: str) -> int:
        known = self.memory.ordinals.get(memory)
        if not known:
            known = self.memory.ordinals.counted + 1
            self.memory.ordinals.counted = known
            self.memory.ordinals.put(memory, known)
        return known
