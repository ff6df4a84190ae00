"""An application's repository in SQLite, with a workload that is cut."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from emulator.clock import Clock
from emulator.rng import Draws
from sandbox.repository import Repository
from tests.power.cut_runs import Found
from tests.power.journal_stores import NOW
from tests.power.recorded_disk import RecordedDisk
from tests.power.recorded_sqlite import recording_sqlite


class Repositories:
    """An application's messages to send and its checkpoints: what a receiver stores, too."""

    name = "repositories"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with recording_sqlite(disk), closing(self._open(disk.folder, fsync=fsync)) as repository:
            for number in range(24):
                body = b'{"number": %d, "text": "%s"}' % (number, b"x" * chance.choice((9, 6000)))
                with disk.asking({f"message {number}": body}):
                    repository.record_to_send("input", [body])
                if chance.random() < 0.4:
                    first = repository.unsent("input", 1)[0]
                    key = f"message {first.data.split(b',')[0].split()[1].decode()}"
                    asked = disk.asking({key: None, "checkpoint": b"%d" % number})
                    with asked, repository.transaction():
                        repository.record_sent([first])
                        repository.save_checkpoint("input", "0", str(number))

    def read(self, folder: Path, *, fsync: bool) -> Found:
        try:
            with closing(self._open(folder, fsync=fsync)) as repository:
                unsent = repository.unsent("input", 100)
                checkpoint = repository.checkpoint("input", "0")
        except sqlite3.DatabaseError as error:
            return Found({}, (), str(error))
        bodies = (each.data for each in unsent)
        found = {f"message {body.split(b',')[0].split()[1].decode()}": body for body in bodies}
        return Found(found | ({"checkpoint": checkpoint.encode()} if checkpoint else {}))

    def _open(self, folder: Path, *, fsync: bool) -> Repository:
        return Repository(folder / "receiver.sqlite3", Clock(frozen_at=NOW), fsync=fsync)
