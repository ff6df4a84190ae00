"""Tumbling windows: the state that a function hands on from batch to batch of a time, shard by shard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

from emulator.channels.channel import Delivery
from extensions.functions.mappings.mapping import Mapping, Position
from extensions.functions.mappings.source_events import windowed
from extensions.functions.runtime.environment import Outcome

_MOST_STATE_BYTES: Final = 1 << 20


class TumblingWindow:
    """The window of a shard that is open, if one is, and its state.

    Records belong to windows by when they came. The state of an answer counts from the next event on.
    """

    def __init__(self, mapping: Mapping, shard: str, position: Position) -> None:
        self._mapping = mapping
        self._shard = shard
        self.start = position.window
        self.state = position.state

    @property
    def end(self) -> float | None:
        """When the open window ends, in seconds since the epoch."""
        return None if self.start is None else self.start + self._mapping.window_seconds

    @property
    def is_full(self) -> bool:
        """Whether the state is longer than a window may have."""
        return len(self.state) > _MOST_STATE_BYTES

    def count_same(self, records: Sequence[Delivery]) -> int:
        """How many records, from the first on, are of one window."""
        first = self._find_start(records[0])
        return sum(1 for _ in takewhile(lambda each: self._find_start(each) == first, records))

    def is_behind(self, record: Delivery) -> bool:
        """Whether a record is of another window than the open one."""
        return self.start is not None and self._find_start(record) != self.start

    def open_for(self, record: Delivery) -> None:
        if self.start is None:
            self.start = self._find_start(record)

    def make_event(self, event: dict[str, Any], *, final: bool = False) -> dict[str, Any]:
        assert self.start is not None, "a window is opened by its first record"
        early = final and self.is_full
        return windowed(self._mapping, self._shard, event, self.start, self.state, final=final, early=early)

    def take_state(self, outcome: Outcome) -> bool:
        """Take the state out of an answer. False for one without, which is a failure."""
        try:
            answer = json.loads(outcome.payload)
        except ValueError:
            return False
        if not isinstance(answer, dict) or "state" not in answer:
            return False
        self.state = json.dumps(answer["state"])
        return True

    def close(self) -> None:
        """Forget the window, whose last invocation has succeeded."""
        self.start, self.state = None, "{}"

    def _find_start(self, record: Delivery) -> float:
        seconds = self._mapping.window_seconds
        return record.arrived // seconds * seconds
