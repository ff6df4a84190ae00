"""Reads a stream of Kinesis, wherever it is, as a plain consumer within its limits: entries in their order.

Each shard is asked at most five times a second, which is what AWS allows all consumers of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from emulator.channels.aws_session import aws_session
from emulator.clock import Clock
from emulator.streams.merged_reading import IndexedRecord, ShardCursor, ShardKey, merge_by_arrival
from extensions.tape.shard_layouts import ShardLayouts
from rdss_sandbox.shapes.tape import TapedMessage, TapeEntry

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

_PAUSE_SECONDS: Final = 0.2
_MOST_TRIES: Final = 10
_FOLLOW_SECONDS: Final = 1.0


class StreamUnreadableError(Exception):
    """The stream cannot be read; the text says why."""


def read_stream(
    name: str,
    endpoint: str | None,
    region: str,
    token: str | None,
    *,
    start: float | None,
    follow: bool,
    clock: Clock,
    stopped: Callable[[], bool],
) -> Iterator[TapeEntry | None]:
    """Give the stream's shards and records by their arrival; None where all that came is given.

    ``start`` is in seconds since the epoch, None for the oldest record. Without ``follow`` it ends there.
    Raises ``StreamUnreadableError``.
    """
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    config = Config(retries={"mode": "standard", "total_max_attempts": _MOST_TRIES})
    client = aws_session(region, token).client("kinesis", endpoint_url=endpoint, config=config)
    with closing(client):
        shards = _Shards(client, name, start, clock)
        try:
            yield from _read_all(shards, follow=follow, stopped=stopped)
        except (BotoCoreError, ClientError) as error:
            raise StreamUnreadableError(f"the stream {name} cannot be read: {error}") from error


def _read_all(shards: _Shards, *, follow: bool, stopped: Callable[[], bool]) -> Iterator[TapeEntry | None]:
    cursors: dict[str, ShardCursor] = {}
    layouts, last = ShardLayouts(shards.name), 0.0
    while not stopped():
        layouts.list(shards.list_anew())
        for key in shards.shards():
            cursors.setdefault(key.shard, ShardCursor(key, len(cursors), None))
        while (found := merge_by_arrival([*cursors.values()], shards)) and not stopped():
            for cursor, record in found:
                last = record.arrived
                if (changed := layouts.note(cursor.shard.shard, last)) is not None:
                    yield changed
                yield TapedMessage(
                    record.arrived, shards.name, record.data, len(record.data),
                    record.partition_key or "", cursor.shard.shard, record.sequence_number,
                )  # fmt: skip
        if (changed := layouts.settle(shards.clock.time() if follow or not last else last)) is not None:
            yield changed
        yield None
        if not follow:
            return
        shards.clock.wait(_FOLLOW_SECONDS)


class _Record:
    """A record as ``IndexedStreams`` have it."""

    def __init__(self, record: Any) -> None:
        self.sequence_number: str = record["SequenceNumber"]
        self.partition_key: str | None = record["PartitionKey"]
        self.data: bytes = record["Data"]
        self.arrived: float = record["ApproximateArrivalTimestamp"].timestamp()


class _Shards:
    """The shards of one stream, as ``IndexedStreams``."""

    def __init__(self, client: KinesisClient, name: str, start: float | None, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self._client = client
        self._start = start
        self._listed: dict[str, Any] = {}
        self._iterators: dict[str, str | None] = {}
        self._asked: dict[str, float] = {}

    def list_anew(self) -> dict[str, Any]:
        """List the shards anew, by their ids."""
        pages = self._client.get_paginator("list_shards").paginate(StreamName=self.name)
        self._listed = {each["ShardId"]: each for page in pages for each in page["Shards"]}
        return self._listed

    def shards(self) -> Iterator[ShardKey]:
        return (ShardKey(self.name, shard, "") for shard in sorted(self._listed))

    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[IndexedRecord]:
        """Read on until there are records, or the shard has no more for now."""
        while True:
            if shard.shard not in self._iterators:
                self._iterators[shard.shard] = self._find_iterator(shard.shard, after)
            if (iterator := self._iterators[shard.shard]) is None:
                return []
            self._keep_pace(shard.shard)
            try:
                answer = self._client.get_records(ShardIterator=iterator, Limit=limit)
            except self._client.exceptions.ExpiredIteratorException:
                del self._iterators[shard.shard]
                continue
            self._iterators[shard.shard] = answer.get("NextShardIterator")
            found: list[IndexedRecord] = [_Record(each) for each in answer["Records"]]
            if found or not answer.get("MillisBehindLatest"):
                return found

    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None:
        raise NotImplementedError

    def at_each(self, places: Iterable[tuple[ShardKey, str]]) -> Iterator[bytes | None]:
        raise NotImplementedError

    def _find_iterator(self, shard: str, after: str | None) -> str:
        asked: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after is not None:
            asked = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
        elif self._start is not None:
            begin = datetime.fromtimestamp(self._start, UTC)
            asked = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": begin}
        found = self._client.get_shard_iterator(StreamName=self.name, ShardId=shard, **asked)
        return found["ShardIterator"]

    def _keep_pace(self, shard: str) -> None:
        early = self._asked.get(shard, -_PAUSE_SECONDS) + _PAUSE_SECONDS - self.clock.elapsed()
        if early > 0:
            self.clock.wait(early)
        self._asked[shard] = self.clock.elapsed()
