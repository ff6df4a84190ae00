"""Queues that are views on streams, so that messages of the error queue can be claimed."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from emulator.channels.channel import ChannelUnavailableError, Delivery, Receipt
from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from emulator.channels.memory import MemoryChannel
from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import KinesisError, Scope
from emulator.rng import new_uuid
from emulator.streams.stream_service import StreamService
from extensions.queues.engine import Address, QueueEngine, SourceUnavailableError, ViewedMessage
from rdss_sandbox.shapes.queues import PROJECT
from schemas.bound import CONTRACT

_LONGEST_TTL: Final = 1_209_600


class StreamViewSource:
    """One stream as a view's source. The checkpoint moves past the records that the queue has taken.

    The faults of ``fault_engine`` apply to the view as to any reader and producer of the stream.
    """

    def __init__(
        self,
        streams: StreamService,
        name: str,
        *,
        clock: Clock,
        checkpoints: CheckpointFile,
        fault_engine: FaultEngine | None,
        scope: Scope,
    ) -> None:
        self._streams = streams
        self._name = name
        self._checkpoints = checkpoints
        self._scope = scope
        self._channel = MemoryChannel(
            streams,
            name,
            clock=clock,
            checkpoints=checkpoints.of(name),
            fault_engine=fault_engine,
            scope=scope,
        )
        self._fetched: list[Delivery] = []
        self._arrivals: list[ViewedMessage] = []
        self._uncommitted: dict[str, Delivery] = {}
        self._again: Counter[str] = Counter()
        self._ttl = 0

    def fetch_arrivals(self, limit: int) -> Sequence[ViewedMessage]:
        try:
            self._notice_new_stream()
            if not self._fetched:
                self._fetched = self._channel.read(limit=limit)
                self._arrivals = [self._build_arrival(each) for each in self._fetched]
        except ChannelUnavailableError as error:
            raise SourceUnavailableError(f"the stream {self._name} cannot be read now: {error}") from error
        return self._arrivals

    def mark_taken(self, arrivals: Sequence[ViewedMessage]) -> None:
        for each in self._fetched[: len(arrivals)]:
            known = self._uncommitted.get(each.shard)
            if known is None or int(each.sequence_number) > int(known.sequence_number):
                self._uncommitted[each.shard] = each
        self._fetched, self._arrivals = [], []
        # A commit would skip the earlier records that faults still hold back, so it waits for them.
        if not self._channel.holds_back:
            for each in self._uncommitted.values():
                self._channel.commit(each)
            self._uncommitted.clear()

    def publish(self, bodies: Sequence[bytes]) -> Sequence[str]:
        outcomes = self._channel.publish_many(
            [(body, CONTRACT.peek(body).message_id or new_uuid()) for body in bodies]
        )
        taken = [each for each in outcomes if isinstance(each, Receipt)]
        if len(taken) < len(outcomes):
            why = next(each for each in outcomes if not isinstance(each, Receipt))
            raise SourceUnavailableError(f"{self._name} took {len(taken)} of {len(outcomes)} messages: {why}")
        return [_build_ref(each.shard, each.sequence_number) for each in taken]

    def mark_gone(self, refs: Sequence[str]) -> None:
        """Do nothing: a stream keeps its records for its retention."""

    def start_over(self) -> None:
        self._channel.start_over(self._checkpoints.of(self._name))
        self._fetched, self._arrivals, self._ttl = [], [], 0
        self._uncommitted.clear()
        self._again.clear()

    def _build_arrival(self, delivery: Delivery) -> ViewedMessage:
        ref = _build_ref(delivery.shard, delivery.sequence_number)
        if delivery.redelivered:
            self._again[ref] += 1
            ref = f"{ref}/{self._again[ref]}"
        return ViewedMessage(ref, _to_json(delivery.data), self._ttl, delivery.arrived)

    def _notice_new_stream(self) -> None:
        """Start over when the stream was deleted and created again under its name."""
        found = (view for view in self._streams.streams(self._scope) if view.name == self._name)
        view = next(found, None)
        if view is None:
            raise ChannelUnavailableError("there is no such stream")
        if self._checkpoints.begin(self._name, view.generation):
            self.start_over()
        self._ttl = self._ttl or self._read_retention()

    def _read_retention(self) -> int:
        """Ask the stream for its retention, in seconds."""
        try:
            answer = self._streams.call("DescribeStreamSummary", {"StreamName": self._name}, self._scope)
        except KinesisError as error:
            raise ChannelUnavailableError(str(error)) from error
        hours: int = answer["StreamDescriptionSummary"]["RetentionPeriodHours"]
        return min(hours * 3600, _LONGEST_TTL)


def attach_views(
    queues: QueueEngine, names: Iterable[str], source: Callable[[str], StreamViewSource]
) -> None:
    """Attach a queue to each of these streams, with the stream's name, as a view."""
    for name in names:
        queues.attach(Address(PROJECT, name), source(name))


def _build_ref(shard: str, sequence_number: str) -> str:
    return f"{shard}/{sequence_number}"


def _to_json(data: bytes) -> bytes:
    """A record as JSON text: itself when it is JSON, otherwise its text or its base64 as a JSON string."""
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        return data
    try:
        return msgspec.json.encode(data.decode())
    except UnicodeDecodeError:
        return msgspec.json.encode({"base64": base64.b64encode(data).decode()})
