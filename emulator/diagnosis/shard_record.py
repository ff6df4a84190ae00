"""What one client reads of one shard, as it is recorded: runs of reads, and iterators that expired."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec.structs import replace

from emulator.kinesis.iterators import ShardIterator
from rdss_sandbox.ranges import close_gaps, merge
from rdss_sandbox.shapes.recorded_exchange import (
    PACE_READS,
    PACE_SECONDS,
    Expiry,
    Reading,
    ShardReads,
)

MOST_RUNS: Final = 16
MOST_EXPIRIES: Final = 16
MOST_STEPS: Final = 32
"""Reads kept of a run with the records that they delivered; of older ones every second is forgotten."""
_STEPS_OF_FORMER_RUNS: Final = 8
_MOST_APART: Final = 200
_MOST_RECORDS: Final = 10_000
MOST_RANGES: Final = 32
"""Ranges of records kept of forgotten runs. Where there are more, the smallest gaps between them close."""


class RecordDelivery(NamedTuple):
    """A record was given to a client at the clock time ``at``, or before, but later than ``after``."""

    after: float
    at: float


class ReadingRun:
    """A run of reads from one starting position on. ``held`` is the iterator that the client uses next.

    Where a fault gives out iterators of its own, ``token`` is the one that the client has. ``apart`` are the
    records that a read passed over, with the time at which they came after all.
    """

    __slots__ = (
        "apart", "began", "busiest", "delivered_first", "delivered_last", "ended", "first", "held", "last",
        "made", "position", "reads", "recent", "start", "steps", "token", "used",
    )  # fmt: skip

    def __init__(self, start: str, first: int, held: ShardIterator | None, began: float, made: float) -> None:
        self.start = start
        self.first = self.position = first
        self.held = held
        self.used: ShardIterator | None = None
        self.token = ""
        self.began = self.last = began
        self.made = made
        self.reads = 0
        self.ended = False
        self.delivered_first: float | None = None
        self.delivered_last = 0.0
        self.recent: deque[float] = deque(maxlen=PACE_READS)
        self.busiest: float | None = None
        self.steps: list[tuple[int, float, bool]] = []
        self.apart: dict[int, float | None] = {}

    def note_read(self, position: int, at: float, moment: float, records: bool, /) -> None:
        """Note a read up to before the record ``position``, at clock time ``at`` and real ``moment``."""
        if records:
            if self.delivered_first is None:
                self.delivered_first = at
            self.delivered_last = at
            steps = self.steps
            if len(steps) >= MOST_STEPS:
                self.thin_out()
            steps.append((position, at, True))
        if position > self.position:  # noqa: PLR1730 -- max() costs more than all the rest
            self.position = position
        self.reads += 1
        self.last = at
        self.made = moment
        # As ``find_burst`` of the rule has it, one read after the other.
        recent = self.recent
        recent.append(moment)
        if moment - recent[0] < PACE_SECONDS and len(recent) == PACE_READS:
            took = moment - recent[0]
            if self.busiest is None or took < self.busiest:
                self.busiest = took

    def note_apart(self, expected: int, reached: int, given: Iterable[int], at: float) -> None:
        """Note which records a read lacked of those from ``expected`` to before ``reached``, as faults do."""
        there = set(given)
        for ordinal in there & self.apart.keys():
            self.apart[ordinal] = at
        # One read has at most so many records; those far before it have expired.
        for ordinal in range(max(expected, self.position, reached - _MOST_RECORDS), reached):
            if ordinal not in there and len(self.apart) < _MOST_APART:
                self.apart[ordinal] = None

    def find_delivery(self, ordinal: int) -> RecordDelivery | None:
        """When the record ``ordinal`` was first delivered; None where it was not, or that was forgotten."""
        if not self.first <= ordinal < self.position:
            return None
        if ordinal in self.apart:
            came = self.apart[ordinal]
            return None if came is None else RecordDelivery(came, came)
        after = self.began
        for position, at, single in tuple(self.steps):
            if position > ordinal:
                return RecordDelivery(at if single else after, at)
            after = at
        return None

    def thin_out(self) -> None:
        """Forget every second read of the older half: the next one then stands for both."""
        older = self.steps[: MOST_STEPS // 2]
        self.steps[: MOST_STEPS // 2] = [(position, at, False) for position, at, _ in older[1::2]]

    def forget_steps(self) -> None:
        """Forget the reads of a run that is over, but for the last ones."""
        if len(self.steps) > _STEPS_OF_FORMER_RUNS:
            position, at, _ = self.steps[-_STEPS_OF_FORMER_RUNS]
            self.steps[: -_STEPS_OF_FORMER_RUNS + 1] = [(position, at, False)]

    def end(self) -> None:
        """Note that the client was told of the shard's end."""
        self.ended = True
        self.held = None
        self.recent.clear()

    def snapshot(self) -> Reading:
        delivered = None if self.delivered_first is None else (self.delivered_first, self.delivered_last)
        return Reading(
            self.start,
            self.began,
            self.first,
            self.position,
            self.last,
            self.reads,
            delivered,
            self.ended,
            self.busiest,
        )


class ShardRecord:
    """The reads of one shard by one client. ``number`` is the stream's and ``index`` the shard's."""

    def __init__(self, number: int, index: int, stream: str) -> None:
        self.number = number
        self.index = index
        self.stream = stream
        self.runs: list[ReadingRun] = []
        self._earlier: tuple[tuple[int, int], ...] = ()
        self._expiries: deque[Expiry] = deque(maxlen=MOST_EXPIRIES)
        self._expired: dict[ShardIterator, int] = {}

    @property
    def last(self) -> float:
        return self.runs[-1].made if self.runs else 0.0

    def begin(self, run: ReadingRun, at: float) -> None:
        """Add a run. The oldest one is forgotten but for the records that it delivered.

        The pace is one for all runs: a shard's limit counts each read, from whichever iterator it is made.
        """
        if self.runs:
            self.runs[-1].forget_steps()
            run.recent = self.runs[-1].recent
        self.runs.append(run)
        if len(self.runs) > MOST_RUNS:
            gone = self.runs.pop(0)
            self._earlier = close_gaps(merge(*self._earlier, (gone.first, gone.position)), MOST_RANGES)
        if self._expiries and self._expiries[-1].renewed is None:
            self._expiries.append(replace(self._expiries.pop(), renewed=at, start=run.start))

    def find(self, used: ShardIterator) -> ReadingRun | None:
        """The run that an iterator belongs to, also when it is used once more."""
        for run in reversed(self.runs):
            if used in (run.held, run.used):
                return run
        return next((run for run in reversed(self.runs) if run.first <= used.ordinal <= run.position), None)

    def note_expired(self, used: ShardIterator, at: float, moment: float, fault: str) -> None:
        if self._expiries and used in self._expired:
            last = self._expiries.pop()
            self._expiries.append(replace(last, again=last.again + 1))
            return
        run = self.find(used)
        idle = moment - run.made if run else 0.0
        self._expired = {used: 1}
        self._expiries.append(Expiry(at, used.ordinal, idle, fault))

    def snapshot(self, client: str, stream: str, shard: str) -> ShardReads | None:
        """What was recorded; None before the first run."""
        runs = tuple(run.snapshot() for run in tuple(self.runs))
        if not runs:
            return None
        return ShardReads(client, stream, shard, runs, self._earlier, tuple(self._expiries))
