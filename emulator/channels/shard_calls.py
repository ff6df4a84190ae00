"""Asking the shards of a stream for records: one after another, or each on a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from emulator.channels.channel import ChannelUnavailableError, Delivery

MOST_CALLS: Final = 32
"""The most shards that are asked at the same time."""
_PATIENCE: Final = 0.2
"""The real seconds that answers wait for those of slower shards."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records of one shard in order. ``drained`` says that the shard is closed and has no more."""

    deliveries: list[Delivery]
    drained: bool


Fetch: TypeAlias = Callable[[str, str | None, int], Fetched]
"""Fetches up to so many records of a shard after a sequence number; None starts at the oldest."""


@dataclass(slots=True)
class Round:
    """What shards answered. ``left`` are those that may have more, or that were not asked yet.

    ``waiting`` says that a shard has not answered so far.
    """

    fetched: dict[str, Fetched] = field(default_factory=dict)
    failures: list[ChannelUnavailableError] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    waiting: bool = False


class ShardCalls(Protocol):
    """Asks shards in rounds."""

    def ask(self, positions: Mapping[str, str | None], limit: int) -> Round:
        """Ask shards, each for what comes after its position, for at most ``limit`` records in all."""


class CallsInTurn:
    """Asks one shard after another, until there are as many records as wanted."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def ask(self, positions: Mapping[str, str | None], limit: int) -> Round:
        done, room = Round(), limit
        for shard, after in positions.items():
            if room <= 0:
                done.left.append(shard)
                continue
            try:
                fetched = done.fetched[shard] = self._fetch(shard, after, room)
            except ChannelUnavailableError as error:
                done.failures.append(error)
            else:
                room -= len(fetched.deliveries)
        return done


class CallsAtOnce:
    """Asks every shard at the same time, each for its share of the records that are wanted.

    A call that takes long holds up no other shard: its answer is part of a later round, and until then the
    shard is not asked again. A call that nobody waits for ends with the process.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._changed = threading.Condition()
        self._calling: set[str] = set()
        self._answers: dict[str, Fetched | BaseException] = {}

    def ask(self, positions: Mapping[str, str | None], limit: int) -> Round:
        # A shard whose answer is not taken is not idle: its position is the one before that answer.
        with self._changed:
            idle = [shard for shard in positions if shard not in self._calling | self._answers.keys()]
        asked = idle[: min(limit, MOST_CALLS)]
        share = max(limit // max(len(asked), 1), 1)
        for shard in asked:
            self._begin(shard, positions[shard], share)

        def enough() -> bool:
            """All have answered, or all that were asked now, and there are records."""
            came = self._calling.isdisjoint(asked) and any(map(self._count, positions))
            return came or self._calling.isdisjoint(positions)

        with self._changed:
            self._changed.wait_for(enough, _PATIENCE)
            # A whole share may not be all that there is.
            full = [shard for shard in asked if self._count(shard) >= share]
            done = self._take(positions, limit)
            done.waiting = not self._calling.isdisjoint(positions)
        done.left = full + idle[len(asked) :]
        return done

    def _count(self, shard: str) -> int:
        """The number of records of an answer that nobody has taken."""
        answer = self._answers.get(shard)
        return len(answer.deliveries) if isinstance(answer, Fetched) else 0

    def _begin(self, shard: str, after: str | None, limit: int) -> None:
        with self._changed:
            self._calling.add(shard)
        call = threading.Thread(
            target=self._call, args=(shard, after, limit), name=f"calls {shard}", daemon=True
        )
        call.start()

    def _call(self, shard: str, after: str | None, limit: int) -> None:
        answer: Fetched | BaseException
        try:
            answer = self._fetch(shard, after, limit)
        except BaseException as error:  # noqa: BLE001 -- raised again where the answer is taken
            answer = error
        with self._changed:
            self._calling.discard(shard)
            self._answers[shard] = answer
            self._changed.notify_all()

    def _take(self, positions: Mapping[str, str | None], limit: int) -> Round:
        """Take the answers of these shards; what is more than ``limit`` stays for a later round."""
        done, room = Round(), limit
        for shard in [each for each in positions if each in self._answers]:
            answer = self._answers.pop(shard)
            if isinstance(answer, ChannelUnavailableError):
                done.failures.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            elif len(answer.deliveries) <= room:
                done.fetched[shard] = answer
                room -= len(answer.deliveries)
            else:
                done.fetched[shard] = Fetched(answer.deliveries[:room], drained=False)
                self._answers[shard] = Fetched(answer.deliveries[room:], answer.drained)
                room = 0
        return done
