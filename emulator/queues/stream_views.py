"""Queues that are views on streams, so that the messages of the error queue can be claimed."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from emulator.channels import ChannelUnavailableError, Delivery, Receipt
from emulator.channels.checkpoint_file import CheckpointFile
from emulator.channels.memory import MemoryChannel
from emulator.clock import Clock
from emulator.faults.engine import FaultEngine
from emulator.kinesis import KinesisError, Scope
from emulator.queues.engine import Address, Arrival, QueueEngine, SourceUnavailableError
from emulator.rng import new_uuid
from emulator.streams.service import StreamService
from rdss_sandbox.shapes.queues import PROJECT
from schemas.peek import peek

_LONGEST_LIFE: Final = 1_209_600
_STREAM: Final = "stream"
"""Under this name, where a shard's would stand, the generation that the positions are of."""


class StreamSource:
    """One stream as a view's source. What the queue took is the queue's: the stream is read on behind it.

    With a ``stage``, the faults of the stream meet the view as they meet any reader and producer.
    """

    def __init__(
        self,
        streams: StreamService,
        name: str,
        *,
        clock: Clock,
        positions: CheckpointFile,
        fault_engine: FaultEngine | None,
        scope: Scope,
    ) -> None:
        self._streams = streams
        self._name = name
        self._positions = positions
        self._scope = scope
        self._channel = MemoryChannel(
            streams, name, clock=clock, checkpoints=positions.of(name), fault_engine=fault_engine, scope=scope
        )
        self._drawn: list[Delivery] = []
        self._arrivals: list[Arrival] = []
        self._uncommitted: dict[str, Delivery] = {}
        self._again: Counter[str] = Counter()
        self._life = 0

    def arrivals(self, limit: int) -> Sequence[Arrival]:
        try:
            self._notice_new_stream()
            if not self._drawn:
                self._drawn = self._channel.read(limit=limit)
                self._arrivals = [self._arrival(each) for each in self._drawn]
        except ChannelUnavailableError as error:
            raise SourceUnavailableError(f"the stream {self._name} cannot be read now: {error}") from error
        return self._arrivals

    def taken(self, arrivals: Sequence[Arrival]) -> None:
        for each in self._drawn[: len(arrivals)]:
            known = self._uncommitted.get(each.shard)
            if known is None or int(each.sequence_number) > int(known.sequence_number):
                self._uncommitted[each.shard] = each
        self._drawn, self._arrivals = [], []
        # What faults hold back lies before what was committed behind it, and would not come again.
        if not self._channel.holds_back:
            for each in self._uncommitted.values():
                self._channel.commit(each)
            self._uncommitted.clear()

    def publish(self, bodies: Sequence[bytes]) -> Sequence[str]:
        outcomes = self._channel.publish_many(
            [(body, peek(body).message_id or new_uuid()) for body in bodies]
        )
        taken = [each for each in outcomes if isinstance(each, Receipt)]
        if len(taken) < len(outcomes):
            why = next(each for each in outcomes if not isinstance(each, Receipt))
            raise SourceUnavailableError(f"{self._name} took {len(taken)} of {len(outcomes)} messages: {why}")
        return [_place(each.shard, each.sequence_number) for each in taken]

    def gone(self, refs: Sequence[str]) -> None:
        """Nothing: a stream keeps its records for its retention, whoever is done with them."""

    def _arrival(self, delivery: Delivery) -> Arrival:
        place = _place(delivery.shard, delivery.sequence_number)
        if delivery.redelivered:
            self._again[place] += 1
            place = f"{place}/{self._again[place]}"
        return Arrival(place, _as_json(delivery.data), self._life, delivery.arrived)

    def _notice_new_stream(self) -> None:
        """A stream that was deleted and made again under its name is read from its beginning."""
        found = (view for view in self._streams.streams(self._scope) if view.name == self._name)
        view = next(found, None)
        if view is None:
            raise ChannelUnavailableError("there is no such stream")
        known = self._positions.get(self._name, _STREAM)
        if known not in {None, view.generation}:
            self._positions.forget(self._name)
            self._channel.start_over(self._positions.of(self._name))
            self._drawn, self._arrivals, self._life = [], [], 0
            self._uncommitted.clear()
        self._positions.put(self._name, _STREAM, view.generation)
        self._life = self._life or self._retention()

    def _retention(self) -> int:
        """How long a record is kept, in seconds."""
        try:
            answer = self._streams.call("DescribeStreamSummary", {"StreamName": self._name}, self._scope)
        except KinesisError as error:
            raise ChannelUnavailableError(str(error)) from error
        hours: int = answer["StreamDescriptionSummary"]["RetentionPeriodHours"]
        return min(hours * 3600, _LONGEST_LIFE)


def attach_views(queues: QueueEngine, names: Iterable[str], source: Callable[[str], StreamSource]) -> None:
    """Make a queue of each stream's name a view on it."""
    for name in names:
        queues.attach(Address(PROJECT, name), source(name))


def _place(shard: str, sequence_number: str) -> str:
    return f"{shard}/{sequence_number}"


def _as_json(data: bytes) -> bytes:
    """A record as JSON text: itself where it is that; otherwise its text, or its bytes in base64."""
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
