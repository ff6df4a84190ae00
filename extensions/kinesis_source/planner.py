"""Plans a batch: which shards it reads and up to which position; checks lineage and data loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event, Thread

from pyspark.sql.datasource import InputPartition

from .kinesis_client import AT_TIMESTAMP, TRIM_HORIZON, KinesisClient, ListedShard, MarkPage, Once
from .options import LATEST, ReadOptions
from .source_errors import DataLossError, KinesisSourceError, ServiceError
from .tail import GLANCE, find_time_before_end, read_first_since

SHARD_END = "SHARD_END"
Offset = dict[str, str]
Asked = tuple[str, str, int | None, int | None]
_BYTES_PER_PARTITION = 64 * 1024 * 1024
_MOST_PIECES = 64
_SMALL = 1024 * 1024


@dataclass(frozen=True)
class ShardRange:
    """Records of ``shard`` behind ``after`` up to and including ``until``.

    ``records`` is their number, or None if they were not counted.
    """

    shard: str
    after: str
    until: str
    records: int | None = None


@dataclass(frozen=True)
class RangePartition(InputPartition):
    """The ranges that one task reads, one after another."""

    ranges: tuple[ShardRange, ...]


@dataclass
class Walk:
    """The result of a walk over a shard.

    ``position`` is where it stopped. ``ended`` means that the closed shard has no more records. ``marks`` are
    the ends of partitions: a sequence number, and the number of records since the previous mark, or None if
    they were skipped. ``size`` is in bytes. ``first`` and ``last`` are arrivals in seconds since the epoch.
    ``behind`` is the time in seconds from the last record to the tip of the shard. ``caught_up`` means that
    it came to the tip or the end of the shard, not to a limit.
    """

    start: str
    position: str
    ended: bool = False
    caught_up: bool = False
    marks: list[tuple[str, int | None]] = field(default_factory=list)
    size: int = 0
    first: float = 0.0
    last: float = 0.0
    behind: float = 0.0

    def ranges(self, shard: str) -> list[ShardRange]:
        """The partitions of the walk, split at the marks."""
        starts = [self.start, *(mark for mark, _ in self.marks)]
        return [
            ShardRange(shard, after, until, n) for after, (until, n) in zip(starts, self.marks, strict=False)
        ]


class WalksAhead:
    """The walks of the next batch, made in a thread of their own while Spark works on the last one.

    ``asked`` are the arguments of ``walk``: shard, start, and the limits of records and of bytes.
    """

    def __init__(self, walk: Callable[[*Asked], Walk], asked: Sequence[Asked]) -> None:
        self._walk, self._asked = walk, asked
        self._found: dict[Asked, Walk] = {}
        self._stopped = Event()
        # The thread must not keep a process alive whose query has ended.
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for asked in self._asked:
            if self._stopped.is_set():
                return
            # The batch itself meets an error that lasts, and reports it.
            with suppress(KinesisSourceError):
                self._found[asked] = self._walk(*asked)

    def stop(self) -> dict[Asked, Walk]:
        """Begin no further walk, and return those that are done."""
        self._stopped.set()
        self._thread.join()
        return self._found


class Planner:
    """Decides what a batch reads: admits shards, fixes the end of each, and tracks which have caught up.

    ``glance`` is the number of records of a shard that are walked before the rest is skipped.
    """

    def __init__(self, settings: ReadOptions, client: KinesisClient, *, glance: int = GLANCE) -> None:
        self._settings, self._client, self._glance = settings, client, glance
        self._confirmed: set[str] = set()
        self._walks: dict[tuple[str, str, str], Walk] = {}
        # Where the walk of the last batch stopped: going on from there takes a call less.
        self._iterators: dict[tuple[str, str], str] = {}
        self._ahead: WalksAhead | None = None
        self._caught_up: set[str] = set()
        self._listed = False
        self.stop_when_caught_up = False

    def first(self, position: str) -> Offset:
        """The offset of a ``startingPosition``.

        LATEST becomes the current time of the service, so that it also holds for shards without records.
        """
        if position.lstrip().startswith("{"):
            return {str(k): str(v) for k, v in json.loads(position).items()}
        shards = self._client.list_shards()
        if position.upper() == LATEST:
            now = f"{AT_TIMESTAMP}{self._client.server_time}"
            return {shard.id: now for shard in shards if shard.open}
        start = (
            TRIM_HORIZON if position.upper() in {TRIM_HORIZON, "EARLIEST"} else _timestamp_position(position)
        )
        return {shard.id: start for shard in shards if not shard.parents}

    def end(self, start: Offset, max_records: int | None, max_bytes: int | None) -> Offset:
        """Find the end of a batch that begins at ``start``."""
        offset = self._admit(start)
        reading = [s for s, p in offset.items() if p != SHARD_END]
        if self.stop_when_caught_up:
            reading = [shard for shard in reading if shard not in self._caught_up]
        if not reading:
            return offset
        share = -(-max_records // len(reading)) if max_records else None
        limits = [n for n in (share, self._settings.max_records_per_shard) if n]
        records, size = min(limits, default=None), max_bytes // len(reading) if max_bytes else None
        ahead = self._ahead.stop() if self._ahead else {}
        self._walks.clear()

        def walk_to_end(shard: str) -> Walk:
            found = ahead.get((shard, offset[shard], records, size))
            # One that caught up then may find more records now.
            if found and (found.ended or not found.caught_up):
                return found
            return self._walk_to_end(shard, offset[shard], records, size)

        more: list[Asked] = []
        with ThreadPoolExecutor(min(8, len(reading))) as pool:
            for shard, walk in zip(reading, pool.map(walk_to_end, reading), strict=True):
                offset[shard] = SHARD_END if walk.ended else walk.position
                self._walks[shard, walk.start, offset[shard]] = walk
                if walk.caught_up:
                    self._caught_up.add(shard)
                else:
                    more.append((shard, walk.position, records, size))
        self._iterators = {at: found for at, found in self._iterators.items() if offset.get(at[0]) == at[1]}
        self._ahead = WalksAhead(self._walk, more) if records or size else None
        return offset

    def ranges(self, start: Offset, end: Offset) -> list[ShardRange]:
        """The partitions that hold exactly the records between two offsets."""
        found: list[ShardRange] = []
        for shard, until in end.items():
            after = start.get(shard, TRIM_HORIZON)
            if after in {until, SHARD_END}:
                continue
            walk = self._walks.get((shard, after, until))
            found += walk.ranges(shard) if walk else [ShardRange(shard, after, until)]
        return found

    def partitions(self, start: Offset, end: Offset) -> list[RangePartition]:
        """Divide ``ranges`` among tasks. Small ones are read by one task, which costs more than they do."""
        groups: list[list[ShardRange]] = []
        filled = _SMALL
        for part in self.ranges(start, end):
            walk = self._walks.get((part.shard, part.after, part.until))
            size = walk.size if walk else _SMALL
            if filled + size > _SMALL:
                groups, filled = [*groups, []], 0
            groups[-1].append(part)
            filled += size
        return [RangePartition(tuple(group)) for group in groups]

    def _admit(self, start: Offset) -> Offset:
        """Add shards whose parents have all ended; remove ended parents whose children are all present."""
        if SHARD_END not in start.values() and self._listed:
            return dict(start)
        shards = self._client.list_shards()
        self._listed = True
        self._check_listed(start, shards)
        ended = {shard for shard, position in start.items() if position == SHARD_END}
        offset = dict(start)
        for shard in shards:
            if shard.id not in offset and shard.parents and ended.issuperset(shard.parents):
                offset[shard.id] = TRIM_HORIZON
        children = {p: [s.id for s in shards if p in s.parents] for p in ended}
        for parent, born in children.items():
            if born and all(child in offset for child in born):
                del offset[parent]
        return offset

    def _check_listed(self, start: Offset, shards: Sequence[ListedShard]) -> None:
        listed = {shard.id for shard in shards}
        for shard, position in start.items():
            if shard not in listed and position != SHARD_END:
                self._report_loss(f"shard {shard} is gone, read up to {position}")

    def _walk_to_end(self, shard: str, start: str, max_records: int | None, max_bytes: int | None) -> Walk:
        """Walk a shard up to the limits, or to its current end.

        A limit requires counting the records. Without a limit, most records are skipped.
        """
        if max_records is not None or max_bytes is not None:
            return self._walk(shard, start, max_records, max_bytes)
        walk = self._walk(shard, start, self._glance, None)
        if walk.ended or not walk.behind:
            return walk
        near = find_time_before_end(self._client, shard, walk.last, walk.last + walk.behind)
        end = self._walk(shard, f"{AT_TIMESTAMP}{near}", None, None)
        if _number(end.position) <= _number(walk.position):
            return self._walk(shard, start, None, None)
        borders = [*self._borders(shard, walk, end), end.position]
        marks = [*walk.marks, *((border, None) for border in borders)]
        return Walk(start, end.position, end.ended, end.caught_up, marks)

    def _borders(self, shard: str, walk: Walk, end: Walk) -> Iterator[str]:
        """Split the records between two walks into partitions of equal time.

        Their number follows from the byte rate of the first walk.
        """
        seconds = end.last - walk.last
        size = walk.size * seconds / max(walk.last - walk.first, 0.001)
        pieces, before = min(_MOST_PIECES, round(size / _BYTES_PER_PARTITION)), _number(walk.position)
        for piece in range(1, pieces):
            found = read_first_since(self._client, shard, walk.last + seconds * piece / pieces)
            if found and before < _number(found.sequence_number) < _number(end.position):
                before = _number(found.sequence_number)
                yield found.sequence_number

    def _walk(self, shard: str, start: str, max_records: int | None, max_bytes: int | None) -> Walk:
        self._check_not_expired(shard, start)
        iterator = self._iterators.pop((shard, start), None) or self._client.iterator(shard, start)
        walk, once = Walk(start, start), Once(start)
        records = since = weight = 0
        while (max_records is None or records < max_records) and (max_bytes is None or walk.size < max_bytes):
            limit = self._settings.records_per_request
            limit = limit if max_records is None else min(limit, max_records - records)
            try:
                page, length = self._client.page(iterator, limit, MarkPage)
            except ServiceError as refused:
                if refused.code != "ExpiredIteratorException":
                    raise
                iterator = self._client.iterator(shard, walk.position)
                continue
            if fresh := once.filter_new(page.records):
                # A record that is delivered again may be the last of the page.
                count, latest = len(fresh), max(fresh, key=lambda record: _number(record.sequence_number))
                walk.position, walk.last = latest.sequence_number, latest.approximate_arrival_timestamp
                walk.first = walk.first or fresh[0].approximate_arrival_timestamp
                records, since, weight = records + count, since + count, weight + length
                walk.size += length
            walk.behind = page.millis_behind_latest / 1000
            if since >= self._settings.records_per_partition or weight >= _BYTES_PER_PARTITION:
                walk.marks.append((walk.position, since))
                since = weight = 0
            if page.next_shard_iterator is None:
                walk.ended = True
            iterator = page.next_shard_iterator or ""
            if walk.ended or page.millis_behind_latest == 0:
                walk.caught_up = True
                break
        if not walk.ended:
            self._iterators[shard, walk.position] = iterator
        if since:
            walk.marks.append((walk.position, since))
        return walk

    def _check_not_expired(self, shard: str, position: str) -> None:
        """Check once per process that the record at an offset exists; if not, later ones may be gone too."""
        if (
            shard not in self._confirmed
            and position[:1].isdigit()
            and not self._client.holds(shard, position)
        ):
            self._report_loss(
                f"record {position} of shard {shard} has expired; records behind it may have too"
            )
        self._confirmed.add(shard)

    def _report_loss(self, what: str) -> None:
        if self._settings.fail_on_data_loss:
            raise DataLossError(f"{what}. Set failOnDataLoss to false to go on with what is there.")


def _number(position: str) -> int:
    """A sequence number as an integer; -1 for another position."""
    return int(position) if position[:1].isdigit() else -1


def _timestamp_position(position: str) -> str:
    text = position.strip()
    if not text.upper().startswith(AT_TIMESTAMP):
        raise KinesisSourceError(
            f"startingPosition is {position!r}, but must be LATEST, TRIM_HORIZON, EARLIEST, "
            "AT_TIMESTAMP <RFC 3339> or an offset as JSON"
        )
    try:
        return f"{AT_TIMESTAMP}{datetime.fromisoformat(text[len(AT_TIMESTAMP) :].strip()).timestamp()}"
    except ValueError:
        raise KinesisSourceError(f"startingPosition has no RFC 3339 time: {position!r}") from None
