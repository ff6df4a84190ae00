"""How a run stands at any of its moments: what became of each message so far, and what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from rdss_sandbox.shapes.events import Event

INPUT = "input"
"""The channel that a scenario's messages go through."""
_CHECKPOINTS = 50
_SHORTEST = 200


class MessageState(StrEnum):
    """How far a message is; the value is its sign."""

    OFFERED = "·"
    TAKEN = "○"
    DELIVERED = "◐"
    PROCESSED = "●"
    TWICE = "‼"
    REJECTED = "✗"


MEANINGS = {
    MessageState.OFFERED: "wanted sent",
    MessageState.TAKEN: "the broker has it",
    MessageState.DELIVERED: "given to the receiver",
    MessageState.PROCESSED: "processed",
    MessageState.TWICE: "processed twice",
    MessageState.REJECTED: "in a queue",
}
_FURTHER = {
    "message.offered": MessageState.OFFERED,
    "message.acknowledged": MessageState.TAKEN,
    "message.delivered": MessageState.DELIVERED,
    "message.processed": MessageState.PROCESSED,
    "message.rejected": MessageState.REJECTED,
}
_ENDS = {MessageState.PROCESSED, MessageState.TWICE, MessageState.REJECTED}


@dataclass(slots=True)
class PlaybackState:
    """What there is after some events: messages in the order they were first heard of, shards, counts.

    Parts of a sequence are not messages of their own: they are counted as ``parts``.
    """

    fates: dict[str, MessageState] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    shards: dict[str, bool] = field(default_factory=dict)

    def copy(self) -> Self:
        return type(self)(dict(self.fates), Counter(self.counts), dict(self.shards))

    def happen(self, event: Event) -> None:
        """One event further."""
        self.counts[event.kind] += 1
        fields = event.fields
        if event.kind == "stream.resharded":
            self.shards |= dict.fromkeys(fields.get("closed", ()), False)
            self.shards |= dict.fromkeys(fields.get("opened", ()), True)
        elif event.kind in _FURTHER and "message_id" in fields and fields.get("channel", INPUT) == INPUT:
            if "shard" in fields:
                self.shards.setdefault(str(fields["shard"]), True)
            if "position" in fields:
                self.counts["parts"] += event.kind == "message.delivered"
            else:
                self._go_on(str(fields["message_id"]), _FURTHER[event.kind])

    def _go_on(self, message: str, fate: MessageState) -> None:
        before = self.fates.get(message)
        if fate is MessageState.PROCESSED and before in {MessageState.PROCESSED, MessageState.TWICE}:
            self.fates[message] = MessageState.TWICE
        elif before not in _ENDS or fate in _ENDS:
            self.fates[message] = fate


class Scenes:
    """The scene after any number of events; going back is as quick as going on."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._apart = max(_SHORTEST, len(events) // _CHECKPOINTS)
        self._kept = [PlaybackState()]
        self._at, self._scene = 0, PlaybackState()

    def after(self, count: int) -> PlaybackState:
        """How it stands once the first ``count`` events have happened."""
        if count < self._at:
            nearest = min(count // self._apart, len(self._kept) - 1)
            self._at, self._scene = nearest * self._apart, self._kept[nearest].copy()
        while self._at < min(count, len(self._events)):
            self._scene.happen(self._events[self._at])
            self._at += 1
            if self._at == len(self._kept) * self._apart:
                self._kept.append(self._scene.copy())
        return self._scene
