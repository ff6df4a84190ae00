"""The streams of an upstream, for the index, the audit and the control API.

These ask the upstream directly, not through the relay's port, so that faults do not affect
them. An upstream does not tell how many records a stream has, so records are counted as
they are read.
"""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from emulator.clock import Clock, stopwatch
from emulator.kinesis import KinesisError, ReaderView, Scope, ShardView, StoredRecord, StreamView
from emulator.scheduler import Scheduler, Task

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

OnRecords = Callable[[str, str], None]

_LISTING_SECONDS: Final = 10.0
_TRANSITION_SECONDS: Final = 0.5
"""How long a listing is good while a stream of it is created, changed or deleted."""
_WATCH_SECONDS: Final = 5.0
"""Real seconds. A shorter pause would load the upstream, which may need 0.1 s for each of a dozen calls."""
_ACTIVE_SECONDS: Final = 120.0
_ASK_AGAIN_SECONDS: Final = 0.2
_MOST_ITERATORS: Final = 2_000
_MOST_NOTED: Final = 100_000
_EMPTY_READS: Final = 50
_MOST_RECORDS: Final = 10_000


@dataclass(slots=True)
class _ReadCount:
    """What was read of a shard from its start: the ``last`` sequence number, records and bytes."""

    last: int = -1
    records: int = 0
    bytes: int = 0


class UpstreamStreams:
    """The streams that ``client`` sees in its account and region, which is ``home``. Thread-safe.

    While the upstream does not answer, ``streams`` shows the last known state, and ``trouble``
    says why.
    """

    def __init__(self, client: KinesisClient, home: Scope) -> None:
        self._client = client
        self._home = home
        self._clock = Clock()
        self._lock = threading.Lock()
        self._listing = threading.Lock()
        self._views: list[StreamView] = []
        self._listings: dict[str, list[dict[str, Any]]] = {}
        self._listed_until = 0.0
        self._changes = 0
        self._iterators: OrderedDict[tuple[str, str, str | None], str] = OrderedDict()
        self._read: defaultdict[tuple[str, str], _ReadCount] = defaultdict(_ReadCount)
        self._noted_puts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._callbacks: list[OnRecords] = []
        self._scheduler = Scheduler(self._clock, "upstream", self._note_trouble)
        self._watch: Task | None = None
        self.trouble: str | None = None

    def call(self, operation: str, request: dict[str, Any], _scope: Scope) -> dict[str, Any]:
        """Do an operation, with botocore's shapes. Raises ``KinesisError``.

        A call that creates, deletes or reshards a stream returns when that is complete. ListShards is
        answered from the last listing, if there is one, which is seconds old at most.
        """
        if operation == "ListShards" and (known := self._listings.get(request.get("StreamName", ""))):
            return {"Shards": known}
        response = self._ask(operation, request)
        if operation in _TRANSITIONS:
            self._wait_until_active(request, gone=operation == "DeleteStream")
        if operation == "DeleteStream":
            self._forget(request.get("StreamName") or request["StreamARN"].rpartition("/")[2])
        if operation not in _READING:
            self.forget_listings()
        return response

    def scopes(self) -> list[Scope]:
        return [self._home]

    def names(self, scope: Scope) -> list[str]:
        return [view.name for view in self.streams(scope)]

    def streams(self, _scope: Scope) -> list[StreamView]:
        """Every stream and its shards, some seconds old at most. The counts are of the records read."""
        with self._listing:
            if self.trouble or stopwatch() > self._listed_until:
                self._list_again()
        return [self._add_counts(view) for view in self._views]

    def forget_listings(self) -> None:
        """Forget the listings, because a stream was created, resharded or deleted."""
        self._changes += 1
        self._listed_until = 0.0
        self._listings = {}

    def read(
        self, stream: str, shard_id: str, after: str | None, limit: int, _scope: Scope | None = None
    ) -> list[StoredRecord]:
        """Up to ``limit`` records of a shard after the sequence number ``after`` (None: from the oldest)."""
        key = (stream, shard_id, after)
        limit = min(limit, _MOST_RECORDS)
        for _ in range(_EMPTY_READS):
            answer = self._get_records(key, limit)
            following = answer.get("NextShardIterator")
            records = [_parse_record(record) for record in answer["Records"]]
            self._keep_iterator(
                (stream, shard_id, records[-1].sequence_number if records else after), following
            )
            if records:
                self._count(stream, shard_id, after, records)
            if records or not following or not answer.get("MillisBehindLatest"):
                return records
        raise KinesisError("InternalFailure", f"{shard_id} of {stream} has more and gives nothing", 503)

    def at(self, stream: str, shard_id: str, sequence_number: str, _scope: Scope) -> bytes | None:
        """The data of one record, or None when it is gone."""
        request = {
            "StreamName": stream,
            "ShardId": shard_id,
            "ShardIteratorType": "AT_SEQUENCE_NUMBER",
            "StartingSequenceNumber": sequence_number,
        }
        iterator = self._ask("GetShardIterator", request)["ShardIterator"]
        found = self._ask("GetRecords", {"ShardIterator": iterator, "Limit": 1})["Records"]
        exact = (record["Data"] for record in found if record["SequenceNumber"] == sequence_number)
        return next(exact, None)

    def readers(self, _stream: str, _scope: Scope) -> list[ReaderView] | None:
        """Return None: an upstream does not tell who reads it."""
        return None

    def unread(self, stream: str, shard: ShardView, after: str | None) -> int:
        """Count the records after ``after`` that were put through this relay."""
        with self._lock:
            noted = self._noted_puts.get((stream, shard.id), [])
            return len(noted) - (bisect_right(noted, int(after)) if after else 0)

    def on_records(self, callback: OnRecords) -> Callable[[], None]:
        """Call ``callback(stream, shard)`` after puts through the relay, and for every stream every 5 s.

        The latter covers records that others put into the upstream directly. Returns what ends the calls.
        """
        self._callbacks.append(callback)
        if self._watch is None:
            self._watch = self._scheduler.every(_WATCH_SECONDS, self._call_back_for_all)
        return lambda: self._callbacks.remove(callback)

    def note_puts(self, stream: str, records: list[tuple[str, str]]) -> None:
        """Note records, by shard and sequence number, that were put through this relay."""
        with self._lock:
            for shard_id, sequence_number in records:
                insort(self._noted_puts[stream, shard_id], int(sequence_number))
            for shard_id in {shard_id for shard_id, _ in records}:
                noted = self._noted_puts[stream, shard_id]
                del noted[: max(0, len(noted) - _MOST_NOTED)]
        self._call_back(stream, "")

    def close(self) -> None:
        self._scheduler.close()
        self._client.close()

    # -- asking the upstream

    def _list_again(self) -> None:
        before = {view.name: view.generation for view in self._views}
        changes = self._changes
        try:
            described = [self._describe_stream(name) for name in self._list_names()]
            self._views = [view for view in described if view is not None]
            self.trouble = None
        except KinesisError as error:
            self.trouble = error.message
        settled = all(view.status == "ACTIVE" for view in self._views)
        # What changed while this asked may be missing from it: the next caller asks again.
        lasts = 0.0 if changes != self._changes else _LISTING_SECONDS if settled else _TRANSITION_SECONDS
        self._listed_until = stopwatch() + lasts
        now = {view.name: view.generation for view in self._views}
        for name, generation in before.items():
            if now.get(name) != generation:
                self._forget(name)

    def _ask(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        from botocore import xform_name
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = getattr(self._client, xform_name(operation))(**request)
        except ClientError as error:
            refusal = error.response["Error"]
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            raise KinesisError(refusal["Code"], refusal.get("Message", ""), status) from error
        except BotoCoreError as error:
            raise KinesisError("ServiceUnavailable", str(error), 503) from error
        return {name: value for name, value in answer.items() if name != "ResponseMetadata"}

    def _wait_until_active(self, request: dict[str, Any], *, gone: bool) -> None:
        """Wait until a stream is ACTIVE, or gone. Raises KinesisError after two minutes.

        A stream that somebody deletes meanwhile is ``ResourceNotFoundException``, unless ``gone``.
        """
        named = {name: value for name, value in request.items() if name in {"StreamName", "StreamARN"}}
        deadline = stopwatch() + _ACTIVE_SECONDS
        while True:
            try:
                status = self._ask("DescribeStreamSummary", named)["StreamDescriptionSummary"]["StreamStatus"]
            except KinesisError as error:
                if not gone or error.code != "ResourceNotFoundException":
                    raise
                return
            if status == "ACTIVE" and not gone:
                return
            if stopwatch() > deadline:
                raise KinesisError("LimitExceededException", f"{named} takes too long to change", 503)
            self._clock.wait(_ASK_AGAIN_SECONDS)

    def _list_names(self) -> list[str]:
        names: list[str] = []
        while True:
            last = {"ExclusiveStartStreamName": names[-1]} if names else {}
            answer = self._ask("ListStreams", last)
            names += answer["StreamNames"]
            if not answer.get("HasMoreStreams") or not answer["StreamNames"]:
                return sorted(names)

    def _describe_stream(self, name: str) -> StreamView | None:
        """Describe a stream and its shards. Returns None when it is gone."""
        try:
            summary = self._ask("DescribeStreamSummary", {"StreamName": name})["StreamDescriptionSummary"]
            shards = self._list_shards(name)
        except KinesisError as error:
            if error.code != "ResourceNotFoundException":
                raise
            return None
        made = _seconds(summary.get("StreamCreationTimestamp", 0.0))
        self._listings[name] = shards
        return StreamView(
            name=name,
            arn=summary["StreamARN"],
            status=summary["StreamStatus"],
            shards=[_build_shard_view(shard, shards, made) for shard in shards],
            records=0,
            bytes=0,
            generation=f"{made:.3f}",
        )

    def _list_shards(self, name: str) -> list[dict[str, Any]]:
        """List the shards of a stream: none while it is created or deleted, when ListShards is refused."""
        shards: list[dict[str, Any]] = []
        request: dict[str, Any] = {"StreamName": name}
        while request:
            try:
                answer = self._ask("ListShards", request)
            except KinesisError as error:
                if error.code != "ResourceInUseException":
                    raise
                return []
            shards += answer["Shards"]
            request = {"NextToken": answer["NextToken"]} if answer.get("NextToken") else {}
        return shards

    def _get_records(self, key: tuple[str, str, str | None], limit: int) -> dict[str, Any]:
        with self._lock:
            iterator = self._iterators.get(key)
        if iterator is not None:
            try:
                return self._ask("GetRecords", {"ShardIterator": iterator, "Limit": limit})
            except KinesisError as error:
                if error.status >= 500:
                    raise
        # The iterator has expired after five minutes, or the upstream was restarted and does not know it.
        return self._ask("GetRecords", {"ShardIterator": self._get_iterator(key), "Limit": limit})

    def _get_iterator(self, key: tuple[str, str, str | None]) -> str:
        stream, shard_id, after = key
        request: dict[str, Any] = {"StreamName": stream, "ShardId": shard_id}
        if after is None:
            request["ShardIteratorType"] = "TRIM_HORIZON"
        else:
            request |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
        found: str = self._ask("GetShardIterator", request)["ShardIterator"]
        return found

    # -- what is known without asking

    def _keep_iterator(self, key: tuple[str, str, str | None], iterator: str | None) -> None:
        with self._lock:
            if iterator is None:
                self._iterators.pop(key, None)
                return
            self._iterators[key] = iterator
            self._iterators.move_to_end(key)
            if len(self._iterators) > _MOST_ITERATORS:
                self._iterators.popitem(last=False)

    def _forget(self, stream: str) -> None:
        """Forget what is known about a stream that was deleted."""
        with self._lock:
            for place in {*self._read, *self._noted_puts}:
                if place[0] == stream:
                    self._read.pop(place, None)
                    self._noted_puts.pop(place, None)
            for key in [each for each in self._iterators if each[0] == stream]:
                del self._iterators[key]

    def _count(self, stream: str, shard_id: str, after: str | None, records: list[StoredRecord]) -> None:
        with self._lock:
            count = self._read[stream, shard_id]
            if after is not None and int(after) > count.last:
                return
            new = [record for record in records if int(record.sequence_number) > count.last]
            if new:
                count.records += len(new)
                count.bytes += sum(len(record.data) for record in new)
                count.last = int(new[-1].sequence_number)

    def _add_counts(self, view: StreamView) -> StreamView:
        with self._lock:
            shards = []
            for shard in view.shards:
                count = self._read.get((view.name, shard.id), _ReadCount())
                counts = {"records": count.records, "bytes": count.bytes, "put": count.records}
                shards.append(msgspec.structs.replace(shard, **counts))
        return view._replace(
            shards=shards,
            records=sum(shard.records for shard in shards),
            bytes=sum(shard.bytes for shard in shards),
        )

    def _call_back_for_all(self) -> None:
        for view in self.streams(self._home):
            self._call_back(view.name, "")

    def _note_trouble(self, error: Exception) -> None:
        self.trouble = str(error) or repr(error)

    def _call_back(self, stream: str, shard_id: str) -> None:
        for callback in tuple(self._callbacks):
            callback(stream, shard_id)


_READING: Final = frozenset({"ListShards", "GetShardIterator", "GetRecords", "PutRecord", "PutRecords"})
_TRANSITIONS: Final = frozenset(
    {"CreateStream", "DeleteStream", "SplitShard", "MergeShards", "UpdateShardCount"}
)


def _parse_record(record: dict[str, Any]) -> StoredRecord:
    arrived = _seconds(record["ApproximateArrivalTimestamp"])
    return StoredRecord(record["SequenceNumber"], record["PartitionKey"], record["Data"], arrived)


def _seconds(moment: datetime | float) -> float:
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


def _build_shard_view(shard: dict[str, Any], all_shards: list[dict[str, Any]], created: float) -> ShardView:
    """Build the view of a listed shard. ListShards has no creation time, so ``created`` is the stream's."""
    parents = (shard[name] for name in ("ParentShardId", "AdjacentParentShardId") if shard.get(name))
    numbers, keys = shard["SequenceNumberRange"], shard["HashKeyRange"]
    children = (
        other["ShardId"]
        for other in all_shards
        if shard["ShardId"] in (other.get("ParentShardId"), other.get("AdjacentParentShardId"))
    )
    ending = numbers.get("EndingSequenceNumber")
    return ShardView(
        id=shard["ShardId"],
        parents=tuple(parents),
        children=tuple(children),
        starting_hash_key=keys["StartingHashKey"],
        ending_hash_key=keys["EndingHashKey"],
        starting_sequence_number=numbers["StartingSequenceNumber"],
        ending_sequence_number=ending,
        open=ending is None,
        records=0,
        bytes=0,
        created=created,
    )
