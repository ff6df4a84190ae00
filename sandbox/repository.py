"""The local data repository: the messages that one application received and sends, and its checkpoints.

Specification, Transactional Behaviour: a row for each message (its id, class, type,
sequence, position and status), by which a message that was processed before is
recognised, and the last processed sequence number of each shard. Both change in one
transaction, so that an application that is stopped at any point loses nothing and
processes nothing twice.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from emulator.channels.checkpoints import SHARD_END
from emulator.clock import Clock
from emulator.machine.private_files import touch
from schemas.bound import CONTRACT
from schemas.contract import Contract, Peek

_TABLES = """
CREATE TABLE IF NOT EXISTS messages (
  row INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  messageId TEXT, {kinds} sequence TEXT, position INTEGER, total INTEGER,
  status TEXT NOT NULL CHECK (status IN ('RECEIVED', 'TO_SEND', 'SENT')),
  outcome TEXT CHECK (outcome IN ('waiting', 'processed', 'rejected')),
  errorCode TEXT,
  digest BLOB NOT NULL,
  partitionKey TEXT,
  payload BLOB,
  recorded REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS by_message ON messages (messageId);
CREATE INDEX IF NOT EXISTS by_digest ON messages (digest);
CREATE INDEX IF NOT EXISTS by_sequence ON messages (sequence, position) WHERE outcome IS NOT NULL;
CREATE INDEX IF NOT EXISTS to_send ON messages (channel, row) WHERE status = 'TO_SEND';
CREATE INDEX IF NOT EXISTS waiting ON messages (recorded) WHERE outcome = 'waiting';
CREATE TABLE IF NOT EXISTS checkpoints (
  stream TEXT NOT NULL, shard TEXT NOT NULL, sequence_number TEXT NOT NULL, PRIMARY KEY (stream, shard)
);
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, count INTEGER NOT NULL);
"""


class RollbackFailedError(Exception):
    """A transaction could not be rolled back, or the code inside of it ended it itself."""

    def __init__(self, why: BaseException) -> None:
        super().__init__(f"the transaction could not be rolled back: {why}")


class MessageStatus(StrEnum):
    """The status of a message; these are the three values of the specification."""

    RECEIVED = "RECEIVED"
    TO_SEND = "TO_SEND"
    SENT = "SENT"


class Outcome(StrEnum):
    """The outcome of a received message; ``waiting`` is a part of an incomplete sequence."""

    WAITING = "waiting"
    PROCESSED = "processed"
    REJECTED = "rejected"


class ArrivalStatus(StrEnum):
    """The status of a message at its arrival; ``echo`` is a message that this application sent itself."""

    NEW = "new"
    DUPLICATE = "duplicate"
    ECHO = "echo"


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message with status TO_SEND: its row, partition key and serialised bytes."""

    row: int
    key: str
    data: bytes


@dataclass(frozen=True, slots=True)
class WaitingPart:
    """A part of a sequence that waits for the other parts."""

    row: int
    position: int
    total: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SequenceProgress:
    """The progress of a sequence: the number of parts, their total, and whether it was processed.

    ``same`` is the part already stored for the queried position. ``sharing`` is the number of parts at other
    positions with the queried messageId.
    """

    count: int
    total: int | None
    finished: bool
    same: bytes | None
    sharing: int


class Repository:
    """A SQLite file in WAL mode for one application; it may be used by several threads.

    A commit survives the death of the process, and with ``fsync`` a power cut too. The fields of the contract
    that tell what kind of message it is have columns of the names that they have in a message.
    """

    def __init__(
        self, path: Path, clock: Clock, *, contract: Contract = CONTRACT, fsync: bool = False
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._clock = clock
        self._contract = contract
        kinds = [field for field in contract.fields if field.choices and field.name != "code"]
        place = [field for field in contract.fields if field.name in _PLACE]
        self._envelope = [field.attribute for field in (*kinds, *place)]
        columns = [*(f'"{field.spelling}"' for field in kinds), *(field.name for field in place)]
        self._insertion = _INSERT.format("".join(f"{name}, " for name in columns), "?, " * len(columns))
        self._lock = threading.RLock()
        self._depth = 0
        self._store = sqlite3.connect(touch(path), isolation_level=None, check_same_thread=False, timeout=30)
        self._store.execute("PRAGMA journal_mode=WAL")
        self._store.execute(f"PRAGMA synchronous={'FULL' if fsync else 'NORMAL'}")
        self._store.executescript(
            _TABLES.format(kinds="".join(f'"{field.spelling}" TEXT, ' for field in kinds))
        )

    def close(self) -> None:
        with self._lock:
            self._store.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction; a nested one is a savepoint that can be rolled back alone.

        An exception rolls back. Raises ``RollbackFailedError`` when that fails.
        """
        with self._lock:
            begin, end, undo = _BRACKETS[self._depth > 0]
            mark = f"depth{self._depth}"
            self._store.execute(begin.format(mark))
            self._depth += 1
            try:
                yield self._store
                self._store.execute(end.format(mark))
            except BaseException as error:
                self._undo([statement.format(mark) for statement in undo], error)
                raise
            finally:
                self._depth -= 1

    def _undo(self, statements: Iterable[str], error: BaseException) -> None:
        # A disk that fails has SQLite roll all back by itself. Within another transaction it is to be told.
        outermost = self._depth == 1 or isinstance(error, RollbackFailedError)
        if outermost and not self._store.in_transaction:
            return
        try:
            for statement in statements:
                self._store.execute(statement)
        except sqlite3.Error as failed:
            raise RollbackFailedError(failed) from error

    # Sending

    def record_to_send(self, channel: str, messages: Iterable[bytes], key: str = "") -> None:
        """Record serialised messages as TO_SEND; a message that is already waiting is recorded once.

        ``key`` is what their transport is to know them by, where their bytes do not say it.
        """
        with self.transaction() as store:
            for data in messages:
                digest, peek = sha256(data).digest(), self._contract.peek(data, key)
                unsent = "SELECT 1 FROM messages WHERE digest = ? AND channel = ? AND status = 'TO_SEND'"
                if store.execute(unsent, (digest, channel)).fetchone() is None:
                    self._insert(channel, peek, digest, MessageStatus.TO_SEND, payload=data)

    def unsent(self, channel: str, limit: int) -> list[Unsent]:
        """The oldest messages for ``channel`` with status TO_SEND, without those refused for good."""
        query = (
            "SELECT row, partitionKey, payload FROM messages "
            "WHERE channel = ? AND status = 'TO_SEND' AND errorCode IS NULL ORDER BY row LIMIT ?"
        )
        with self._lock:
            return [Unsent(*found) for found in self._store.execute(query, (channel, limit))]

    def record_sent(self, messages: Iterable[Unsent]) -> None:
        """Set messages from TO_SEND to SENT after the broker's answer, and drop their payloads."""
        update = "UPDATE messages SET status = 'SENT', payload = NULL WHERE row = ?"
        with self.transaction() as store:
            store.executemany(update, [(message.row,) for message in messages])

    def record_refused(self, message: Unsent, code: str) -> None:
        """Record that the broker refuses a message for good: it stays TO_SEND with the error code."""
        with self.transaction() as store:
            store.execute("UPDATE messages SET errorCode = ? WHERE row = ?", (code, message.row))

    def unsent_channels(self) -> list[str]:
        """The channels that have messages to send, without messages that were refused for good."""
        query = "SELECT DISTINCT channel FROM messages WHERE status = 'TO_SEND' AND errorCode IS NULL"
        with self._lock:
            return [channel for (channel,) in self._store.execute(query)]

    def record_gone(self, channel: str, code: str) -> None:
        """Record that a channel no longer exists: its messages stay TO_SEND with the code."""
        update = "UPDATE messages SET errorCode = ? WHERE channel = ? AND status = 'TO_SEND'"
        with self.transaction() as store:
            store.execute(f"{update} AND errorCode IS NULL", (code, channel))

    # Receiving

    def arrival_status(
        self, channel: str, message_id: str | None, digest: bytes, part: tuple[str, int] | None = None
    ) -> ArrivalStatus:
        """Whether a message that arrived on ``channel`` is new, or known by its messageId or its bytes.

        What this application sent is known by its messageId on the channel that it was sent to, and by its
        bytes on every channel: a reject that comes back is not rejected once more.
        A rejected message is known only by its bytes, so that a repaired one with the same messageId is
        processed. A ``part``, given by sequence and position, is not a duplicate of another part of its
        sequence with the same messageId.
        Parts of a sequence that still waits make nothing a duplicate: their message is not yet processed.
        """
        sequence, position = part or (None, None)
        asked = {"id": message_id, "digest": digest, "channel": channel}
        with self._lock:
            known = self._store.execute(
                _KNOWN, asked | {"sequence": sequence, "position": _storable(position)}
            ).fetchone()
        return ArrivalStatus(known[0]) if known else ArrivalStatus.NEW

    def record_received(
        self,
        channel: str,
        peek: Peek,
        digest: bytes,
        outcome: Outcome,
        *,
        code: str | None = None,
        payload: bytes | None = None,
    ) -> None:
        """Record a message as RECEIVED with its outcome; ``payload`` is for a waiting part."""
        self._insert(
            channel, peek, digest, MessageStatus.RECEIVED, outcome=outcome, code=code, payload=payload
        )

    def sequence_progress(
        self, sequence: str, position: int, message_id: str | None = None
    ) -> SequenceProgress:
        """The progress of a sequence, with the part at one position and the parts with one messageId."""
        query = (
            "SELECT count(*), max(total), max(outcome = 'processed'), "
            "max(CASE WHEN position = ? AND outcome = 'waiting' THEN payload END), "
            "count(CASE WHEN messageId = ? AND position != ? THEN 1 END) "
            "FROM messages WHERE sequence = ? AND total > 1 AND outcome IN ('waiting', 'processed')"
        )
        with self._lock:
            found = self._store.execute(query, (position, message_id, position, sequence)).fetchone()
        count, total, finished, same, sharing = found
        return SequenceProgress(count, total, bool(finished), same, sharing)

    def parts(self, sequence: str) -> list[WaitingPart]:
        """The waiting parts of a sequence, by position."""
        query = (
            "SELECT row, position, total, payload FROM messages "
            "WHERE sequence = ? AND outcome = 'waiting' ORDER BY position"
        )
        with self._lock:
            return [WaitingPart(*found) for found in self._store.execute(query, (sequence,))]

    def finish_parts(self, parts: Iterable[WaitingPart], outcome: Outcome, code: str | None = None) -> None:
        """Set the outcome of waiting parts and drop their payloads."""
        update = "UPDATE messages SET outcome = ?, errorCode = ?, payload = NULL WHERE row = ?"
        with self.transaction() as store:
            store.executemany(update, [(outcome, code, part.row) for part in parts])

    def overdue(self, before: float) -> list[str]:
        """The incomplete sequences without a new part since ``before``, in seconds since the epoch."""
        query = (
            "SELECT sequence FROM messages WHERE outcome = 'waiting' "
            "GROUP BY sequence HAVING max(recorded) < ?"
        )
        with self._lock:
            return [sequence for (sequence,) in self._store.execute(query, (before,))]

    # Checkpoints: the positions to read from after a restart

    def checkpoint(self, stream: str, shard: str) -> str | None:
        """The last processed sequence number of a shard, or the mark of its end; None for an unread shard."""
        query = "SELECT sequence_number FROM checkpoints WHERE stream = ? AND shard = ?"
        with self._lock:
            found = self._store.execute(query, (stream, shard)).fetchone()
        return found[0] if found else None

    def save_checkpoint(self, stream: str, shard: str, sequence_number: str) -> None:
        """Move the checkpoint of a shard forward, never back, within the transaction if one is open.

        Sequence numbers are decimal and have no leading zeros: the longer one is the greater.
        """
        given = {"stream": stream, "shard": shard, "number": sequence_number, "end": SHARD_END}
        with self._lock:
            self._store.execute(_CHECKPOINT, given)

    def checkpoints(self, stream: str) -> StreamCheckpoints:
        """The checkpoints of a stream, which its channel saves with each commit."""
        return StreamCheckpoints(self, stream)

    def transactional_checkpoints(self, stream: str) -> TransactionalCheckpoints:
        """The checkpoints of a stream whose reader calls ``save_checkpoint`` together with its work."""
        return TransactionalCheckpoints(self, stream)

    # Counting

    def count(self, name: str) -> None:
        """Add one to a counter, in the open transaction if there is one."""
        with self.transaction() as store:
            store.execute(
                "INSERT INTO counts VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET count = count + 1", (name,)
            )

    def counted(self, name: str) -> int:
        with self._lock:
            found = self._store.execute("SELECT count FROM counts WHERE name = ?", (name,)).fetchone()
        return found[0] if found else 0

    def tally(self, channel: str) -> dict[tuple[MessageStatus, Outcome | None, str | None], int]:
        """The number of messages of ``channel`` with each status, outcome and error code."""
        query = "SELECT status, outcome, errorCode, count(*) FROM messages WHERE channel = ? GROUP BY 1, 2, 3"
        with self._lock:
            rows = self._store.execute(query, (channel,)).fetchall()
        return {
            (MessageStatus(status), Outcome(out) if out else None, code): n for status, out, code, n in rows
        }

    def _insert(
        self,
        channel: str,
        peek: Peek,
        digest: bytes,
        status: MessageStatus,
        *,
        outcome: Outcome | None = None,
        code: str | None = None,
        payload: bytes | None = None,
    ) -> None:
        envelope = (peek.message_id, *(_storable(getattr(peek, name)) for name in self._envelope))
        rest = (status, outcome, code, digest, _partition_key(peek, digest), payload, self._clock.time())
        with self._lock:
            self._store.execute(self._insertion, (channel, *envelope, *rest))


class StreamCheckpoints:
    """The checkpoints of one stream in the repository; implements ``emulator.channels`` Checkpoints."""

    def __init__(self, repository: Repository, stream: str) -> None:
        self._repository = repository
        self._stream = stream

    def get(self, shard: str) -> str | None:
        return self._repository.checkpoint(self._stream, shard)

    def put(self, shard: str, sequence_number: str) -> None:
        self._repository.save_checkpoint(self._stream, shard, sequence_number)


class TransactionalCheckpoints(StreamCheckpoints):
    """Checkpoints that are there before the channel commits: saved by its reader, together with the work.

    The channel saves the end of a shard, which its reader does not see.
    """

    def put(self, shard: str, sequence_number: str) -> None:
        if sequence_number == SHARD_END:
            super().put(shard, sequence_number)


def _partition_key(peek: Peek, digest: bytes) -> str:
    """The messageId if it can be a partition key, which has 1 to 256 characters; else the digest."""
    usable = peek.message_id is not None and 0 < len(peek.message_id) <= 64 and peek.message_id.isascii()
    return peek.message_id if usable and peek.message_id else digest.hex()


def _storable(value: str | int | None) -> str | int | None:
    """The value, but None for a number beyond SQLite's 64 bits: integers in JSON have no bounds."""
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


_BRACKETS = (
    ("BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)),
    ("SAVEPOINT {}", "RELEASE {}", ("ROLLBACK TO {}", "RELEASE {}")),
)
_INSERT = """
INSERT INTO messages (channel, messageId, {}status, outcome,
                      errorCode, digest, partitionKey, payload, recorded)
VALUES (?, ?, {}?, ?, ?, ?, ?, ?, ?)
"""
_PLACE = ("sequence", "position", "total")
_CHECKPOINT = """
INSERT INTO checkpoints VALUES (:stream, :shard, :number)
ON CONFLICT (stream, shard) DO UPDATE SET sequence_number = :number
WHERE sequence_number != :end AND (
  :number = :end OR (length(:number), :number) > (length(sequence_number), sequence_number)
)
"""
_KNOWN = """
SELECT 'echo' FROM messages
  WHERE (messageId = :id AND channel = :channel OR digest = :digest) AND status != 'RECEIVED'
UNION ALL
SELECT 'duplicate' FROM messages WHERE messageId = :id AND outcome IN ('waiting', 'processed')
  AND NOT (coalesce(total, 1) > 1 AND sequence IS :sequence AND position IS NOT :position)
  AND NOT (outcome = 'waiting' AND coalesce(total, 1) > 1 AND sequence IS NOT :sequence)
UNION ALL
SELECT 'duplicate' FROM messages WHERE digest = :digest AND outcome = 'rejected'
LIMIT 1
"""
