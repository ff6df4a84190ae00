"""Keeps the audit log and the archives of the queues up to date while messages arrive."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.archive.audit_tap import Tap
from emulator.archive.lambda_loader import Loader
from emulator.archive.stream_loading import DeployedLoading, OwnLoading, StreamLoading
from emulator.background_worker import BackgroundWorker
from emulator.channels.channel import ChannelUnavailableError, Delivery
from emulator.channels.checkpoints import Checkpoints, MemoryCheckpoints
from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from emulator.channels.memory import MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import KinesisError, Scope
from emulator.streams.amqp_log import stream_of_channel
from emulator.streams.stream_service import StreamService
from rdss_sandbox.shapes.audit import AuditStatus
from rdss_sandbox.shapes.streams import AMQP_PREFIX
from rdss_sandbox.shapes.topology import AuditTap, Topology
from schemas.bound import CONTRACT

if TYPE_CHECKING:
    from emulator.buckets.service import BucketService

_LARGEST_RECORD_KIB: Final = 10_240


class Archives:
    """The ``audit`` and ``archives`` of a topology, over the engine's or an upstream's streams.

    A name in either means the stream and also the exchange or queue of that name, whose messages
    ``amqp`` has. No thread runs, and no S3 client is made, before there is a message to keep.
    The object names in the buckets say what was loaded. ``checkpoints`` is the file where the tap
    keeps its checkpoints. With ``deploying`` every Kinesis stream is loaded by a function, which somebody
    else deploys: who sets ``find_trouble`` and calls ``note_loaded`` (see ``DeployedLoading``).
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
        checkpoints: Path | None = None,
        deploying: bool = False,
    ) -> None:
        self._streams = streams
        self._amqp = amqp
        self._clock = clock
        self._events = events
        self._scope = scope
        self._topology = topology
        self._buckets = buckets
        self._deploying = deploying
        self.find_trouble: Callable[[str], str] | None = None
        self._checkpoints = CheckpointFile(checkpoints)
        if self._checkpoints.torn_bytes:
            events.emit("journal.cut", file=str(checkpoints), bytes=self._checkpoints.torn_bytes)
        self._unsubscribe: list[Callable[[], None]] = []
        self._open()

    @property
    def status(self) -> AuditStatus | None:
        """The progress of the audit log; None when there is none."""
        audit = self._topology.audit
        if audit is None:
            return None
        loaded = self._loadings[audit.stream]
        views = (view for view in self._streams.streams(self._scope) if view.name == audit.stream)
        return AuditStatus(
            audit.stream,
            audit.bucket,
            audit.taps,
            copied=sum(shard.put for view in views for shard in view.shards),
            delivered=loaded.records,
            pending=self._count_pending(),
            objects=loaded.objects,
        )

    @property
    def deployed(self) -> tuple[DeployedLoading, ...]:
        """The streams that functions load."""
        return tuple(each for each in self._loadings.values() if isinstance(each, DeployedLoading))

    def note_loaded(self, stream: str, batch: Sequence[Delivery]) -> None:
        """Note that a function has loaded a batch of one shard. May be called on any thread."""
        self._loadings[stream].note_loaded(batch)

    def start(self) -> None:
        """Begin to copy: the messages that are already there, and those that arrive."""
        self._allow_large_copies()
        self._unsubscribe = [each.on_records(self._note_records) for each in (self._streams, self._amqp)]
        if self._count_pending():
            self._worker.wake()

    async def drain(self) -> None:
        """Return when every message that is there now is in its bucket. Raises what a copy raises."""
        await asyncio.to_thread(self._drain)

    def reset(self) -> None:
        """Start over, with streams and buckets that were created again."""
        self._close()
        self._checkpoints.clear()
        self._open()
        self.start()

    def save(self) -> list[bytes]:
        """Return a copy of the checkpoints, for ``load``."""
        return self._checkpoints.save()

    def pause(self) -> None:
        """Stop copying, until ``reset``, or ``load`` and ``start``. Returns after a copy in progress."""
        self._close()

    def load(self, saved: Sequence[bytes | memoryview]) -> None:
        """Start over from saved checkpoints at the next ``start``; streams and buckets were replaced."""
        self._checkpoints.load(saved)
        self._open()

    def close(self) -> None:
        self._close()
        self._checkpoints.close()

    def _open(self) -> None:
        self._channels: dict[str, list[tuple[MemoryChannel, Callable[[], Checkpoints]]]] = {}
        self._loadings: dict[str, StreamLoading] = {}
        steps: list[Callable[[], int]] = [self._notice_new_streams]
        if self._topology.audit is not None:
            steps.append(self._build_copy_step(self._topology.audit))
            steps += self._open_loading(
                self._topology.audit.stream, self._topology.audit.bucket, sources=True
            )
        for name, bucket in self._topology.archives.items():
            done = partial(self._emit_rejected, name)
            for stream in _stream_and_channel(name):
                steps += self._open_loading(stream, bucket, done)
        self._worker = BackgroundWorker(
            "archives", [_skip_missing_stream(step) for step in steps], self._emit_failure
        )

    def _close(self) -> None:
        while self._unsubscribe:
            self._unsubscribe.pop()()
        self._worker.close()

    def _build_copy_step(self, audit: AuditTap) -> Callable[[], int]:
        sources = {
            stream: self._open_reader(stream, partial(self._checkpoints.of, stream))
            for name in audit.taps
            for stream in _stream_and_channel(name)
        }
        copies = self._open_channel(audit.stream, self._checkpoints.of(audit.stream))
        return Tap(sources, audit.stream, copies, self._checkpoints, self._events).run_once

    def _open_loading(
        self,
        stream: str,
        bucket: str,
        done: Callable[[Sequence[Delivery]], None] = lambda _batch: None,
        *,
        sources: bool = False,
    ) -> list[Callable[[], int]]:
        """Have a stream loaded into a bucket. Returns the step that does it, if it is done here."""
        if self._deploying and not stream.startswith(AMQP_PREFIX):
            deployed = DeployedLoading(stream, bucket, sources=sources, done=done)
            self._loadings[stream] = deployed
            deployed.watch(self._open_reader(stream, deployed.begin))
            return []
        own = OwnLoading(stream, bucket, sources=sources, done=done)
        self._loadings[stream] = own
        own.read_from(
            self._open_reader(stream, partial(self._find_checkpoints, stream, bucket)),
            self._scope.stream_arn(stream),
            Loader(bucket, self._buckets.client, sources=sources),
        )
        return [own.run_once]

    def _drain(self) -> None:
        self._worker.drain()
        if self.find_trouble is not None:
            for each in self.deployed:
                each.wait(self.find_trouble)

    def _find_checkpoints(self, stream: str, bucket: str) -> Checkpoints:
        archived = [*self._topology.archives.values()]
        if self._topology.audit is not None:
            archived.append(self._topology.audit.bucket)
        # The name of an object does not say which stream it came from, so a shared bucket has no checkpoints.
        alone = archived.count(bucket) == 1
        return (
            self._buckets.loaded(bucket, partial(self._find_first_number, stream))
            if alone
            else MemoryCheckpoints()
        )

    def _find_first_number(self, stream: str, shard: str) -> int:
        views = (view for view in self._service_of(stream).streams(self._scope) if view.name == stream)
        found = (each for view in views for each in view.shards if each.id == shard)
        return next((int(each.starting_sequence_number) for each in found), 0)

    def _service_of(self, stream: str) -> StreamService:
        return self._amqp if stream.startswith(AMQP_PREFIX) else self._streams

    def _open_reader(self, stream: str, checkpoints: Callable[[], Checkpoints]) -> MemoryChannel:
        """Open a channel whose unread records count as pending."""
        channel = self._open_channel(stream, checkpoints())
        self._channels.setdefault(stream, []).append((channel, checkpoints))
        return channel

    def _open_channel(self, stream: str, checkpoints: Checkpoints) -> MemoryChannel:
        return MemoryChannel(
            self._service_of(stream), stream, clock=self._clock, checkpoints=checkpoints, scope=self._scope
        )

    def _allow_large_copies(self) -> None:
        """Let the audit stream take the largest records, since a copy has a longer key than its original."""
        if self._topology.audit is None:
            return
        arn = self._scope.stream_arn(self._topology.audit.stream)
        request = {"StreamARN": arn, "MaxRecordSizeInKiB": _LARGEST_RECORD_KIB}
        with contextlib.suppress(KinesisError):
            self._streams.call("UpdateMaxRecordSize", request, self._scope)

    def _count_pending(self) -> int:
        return sum(_count_uncommitted(channel) for pairs in self._channels.values() for channel, _ in pairs)

    def _notice_new_streams(self) -> int:
        """Start over with each stream that was deleted and created again under its name."""
        watched = [view for view in self._streams.streams(self._scope) if view.name in self._channels]
        for view in watched:
            if self._checkpoints.begin(view.name, view.generation):
                for channel, checkpoints in self._channels[view.name]:
                    channel.start_over(checkpoints())
                self._events.emit("archives.restarted", stream=view.name)
        return 0

    def _note_records(self, stream: str, _shard: str) -> None:
        if stream in self._channels:
            self._worker.wake()

    def _emit_rejected(self, queue: str, batch: Sequence[Delivery]) -> None:
        """Emit an event for each message that somebody moved to an archived queue."""
        for delivery in batch:
            peek = CONTRACT.peek(delivery.data)
            fields = {"message_id": peek.message_id, "code": peek.error_code, "size": len(delivery.data)}
            self._events.emit("message.rejected", queue=queue, **fields)

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("archives.failed", why=str(error) or repr(error))


def _count_uncommitted(channel: MemoryChannel) -> int:
    """Count a stream that does not answer as empty."""
    try:
        return channel.count_uncommitted()
    except ChannelUnavailableError:
        return 0


def _stream_and_channel(name: str) -> tuple[str, str]:
    """The stream of this name, and the stream of the exchange or queue of this name."""
    return name, stream_of_channel(name)


def _skip_missing_stream(step: Callable[[], int]) -> Callable[[], int]:
    """Wrap a step so that it returns 0 when its stream was deleted."""

    def run() -> int:
        try:
            return step()
        except ChannelUnavailableError:
            return 0

    return run
