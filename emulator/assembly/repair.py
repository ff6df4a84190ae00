"""Make a data directory readable again: keep what can be read, put the rest aside, delete nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from emulator.assembly.data_directory import hold_lock
from emulator.journal import DamagedLogError, Payloads, put_aside, skip_lost_numbers
from emulator.journal.aside import FOLDER
from emulator.journal.packed import PackedStorage
from emulator.journal.salvage import Salvage, blocks, packed_damage, salvage, unpack, write_kept
from emulator.journal.salvaged_payloads import SalvagedPayloads
from rdss_sandbox.rewriting import put_in_place

_NOT_OURS: Final = ("rabbitmq", FOLDER)
"""RabbitMQ repairs its own; what was put aside stays as it is."""
_INDEX: Final = "messages.db"
_NAMES_ONLY_DIGITS: Final = 16


class Repair(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was wrong with ``file``, from byte ``position`` on, and what became of it.

    ``kept`` counts entries of a log, rows of a database; ``lost_bytes`` is what could not be read. The whole
    file as it was is at ``put_aside``, None when nothing was done yet.
    """

    file: str
    position: int
    reason: str
    kept: int = 0
    lost_bytes: int = 0
    put_aside: str | None = None


def repair(directory: Path, *, dry_run: bool = False) -> list[Repair]:
    """Repair every durable file in ``directory``, or with ``dry_run`` say what would be done.

    Raises ``DirectoryInUseError`` while a sandbox runs on it, and OSError.
    """
    with hold_lock(directory), TemporaryDirectory() as folder, closing(Payloads(directory)) as payloads:
        salvaged = SalvagedPayloads(payloads, Path(folder))
        done = [_repaired(path, directory, dry_run, salvaged) for path in _files(directory)]
        # Last: until nothing refers to them any more, a repair that is cut off can be done again.
        done += [_payloads(number, directory, dry_run, salvaged) for number in salvaged.damage]
        return [found for found in done if found is not None]


def _files(directory: Path) -> list[Path]:
    files = (
        path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and (path.stat().st_size or path.suffix == ".packed")
    )
    return [path for path in files if path.relative_to(directory).parts[0] not in _NOT_OURS]


def _repaired(path: Path, directory: Path, dry_run: bool, salvaged: SalvagedPayloads) -> Repair | None:
    if path.suffix == ".log":
        return _log(path, directory, dry_run)
    if path.suffix == ".packed":
        return _packed(path, directory, dry_run, salvaged)
    if path.suffix == ".db":
        return _database(path, directory, dry_run)
    if path.suffix == ".json":
        return _document(path, directory, dry_run)
    if path.name == "checkpoint":
        return _checkpoint(path, directory, dry_run)
    return None


def _log(path: Path, directory: Path, dry_run: bool) -> Repair | None:
    found = salvage(path)
    if found is None:
        return None
    first = found.damage[0]
    aside = None
    if not dry_run:
        whole = path.with_suffix(".repaired")
        write_kept(path, found.kept, whole)
        aside = put_aside(path, directory)
        put_in_place(whole, path)
        if _is_segment(path):
            _renumber(path, found)
    return Repair(
        str(path),
        first.start,
        first.reason,
        kept=found.lines,
        lost_bytes=sum(each.end - each.start for each in found.damage),
        put_aside=str(aside) if aside else None,
    )


def _packed(path: Path, directory: Path, dry_run: bool, salvaged: SalvagedPayloads) -> Repair | None:
    """A compressed segment becomes one that is not, of what can be read.

    So does a whole one that refers to a damaged file, since that is put aside.
    """
    whole, kept_part, log = (path.with_suffix(suffix) for suffix in (".unpacked", ".repaired", ".log"))
    damage = None if log.exists() else _damage(path, salvaged)
    if damage is None:
        return None
    aside = None
    try:
        unpack(path, whole, salvaged.read)
        found = blocks(whole)
        if not dry_run:
            write_kept(whole, found.kept, kept_part)
            aside = put_aside(path, directory)
            put_in_place(kept_part, log)
    finally:
        whole.unlink(missing_ok=True)
    here = damage.path == path
    return Repair(
        str(path),
        damage.position if here else 0,
        damage.reason if here else f"of {damage.path}, to which it refers: {damage.reason}",
        kept=found.lines,
        lost_bytes=sum(each.end - each.start for each in found.damage),
        put_aside=str(aside) if aside else None,
    )


def _damage(path: Path, salvaged: SalvagedPayloads) -> DamagedLogError | None:
    """What is wrong with a compressed segment or any payload file to which it refers."""
    damage = packed_damage(path, salvaged.payloads)
    if damage is not None:
        return damage
    files = PackedStorage.open(path)[0].files
    return next((salvaged.damage[file] for file in files if file in salvaged.damage), None)


def _payloads(number: int, directory: Path, dry_run: bool, salvaged: SalvagedPayloads) -> Repair:
    """What can be read of a payload file is in the segments that referred to it."""
    path, damage = salvaged.payloads.path_of(number), salvaged.damage[number]
    size = path.stat().st_size
    lost = sum(each.end - each.start for each in blocks(path).damage if each.end < size)
    aside = None if dry_run else put_aside(path, directory)
    return Repair(
        str(path), damage.position, damage.reason, lost_bytes=lost, put_aside=str(aside) if aside else None
    )


def _is_segment(path: Path) -> bool:
    return len(path.stem) == _NAMES_ONLY_DIGITS and path.stem.isdecimal()


def _renumber(path: Path, found: Salvage) -> None:
    """Have nobody give the numbers again that lost lines had, nor take the index of the file as it was."""
    path.with_suffix(".index").unlink(missing_ok=True)
    kept_to = found.kept[-1].end if found.kept else 0
    if found.damage[-1].start >= kept_to and path == max(path.parent.glob("*.log")):
        skip_lost_numbers(path.parent, max(found.next, int(path.stem)))


def _checkpoint(path: Path, directory: Path, dry_run: bool) -> Repair | None:
    """Topics are made from their log; where the log no longer begins at its beginning, from what it has."""
    from emulator.topics.engine.checkpoints import read_checkpoint, write_empty_checkpoint

    if read_checkpoint(path) is not None:
        return None
    aside = None if dry_run else put_aside(path, directory)
    first = min((int(each.stem) for each in path.parent.glob("*.log") if _is_segment(each)), default=1)
    if not dry_run and first > 1:
        write_empty_checkpoint(path, first)
    size = (aside or path).stat().st_size
    reason = "it does not match its checksum"
    return Repair(str(path), 0, reason, lost_bytes=size, put_aside=str(aside) if aside else None)


def _document(path: Path, directory: Path, dry_run: bool) -> Repair | None:
    try:
        json.loads(path.read_bytes())
    except ValueError as error:
        position = getattr(error, "pos", 0)
        size = path.stat().st_size
        aside = None if dry_run else put_aside(path, directory)
        reason = f"it is no JSON ({error})"
        return Repair(str(path), position, reason, lost_bytes=size, put_aside=str(aside) if aside else None)
    return None


def _database(path: Path, directory: Path, dry_run: bool) -> Repair | None:
    trouble = _trouble(path)
    if not trouble:
        return None
    kept, aside = 0, None
    if not dry_run:
        copy = path.with_suffix(".repaired")
        copy.unlink(missing_ok=True)
        # The index of messages is made from the streams; a copy of it would be worth less.
        kept = 0 if path.name == _INDEX else _copied(path, copy)
        aside = put_aside(path, directory)
        for suffix in ("-wal", "-shm"):
            beside = path.with_name(path.name + suffix)
            if beside.exists():
                shutil.move(beside, aside.with_name(aside.name + suffix))
        if kept:
            put_in_place(copy, path)
        copy.unlink(missing_ok=True)
    return Repair(str(path), 0, trouble, kept=kept, put_aside=str(aside) if aside else None)


def _trouble(path: Path) -> str:
    """What SQLite says of it; "" when it is well. Looked at is a copy: SQLite tidies up what it opens."""
    with TemporaryDirectory() as folder:
        copy = _copy(path, Path(folder))
        try:
            with closing(sqlite3.connect(copy)) as db:
                said = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
        except sqlite3.DatabaseError as error:
            return str(error)
    return "" if said == "ok" else " ".join(said.split())


def _copy(path: Path, folder: Path) -> Path:
    """A copy of a database, with what of it is not yet in its file."""
    for suffix in ("", "-wal"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            shutil.copyfile(beside, folder / beside.name)
    return folder / path.name


def _copied(path: Path, copy: Path) -> int:
    """Copy every row that can be read; how many those are."""
    kept = 0
    with (
        TemporaryDirectory() as folder,
        closing(sqlite3.connect(_copy(path, Path(folder)))) as old,
        closing(sqlite3.connect(copy)) as new,
    ):
        with suppress(sqlite3.DatabaseError):
            version = old.execute("PRAGMA user_version").fetchone()[0]
            new.execute(f"PRAGMA user_version = {int(version)}")
        later: list[str] = []
        for kind, name, sql in _schema(old):
            if kind != "table":
                later.append(sql)
            elif not name.startswith("sqlite_"):
                new.execute(sql)
                kept += _copy_rows(old, new, name)
        for sql in later:
            # An index over rows that are no longer there may not be possible.
            with suppress(sqlite3.DatabaseError):
                new.execute(sql)
        new.commit()
    return kept


def _schema(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    try:
        return db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    except sqlite3.DatabaseError:
        return []


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    """From the first row on until one cannot be read, and from the last row back."""
    quoted = '"' + table.replace('"', '""') + '"'
    before = new.total_changes
    for order in ("", " ORDER BY rowid DESC"):
        for row in _rows(old, f"SELECT * FROM {quoted}{order}"):  # noqa: S608 -- a table's own name
            marks = ", ".join("?" * len(row))
            new.execute(f"INSERT OR IGNORE INTO {quoted} VALUES ({marks})", row)  # noqa: S608 -- as above
    return new.total_changes - before


def _rows(db: sqlite3.Connection, query: str) -> Iterator[tuple[object, ...]]:
    with suppress(sqlite3.DatabaseError):
        yield from db.execute(query)
