"""The message index: every message of every stream as a row, numbered densely in the order of arrival.

The streams are the truth and the index is made from them, in small slices and
only when somebody asks, so that it never slows what it watches. It lies in
SQLite beside the streams; a missing, older or damaged index is made again.
"""

from __future__ import annotations

import heapq
import sqlite3
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from emulator.clock import stopwatch
from emulator.message_filter import FIELDS, MARKS, Condition, compile_filter
from emulator.resources import Count, MessagePage, MessageRow, SequencePage, SequenceRow
from schemas.envelope import oversize
from schemas.peek import Peek, peek

LATE_SECONDS = 60.0

CountedField: TypeAlias = Literal["type", "class", "code", "stream", "version"]

_FORMAT = 1
_SLICE_RECORDS = 500
_SLICE_BYTES = 2_000_000
_FILTERS_KEPT = 8
_TABLES = """
CREATE TABLE shard (
  no INTEGER PRIMARY KEY, stream TEXT NOT NULL, shard TEXT NOT NULL, generation TEXT NOT NULL,
  read_up_to TEXT, UNIQUE (stream, shard, generation));
CREATE TABLE message (
  id INTEGER PRIMARY KEY, time REAL NOT NULL, shard_no INTEGER NOT NULL, sequence_number TEXT NOT NULL,
  partition_key TEXT NOT NULL, message_id TEXT, message_type TEXT, message_class TEXT, sequence TEXT,
  position INTEGER, total INTEGER, size INTEGER NOT NULL, code TEXT, tenant INTEGER, version TEXT,
  marks INTEGER NOT NULL, digest INTEGER NOT NULL);
CREATE INDEX message_by_id ON message (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX message_by_digest ON message (digest) WHERE message_id IS NULL;
CREATE INDEX message_by_sequence ON message (sequence) WHERE total > 1;
"""
_COLUMNS = """id, time, stream, shard, sequence_number, partition_key, message_id, message_type,
  message_class, sequence, position, total, size, code, tenant, version, marks"""
_SEQUENCE = """sequence, stream, min(message_type), max(total), group_concat(DISTINCT position), count(*),
  sum(size), min(time), max(time)"""
_POSITIONS_SHOWN = 10_000
_INSERT = "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FROM = "FROM message JOIN shard ON shard.no = message.shard_no"
_MARKS_OF = tuple(
    tuple(mark for bit, mark in enumerate(MARKS) if bits & 1 << bit) for bits in range(1 << len(MARKS))
)
_DUPLICATE, _LATE, _OVERSIZE, _RETRIED = (1 << bit for bit in range(4))


@dataclass(frozen=True, slots=True)
class ShardKey:
    """A shard to read; ``generation`` tells a stream made again under the same name from the one before."""

    stream: str
    shard: str
    generation: str


class Record(Protocol):
    """A record as a stream keeps it; ``arrived`` in seconds since the epoch."""

    @property
    def sequence_number(self) -> str: ...
    @property
    def partition_key(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def arrived(self) -> float: ...


class Streams(Protocol):
    """Where the index reads from."""

    def shards(self) -> Iterable[ShardKey]: ...
    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[Record]: ...
    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None: ...


@dataclass(slots=True)
class _Reading:
    """How far a shard is indexed, and what was read of it but waits for older messages of other shards."""

    shard: ShardKey
    no: int
    read_up_to: str | None
    waiting: deque[tuple[float, Record]] = field(default_factory=deque)
    more: bool = False
    last_time: float = 0.0
    limit: int = 32

    def fetch(self, streams: Streams) -> None:
        """Read the next records; times are made never to decrease, so that a merge keeps the order."""
        records = streams.read(self.shard, self.read_up_to, self.limit)
        self.more = bool(records)
        for record in records:
            self.last_time = max(self.last_time, record.arrived)
            self.waiting.append((self.last_time, record))
        if records:
            mean = sum(len(record.data) for record in records) // len(records)
            self.limit = max(1, min(_SLICE_RECORDS, _SLICE_BYTES // max(mean, 1)))

    def up_to(self, horizon: float) -> Iterator[tuple[float, Record, _Reading]]:
        for time, record in self.waiting:
            if time > horizon:
                break
            yield time, record, self


@dataclass(slots=True)
class _Matches:
    """The ids that a filter lets through, up to the id ``seen``."""

    ids: array[int]
    seen: int = 0


class MessageIndex:
    """Feed it with ``catch_up``, ask it for pages and rows. Thread-safe. ``path`` None keeps it in memory."""

    def __init__(self, streams: Streams, path: Path | None = None) -> None:
        self._streams = streams
        self._path = path
        self._lock = threading.RLock()
        self._matches: OrderedDict[Condition, _Matches] = OrderedDict()
        self._db = _open(path)
        self._load()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def clear(self) -> None:
        """Forget every message, and read what the streams hold from the start."""
        with self._lock:
            self._db.executescript("DROP TABLE message; DROP TABLE shard;" + _TABLES)
            self._matches.clear()
            self._load()

    def catch_up(self, seconds: float = 0.1) -> bool:
        """Index what is new, for at most about this many real seconds; whether nothing is left."""
        deadline = stopwatch() + seconds
        with self._lock:
            while self._slice_kept():
                if stopwatch() >= deadline:
                    return False
        return True

    def page(
        self, filter_text: str = "", *, offset: int | None = None, after: int | None = None, limit: int = 100
    ) -> MessagePage:
        """Up to ``limit`` matching rows, oldest first: from the ``offset``-th match or after an id.

        A negative ``offset`` counts from the end. FilterError when the filter cannot be read.
        """
        condition = compile_filter(filter_text)
        with self._lock:
            if condition.everything:
                return self._page_of_all(offset, after, limit)
            ids = self._matching(condition)
            start = bisect_right(ids, after) if after is not None else _from_end(offset or 0, len(ids))
            return MessagePage(self._rows(ids[start : start + limit]), len(ids), self.last)

    def counts(self, field: CountedField, filter_text: str = "") -> tuple[Count, ...]:
        """How many matching messages have each value of ``field``. FilterError for a bad filter."""
        condition = compile_filter(filter_text)
        column, _ = FIELDS[field]
        query = (
            f"SELECT {column}, count(*) {_FROM} WHERE {condition.sql or '1'} "
            f"GROUP BY {column} ORDER BY count(*) DESC, {column}"
        )
        with self._lock:
            rows = self._db.execute(query, condition.parameters).fetchall()
        return tuple(Count(*row) for row in rows)

    def sequences(
        self, filter_text: str = "", *, unfinished: bool = False, offset: int = 0, limit: int = 100
    ) -> SequencePage:
        """Up to ``limit`` sequences of matching messages in each stream, in the order of their first parts.

        ``unfinished`` leaves out those of which every part is there.
        FilterError when the filter cannot be read.
        """
        condition = compile_filter(filter_text)
        where = (
            f"WHERE total > 1 AND sequence IS NOT NULL AND ({condition.sql or '1'}) GROUP BY sequence, stream"
        )
        if unfinished:
            there = "CASE WHEN position BETWEEN 1 AND total THEN position END"
            where += f" HAVING count(DISTINCT {there}) < max(total)"
        with self._lock:
            counted = f"SELECT count(*) FROM (SELECT 1 {_FROM} {where})"  # noqa: S608 -- a compiled filter
            (total,) = self._db.execute(counted, condition.parameters).fetchone()
            page = f"SELECT {_SEQUENCE} {_FROM} {where} ORDER BY min(id) LIMIT ? OFFSET ?"
            rows = self._db.execute(page, (*condition.parameters, limit, offset)).fetchall()
        return SequencePage(tuple(_sequence(row) for row in rows), total)

    def row(self, row_id: int) -> MessageRow | None:
        with self._lock:
            rows = self._rows([row_id])
        return rows[0] if rows else None

    def data(self, row: MessageRow) -> bytes | None:
        """The message's bytes, or None when its stream no longer holds them."""
        with self._lock:
            found = self._db.execute(
                f"SELECT generation {_FROM} WHERE message.id = ?",
                (row.id,),
            ).fetchone()
        if found is None:
            return None
        return self._streams.at(ShardKey(row.stream, row.shard, found[0]), row.sequence_number)

    # -- reading the streams

    def _load(self) -> None:
        rows = self._db.execute("SELECT stream, shard, generation, no, read_up_to FROM shard")
        self._readings = {ShardKey(*row[:3]): _Reading(ShardKey(*row[:3]), row[3], row[4]) for row in rows}
        self.last: int = self._db.execute("SELECT coalesce(max(id), 0) FROM message").fetchone()[0]

    def _slice(self) -> bool:
        """Read a little of every shard and index it in the order of arrival; whether there was anything."""
        readings = [self._reading(shard) for shard in self._streams.shards()]
        for reading in readings:
            if not reading.waiting:
                reading.fetch(self._streams)
        # Beyond the last record read of a shard that has more, older ones may still come.
        horizon = min((r.last_time for r in readings if r.more), default=float("inf"))
        indexed = 0
        for _, record, reading in heapq.merge(*(r.up_to(horizon) for r in readings), key=itemgetter(0)):
            self._add(reading, record)
            indexed += 1
        for reading in readings:
            self._consume(reading, horizon)
        return indexed > 0

    def _slice_kept(self) -> bool:
        self._db.execute("BEGIN")
        try:
            indexed = self._slice()
        except BaseException:
            self._db.execute("ROLLBACK")
            self._load()
            raise
        self._db.execute("COMMIT")
        return indexed

    def _reading(self, shard: ShardKey) -> _Reading:
        reading = self._readings.get(shard)
        if reading is None:
            cursor = self._db.execute(
                "INSERT INTO shard (stream, shard, generation) VALUES (?, ?, ?)",
                (shard.stream, shard.shard, shard.generation),
            )
            assert cursor.lastrowid is not None
            reading = self._readings[shard] = _Reading(shard, cursor.lastrowid, None)
        return reading

    def _consume(self, reading: _Reading, horizon: float) -> None:
        before = reading.read_up_to
        while reading.waiting and reading.waiting[0][0] <= horizon:
            reading.read_up_to = reading.waiting.popleft()[1].sequence_number
        if reading.read_up_to != before:
            self._db.execute("UPDATE shard SET read_up_to = ? WHERE no = ?", (reading.read_up_to, reading.no))

    def _add(self, reading: _Reading, record: Record) -> None:
        seen = peek(record.data)
        digest = int.from_bytes(blake2b(record.data, digest_size=8).digest(), "big", signed=True)
        marks = self._marks(seen, digest, reading.shard.stream, record)
        self.last += 1
        row = (
            *(self.last, record.arrived, reading.no, record.sequence_number, record.partition_key),
            *(
                seen.message_id,
                seen.message_type,
                seen.message_class,
                seen.sequence,
                seen.position,
                seen.total,
            ),
            *(len(record.data), seen.error_code, seen.tenant, seen.version, marks, digest),
        )
        try:
            self._db.execute(_INSERT, row)
        except (OverflowError, UnicodeEncodeError):
            self._db.execute(_INSERT, [_storable(value) for value in row])

    def _marks(self, seen: Peek, digest: int, stream: str, record: Record) -> int:
        marks = _OVERSIZE if oversize(record.data) else 0
        if _late(seen, record.arrived):
            marks |= _LATE
        where, value = "message_id = ?", seen.message_id or digest
        if seen.message_id is None:
            where = "digest = ? AND message_id IS NULL"
        earlier = self._db.execute(
            f"SELECT digest {_FROM} WHERE {where} AND stream = ? ORDER BY id DESC LIMIT 1",
            (value, stream),
        ).fetchone()
        if earlier is None:
            return marks
        return marks | _DUPLICATE | (_RETRIED if earlier[0] != digest else 0)

    # -- answering

    def _page_of_all(self, offset: int | None, after: int | None, limit: int) -> MessagePage:
        first = after if after is not None else _from_end(offset or 0, self.last)
        rows = self._rows(range(first + 1, min(first + limit, self.last) + 1))
        return MessagePage(rows, self.last, self.last)

    def _matching(self, condition: Condition) -> array[int]:
        """The ids that match; only rows that came since the last time are looked at."""
        found = self._matches.pop(condition, None) or _Matches(array("q"))
        self._matches[condition] = found
        if len(self._matches) > _FILTERS_KEPT:
            self._matches.popitem(last=False)
        if found.seen < self.last:
            query = f"SELECT id {_FROM} WHERE id > ? AND ({condition.sql}) ORDER BY id"
            rows = self._db.execute(query, (found.seen, *condition.parameters))
            found.ids.extend(row[0] for row in rows)
            found.seen = self.last
        return found.ids

    def _rows(self, ids: Iterable[int]) -> tuple[MessageRow, ...]:
        wanted = list(ids)
        if not wanted:
            return ()
        marks = ", ".join("?" * len(wanted))
        rows = self._db.execute(f"SELECT {_COLUMNS} {_FROM} WHERE id IN ({marks}) ORDER BY id", wanted)
        return tuple(MessageRow(*(*row[:-1], _MARKS_OF[row[-1]])) for row in rows)


def _sequence(row: Sequence[Any]) -> SequenceRow:
    sequence, stream, message_type, total, listed, parts, size, first, last = row
    positions = sorted(int(position) for position in (listed or "").split(",") if position)
    shown = tuple(positions[:_POSITIONS_SHOWN])
    return SequenceRow(sequence, stream, message_type, total, shown, parts, size, first, last)


def _storable(value: object) -> object:
    """What JSON can say and SQLite cannot hold: integers over 64 bits, halves of surrogate pairs."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return None if isinstance(value, int) and value.bit_length() > 63 else value


def _late(seen: Peek, arrived: float) -> bool:
    published, expires = _moment(seen.published), _moment(seen.expires)
    return (published is not None and arrived > published + LATE_SECONDS) or (
        expires is not None and arrived > expires
    )


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None


def _from_end(offset: int, total: int) -> int:
    return max(0, total + offset) if offset < 0 else offset


def _open(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _connect(":memory:")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(str(path))
    except sqlite3.DatabaseError:
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
        return _connect(str(path))


def _connect(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, check_same_thread=False, isolation_level=None)
    try:
        # Losing the index costs nothing but making it again.
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_FORMAT}; COMMIT;")
        _check(db)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection) -> None:
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found != _FORMAT:
        raise sqlite3.DatabaseError(f"index format {found}, expected {_FORMAT}")
    db.execute("SELECT max(id) FROM message").fetchone()
