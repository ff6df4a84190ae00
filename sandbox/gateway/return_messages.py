"""Waiting for a return message: one thread polls each shard until one of them finds it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from emulator.channels.channel import Delivery
from emulator.channels.shard_reader import ShardSource
from emulator.clock import Clock
from schemas.rdss.peek import peek
from schemas.rdss.sequence import Assembly, SequenceError

_AT_ONCE = 1000
_MOST_SHARDS = 500


class NoAnswerError(Exception):
    """No return message arrived in time. One that arrives later is ignored."""

    def __init__(self, channel: str, message_id: str, seconds: float) -> None:
        super().__init__(f"no answer to {message_id} came on {channel} within {seconds:g} s")


@dataclass
class Answers:
    """The return messages of one channel, for one ``wait`` at a time.

    ``retry_interval`` is in seconds. Records that were read once are not read again, because an answer is
    never older than its request.
    """

    channel: str
    source: ShardSource
    clock: Clock
    retry_interval: float
    after: dict[str, str] = field(default_factory=dict, init=False)
    drained: set[str] = field(default_factory=set, init=False)

    def wait(self, message_id: str, timeout: float) -> bytes:
        """Wait for the message with the correlationId ``message_id`` and join its parts.

        ``timeout`` is in seconds. Raises ``NoAnswerError``, and ``ChannelUnavailableError`` when the channel
        cannot be read. (Specification, Metadata Read.)
        """
        search = _Search(self, message_id)
        with ThreadPoolExecutor(_MOST_SHARDS, thread_name_prefix="shard") as threads:
            search.begin(threads)
            self.clock.wait(timeout, search.ended.is_set)
            search.end()
        if search.failures:
            raise search.failures[0]
        if search.found is None:
            raise NoAnswerError(self.channel, message_id, timeout)
        return search.found


class _Search:
    def __init__(self, answers: Answers, message_id: str) -> None:
        self.found: bytes | None = None
        self.failures: list[Exception] = []
        self.ended = threading.Event()
        self._answers = answers
        self._message_id = message_id
        self._assemblies: dict[str | None, Assembly] = {}
        self._followed: set[str] = set()
        self._lock = threading.RLock()
        self._threads: ThreadPoolExecutor | None = None

    def begin(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._start_shards()

    def end(self) -> None:
        with self._lock:
            self.ended.set()
        self._answers.clock.nudge()

    def _start_shards(self) -> None:
        """Start a thread for each shard without one; after a reshard, for its children."""
        listed = [shard.id for shard in self._answers.source.shards()]
        with self._lock:
            new = [shard for shard in listed if shard not in self._followed | self._answers.drained]
            self._followed.update(new)
            if self._threads is not None and not self.ended.is_set():
                for shard in new:
                    self._threads.submit(self._follow, shard)

    def _follow(self, shard: str) -> None:
        answers = self._answers
        try:
            while not self.ended.is_set():
                after = answers.after.get(shard)
                fetched = answers.source.fetch(shard, after, _AT_ONCE)
                for delivery in fetched.deliveries:
                    self._examine(delivery)
                    answers.after[shard] = delivery.sequence_number
                if fetched.drained:
                    answers.drained.add(shard)
                    self._start_shards()
                    return
                if not fetched.deliveries:
                    answers.clock.wait(answers.retry_interval, self.ended.is_set)
        except Exception as error:  # noqa: BLE001 -- handed to the thread that waits for all of these
            self.failures.append(error)
            self.end()

    def _examine(self, delivery: Delivery) -> None:
        glance = peek(delivery.data)
        if glance.correlation_id != self._message_id:
            return
        with self._lock:
            self._accept(delivery.data, glance.part.sequence if glance.part else None)

    def _accept(self, data: bytes, sequence: str | None) -> None:
        if sequence is not None:
            assembly = self._assemblies.setdefault(sequence, Assembly())
            try:
                if not assembly.add(data):
                    return
            except SequenceError:
                return
            data = assembly.message()
        self.found = self.found or data
        self.end()
