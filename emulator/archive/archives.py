"""The audit log and the archives of the queues, kept up to date while messages come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.archive.audit_tap import Tap, loader
from emulator.archive.event_source import EventSource
from emulator.archive.lambda_loader import Loader
from emulator.background_worker import BackgroundWorker
from emulator.channels import ChannelUnavailableError, Checkpoints, MemoryCheckpoints
from emulator.channels.checkpoint_file import CheckpointFile
from emulator.channels.memory import MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import KinesisError, Scope
from emulator.streams.amqp_log import stream_of_channel
from emulator.streams.service import StreamService
from rdss_sandbox.shapes.audit import AuditStatus
from rdss_sandbox.shapes.streams import AMQP_PREFIX
from rdss_sandbox.shapes.topology import AuditTap, Topology

if TYPE_CHECKING:
    from emulator.buckets.service import BucketService

_LARGEST_RECORD_KIB: Final = 10_240
_STREAM: Final = "stream"
"""Under this name, where a shard's would stand, the number of the stream that the positions are of."""


class Archives:
    """What a topology's ``audit`` and ``archives`` ask for, over the engine or an upstream's streams.

    Both mean the exchange or queue of a name as well as the stream: ``amqp`` has what those were sent.

    Nothing runs, and no S3 client is made, before there is a message to keep.
    What is loaded already the buckets themselves say; ``positions`` is the file in which the tap keeps
    how far it is.
    """

    def __init__(
        self,
        *,
        streams: StreamService,
        amqp: StreamService,
        clock: Clock,
        events: Events,
        scope: Scope,
        topology: Topology,
        buckets: BucketService,
        positions: Path | None = None,
    ) -> None:
        self._streams = streams
        self._amqp = amqp
        self._clock = clock
        self._events = events
        self._scope = scope
        self._topology = topology
        self._buckets = buckets
        self._positions = CheckpointFile(positions)
        if self._positions.torn_bytes:
            events.emit("journal.cut", file=str(positions), bytes=self._positions.torn_bytes)
        self._forget: list[Callable[[], None]] = []
        self._open()

    @property
    def status(self) -> AuditStatus | None:
        """How far the audit log is; None when there is none."""
        audit = self._topology.audit
        if audit is None:
            return None
        loaded = self._loaders[audit.stream]
        return AuditStatus(
            audit.stream,
            audit.bucket,
            audit.taps,
            copied=self._put(audit.stream),
            delivered=loaded.records,
            pending=self._pending(),
            objects=loaded.objects,
        )

    def start(self) -> None:
        """Keep up from now on: with what is there already, and with what comes."""
        self._allow_large_copies()
        self._forget = [each.on_records(self._came) for each in (self._streams, self._amqp)]
        if self._pending():
            self._worker.wake()

    async def drain(self) -> None:
        """Return once everything that is there now is in its bucket. Raises what kept it from there."""
        await asyncio.to_thread(self._worker.drain)

    def reset(self) -> None:
        """Begin anew, with streams and buckets that were made anew."""
        self._close()
        self._positions.clear()
        self._open()
        self.start()

    def close(self) -> None:
        self._close()
        self._positions.close()

    def _open(self) -> None:
        self._channels: dict[str, list[tuple[MemoryChannel, Callable[[], Checkpoints]]]] = {}
        self._loaders: dict[str, Loader] = {}
        steps: list[Callable[[], int]] = [self._notice_new_streams]
        if self._topology.audit is not None:
            steps.append(self._tap(self._topology.audit))
            stream, bucket = self._topology.audit.stream, self._topology.audit.bucket
            steps.append(self._loading(stream, bucket, loader(stream, bucket, self._buckets.client)))
        for name, bucket in self._topology.archives.items():
            steps += [
                self._loading(stream, bucket, Loader({stream: bucket}, self._buckets.client))
                for stream in _both(name)
            ]
        self._worker = BackgroundWorker("archives", [_if_there(step) for step in steps], self._failed)

    def _close(self) -> None:
        while self._forget:
            self._forget.pop()()
        self._worker.close()

    def _tap(self, audit: AuditTap) -> Callable[[], int]:
        sources = {
            stream: self._reader(stream, partial(self._positions.of, stream))
            for name in audit.taps
            for stream in _both(name)
        }
        copies = self._channel(audit.stream, self._positions.of(audit.stream))
        return Tap(sources, audit.stream, copies, self._positions, self._events).run_once

    def _loading(self, stream: str, bucket: str, function: Loader) -> Callable[[], int]:
        self._loaders[stream] = function
        arn = self._scope.stream_arn(stream)
        return EventSource(
            self._reader(stream, partial(self._loaded, stream, bucket)), arn, function, f"{stream}-loader"
        ).run_once

    def _loaded(self, stream: str, bucket: str) -> Checkpoints:
        archived = [*self._topology.archives.values()]
        if self._topology.audit is not None:
            archived.append(self._topology.audit.bucket)
        # Which stream an object in a shared bucket is of cannot be told from its name.
        alone = archived.count(bucket) == 1
        return self._buckets.loaded(bucket, partial(self._began, stream)) if alone else MemoryCheckpoints()

    def _began(self, stream: str, shard: str) -> int:
        views = (view for view in self._of(stream).streams(self._scope) if view.name == stream)
        found = (each for view in views for each in view.shards if each.id == shard)
        return next((int(each.starting_sequence_number) for each in found), 0)

    def _of(self, stream: str) -> StreamService:
        return self._amqp if stream.startswith(AMQP_PREFIX) else self._streams

    def _reader(self, stream: str, checkpoints: Callable[[], Checkpoints]) -> MemoryChannel:
        """A channel of which it is counted what it has not read."""
        channel = self._channel(stream, checkpoints())
        self._channels.setdefault(stream, []).append((channel, checkpoints))
        return channel

    def _channel(self, stream: str, checkpoints: Checkpoints) -> MemoryChannel:
        return MemoryChannel(
            self._of(stream), stream, clock=self._clock, checkpoints=checkpoints, scope=self._scope
        )

    def _allow_large_copies(self) -> None:
        """A copy has a longer key than its original, and must fit all the same."""
        if self._topology.audit is None:
            return
        arn = self._scope.stream_arn(self._topology.audit.stream)
        request = {"StreamARN": arn, "MaxRecordSizeInKiB": _LARGEST_RECORD_KIB}
        with contextlib.suppress(KinesisError):
            self._streams.call("UpdateMaxRecordSize", request, self._scope)

    def _pending(self) -> int:
        return sum(_uncommitted(channel) for pairs in self._channels.values() for channel, _ in pairs)

    def _put(self, stream: str) -> int:
        views = (view for view in self._streams.streams(self._scope) if view.name == stream)
        return sum(shard.put for view in views for shard in view.shards)

    def _notice_new_streams(self) -> int:
        """A stream that was deleted and made again under its name is read from its beginning."""
        watched = [view for view in self._streams.streams(self._scope) if view.name in self._channels]
        for view in watched:
            known = self._positions.get(view.name, _STREAM)
            if known not in {None, view.generation}:
                self._start_over(view.name)
            self._positions.put(view.name, _STREAM, view.generation)
        return 0

    def _start_over(self, stream: str) -> None:
        self._positions.forget(stream)
        for channel, checkpoints in self._channels[stream]:
            channel.start_over(checkpoints())
        self._events.emit("archives.restarted", stream=stream)

    def _came(self, stream: str, _shard: str) -> None:
        if stream in self._channels:
            self._worker.wake()

    def _failed(self, error: Exception) -> None:
        self._events.emit("archives.failed", why=str(error) or repr(error))


def _uncommitted(channel: MemoryChannel) -> int:
    """What a stream that does not answer holds is not known to be there."""
    try:
        return channel.uncommitted()
    except ChannelUnavailableError:
        return 0


def _both(name: str) -> tuple[str, str]:
    """A stream, and the exchange or queue of the same name."""
    return name, stream_of_channel(name)


def _if_there(step: Callable[[], int]) -> Callable[[], int]:
    """A stream that was deleted has nothing to move."""

    def run() -> int:
        try:
            return step()
        except ChannelUnavailableError:
            return 0

    return run
