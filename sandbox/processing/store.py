"""The store of asynchronous messages: a SQLite file that several workers and several processes share.

A message is in one process's hands at a time. Whoever takes it does so by a change of its state that holds
only while the message is at the step at which it was seen, and names itself as the owner until a lease on the
clock is over.
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
from sandbox.processing.records import COLUMNS, Change, Message, NewMessage, change_of, message_of
from sandbox.processing.states import FINAL, HELD, TAKEN_UP_AGAIN, State
from sandbox.processing.transitions import Cause, after


def _among(states: frozenset[State]) -> str:
    return ", ".join(f"'{state}'" for state in State if state in states)


IS_TAKEN_UP_AGAIN = f"state IN ({_among(TAKEN_UP_AGAIN)})"
IS_HELD = f"state IN ({_among(HELD)})"
IS_OPEN_OR_FAILED = f"state NOT IN ({_among(FINAL - {State.FAILED})})"
"""Conditions of the partial indexes, which a query must repeat word for word to be served by them."""

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
_GIVEN = (
    "source, correlation, process, service, operation, object_id, entity_type, funnel, guaranteed_order, "
    "without_failed, timestamp, parent, position, binding, lease, received, started, changed, "
    "state, step"
)
_INSERT = f"INSERT INTO messages ({_GIVEN}) VALUES ({', '.join('?' * 20)})"  # noqa: S608 -- names of ours
_BY_NUMBER = f"SELECT {COLUMNS} FROM messages WHERE number = ?"  # noqa: S608 -- as above


class AlreadyThereError(Exception):
    """The source system has sent a message with this correlation id before."""


class Store:
    """The file, in WAL mode, safe for the threads of a process and for other processes.

    ``owner`` is the name of this process in it. A commit survives the death of the process; with ``fsync`` a
    power cut too. Every committed change of a state is an event, ``processing.changed``.
    """

    def __init__(self, path: Path, clock: Clock, events: Events, owner: str, *, fsync: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.clock = clock
        self.owner = owner
        self.events = events
        self._lock = threading.RLock()
        self._untold: list[dict[str, Any]] = []
        self._store = sqlite3.connect(touch(path), isolation_level=None, check_same_thread=False, timeout=60)
        self._store.execute("PRAGMA journal_mode=WAL")
        self._store.execute(f"PRAGMA wal_autocheckpoint={_PAGES_BEFORE_CHECKPOINT}")
        self._store.execute(f"PRAGMA synchronous={'FULL' if fsync else 'NORMAL'}")
        self._store.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._store.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing of what happens within; one within another is a part of it."""
        with self._lock:
            if self._store.in_transaction:
                yield self._store
                return
            self._store.execute("BEGIN IMMEDIATE")
            try:
                yield self._store
                self._store.execute("COMMIT")
            except BaseException:
                self._untold.clear()
                if self._store.in_transaction:
                    self._store.execute("ROLLBACK")
                raise
            untold, self._untold = self._untold, []
        for fields in untold:
            self.events.emit("processing.changed", **fields)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self._lock:
            return self._store.execute(query, values).fetchall()

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
        """Persist a message as NEW; its trace header is complete. Raises AlreadyThereError."""
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
            self._note(store, number, Change(1, now, None, Cause.RECEIVED, State.NEW, self.owner, None))
            return self.message(number)

    def change(
        self, number: int, cause: Cause, *, held: int | None = None, why: str | None = None, **columns: Any
    ) -> Message | None:
        """Move a message as the table has it, and set ``columns``; the message as it is then.

        None when it is not at the step ``held`` any more: somebody else has it. Raises
        IllegalTransitionError for what the table does not have, LookupError for a message that is not there.
        """
        with self.transaction() as store:
            found = store.execute("SELECT state, step FROM messages WHERE number = ?", (number,)).fetchone()
            if found is None:
                raise LookupError(f"there is no message {number}")
            before, step = State(found[0]), found[1]
            if held is not None and step != held:
                return None
            state = after(before, cause)
            if state not in HELD:
                columns = {"owner": None, "lease": None} | columns
            now = self.clock.time()
            wanted = {"state": state, "step": step + 1, "changed": now} | columns
            names = ", ".join(f"{name} = ?" for name in wanted)
            moved = store.execute(
                f"UPDATE messages SET {names} WHERE number = ? AND step = ?",  # noqa: S608 -- names of ours
                (*wanted.values(), number, step),
            )
            assert moved.rowcount == 1
            self._note(store, number, Change(step + 1, now, before, cause, state, self.owner, why))
            return self.message(number)

    def message(self, number: int) -> Message:
        """A message. LookupError when there is none of that number."""
        found = self.rows(_BY_NUMBER, number)
        if not found:
            raise LookupError(f"there is no message {number}")
        return message_of(found[0])

    def messages(self, condition: str, *values: Any) -> list[Message]:
        """The messages that meet an SQL condition, with the order and limit that follow it."""
        query = f"SELECT {COLUMNS} FROM messages WHERE {condition}"  # noqa: S608 -- conditions of ours
        return [message_of(row) for row in self.rows(query, *values)]

    def children(self, number: int) -> list[Message]:
        """The children of a message, in their order."""
        return self.messages("parent = ? ORDER BY position", number)

    def changes(self, number: int) -> list[Change]:
        """The life of a message so far, oldest first."""
        query = (
            "SELECT step, time, before, cause, after, owner, why FROM changes WHERE message = ? ORDER BY step"
        )
        rows = self.rows(query, number)
        return [change_of(row) for row in rows]

    def renew(self, held: Mapping[int, int], lease: float) -> None:
        """Keep the messages ``held``, each at its step, for ``lease`` seconds from now."""
        until = self.clock.time() + lease
        rows = [(until, number, step) for number, step in held.items()]
        with self.transaction() as store:
            store.executemany("UPDATE messages SET lease = ? WHERE number = ? AND step = ?", rows)

    def note_funnel(self, number: int, value: str, component: str) -> None:
        """Write down that a message came to a funnel."""
        with self.transaction() as store:
            update = "UPDATE messages SET funnel = ?, funnel_component = ? WHERE number = ?"
            store.execute(update, (value, component, number))

    def still_held(self, number: int, step: int) -> bool:
        """Whether a message is at that step still, and so in the hands that brought it there."""
        return bool(self.rows("SELECT 1 FROM messages WHERE number = ? AND step = ?", number, step))

    def _note(self, store: sqlite3.Connection, number: int, change: Change) -> None:
        row = msgspec.structs.astuple(change)
        store.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (number, *row))
        self._untold.append({"message": number} | msgspec.structs.asdict(change))
