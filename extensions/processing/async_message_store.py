"""The store of asynchronous messages: a SQLite file that several workers and several processes share.

One process has a message at a time. A process takes a message by a change of state that succeeds only if the
message is still at the step at which the process saw it. The change names the process as the owner, until a
lease is over.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.machine.private_files import touch
from extensions.processing.stored_messages import (
    COLUMNS,
    Message,
    NewMessage,
    change_from_row,
    message_from_row,
)
from extensions.processing.transitions import FINAL, HELD, TAKEN_UP_AGAIN, Cause, next_state
from rdss_sandbox.shapes.processing import State, StateChange


def _list_states(states: frozenset[State]) -> str:
    return ", ".join(f"'{state}'" for state in State if state in states)


IS_TAKEN_UP_AGAIN = f"state IN ({_list_states(TAKEN_UP_AGAIN)})"
IS_HELD = f"state IN ({_list_states(HELD)})"
IS_OPEN_OR_FAILED = f"state NOT IN ({_list_states(FINAL - {State.FAILED})})"
"""Conditions of the partial indexes; SQLite uses such an index only for a query that repeats them."""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS messages (
  number INTEGER PRIMARY KEY,
  source TEXT NOT NULL, correlation TEXT NOT NULL, process TEXT, service TEXT NOT NULL,
  operation TEXT NOT NULL, object_id TEXT, entity_type TEXT, funnel TEXT, funnel_component TEXT,
  guaranteed_order INTEGER NOT NULL DEFAULT 0, without_failed INTEGER NOT NULL DEFAULT 0,
  timestamp REAL NOT NULL, received REAL NOT NULL, started REAL NOT NULL, changed REAL NOT NULL,
  state TEXT NOT NULL, step INTEGER NOT NULL, failed INTEGER NOT NULL DEFAULT 0,
  error_code TEXT, description TEXT, business_errors TEXT, custom_data TEXT, answer BLOB,
  parent INTEGER, position INTEGER, binding TEXT,
  owner TEXT, lease REAL, due REAL,
  UNIQUE (source, correlation)
);
CREATE INDEX IF NOT EXISTS due ON messages (due) WHERE {IS_TAKEN_UP_AGAIN};
CREATE INDEX IF NOT EXISTS held ON messages (lease) WHERE {IS_HELD};
CREATE INDEX IF NOT EXISTS open_or_failed ON messages (funnel, timestamp)
  WHERE funnel IS NOT NULL AND {IS_OPEN_OR_FAILED};
CREATE INDEX IF NOT EXISTS children ON messages (parent, position) WHERE parent IS NOT NULL;
CREATE INDEX IF NOT EXISTS by_state ON messages (state, number);
CREATE TABLE IF NOT EXISTS bodies (number INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS changes (
  message INTEGER NOT NULL, step INTEGER NOT NULL, time REAL NOT NULL, before TEXT, cause TEXT NOT NULL,
  after TEXT NOT NULL, owner TEXT, why TEXT, PRIMARY KEY (message, step)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
  message INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL,
  failed INTEGER NOT NULL, began REAL NOT NULL, changed REAL NOT NULL, due REAL, description TEXT,
  answer BLOB, newness REAL NOT NULL,
  PRIMARY KEY (message, operation, key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS in_progress ON calls (operation, key) WHERE state = 'PROCESSING';
CREATE INDEX IF NOT EXISTS by_key ON calls (operation, key, newness);
CREATE INDEX IF NOT EXISTS unconfirmed ON calls (due) WHERE due IS NOT NULL;
"""
_PAGES_BEFORE_CHECKPOINT: Final = 8192
_INSERTED_COLUMNS = (
    "source, correlation, process, service, operation, object_id, entity_type, funnel, guaranteed_order, "
    "without_failed, timestamp, parent, position, binding, lease, received, started, changed, "
    "state, step"
)
_INSERT = f"INSERT INTO messages ({_INSERTED_COLUMNS}) VALUES ({', '.join('?' * 20)})"  # noqa: S608 -- names of ours
_BY_NUMBER = f"SELECT {COLUMNS} FROM messages WHERE number = ?"  # noqa: S608 -- as above


class AlreadyThereError(Exception):
    """The store has a message with this source system and correlation id."""


class AsyncStore:
    """A SQLite file in WAL mode; threads and other processes can share it.

    ``owner`` is the name of this process in the file. A commit survives the death of the process, and with
    ``fsync`` also a power cut. Every committed change of state emits the event ``processing.changed``.
    """

    def __init__(self, path: Path, clock: Clock, events: Events, owner: str, *, fsync: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.clock = clock
        self.owner = owner
        self.events = events
        self._lock = threading.RLock()
        self._pending_events: list[dict[str, Any]] = []
        self._connection = sqlite3.connect(
            touch(path), isolation_level=None, check_same_thread=False, timeout=60
        )
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA wal_autocheckpoint={_PAGES_BEFORE_CHECKPOINT}")
        self._connection.execute(f"PRAGMA synchronous={'FULL' if fsync else 'NORMAL'}")
        self._connection.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction; an inner transaction joins the outer one.

        Events of the block are emitted after the commit and outside of the lock.
        """
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._pending_events.clear()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            pending, self._pending_events = self._pending_events, []
        for fields in pending:
            self.events.emit("processing.changed", **fields)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    # Messages

    def insert(
        self,
        new: NewMessage,
        *,
        parent: int | None = None,
        position: int | None = None,
        binding: str | None = None,
        received: float | None = None,
        lease: float,
    ) -> Message:
        """Persist a message with a complete trace header as NEW. Raises AlreadyThereError."""
        now = self.clock.time()
        came = now if received is None else received
        trace = (new.source, new.correlation, new.process, new.service, new.operation)
        about = (new.object_id, new.entity_type, new.funnel, new.guaranteed_order, new.without_failed)
        kin = (parent, position, binding)
        values = (*trace, *about, new.timestamp, *kin, now + lease, came, now, now, State.NEW, 1)
        with self.transaction() as store:
            try:
                number = store.execute(_INSERT, values).lastrowid
            except sqlite3.IntegrityError as error:
                raise AlreadyThereError(f"{new.source} has sent {new.correlation} before") from error
            assert number is not None
            store.execute("INSERT INTO bodies VALUES (?, ?)", (number, new.body))
            self._record_change(
                store, number, StateChange(1, now, None, Cause.RECEIVED, State.NEW, self.owner, None)
            )
            return self.message(number)

    def change(
        self, number: int, cause: Cause, *, held: int | None = None, why: str | None = None, **columns: Any
    ) -> Message | None:
        """Change the state of a message by the transition table, set ``columns``, and return the message.

        Returns None when the message is not at the step ``held`` any more, since another worker has it.
        Raises IllegalTransitionError for a change that is not in the table, LookupError for an unknown
        message.
        """
        with self.transaction() as store:
            found = store.execute("SELECT state, step FROM messages WHERE number = ?", (number,)).fetchone()
            if found is None:
                raise LookupError(f"there is no message {number}")
            before, step = State(found[0]), found[1]
            if held is not None and step != held:
                return None
            state = next_state(before, cause)
            if state not in HELD:
                columns = {"owner": None, "lease": None} | columns
            now = self.clock.time()
            values = {"state": state, "step": step + 1, "changed": now} | columns
            names = ", ".join(f"{name} = ?" for name in values)
            moved = store.execute(
                f"UPDATE messages SET {names} WHERE number = ? AND step = ?",  # noqa: S608 -- names of ours
                (*values.values(), number, step),
            )
            assert moved.rowcount == 1
            self._record_change(
                store, number, StateChange(step + 1, now, before, cause, state, self.owner, why)
            )
            return self.message(number)

    def message(self, number: int) -> Message:
        """The message of that number. Raises LookupError when there is none."""
        found = self.rows(_BY_NUMBER, number)
        if not found:
            raise LookupError(f"there is no message {number}")
        return message_from_row(found[0])

    def messages(self, condition: str, *values: Any) -> list[Message]:
        """The messages that meet an SQL condition, which may be followed by ORDER BY and LIMIT."""
        query = f"SELECT {COLUMNS} FROM messages WHERE {condition}"  # noqa: S608 -- conditions of ours
        return [message_from_row(row) for row in self.rows(query, *values)]

    def children(self, number: int) -> list[Message]:
        """The children of a message, in their order."""
        return self.messages("parent = ? ORDER BY position", number)

    def changes(self, number: int) -> list[StateChange]:
        """The changes of a message's state, oldest first."""
        query = (
            "SELECT step, time, before, cause, after, owner, why FROM changes WHERE message = ? ORDER BY step"
        )
        rows = self.rows(query, number)
        return [change_from_row(row) for row in rows]

    def renew(self, held: Mapping[int, int], lease: float) -> None:
        """Extend the leases of messages that are still at the given steps to ``lease`` seconds from now."""
        until = self.clock.time() + lease
        rows = [(until, number, step) for number, step in held.items()]
        with self.transaction() as store:
            store.executemany("UPDATE messages SET lease = ? WHERE number = ? AND step = ?", rows)

    def note_funnel(self, number: int, value: str, component: str) -> None:
        """Record that a message reached a funnel."""
        with self.transaction() as store:
            update = "UPDATE messages SET funnel = ?, funnel_component = ? WHERE number = ?"
            store.execute(update, (value, component, number))

    def is_at_step(self, number: int, step: int) -> bool:
        """Whether a message is still at that step, and so still with the worker that brought it there."""
        return bool(self.rows("SELECT 1 FROM messages WHERE number = ? AND step = ?", number, step))

    def _record_change(self, store: sqlite3.Connection, number: int, change: StateChange) -> None:
        row = msgspec.structs.astuple(change)
        store.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (number, *row))
        self._pending_events.append({"message": number} | msgspec.structs.asdict(change))
