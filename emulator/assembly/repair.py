"""Make a data directory readable again: keep what can be read, put the rest aside, delete nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import msgspec

from emulator.assembly.data_directory import hold_lock
from emulator.journal import DamagedLogError, Payloads, put_aside, skip_lost_numbers
from emulator.journal.aside import FOLDER, put_copy_aside
from emulator.journal.format_mark import NAME as MARK
from emulator.journal.format_mark import check_format
from emulator.journal.packed import PackedStorage
from emulator.journal.salvage import (
    Salvage,
    SalvagedPayloads,
    blocks,
    packed_damage,
    salvage,
    unpack,
    write_kept,
)
from emulator.journal.segment_pairs import settle_pairs
from rdss_sandbox.extension import import_place
from rdss_sandbox.files.rewriting import remove_drafts, rewriting
from rdss_sandbox.installed_extensions import list_extensions

_NOT_OURS: Final = ("rabbitmq", FOLDER)
"""RabbitMQ repairs its own; what was put aside stays as it is."""
_INDEX: Final = "messages.db"
_NAMES_ONLY_DIGITS: Final = 16


class Repair(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was wrong with ``file``, from byte ``position`` on, and what became of it.

    ``kept`` counts entries of a log, rows of a database; ``lost_bytes`` is what could not be read, ``lost``
    how many records that are known to have been there. The whole file as it was is at ``put_aside``, None
    when nothing was done yet. ``warning`` says what the next start cannot do without what was lost.
    """

    file: str
    position: int
    reason: str
    kept: int = 0
    lost_bytes: int = 0
    lost: int = 0
    put_aside: str | None = None
    warning: str = ""


class RepairFile(Protocol):
    """Repairs a file of an extension, which no suffix tells; None where it needs no repair.

    ``put_copy_aside`` keeps the file as it was and returns where; it is None where nothing may be changed.
    """

    def __call__(self, path: Path, put_copy_aside: Callable[[Path], str] | None, /) -> Repair | None: ...


def repair(directory: Path, *, dry_run: bool = False) -> Iterator[Repair]:
    """Repair every durable file in ``directory``, or with ``dry_run`` say what would be done.

    Each repair is yielded when it is done, so that none is unknown where a later one fails. A repair that was
    killed can be done again: a damaged file stays until what takes its place is whole. Raises
    ``OtherFormatError``, ``DirectoryInUseError`` while a sandbox runs on it, and OSError.
    """
    with suppress(DamagedLogError):
        check_format(directory)
    with hold_lock(directory), TemporaryDirectory() as folder, closing(Payloads(directory)) as payloads:
        if not dry_run:
            _remove_drafts(directory)
            for file, to, why in settle_pairs(directory, payloads):
                yield Repair(str(file), 0, why, put_aside=str(to))
        salvaged = SalvagedPayloads(payloads, Path(folder))
        repairs = _Repairs(directory, dry_run, salvaged, Path(folder) / "unpacked")
        for path in _list_files(directory):
            if (done := repairs.repair(path)) is not None:
                yield done
        # Last: until nothing refers to them any more, a repair that is cut off can be done again.
        for number in salvaged.damage:
            yield repairs.remove_payloads(number)


def _remove_drafts(directory: Path) -> None:
    """Remove what an earlier repair was writing when it was killed."""
    for folder in (directory, *directory.rglob("*/")):
        if FOLDER not in folder.relative_to(directory).parts:
            remove_drafts(folder)


def _list_files(directory: Path) -> list[Path]:
    files = (
        path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and (path.stat().st_size or path.suffix == ".packed" or path.name == MARK)
    )
    return [path for path in files if path.relative_to(directory).parts[0] not in _NOT_OURS]


class _Repairs:
    """The repairs of one directory. Each method returns None when the file needs none."""

    def __init__(self, directory: Path, dry_run: bool, salvaged: SalvagedPayloads, unpacked: Path) -> None:
        self._directory = directory
        self._dry_run = dry_run
        self._salvaged = salvaged
        self._unpacked = unpacked

    def repair(self, path: Path) -> Repair | None:
        """Repair a file by its kind. Files of other kinds are left alone."""
        if path.suffix == ".log":
            return self._repair_log(path)
        if path.suffix == ".packed":
            return self._repair_packed(path)
        if path.suffix == ".db":
            return self._repair_database(path)
        if path.suffix == ".json":
            return self._remove_document(path)
        if path == self._directory / MARK:
            return self._remove_mark(path)
        return self._repair_of_extension(path)

    def remove_payloads(self, number: int) -> Repair:
        """Put a damaged payload file aside. What can be read of it is in the segments that referred to it."""
        path, damage = self._salvaged.payloads.path_of(number), self._salvaged.damage[number]
        size = path.stat().st_size
        lost = sum(each.end - each.start for each in blocks(path).damage if each.end < size)
        aside = self._put_aside(path)
        return Repair(str(path), damage.position, damage.reason, lost_bytes=lost, put_aside=aside)

    def _put_aside(self, path: Path) -> str | None:
        return None if self._dry_run else str(put_aside(path, self._directory))

    def _put_copy_aside(self, path: Path) -> str:
        return str(put_copy_aside(path, self._directory))

    def _remove_mark(self, path: Path) -> Repair | None:
        """Put a mark that cannot be read aside: the next start takes the directory over, and marks it."""
        try:
            check_format(self._directory)
        except DamagedLogError as error:
            size = path.stat().st_size
            return Repair(str(path), 0, error.reason, lost_bytes=size, put_aside=self._put_aside(path))
        return None

    def _repair_log(self, path: Path) -> Repair | None:
        found = salvage(path)
        if found is None:
            return None
        first, aside, warning = found.damage[0], None, ""
        if path == self._directory / "broker" / "definitions.log":
            warning = self._keep_messages(path.parent, kept=bool(found.kept))
        if not self._dry_run:
            with rewriting(path) as draft:
                write_kept(path, found.kept, draft)
                aside = self._put_copy_aside(path)
                if is_segment(path):
                    _renumber(path, found)
        return Repair(
            str(path),
            first.start,
            first.reason,
            kept=found.lines,
            lost_bytes=sum(each.end - each.start for each in found.damage),
            lost=_count_lost(path, found, found.next),
            put_aside=aside,
            warning=warning,
        )

    def _keep_messages(self, broker: Path, *, kept: bool) -> str:
        """Keep the broker's messages, since a start removes those of queues that it does not know."""
        messages = sorted([*broker.glob("0*.log"), *broker.glob("0*.packed")])
        if not messages:
            return ""
        if not kept:
            return "no queue of the AMQP port is known any more: the next start puts their messages aside"
        if not self._dry_run:
            for path in messages:
                self._put_copy_aside(path)
        return "messages of queues that were declared there are gone with it; a copy of all is put aside"

    def _repair_packed(self, path: Path) -> Repair | None:
        """Replace a compressed file by an uncompressed one of what can be read.

        An undamaged one that refers to a damaged payload file is replaced too, since that is put aside.
        """
        log = path.with_suffix(".log")
        damage = None if log.exists() else self._find_damage(path)
        if damage is None:
            return None
        aside, following = None, _read_next(path)
        unpack(path, self._unpacked, self._salvaged.read)
        found = blocks(self._unpacked)
        if not self._dry_run:
            with rewriting(log) as draft:
                write_kept(self._unpacked, found.kept, draft)
                aside = self._put_copy_aside(path)
            # A start that finds both uses the log, because the other cannot be read.
            path.unlink()
        self._unpacked.unlink()
        here = damage.path == path
        return Repair(
            str(path),
            damage.position if here else 0,
            damage.reason if here else f"of {damage.path}, to which it refers: {damage.reason}",
            kept=found.lines,
            lost_bytes=sum(each.end - each.start for each in found.damage),
            lost=_count_lost(path, found, following),
            put_aside=aside,
        )

    def _find_damage(self, path: Path) -> DamagedLogError | None:
        """Find the damage of a compressed file, or of a payload file to which it refers."""
        damage = packed_damage(path, self._salvaged.payloads)
        if damage is not None:
            return damage
        files = PackedStorage.open(path)[0].files
        return next((self._salvaged.damage[file] for file in files if file in self._salvaged.damage), None)

    def _repair_of_extension(self, path: Path) -> Repair | None:
        """Have a file repaired by the extension that it belongs to."""
        kept_in = path.relative_to(self._directory).parts[0]
        for extension in list_extensions():
            if extension.repair and kept_in in extension.files:
                repair_file: RepairFile = import_place(extension.repair)
                return repair_file(path, None if self._dry_run else self._put_copy_aside)
        return None

    def _remove_document(self, path: Path) -> Repair | None:
        try:
            json.loads(path.read_bytes())
        except ValueError as error:
            position, size = getattr(error, "pos", 0), path.stat().st_size
            reason = f"it is no JSON ({error})"
            return Repair(str(path), position, reason, lost_bytes=size, put_aside=self._put_aside(path))
        return None

    def _repair_database(self, path: Path) -> Repair | None:
        trouble = _check_database(path)
        if not trouble:
            return None
        kept, aside = 0, None
        if not self._dry_run:
            aside = self._put_copy_aside(path)
            # The message index is built from the streams, so its rows are not worth a copy.
            if path.name == _INDEX:
                path.unlink()
                self._remove_beside(path)
            else:
                with rewriting(path) as draft:
                    kept = _copy_database(path, draft)
                    # Before the copy takes its place: SQLite would add these to it.
                    self._remove_beside(path)
        return Repair(str(path), 0, trouble, kept=kept, put_aside=aside)

    def _remove_beside(self, path: Path) -> None:
        for suffix in ("-wal", "-shm"):
            beside = path.with_name(path.name + suffix)
            if beside.exists():
                self._put_copy_aside(beside)
                beside.unlink()


def is_segment(path: Path) -> bool:
    return len(path.stem) == _NAMES_ONLY_DIGITS and path.stem.isdecimal()


def _count_lost(path: Path, found: Salvage, following: int) -> int:
    """Count the records of a segment, numbered up to before ``following``, that were not ``found``."""
    return max(0, following - int(path.stem) - found.lines) if is_segment(path) and following else 0


def _read_next(packed: Path) -> int:
    """Return the number after the last record of a compressed segment; 0 when that cannot be read."""
    try:
        return PackedStorage.open(packed)[1].next
    except DamagedLogError:
        return 0


def _renumber(path: Path, found: Salvage) -> None:
    """Remove the index of the damaged file, and see that the numbers of lost lines are not used again."""
    path.with_suffix(".index").unlink(missing_ok=True)
    kept_to = found.kept[-1].end if found.kept else 0
    if found.damage[-1].start >= kept_to and path == max(path.parent.glob("*.log")):
        skip_lost_numbers(path.parent, max(found.next, int(path.stem)))


def _check_database(path: Path) -> str:
    """Return what SQLite finds wrong with a database; "" when it is sound."""
    with TemporaryDirectory() as folder:
        # A copy is checked, because SQLite changes the files of a database that it opens.
        copy = _copy_files(path, Path(folder))
        try:
            with closing(sqlite3.connect(copy)) as db:
                finding = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
        except sqlite3.DatabaseError as error:
            return str(error)
    return "" if finding == "ok" else " ".join(finding.split())


def _copy_files(path: Path, folder: Path) -> Path:
    """Copy a database and its write-ahead log into a folder, and return the copy."""
    for suffix in ("", "-wal"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            shutil.copyfile(beside, folder / beside.name)
    return folder / path.name


def _copy_database(path: Path, copy: Path) -> int:
    """Copy the tables with every row that can be read, and return the number of rows."""
    kept = 0
    with (
        TemporaryDirectory() as folder,
        closing(sqlite3.connect(_copy_files(path, Path(folder)))) as old,
        closing(sqlite3.connect(copy)) as new,
    ):
        with suppress(sqlite3.DatabaseError):
            version = old.execute("PRAGMA user_version").fetchone()[0]
            new.execute(f"PRAGMA user_version = {int(version)}")
        later: list[str] = []
        for kind, name, sql in _read_schema(old):
            if kind != "table":
                later.append(sql)
            elif not name.startswith("sqlite_"):
                new.execute(sql)
                kept += _copy_rows(old, new, name)
        for sql in later:
            # An index that needs the lost rows cannot be made.
            with suppress(sqlite3.DatabaseError):
                new.execute(sql)
        new.commit()
    return kept


def _read_schema(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    try:
        return db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    except sqlite3.DatabaseError:
        return []


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    """Copy from the first row until one cannot be read, then from the last row back; return how many."""
    quoted = '"' + table.replace('"', '""') + '"'
    before = new.total_changes
    for order in ("", " ORDER BY rowid DESC"):
        for row in _read_rows(old, f"SELECT * FROM {quoted}{order}"):  # noqa: S608 -- a table's own name
            marks = ", ".join("?" * len(row))
            new.execute(f"INSERT OR IGNORE INTO {quoted} VALUES ({marks})", row)  # noqa: S608 -- as above
    return new.total_changes - before


def _read_rows(db: sqlite3.Connection, query: str) -> Iterator[tuple[object, ...]]:
    with suppress(sqlite3.DatabaseError):
        yield from db.execute(query)
