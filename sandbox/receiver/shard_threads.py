"""A thread for each shard: its messages are worked on in order, those of other shards at the same time."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from emulator.channels.channel import Delivery


class ShardThreads:
    """Gives deliveries to threads, which call ``work`` with each, and gives them back when that is done.

    A failure of ``work`` is raised where deliveries are given back. The threads end with the process: what
    they leave half done must be such that it can be done again.
    """

    def __init__(self, work: Callable[[Delivery], None]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._in_hand: set[str] = set()
        self._alone: set[str] = set()
        self._done: list[Delivery] = []
        self._failures: list[BaseException] = []
        self.closed = False

    @property
    def in_hand(self) -> frozenset[str]:
        """The shards with a thread at work, which must not be given more."""
        with self._changed:
            return frozenset(self._in_hand)

    def start(self, deliveries: Iterable[Delivery]) -> None:
        """Start a thread for each shard of the deliveries, none of which is in hand."""
        by_shard: defaultdict[str, list[Delivery]] = defaultdict(list)
        for delivery in deliveries:
            by_shard[delivery.shard].append(delivery)
        for shard, its in by_shard.items():
            with self._changed:
                self._in_hand.add(shard)
            threading.Thread(target=self._run, args=(shard, its), name=f"shard {shard}", daemon=True).start()

    def give_back(self, wait: float | None = 0.0) -> tuple[list[Delivery], int]:
        """Return the deliveries that are done, and the number of shards that are still in hand.

        Waits up to ``wait`` real seconds, or without end (None), until none is. Raises what ``work`` raised.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._failures or not self._in_hand, wait)
            done, self._done = self._done, []
            if self._failures:
                raise self._failures[0]
            return done, len(self._in_hand)

    @contextmanager
    def alone(self, name: str | None) -> Iterator[None]:
        """Wait until no other thread is in a context of this name."""
        if name is None:
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: name not in self._alone)
            self._alone.add(name)
        try:
            yield
        finally:
            with self._changed:
                self._alone.discard(name)
                self._changed.notify_all()

    def close(self) -> None:
        """Begin no further message. What is in hand is given up."""
        self.closed = True

    def _run(self, shard: str, deliveries: list[Delivery]) -> None:
        try:
            for delivery in deliveries:
                self._work(delivery)
                if self.closed:
                    return
                with self._changed:
                    self._done.append(delivery)
        except BaseException as error:  # noqa: BLE001 -- raised again where deliveries are given back
            self._failures.append(error)
        finally:
            with self._changed:
                self._in_hand.discard(shard)
                self._changed.notify_all()
