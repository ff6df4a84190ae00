"""The message index: a row for every message of every stream, numbered densely in the order of arrival.

The index is built from the streams, in small slices and only when it is asked for, so that
it does not slow the streams. It is an SQLite file beside them. A missing, older or damaged
index is built again.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from emulator.clock import stopwatch
from emulator.journal import no_space
from emulator.machine.private_files import touch
from emulator.message_index.index_tables import FORMAT, FROM, MessageTables
from emulator.message_index.sql_filter import SqlCondition, compile_filter, list_columns
from emulator.streams.merged_reading import (
    IndexedRecord,
    IndexedStreams,
    ShardCursor,
    ShardKey,
    merge_by_arrival,
)
from rdss_sandbox.questions.message_filter import FilterError
from rdss_sandbox.shapes.messages import Count, MessagePage, MessageRow
from rdss_sandbox.shapes.sequences import SequencePage, SequenceRow
from schemas.contract import Contract, Peek

LATE_SECONDS = 60.0
"""A message that arrives more than this after ``publishedTimestamp`` is marked late."""


_FILTERS_KEPT = 8
_MOST_PARAMETERS = 10_000
_SEQUENCE = """sequence, stream, min(message_type), max(total), group_concat(DISTINCT position), count(*),
  sum(size), min(time), max(time), min(expires)"""
_POSITIONS_SHOWN = 10_000
_SEQUENCES_REMEMBERED = 10_000
_DUPLICATE, _LATE, _OVERSIZE, _RETRIED = (1 << bit for bit in range(4))


_Found: TypeAlias = tuple[ShardCursor, IndexedRecord, Peek]


@dataclass(slots=True)
class _Matches:
    """The ids of the messages that match a filter, up to the id ``seen``."""

    ids: array[int]
    seen: int = 0


class MessageIndex:
    """Call ``catch_up`` to index new messages, then ask for pages and rows. Thread-safe.

    With a ``path`` of None the index is a temporary file. ``origin`` maps a stream and a partition key
    to the stream within which a message may be a duplicate. ``contract`` reads the messages and declares what
    is kept of them. ``found`` is called like ``Events.emit`` when messages break a rule.
    """

    def __init__(
        self,
        streams: IndexedStreams,
        path: Path | None = None,
        origin: Callable[[str, str], str] = lambda stream, _: stream,
        *,
        contract: Contract,
        found: Callable[..., object] = lambda _kind, **_fields: None,
    ) -> None:
        self._contract = contract
        self._tables = MessageTables(contract)
        self._columns = list_columns(contract.fields)
        self._counted = [field.name for field in contract.fields if field.counted] + ["stream"]
        self._streams = streams
        self._origin = origin
        self._path = path
        self._found = found
        self._lock = threading.RLock()
        self._parts: OrderedDict[tuple[str, str | None], tuple[str, int | None] | None] = OrderedDict()
        self._matches: OrderedDict[SqlCondition, _Matches] = OrderedDict()
        self._db = _open(path, self._tables)
        self._load()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def held(self) -> AbstractContextManager[object]:
        """Let nobody read new messages while the context lasts: the streams are held after it."""
        return self._lock

    def clear(self) -> None:
        """Forget every message. The next ``catch_up`` reads the streams from the start."""
        with self._lock:
            self._db.executescript(
                "DROP TABLE message; DROP TABLE shard; DROP TABLE declared;" + self._tables.create
            )
            self._matches.clear()
            self._load()

    def catch_up(self, seconds: float = 0.1) -> bool:
        """Index new messages for about ``seconds`` of real time at most. Returns whether none are left."""
        deadline = stopwatch() + seconds
        with self._lock:
            while self._index_slice_atomically():
                if stopwatch() >= deadline:
                    return False
        return True

    def progress(self) -> tuple[int, dict[ShardKey, str | None]]:
        """Return how many messages are indexed, and up to which sequence number of each shard."""
        with self._lock:
            return self.last, {key: cursor.read_up_to for key, cursor in self._cursors.items()}

    def page(
        self, filter_text: str = "", *, offset: int | None = None, after: int | None = None, limit: int = 100
    ) -> MessagePage:
        """Up to ``limit`` matching rows, oldest first, from the ``offset``-th match or after an id.

        A negative ``offset`` counts from the end. Raises FilterError when the filter is invalid.
        """
        condition = compile_filter(filter_text, self._columns)
        with self._lock:
            if condition.everything:
                first = after if after is not None else _resolve_offset(offset or 0, self.last)
                rows = self._rows(range(first + 1, min(first + limit, self.last) + 1))
                return MessagePage(rows, self.last, self.last)
            ids = self._find_matches(condition)
            start = bisect_right(ids, after) if after is not None else _resolve_offset(offset or 0, len(ids))
            return MessagePage(self._rows(ids[start : start + limit]), len(ids), self.last)

    def check_filter(self, filter_text: str) -> None:
        """Raise FilterError when the filter is invalid."""
        compile_filter(filter_text, self._columns)

    def counts(self, field: str, filter_text: str = "") -> tuple[Count, ...]:
        """Count the matching messages by their value of ``field``. Raises FilterError."""
        condition = compile_filter(filter_text, self._columns)
        if field not in self._counted:
            raise FilterError(f"by: no field {field!r} to count by; there are {', '.join(self._counted)}")
        column = self._columns[field].name
        query = (
            f"SELECT {column}, count(*) {FROM} WHERE {condition.sql or '1'} "
            f"GROUP BY {column} ORDER BY count(*) DESC, {column}"
        )
        with self._lock:
            rows = self._db.execute(query, condition.parameters).fetchall()
        return tuple(Count(*row) for row in rows)

    def sequences(
        self, filter_text: str = "", *, unfinished: bool = False, offset: int = 0, limit: int = 100
    ) -> SequencePage:
        """Up to ``limit`` sequences of matching messages in each stream, in the order of their first parts.

        ``unfinished`` leaves out complete sequences. Raises FilterError when the filter is invalid.
        """
        condition = compile_filter(filter_text, self._columns)
        where = (
            f"WHERE total > 1 AND sequence IS NOT NULL AND ({condition.sql or '1'}) GROUP BY sequence, stream"
        )
        if unfinished:
            there = "CASE WHEN position BETWEEN 1 AND total THEN position END"
            where += f" HAVING count(DISTINCT {there}) < max(total)"
        with self._lock:
            counted = f"SELECT count(*) FROM (SELECT 1 {FROM} {where})"  # noqa: S608 -- a compiled filter
            (total,) = self._db.execute(counted, condition.parameters).fetchone()
            page = f"SELECT {_SEQUENCE} {FROM} {where} ORDER BY min(id) LIMIT ? OFFSET ?"
            rows = self._db.execute(page, (*condition.parameters, limit, offset)).fetchall()
        return SequencePage(tuple(_build_sequence_row(row) for row in rows), total)

    def parts(self, sequence: str, stream: str, *, limit: int) -> tuple[MessageRow, ...]:
        """The parts of a sequence in a stream by their positions, repeated ones in the order of arrival."""
        query = (
            f"SELECT {self._tables.select} {FROM} WHERE total > 1 AND sequence = ? AND stream = ? "
            "ORDER BY position, id LIMIT ?"
        )
        with self._lock:
            rows = self._db.execute(query, (_make_storable(sequence), stream, limit)).fetchall()
        return tuple(map(self._tables.build_row, rows))

    def row(self, row_id: int) -> MessageRow | None:
        with self._lock:
            rows = self._rows([row_id])
        return rows[0] if rows else None

    def data(self, row: MessageRow) -> bytes | None:
        """The message's bytes, or None when its stream no longer holds them."""
        return next(self.data_of_each([row]))

    def data_of_each(self, rows: Iterable[MessageRow]) -> Iterator[bytes | None]:
        """Yield each message's bytes, or None when its stream no longer holds them."""
        return self._streams.at_each((self._find_shard(row), row.sequence_number) for row in rows)

    def _find_shard(self, row: MessageRow) -> ShardKey:
        """The shard of a message. One that the index has no more is in a generation that no shard has."""
        with self._lock:
            found = self._db.execute(f"SELECT generation {FROM} WHERE message.id = ?", (row.id,)).fetchone()
        return ShardKey(row.stream, row.shard, found[0] if found else "")

    # -- reading the streams

    def _load(self) -> None:
        rows = self._db.execute("SELECT stream, shard, generation, no, read_up_to FROM shard")
        self._cursors = {ShardKey(*row[:3]): ShardCursor(ShardKey(*row[:3]), row[3], row[4]) for row in rows}
        self.last: int = self._db.execute("SELECT coalesce(max(id), 0) FROM message").fetchone()[0]

    def _index_slice(self) -> bool:
        """Read a little of every shard and index it in the order of arrival; False when there was nothing."""
        peek = self._contract.peek
        cursors = [self._find_cursor(shard) for shard in self._streams.shards()]
        found = [
            (cursor, record, peek(record.data, record.partition_key or ""))
            for cursor, record in merge_by_arrival(cursors, self._streams)
        ]
        self._add(found)
        changed = {cursor.no: cursor.read_up_to for cursor, _, _ in found}
        self._db.executemany(
            "UPDATE shard SET read_up_to = ? WHERE no = ?", ((p, no) for no, p in changed.items())
        )
        return bool(found)

    def _index_slice_atomically(self) -> bool:
        self._db.execute("BEGIN")
        try:
            indexed = self._index_slice()
            self._db.execute("COMMIT")
        except BaseException:
            # On a full disk SQLite has already rolled back.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._load()
            raise
        return indexed

    def _find_cursor(self, shard: ShardKey) -> ShardCursor:
        cursor = self._cursors.get(shard)
        if cursor is None:
            inserted = self._db.execute(
                "INSERT INTO shard (stream, shard, generation) VALUES (?, ?, ?)",
                (shard.stream, shard.shard, shard.generation),
            )
            assert inserted.lastrowid is not None
            cursor = self._cursors[shard] = ShardCursor(shard, inserted.lastrowid, None)
        return cursor

    def _add(self, found: list[_Found]) -> None:
        known = self._find_known(found)
        identity, values_of = self._contract.identity, self._tables.values_of
        rows: list[tuple[object, ...]] = []
        for cursor, record, peek in found:
            digest = _digest(record.data)
            origin = self._origin(cursor.shard.stream, record.partition_key or "")
            who = (origin, identity(peek) or digest)
            marks = self._find_marks(peek, record)
            if (earlier := known.get(who)) is not None:
                marks |= _DUPLICATE if earlier == digest else _DUPLICATE | _RETRIED
            known[who] = digest
            self._report_shared_id(origin, peek)
            self.last += 1
            rows.append(
                (
                    *(
                        self.last,
                        record.arrived,
                        cursor.no,
                        record.sequence_number,
                        record.partition_key or "",
                    ),
                    *values_of(peek),
                    *(len(record.data), marks, digest),
                    _parse_time(peek.expires),
                )
            )
        self._insert(rows)

    def _find_known(self, found: list[_Found]) -> dict[tuple[str, str | int], int]:
        """The indexed messages that ``found`` may repeat: the newest digest for each origin and identity."""
        names = list(
            {
                peek.message_id
                for _, _, peek in found
                if peek.message_id is not None and self._is_identified_by_id(peek)
            }
        )
        digests = list(
            {_digest(record.data) for _, record, peek in found if self._contract.identity(peek) is None}
        )
        known = self._find_known_parts({peek for _, _, peek in found if not self._is_identified_by_id(peek)})
        for column, values in (("message_id", names), ("digest", digests)):
            nameless = " AND message_id IS NULL" if column == "digest" else ""
            for start in range(0, len(values), _MOST_PARAMETERS):
                asked = values[start : start + _MOST_PARAMETERS]
                marks = ", ".join("?" * len(asked))
                where = f"{column} IN ({marks}){nameless}"
                query = f"SELECT stream, partition_key, {column}, digest {FROM} WHERE {where} ORDER BY id"
                known |= {
                    (self._origin(stream, key), value): digest
                    for stream, key, value, digest in self._db.execute(query, asked)
                }
        return known

    def _find_known_parts(self, parts: Iterable[Peek]) -> dict[tuple[str, str | int], int]:
        """As ``_find_known``, for parts of sequences."""
        places = list({(peek.part.sequence, peek.part.position) for peek in parts if peek.part})
        known: dict[tuple[str, str | int], int] = {}
        for start in range(0, len(places), _MOST_PARAMETERS):
            asked = places[start : start + _MOST_PARAMETERS]
            pairs = ", ".join(["(?, ?)"] * len(asked))
            query = (
                f"SELECT stream, partition_key, sequence || '/' || position, digest {FROM} "
                f"WHERE total > 1 AND (sequence, position) IN (VALUES {pairs}) ORDER BY message.id"
            )
            rows = self._db.execute(query, [_make_storable(value) for pair in asked for value in pair])
            known |= {(self._origin(stream, key), place): digest for stream, key, place, digest in rows}
        return known

    def _report_shared_id(self, stream: str, peek: Peek) -> None:
        """Report each sequence once, when different parts of it have the same messageId."""
        part, sequences = peek.part, self._contract.sequences
        if part is None or sequences is None or peek.message_id is None:
            return
        where = (stream, part.sequence)
        first = self._parts.setdefault(where, (peek.message_id, part.position))
        if len(self._parts) > _SEQUENCES_REMEMBERED:
            self._parts.popitem(last=False)
        if first is not None and first[0] == peek.message_id and first[1] != part.position:
            self._parts[where] = None
            self._found(
                "sequence.shared_message_id",
                stream=stream,
                sequence=part.sequence,
                message_id=peek.message_id,
                why=sequences.describe_shared_id(peek.message_id),
            )

    def _is_identified_by_id(self, peek: Peek) -> bool:
        """Whether the id alone identifies the message, as it does not for parts of a sequence."""
        return self._contract.identity(peek) == peek.message_id

    def _find_marks(self, peek: Peek, record: IndexedRecord) -> int:
        """The marks that do not depend on other messages."""
        oversize = len(record.data) > self._contract.max_bytes
        return (_OVERSIZE if oversize else 0) | (_LATE if _is_late(peek, record.arrived) else 0)

    def _insert(self, rows: list[tuple[object, ...]]) -> None:
        try:
            self._db.executemany(self._tables.insert, rows)
        except (OverflowError, UnicodeEncodeError):
            first = rows[0][0]
            self._db.execute("DELETE FROM message WHERE id >= ?", (first,))
            self._db.executemany(
                self._tables.insert, [[_make_storable(value) for value in row] for row in rows]
            )

    # -- answering

    def _find_matches(self, condition: SqlCondition) -> array[int]:
        """The ids that match. Only rows that are new since the last call are compared."""
        found = self._matches.pop(condition, None) or _Matches(array("q"))
        self._matches[condition] = found
        if len(self._matches) > _FILTERS_KEPT:
            self._matches.popitem(last=False)
        if found.seen < self.last:
            query = f"SELECT id {FROM} WHERE id > ? AND ({condition.sql}) ORDER BY id"
            rows = self._db.execute(query, (found.seen, *condition.parameters))
            found.ids.extend(row[0] for row in rows)
            found.seen = self.last
        return found.ids

    def _rows(self, ids: Iterable[int]) -> tuple[MessageRow, ...]:
        ids_to_find = list(ids)
        if not ids_to_find:
            return ()
        marks = ", ".join("?" * len(ids_to_find))
        rows = self._db.execute(
            f"SELECT {self._tables.select} {FROM} WHERE id IN ({marks}) ORDER BY id", ids_to_find
        )
        return tuple(map(self._tables.build_row, rows))


def _build_sequence_row(row: Sequence[Any]) -> SequenceRow:
    sequence, stream, message_type, total, listed, parts, size, *times = row
    positions = sorted(int(position) for position in (listed or "").split(",") if position)
    shown = tuple(positions[:_POSITIONS_SHOWN])
    return SequenceRow(sequence, stream, message_type, total, shown, parts, size, *times)


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


def _make_storable(value: object) -> object:
    """Replace what SQLite cannot hold and JSON can: integers over 64 bits, halves of surrogate pairs."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return None if isinstance(value, int) and value.bit_length() > 63 else value


def _is_late(peek: Peek, arrived: float) -> bool:
    published, expires = _parse_time(peek.published), _parse_time(peek.expires)
    return (published is not None and arrived > published + LATE_SECONDS) or (
        expires is not None and arrived > expires
    )


def _parse_time(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None


def _resolve_offset(offset: int, total: int) -> int:
    return max(0, total + offset) if offset < 0 else offset


def _open(path: Path | None, tables: MessageTables) -> sqlite3.Connection:
    if path is None:
        return _connect(
            "", tables
        )  # SQLite's temporary database: in memory while it is small, then a private file
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(str(touch(path)), tables)
    except (OSError, sqlite3.DatabaseError):
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
    try:
        return _connect(str(touch(path)), tables)
    except (OSError, sqlite3.OperationalError) as error:
        if not no_space(error):
            raise
        # On a full disk the index lives in memory, and the next start builds it again.
        return _connect(":memory:", tables)


def _connect(name: str, tables: MessageTables) -> sqlite3.Connection:
    db = sqlite3.connect(name, check_same_thread=False, isolation_level=None)
    try:
        # No fsync: a lost index is only built again.
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            db.executescript(f"BEGIN; {tables.create} PRAGMA user_version = {FORMAT}; COMMIT;")
        _check_format(db, tables)
    except BaseException:
        db.close()
        raise
    return db


def _check_format(db: sqlite3.Connection, tables: MessageTables) -> None:
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found != FORMAT:
        raise sqlite3.DatabaseError(f"index format {found}, expected {FORMAT}")
    (declared,) = db.execute("SELECT fields FROM declared").fetchone()
    if declared != tables.declared:
        raise sqlite3.DatabaseError(f"index of {declared}, expected {tables.declared}")
    db.execute("SELECT max(id) FROM message").fetchone()
