"""The store of asynchronous messages, with a workload that is cut."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from emulator.clock import Clock
from emulator.events import Events
from emulator.rng import Draws
from extensions.processing.async_message_store import AsyncStore
from extensions.processing.stored_messages import NewMessage
from tests.power.cut_runs import Found
from tests.power.journal_stores import NOW
from tests.power.recorded_disk import RecordedDisk
from tests.power.recorded_sqlite import recording_sqlite


class AsyncMessages:
    """Asynchronous messages as they are received."""

    name = "asynchronous messages"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with recording_sqlite(disk), closing(self._open(disk.folder, fsync=fsync)) as store:
            for number in range(20):
                body = b"%d|" % number + b"x" * chance.choice((9, 6000))
                new = NewMessage(
                    source="s", correlation=str(number), service="v", operation="o", body=body, timestamp=NOW
                )
                with disk.asking({f"message {number}": body}):
                    store.insert(new, lease=60.0)

    def read(self, folder: Path, *, fsync: bool) -> Found:
        try:
            with closing(self._open(folder, fsync=fsync)) as store:
                rows = store.rows("SELECT correlation, body FROM messages JOIN bodies USING (number)")
        except sqlite3.DatabaseError as error:
            return Found({}, (), str(error))
        return Found({f"message {name}": bytes(body) for name, body in rows})

    def _open(self, folder: Path, *, fsync: bool) -> AsyncStore:
        clock = Clock(frozen_at=NOW)
        return AsyncStore(folder / "processing.sqlite3", clock, Events(clock), "own", fsync=fsync)


STORE = AsyncMessages()
