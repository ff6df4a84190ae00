"""Readers: who reads which shard, and how many records are unread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from emulator.diagnosis.clients import name_consumer
from emulator.diagnosis.diagnosis_service import DiagnosisService
from emulator.kinesis import KinesisError
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.sequence_numbers import position
from emulator.listeners.control.endpoint_routing import handles
from emulator.listeners.control.streams import count_unread
from emulator.streams.stream_catalogue import Catalogue, ListedStream
from emulator.streams.stream_service import StreamService
from rdss_sandbox.api.streams import Streams
from rdss_sandbox.ranges import count_numbers, subtract
from rdss_sandbox.shapes.readers import Reader, ReaderList
from rdss_sandbox.shapes.recorded_exchange import Exchange, ShardReads, ShardState


class ReaderResources:
    """``/readers``."""

    def __init__(self, streams: StreamService, catalogue: Catalogue, diagnosis: DiagnosisService) -> None:
        self._streams = streams
        self._catalogue = catalogue
        self._diagnosis = diagnosis

    @handles(Streams.readers)
    def readers(self, stream: str | None) -> ReaderList:
        if not self._diagnosis.known:
            return _list_recorded(self._diagnosis.exchange(seconds=0.0)[0], stream)
        listed = [each for each in self._catalogue.list_streams() if stream in (None, each.label)]
        found = [(each.label, self._readers(each)) for each in listed]
        holders = self._diagnosis.find_holders()
        readers = _join_reopened(
            msgspec.structs.replace(reader, stream=label, client=_name_client(reader, holders))
            for label, some in found
            for reader in some or ()
        )
        waiting = {each.label: count_unread(each.view) for each in listed}
        return ReaderList(
            readers,
            known=not any(some is None for _, some in found),
            unread={label: count for label, count in waiting.items() if count is not None},
            leases=self._diagnosis.read_leases(),
        )

    def _readers(self, listed: ListedStream) -> list[Reader] | None:
        try:
            return self._streams.readers(listed.view.name, listed.scope)
        except KinesisError:
            return []  # the stream was deleted after it was listed


def _join_reopened(readers: Iterable[Reader]) -> tuple[Reader, ...]:
    """Take a client that opened its iterator again, and stands where it stood, for one reader."""
    found: dict[object, Reader] = {}
    for reader in readers:
        place = (reader.stream, reader.kind, reader.shard, reader.consumer, reader.client, reader.position)
        before = found.get(place)
        found[place] = reader if before is None else _join(before, reader)
    return tuple(found.values())


def _join(one: Reader, other: Reader) -> Reader:
    latest = max(one, other, key=lambda each: each.seen)
    began = min(one.began, other.began)
    reads, records = one.reads + other.reads, one.records + other.records
    return msgspec.structs.replace(latest, began=began, reads=reads, records=records)


def _list_recorded(exchange: Exchange, stream_name: str | None) -> ReaderList:
    """The readers of an upstream's streams, by the reads that passed the sandbox."""
    readers: list[Reader] = []
    unread: dict[str, int] = {}
    for stream in exchange.streams:
        reads = [
            each
            for each in exchange.reads
            if each.stream == stream.name and stream_name in {None, stream.name}
        ]
        if not reads:
            continue
        for shard in stream.shards:
            own = [each for each in reads if each.shard == shard.id]
            readers += [_describe(each, shard) for each in own if not each.readings[-1].ended]
            given = [piece for each in own for piece in each.delivered]
            left = count_numbers(subtract([(shard.first, shard.next)], given))
            unread[stream.name] = unread.get(stream.name, 0) + left
    return ReaderList(tuple(readers), known=False, unread=unread)


def _describe(reads: ShardReads, shard: ShardState) -> Reader:
    run = reads.readings[-1]
    return Reader(
        stream=reads.stream,
        kind="iterator",
        shard=shard.id,
        consumer=None,
        position=None,
        behind=shard.next - run.position,
        late=0.0,
        began=run.began,
        seen=run.last,
        reads=run.reads,
        records=run.position - run.first,
        client=reads.client,
    )


def _name_client(reader: Reader, holders: Mapping[ShardIterator, str]) -> str | None:
    """The name of the client that reads: of a consumer its own, else that of who holds the iterator."""
    if reader.consumer is not None:
        return name_consumer(reader.consumer)
    last = position(reader.position or "")
    if last is None:
        return None
    held = ShardIterator(last.stream, last.shard, last.ordinal + 1, round(reader.seen * 1000))
    return holders.get(held)
