"""Searches the audit log in both its places: the newest entries in the stream, all of them in the bucket.

Each place has its own index, which is built when it is first asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.archive.audit_objects import AuditObjects
from emulator.message_index.index import MessageIndex
from emulator.streams.merged_reading import IndexedRecord, IndexedStreams, ShardKey
from emulator.streams.stream_catalogue import Catalogue
from rdss_sandbox.files.record_lines import place_in_key
from rdss_sandbox.shapes.audit import AuditPlace
from rdss_sandbox.shapes.topology import AuditTap
from schemas.contract import Contract

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class AuditIndexes:
    """The two indexes. Thread-safe. Their files lie beside the file ``beside``; None makes them temporary."""

    def __init__(
        self,
        audit: AuditTap,
        catalogue: Catalogue,
        s3: Callable[[], S3Client],
        beside: Path | None,
        *,
        contract: Contract,
    ) -> None:
        self._contract = contract
        self._streams: dict[AuditPlace, IndexedStreams] = {
            "stream": _AuditStream(catalogue, audit.stream),
            "bucket": AuditObjects(s3, audit.bucket, audit.stream),
        }
        self._beside = beside
        self._indexes: dict[AuditPlace, MessageIndex] = {}
        self._lock = threading.RLock()

    def index(self, place: AuditPlace) -> MessageIndex:
        """The index of every entry in ``place``, numbered in the order of arrival."""
        with self._lock:
            if place not in self._indexes:
                self._indexes[place] = MessageIndex(
                    self._streams[place], self._path(place), _find_source, contract=self._contract
                )
            return self._indexes[place]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody read new entries while the context lasts: the streams are held after it."""
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            for index in self._indexes.values():
                stack.enter_context(index.held())
            yield

    def clear(self) -> None:
        """Forget every entry, also in the index files of earlier processes."""
        with self._lock:
            for place in self._streams:
                if place in self._indexes:
                    self._indexes[place].clear()
                elif path := self._path(place):
                    for leftover in path.parent.glob(f"{path.name}*"):
                        leftover.unlink()

    def close(self) -> None:
        with self._lock:
            while self._indexes:
                self._indexes.popitem()[1].close()

    def _path(self, place: AuditPlace) -> Path | None:
        return self._beside.with_name(f"audit-{place}.db") if self._beside else None


def _find_source(stream: str, partition_key: str) -> str:
    """The stream that an entry was copied from. The same message in another stream is not a duplicate."""
    place = place_in_key(partition_key)
    return place.stream if place else stream


class _AuditStream:
    """The shards of the audit stream alone, as ``IndexedStreams``."""

    def __init__(self, catalogue: Catalogue, name: str) -> None:
        self._catalogue = catalogue
        self._name = name

    def shards(self) -> Iterable[ShardKey]:
        return self._catalogue.shards_of(self._name)

    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[IndexedRecord]:
        return self._catalogue.read(shard, after, limit)

    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None:
        return self._catalogue.at(shard, sequence_number)

    def at_each(self, places: Iterable[tuple[ShardKey, str]]) -> Iterator[bytes | None]:
        return (self.at(shard, number) for shard, number in places)
