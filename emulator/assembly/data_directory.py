"""The data directory, which outlives a process and which one sandbox uses at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from emulator.journal import Inventory, Log, Payloads, frames
from emulator.journal.format_mark import FORMAT, check_format, write_mark
from emulator.journal.inventory import NAME as INVENTORY
from emulator.journal.reserve import Reserve, no_space
from emulator.journal.segment_pairs import settle_pairs
from emulator.machine import private_files
from emulator.snapshots.snapshot_errors import SnapshotError
from emulator.snapshots.snapshot_store import SnapshotStore, read_loads
from rdss_sandbox.files.rewriting import remove_drafts, sync_folders
from rdss_sandbox.installed_extensions import list_extensions
from rdss_sandbox.shapes.events import Event

_EVENTS = "events.log"
_EVENTS_KEPT_BYTES = 8_000_000
_OURS = (
    *(
        "streams",
        "amqp",
        "broker",
        "rabbitmq",
        "lock",
        "format",
        "reserve",
        "messages.db",
        "messages.db-wal",
        "messages.db-shm",
    ),
    *("positions.log", "events.log", "events.1.log"),
    *("audit", "buckets", "inventory.log", "payloads", "put-aside", "services", "snapshots"),
)
_UNMARKED = ("streams", "events.log")
"""What every version made before directories were marked."""
_REPLACED_BY_A_LOAD = (
    *("streams", "amqp", "messages.db", "messages.db-wal", "messages.db-shm"),
    *("positions.log", "audit", "buckets", "inventory.log"),
    *("services", "objects"),
)
"""What a load that was interrupted has left half done, and what begins again with it.

Payload files are not among them: the broker's messages refer to some, and of the others nothing is left.
"""


def list_files() -> tuple[str, ...]:
    """The names of what the extensions keep in the directory."""
    return tuple(name for extension in list_extensions() for name in extension.files)


class DirectoryInUseError(Exception):
    """Another process uses the directory."""

    def __init__(self, path: Path, holder: str) -> None:
        who = f"process {holder}" if holder else "another process"
        super().__init__(f"the data directory {path} is in use by {who}; stop it, or give another --data-dir")


def _lock(path: Path) -> int:
    """Lock the directory, until the returned descriptor is closed. Raises ``DirectoryInUseError``."""
    descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, private_files.FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 20).decode(errors="replace").strip()
        os.close(descriptor)
        raise DirectoryInUseError(path, holder) from error
    os.truncate(descriptor, 0)
    # On a full disk the lock holds as well; it only does not name its process.
    with suppress(OSError):
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Keep other processes from the directory while the context lasts. Raises ``DirectoryInUseError``."""
    descriptor = _lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


class DataDirectory:
    """The paths of streams, events and the message index, in a directory that is private to the user.

    A missing directory is created. Raises ``OtherFormatError`` before anything is touched,
    ``DirectoryInUseError``, ``SnapshotError`` when a load was interrupted and cannot be finished, and OSError
    when it cannot be created or written. ``taken_over`` says that a version made it that wrote no mark of its
    format. ``put_aside`` are the files of segments that had two which differ.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        self.path = path
        mark = check_format(path)
        self.taken_over = mark is None and any((path / name).exists() for name in _UNMARKED)
        # The first versions kept no list of logs, so that none is missing.
        listed = not self.taken_over or (path / INVENTORY).exists()
        missing = [each for each in (path, *path.parents) if not each.exists()]
        private_files.make_directory(path)
        if fsync:
            sync_folders(path, levels=max(1, len(missing)))
        of_extensions = list_files()
        for ours in (*_OURS, *of_extensions):
            private_files.close_tree(path / ours)
        self._lock = _lock(path)
        if mark is None or mark.format < FORMAT:
            self._mark()
        self._clear_half_loaded()
        kept = (path / name for name in of_extensions)
        for folder in (path, self.streams, self.amqp, self.broker, self.services, *kept):
            remove_drafts(folder)
        self._fsync = fsync
        self.inventory = Inventory(path, fsync=fsync, expected=listed)
        self.payloads = Payloads(path, fsync=fsync)
        self.put_aside = settle_pairs(path, self.payloads)
        self.payloads.recover(careful=bool(self.inventory.losses))
        self.reserve = Reserve(path)

    @property
    def snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def streams(self) -> Path:
        return self.path / "streams"

    @property
    def objects(self) -> Path:
        return self.path / "objects"

    @property
    def services(self) -> Path:
        return self.path / "services"

    @property
    def amqp(self) -> Path:
        return self.path / "amqp"

    @property
    def broker(self) -> Path:
        return self.path / "broker"

    @property
    def index(self) -> Path:
        return self.path / "messages.db"

    @property
    def positions(self) -> Path:
        return self.path / "positions.log"

    def events(self) -> Log:
        """Open the log of events. A long one is put aside first, because a start reads the whole log."""
        path = self.path / _EVENTS
        if path.exists() and path.stat().st_size > _EVENTS_KEPT_BYTES:
            path.replace(path.with_suffix(".1.log"))
        return Log(path, fsync=self._fsync)

    def _mark(self) -> None:
        # On a full disk the next start writes the mark.
        try:
            write_mark(self.path)
        except OSError as error:
            self.taken_over = False
            if not no_space(error):
                os.close(self._lock)
                raise

    def _clear_half_loaded(self) -> None:
        """Remove what a load has left half done. The snapshot is checked first: it has to be loaded again."""
        try:
            unfinished = read_loads(self.snapshots).unfinished
            if not unfinished:
                return
            SnapshotStore(self.snapshots).read(unfinished)
        except SnapshotError:
            os.close(self._lock)
            raise
        for name in (*_REPLACED_BY_A_LOAD, *list_files()):
            place = self.path / name
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the directory for other processes."""
        self.reserve.close()
        self.payloads.close()
        self.inventory.close()
        os.close(self._lock)


def read_events(path: Path) -> Iterator[Event]:
    """Yield the recorded events of the sandbox with this data directory, oldest first.

    It takes no lock, so the sandbox may be running. Raises OSError where there are none, ``OtherFormatError``
    and ``DamagedLogError``.
    """
    check_format(path)
    file = path / _EVENTS
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for frame in frames.scan(descriptor, file):
            yield msgspec.json.decode(os.pread(descriptor, frame.length, frame.start), type=Event)
    finally:
        os.close(descriptor)
