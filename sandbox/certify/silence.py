"""Silence: whether anything more is to be expected of a client, judged by what it asks for.

    starts -> first request -> news, news, news -> asks and gets nothing, again and again -> silent
    (five patiences)           (told, delivered,   (three times, and one patience)
                                refused)

A consumer of a queue subscribes, and is pushed what comes. It is silent when it has nothing in hand, or gives
back what it has, or breaks over it, again and again.

A slow machine makes a client ask later. It does not make it silent. But nobody is waited for longer than five
patiences without news, whatever he asks for; who was refused, and may pause before the next try, for three.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from emulator.clock import stopwatch
from rdss_sandbox.shapes.trace import Disposition, Put, Read, Settlement, Subscription, TraceItem
from sandbox.certify.history import History

_FRUITLESS_READS: Final = 3
_START_PATIENCES: Final = 5
_PAUSE_PATIENCES: Final = 3
_MOST_TRIES: Final = 6
_MOST_REFUSALS: Final = 20


class Silence:
    """Follows a client through a history.

    News is a message delivered, told or put, and the end of a shard; of the same message the first six times
    only, so that a client that repeats itself without end becomes silent. A refusal is news too, since an SDK
    waits for seconds before its next try; of one place the first twenty.
    """

    def __init__(self, history: History, patience: float) -> None:
        self._history = history
        self._patience = patience
        self._statements = self._exchanges = 0
        self._times: Counter[tuple[str, str | None]] = Counter()
        self._life = -1
        self._asked = False
        self._news_at = self._wait_began = stopwatch()
        self._fruitless: Counter[str] = Counter()
        self._in_hand: Counter[str] = Counter()
        self._subscribed = False
        self._refused: set[str] = set()

    def begin(self) -> None:
        """Begin to wait: what came before is no longer waited for."""
        self._follow()
        self._wait_began = stopwatch()
        self._fruitless.clear()

    def lasts(self, *, reads: bool = True, leases: bool = False) -> bool:
        """Whether nothing more is to be expected of the client.

        One that has made a request since its start, and ``reads``, is silent when nothing new has come from
        it for the time of its patience, in which it has asked and got nothing three times, or has waited with
        nothing in hand for what a queue pushes. After a refusal it has three times as long for its pause. Any
        other has five times as long, since it may still be starting, at work, or waiting for ``leases``.
        """
        quiet = self.seconds()
        if quiet <= self._patience:
            return False
        if self._refused and quiet <= _PAUSE_PATIENCES * self._patience:
            return False
        waits = self._subscribed and not self._in_hand
        asks = max(self._fruitless.values(), default=0) >= _FRUITLESS_READS
        if self._asked and not leases and (not reads or waits or asks):
            return True
        return quiet > _START_PATIENCES * self._patience

    def seconds(self) -> float:
        """How long nothing new has come from the client while it was waited for."""
        self._follow()
        return stopwatch() - max(self._news_at, self._wait_began)

    def rests(self) -> bool:
        """Whether the client has asked for more in each shard of which it got something since its start."""
        self._follow()
        return self._asked and not self._in_hand

    def _follow(self) -> None:
        history = self._history
        if history.lives and history.lives[-1].number != self._life:
            self._life = history.lives[-1].number
            self._asked = self._subscribed = False
            self._news_at = stopwatch()
            self._refused.clear()
            self._fruitless.clear()
            self._in_hand.clear()
        exchanges, statements = history.exchanges[self._exchanges :], history.told[self._statements :]
        self._exchanges += len(exchanges)
        self._statements += len(statements)
        for exchange in exchanges:
            if exchange.life == self._life:
                self._asked = True
                self._take(exchange)
        for each in statements:
            self._count("told", each.message_id)

    def _take(self, exchange: TraceItem) -> None:
        if isinstance(exchange, Put):
            errors = (exchange.error, *(entry.error for entry in exchange.entries))
            self._note_refused(exchange.stream, max(errors))
            for entry in exchange.entries:
                self._count("put", entry.message_id)
        elif isinstance(exchange, Read):
            self._take_read(exchange)
        elif isinstance(exchange, Subscription):
            self._subscribed = True
        elif isinstance(exchange, Settlement):
            self._in_hand -= Counter(each.sequence_number for each in exchange.records)
            if exchange.disposition is Disposition.REQUEUE:
                self._fruitless[exchange.queue] += 1

    def _take_read(self, read: Read) -> None:
        if read.owed:
            self._in_hand.update(each.sequence_number for each in read.records)
            # Poison that breaks the client comes again and again, and is never given back.
            self._fruitless[read.shard] += any(
                self._times["delivered", each.message_id or each.sequence_number] >= _MOST_TRIES
                for each in read.records
            )
        elif read.error and read.shard == read.stream:
            # The broker takes back what it has delivered, and the client has to begin again.
            self._in_hand.clear()
            self._subscribed = False
        elif not self._subscribed:
            self._in_hand.pop(read.shard, None)
            if read.records and not read.ended:
                self._in_hand[read.shard] = 1
            self._fruitless[read.shard] += 1
        for each in read.records:
            self._count("delivered", each.message_id or each.sequence_number)
        if read.ended:
            self._count("ended", read.shard)
        if read.shard != read.stream:
            self._note_refused(read.shard, read.error)

    def _note_refused(self, place: str, error: str) -> None:
        self._refused.discard(place)
        if error:
            self._refused.add(place)
            self._times["refused", place] += 1
            if self._times["refused", place] <= _MOST_REFUSALS:
                self._news_at = stopwatch()

    def _count(self, what: str, message_id: str | None) -> None:
        self._times[what, message_id] += 1
        if self._times[what, message_id] <= _MOST_TRIES:
            self._news_at = stopwatch()
            self._fruitless.clear()
