"""Streams on their way into buckets: each is loaded in this process, or by a function that was deployed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from emulator.archive.kinesis_event import count_fitting, make_event
from emulator.archive.lambda_loader import Loader
from emulator.channels.channel import ChannelUnavailableError, Delivery
from emulator.channels.checkpoints import Checkpoints, MemoryCheckpoints
from emulator.channels.memory import MemoryChannel
from rdss_sandbox.text.timestamps import timestamp

MOST_RECORDS: Final = 2_000
"""The most records of an object."""
_LOOK_SECONDS: Final = 1.0
"""Real seconds without progress after which a function's trouble is looked for."""
_MOST_LOOKS: Final = 20


class LoaderStoppedError(RuntimeError):
    """A function that was deployed does not load its stream; it says why."""


class StreamLoading:
    """How much of one stream is in its bucket. ``done`` is called with each batch that is."""

    def __init__(
        self, stream: str, bucket: str, *, sources: bool, done: Callable[[Sequence[Delivery]], None]
    ) -> None:
        self.stream = stream
        self.bucket = bucket
        self.sources = sources
        self.records = 0
        self.objects = 0
        self._done = done

    def note_loaded(self, batch: Sequence[Delivery]) -> None:
        """Count a batch of one shard, which has become an object for each day."""
        self.records += len(batch)
        self.objects += len({timestamp(each.arrived)[:10] for each in batch})
        self._done(batch)


class OwnLoading(StreamLoading):
    """A stream that is loaded here. Batches are those of an event source mapping: as full as they can be."""

    def read_from(self, channel: MemoryChannel, arn: str, loader: Loader) -> None:
        self._channel = channel
        self._arn = arn
        self._loader = loader
        self._waiting: dict[str, list[Delivery]] = {}

    def run_once(self) -> int:
        """Read once, and load what makes full batches; what is left, once nothing more comes.

        Returns the number of records that were read or loaded. Raises what the loader raises; the next run
        then loads the same batch again.
        """
        found: list[Delivery] = []
        # What was read of a stream that is gone since is loaded all the same.
        with suppress(ChannelUnavailableError):
            found = self._channel.read(limit=MOST_RECORDS)
        for delivery in found:
            self._waiting.setdefault(delivery.shard, []).append(delivery)
        loaded = 0
        for waiting in self._waiting.values():
            while waiting:
                count = count_fitting(waiting, MOST_RECORDS)
                if found and count == len(waiting) < MOST_RECORDS:
                    break
                self._load(waiting[:count])
                del waiting[:count]
                loaded += count
        return loaded or len(found)

    def _load(self, batch: Sequence[Delivery]) -> None:
        self._loader(make_event(self._arn, batch))
        self._channel.commit(batch[-1])
        self.note_loaded(batch)


class DeployedLoading(StreamLoading):
    """A stream that is loaded by a function. Whoever runs that calls ``note_loaded``, on any thread."""

    def __init__(
        self, stream: str, bucket: str, *, sources: bool, done: Callable[[Sequence[Delivery]], None]
    ) -> None:
        super().__init__(stream, bucket, sources=sources, done=done)
        self._checkpoints = MemoryCheckpoints()
        self._progress = threading.Condition()

    def begin(self) -> Checkpoints:
        """New checkpoints of what is loaded, for the channel that counts the rest."""
        self._checkpoints = MemoryCheckpoints()
        return self._checkpoints

    def watch(self, channel: MemoryChannel) -> None:
        """Take the channel that counts what is not loaded yet."""
        self._channel = channel

    def note_loaded(self, batch: Sequence[Delivery]) -> None:
        super().note_loaded(batch)
        with self._progress:
            self._checkpoints.put(batch[-1].shard, batch[-1].sequence_number)
            self._progress.notify_all()

    def wait(self, find_trouble: Callable[[str], str]) -> None:
        """Return when nothing is pending. Raises LoaderStoppedError.

        ``find_trouble`` says why a stream's function is not invoked, or how its last invocation failed.
        """
        waited = 0
        while pending := self._channel.count_uncommitted():
            if self._progresses(pending):
                waited = 0
                continue
            waited += 1
            why = find_trouble(self.stream)
            if why or waited >= _MOST_LOOKS:
                sentence = f"{pending} records of {self.stream} are not in {self.bucket}"
                raise LoaderStoppedError(f"{sentence}: {why or 'its function takes too long'}")

    def _progresses(self, pending: int) -> bool:
        """Wait a moment for a function to load one of so many records."""
        with self._progress:
            return self._progress.wait_for(
                lambda: self._channel.count_uncommitted() != pending, _LOOK_SECONDS
            )
