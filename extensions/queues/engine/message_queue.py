"""One queue in memory: its free and its claimed messages, and what expires when."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Final, NamedTuple

from emulator.priority_queue import PriorityQueue
from extensions.queues.engine.address import Address
from extensions.queues.engine.queued_message import ClaimedMessages, Found, QueuedMessage
from extensions.queues.engine.subscription import Subscription

_EMPTY_CLAIMS_KEPT: Final = 1000
_LEAST_STALE: Final = 1024


class Passed(NamedTuple):
    """What has expired: claims, each with the messages that it still held, and messages."""

    claims: list[tuple[ClaimedMessages, list[QueuedMessage]]]
    messages: list[QueuedMessage]


class LiveQueue:
    """The messages, claims and subscriptions of a queue, as of the last ``pass_time``.

    The cost of a method depends on the number of messages that it returns, not on the length of the queue.
    """

    def __init__(self, at: Address, metadata: dict[str, Any], number: int = 1) -> None:
        self.at = at
        self.metadata = metadata
        self.number = number
        self.messages = Order()
        self.claims: dict[str, ClaimedMessages] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self._ids: dict[str, QueuedMessage] = {}
        self._held: dict[int, ClaimedMessages] = {}
        self._free: list[int] = []
        self._delayed: PriorityQueue[int] = PriorityQueue()
        self._lives: PriorityQueue[int] = PriorityQueue()
        self._terms: PriorityQueue[str] = PriorityQueue()
        self._done: deque[str] = deque()

    # -- looking

    def get(self, id_: str) -> QueuedMessage | None:
        return self._ids.get(id_)

    def holder(self, message: QueuedMessage) -> ClaimedMessages | None:
        return self._held.get(message.number)

    def describe(self, message: QueuedMessage) -> Found:
        claim = self._held.get(message.number)
        return Found(message, claim.id if claim else None)

    @property
    def claimed(self) -> int:
        """The number of messages that claims hold."""
        return len(self._held)

    @property
    def delayed(self) -> int:
        """The number of messages that cannot be claimed yet."""
        return sum(1 for number in set(self._delayed) if self.messages.get(number) is not None)

    def held_by(self, claim: ClaimedMessages) -> list[QueuedMessage]:
        return [message for number in claim.numbers if (message := self.messages.get(number))]

    def page(self, after: int, limit: int, passes: Callable[[QueuedMessage], bool]) -> list[Found]:
        """Up to ``limit`` wanted messages with numbers above ``after``."""
        found: list[Found] = []
        for message in self.messages.after(after):
            if passes(message):
                found.append(self.describe(message))
                if len(found) == limit:
                    break
        return found

    # -- changing

    def add(self, message: QueuedMessage, now: float) -> None:
        self.number = max(self.number, message.number + 1)
        self.messages.add(message)
        self._ids[message.id] = message
        self._lives.add(message.expires, message.number)
        if message.ready > now:
            self._delayed.add(message.ready, message.number)
        else:
            heapq.heappush(self._free, message.number)

    def take(self, limit: int) -> list[QueuedMessage]:
        """Take out the oldest free messages. The caller must ``hold`` them, or ``put_back`` them."""
        taken: list[QueuedMessage] = []
        last = -1
        free = self._free
        while free and len(taken) < limit:
            number = heapq.heappop(free)
            message = self.messages.get(number)
            # A replay holds messages without taking them: a number may be held by now, or be there twice.
            if message is not None and number != last and number not in self._held:
                taken.append(message)
                last = number
        return taken

    def put_back(self, messages: Iterable[QueuedMessage]) -> None:
        for message in messages:
            heapq.heappush(self._free, message.number)

    def hold(self, claim: ClaimedMessages, counts: Iterable[tuple[int, int]]) -> None:
        """Add ``claim``, which holds messages by (number, count of claims with this one)."""
        self.claims[claim.id] = claim
        self._terms.add(claim.ends, claim.id)
        for number, count in counts:
            message = self.messages.get(number)
            if message is not None:
                message.claims = count
                claim.numbers[number] = None
                self._held[number] = claim
                self._extend_life(message, claim)
        if not claim.numbers:
            self._note_empty(claim)

    def renew(self, claim: ClaimedMessages, ttl: int, grace: int, now: float) -> None:
        claim.ttl, claim.grace, claim.since = ttl, grace, now
        self._terms.add(claim.ends, claim.id)
        for message in self.held_by(claim):
            self._extend_life(message, claim)

    def release(self, claim: ClaimedMessages) -> list[QueuedMessage]:
        """Remove the claim, and return its messages, which are free again."""
        del self.claims[claim.id]
        messages = self.held_by(claim)
        for number in claim.numbers:
            del self._held[number]
        self.put_back(messages)
        return messages

    def remove(self, number: int) -> QueuedMessage | None:
        message = self.messages.get(number)
        if message is None:
            return None
        self.messages.remove(number)
        del self._ids[message.id]
        claim = self._held.pop(number, None)
        if claim is not None:
            del claim.numbers[number]
            if not claim.numbers:
                self._note_empty(claim)
        return message

    # -- time

    def pass_time(self, now: float) -> Passed | None:
        """Expire what is due by ``now``. Returns what expired, or None."""
        for number in self._delayed.pop_until(now):
            message = self.messages.get(number)
            if message is not None and number not in self._held:
                heapq.heappush(self._free, number)
        passed = Passed([], [])
        for id_ in self._terms.pop_until(now):
            claim = self.claims.get(id_)
            # The end of a claim that was renewed stands here too.
            if claim is not None and claim.ends <= now:
                passed.claims.append((claim, self.release(claim)))
        for number in self._lives.pop_until(now):
            message = self.messages.get(number)
            if message is not None and message.expires <= now:
                self.remove(number)
                passed.messages.append(message)
        if self.subscriptions:
            for subscription in [each for each in self.subscriptions.values() if each.expires <= now]:
                del self.subscriptions[subscription.id]
        self._compact(now)
        return passed if passed.claims or passed.messages else None

    def next_due(self) -> float | None:
        """When ``pass_time`` may next have something to do, in seconds since the epoch."""
        deadlines = (self._delayed, self._lives, self._terms)
        return min((when for each in deadlines if (when := each.lowest) is not None), default=None)

    def _extend_life(self, message: QueuedMessage, claim: ClaimedMessages) -> None:
        before = message.expires
        message.extend_life(claim.ends, claim.grace, claim.since)
        if message.expires != before:
            # The earlier moment stays there, and is passed over when it comes.
            self._lives.add(message.expires, message.number)

    def _note_empty(self, claim: ClaimedMessages) -> None:
        """Note a claim without messages. It can be read until its end, unless there are very many."""
        self._done.append(claim.id)
        if len(self._done) > _EMPTY_CLAIMS_KEPT:
            oldest = self.claims.get(self._done.popleft())
            if oldest is not None and not oldest.numbers:
                del self.claims[oldest.id]

    def _compact(self, now: float) -> None:
        living = len(self.messages)
        # What waits is only a hint: entries are not removed with their message, so they are thinned out here.
        if _is_crowded(self._lives, living):
            self._lives.replace((message.expires, message.number) for message in self.messages)
        if _is_crowded(self._delayed, living):
            self._delayed.replace((m.ready, m.number) for m in self.messages if m.ready > now)
        if _is_crowded(self._terms, len(self.claims)):
            self._terms.replace((claim.ends, claim.id) for claim in self.claims.values())
        if _is_crowded(self._free, living):
            free = (m.number for m in self.messages if m.ready <= now and m.number not in self._held)
            self._free = list(free)
            heapq.heapify(self._free)


def _is_crowded(entries: Sized, living: int) -> bool:
    return len(entries) > 2 * living + _LEAST_STALE


_BLOCK: Final = 256


class Order:
    """Messages by number, added in rising order and removed anywhere.

    They are in blocks of neighbouring numbers. So iterating from the middle, and removing
    there, cost the same in a queue of ten and in one of a million messages.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, dict[int, QueuedMessage]] = {}
        self._starts: list[int] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[QueuedMessage]:
        return self.after(-1)

    def add(self, message: QueuedMessage) -> None:
        start = message.number // _BLOCK
        block = self._blocks.get(start)
        if block is None:
            block = self._blocks[start] = {}
            self._starts.append(start)
        block[message.number] = message
        self._length += 1

    def get(self, number: int) -> QueuedMessage | None:
        block = self._blocks.get(number // _BLOCK)
        return block.get(number) if block is not None else None

    def remove(self, number: int) -> None:
        start = number // _BLOCK
        block = self._blocks[start]
        del block[number]
        self._length -= 1
        if not block:
            del self._blocks[start]
            del self._starts[bisect_left(self._starts, start)]

    def after(self, number: int) -> Iterator[QueuedMessage]:
        """Yield the messages with higher numbers. Nothing may be added or removed meanwhile."""
        first = (number + 1) // _BLOCK
        for start in self._starts[bisect_left(self._starts, first) :]:
            for each in self._blocks[start].values():
                if each.number > number:
                    yield each

    def oldest(self) -> QueuedMessage | None:
        return next(iter(self), None)

    def newest(self) -> QueuedMessage | None:
        if not self._starts:
            return None
        block = self._blocks[self._starts[-1]]
        return block[next(reversed(block))]
