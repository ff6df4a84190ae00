"""Writes what passes a running sandbox to a tape, until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.clock import Clock, stopwatch
from extensions.tape.call_reading import CallReader
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.shapes.recordings import Passed
from rdss_sandbox.shapes.streams import StreamDetail
from rdss_sandbox.shapes.tape import TapedChannel, TapedShard
from rdss_sandbox.transports import RefusedError, UnreachableError

if TYPE_CHECKING:
    from rdss_sandbox.client import Client

_TAKE_SECONDS: Final = 0.2
_FLUSH_SECONDS: Final = 0.8
"""With the seconds between two takes less than one: what passed longer ago is on the disk."""
_LOOK_SECONDS: Final = 1.0
_decode: Final = msgspec.msgpack.Decoder(list[Passed]).decode


class SandboxGoneError(Exception):
    """The sandbox ended, or ended the recording; what passed until then is on the tape."""


def record_sandbox(client: Client, tape: TapeWriter, stopped: Callable[[], bool], clock: Clock) -> None:
    """Record until ``stopped`` says so; ``clock`` is the machine's.

    Raises ``SandboxGoneError``, ``RefusedError`` and ``UnreachableError`` before anything was recorded, and
    OSError where the tape cannot be written.
    """
    recorder = _LiveRecorder(client, tape)
    # Both before and after: what changes in between passes nobody.
    recorder.note_channels()
    with _listening(client) as number:
        recorder.note_channels()
        while not stopped():
            clock.wait(_TAKE_SECONDS)
            _take(client, number, recorder)
        _take(client, number, recorder)
        recorder.finish()


def _take(client: Client, number: int, recorder: _LiveRecorder) -> None:
    try:
        recorder.write(_decode(client.recordings.take(number)))
    except (RefusedError, UnreachableError) as error:
        raise SandboxGoneError(str(error)) from error


@contextmanager
def _listening(client: Client) -> Iterator[int]:
    number = client.recordings.begin().id
    try:
        yield number
    finally:
        with suppress(RefusedError, UnreachableError):
            client.recordings.end(number)


class _LiveRecorder:
    """Writes what was taken, and the shards of each stream when they have changed."""

    def __init__(self, client: Client, tape: TapeWriter) -> None:
        self._client = client
        self._tape = tape
        self._reader = CallReader()
        self._flushed = self._looked = stopwatch()
        self._open: dict[str, tuple[TapedShard, ...]] = {}

    def write(self, passed: list[Passed]) -> None:
        for each in passed:
            for entry in self._reader.read(each):
                self._tape.add(entry)
        now = stopwatch()
        if self._reader.reshaped and now - self._looked >= _LOOK_SECONDS:
            self.note_channels()
        if now - self._flushed >= _FLUSH_SECONDS:
            self._tape.flush()
            self._flushed = now

    def finish(self) -> None:
        """Look once more at shards that have changed."""
        if self._reader.reshaped:
            self.note_channels()

    def note_channels(self) -> None:
        """Write down the open shards of the streams in which they are not as they were."""
        self._looked, self._reader.reshaped = stopwatch(), False
        at = self._client.clock().time
        for stream in self._client.streams():
            with suppress(RefusedError):  # it was deleted meanwhile
                detail = self._client.stream(stream.name)
                self._reader.note_shards(stream.name, (each.id for each in detail.shards))
                if (shards := _list_open(detail)) != self._open.get(stream.name):
                    self._open[stream.name] = shards
                    self._tape.add(TapedChannel(at, stream.name, "kinesis", shards))


def _list_open(stream: StreamDetail) -> tuple[TapedShard, ...]:
    return tuple(
        TapedShard(each.id, each.starting_hash_key, each.ending_hash_key)
        for each in stream.shards
        if each.open
    )
