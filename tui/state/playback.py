"""The state of a recorded run after any number of its events: message states, shards, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from rdss_sandbox.shapes.events import Event

INPUT = "input"
"""The channel of a scenario's messages."""
_CHECKPOINTS = 50
_SHORTEST = 200


class MessageState(StrEnum):
    """The progress of a message; the value is its sign on screen."""

    OFFERED = "·"
    TAKEN = "○"
    DELIVERED = "◐"
    PROCESSED = "●"
    TWICE = "‼"
    REJECTED = "✗"


MEANINGS = {
    MessageState.OFFERED: "offered",
    MessageState.TAKEN: "the broker has it",
    MessageState.DELIVERED: "given to the receiver",
    MessageState.PROCESSED: "processed",
    MessageState.TWICE: "processed twice",
    MessageState.REJECTED: "in a queue",
}
_STATE_AFTER = {
    "message.offered": MessageState.OFFERED,
    "message.acknowledged": MessageState.TAKEN,
    "message.delivered": MessageState.DELIVERED,
    "message.processed": MessageState.PROCESSED,
    "message.rejected": MessageState.REJECTED,
}
_IN_A_LANE = {"message.acknowledged", "message.delivered"}
_FINAL_STATES = {MessageState.PROCESSED, MessageState.TWICE, MessageState.REJECTED}


@dataclass(slots=True)
class PlaybackState:
    """The state after some events: messages in the order of their first event, shards, counts by kind.

    ``places`` has the shard of each message, or the channel where there are no shards; both are in
    ``shards``, with whether they are open. ``moved`` is the message of the last event, if it was of one.
    Parts of a sequence are not separate messages; they are counted as ``parts``.
    """

    states: dict[str, MessageState] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    moved: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    shards: dict[str, bool] = field(default_factory=dict)

    def copy(self) -> Self:
        return replace(
            self,
            states=dict(self.states),
            places=dict(self.places),
            counts=Counter(self.counts),
            shards=dict(self.shards),
        )

    def apply(self, event: Event) -> None:
        self.counts[event.kind] += 1
        fields = event.fields
        self.moved = str(fields.get("message_id") or "")
        if event.kind == "stream.resharded":
            self.shards |= dict.fromkeys(fields.get("closed", ()), False)
            self.shards |= dict.fromkeys(fields.get("opened", ()), True)
        elif event.kind in _STATE_AFTER and "message_id" in fields and fields.get("channel", INPUT) == INPUT:
            if "shard" in fields:
                self.shards.setdefault(str(fields["shard"]), True)
            if "position" not in fields and event.kind in _IN_A_LANE:
                self._place(str(fields["message_id"]), str(fields.get("shard") or INPUT))
            if "position" in fields:
                self.counts["parts"] += event.kind == "message.delivered"
            else:
                self._set_state(str(fields["message_id"]), _STATE_AFTER[event.kind])

    def _place(self, message: str, lane: str) -> None:
        """A message stays in the lane in which it was last; one that has no shard has its channel's."""
        if lane == INPUT and message in self.places:
            return
        self.shards.setdefault(lane, True)
        self.places[message] = lane

    def _set_state(self, message: str, state: MessageState) -> None:
        before = self.states.get(message)
        if state is MessageState.PROCESSED and before in {MessageState.PROCESSED, MessageState.TWICE}:
            self.states[message] = MessageState.TWICE
        elif before not in _FINAL_STATES or state in _FINAL_STATES:
            self.states[message] = state


class Playback:
    """Computes the state after any number of events; stored copies make going back fast."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._apart = max(_SHORTEST, len(events) // _CHECKPOINTS)
        self._kept = [PlaybackState()]
        self._at, self._state = 0, PlaybackState()

    def after(self, count: int) -> PlaybackState:
        """The state after the first ``count`` events. The next call changes it."""
        if count < self._at:
            nearest = min(count // self._apart, len(self._kept) - 1)
            self._at, self._state = nearest * self._apart, self._kept[nearest].copy()
        while self._at < min(count, len(self._events)):
            self._state.apply(self._events[self._at])
            self._at += 1
            if self._at == len(self._kept) * self._apart:
                self._kept.append(self._state.copy())
        return self._state
