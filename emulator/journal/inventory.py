"""The list of the logs in a data directory that hold something, so that a lost log is noticed.

A power cut may leave a file empty, full of zeros, or without its name in the folder. Such a log looks as if
nothing was ever written to it. So the directory keeps a list of the logs that hold something, in a log of its
own. A log finds the list by its path, so the list need not be passed through the layers above.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from emulator.journal import frames
from emulator.journal.frames import DamagedLogError
from emulator.machine.durable_data import sync_data
from rdss_sandbox.files.rewriting import rewriting, sync_folders

NAME: Final = "inventory.log"
_PACKED: Final = ".packed"
_LOGS: Final = (".log", _PACKED)
_SPARE_ENTRIES: Final = 1000
_FIRST_LOOK_BYTES: Final = 64
_LOOK_BYTES: Final = 1 << 20
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(tuple[bool, str]).decode


class Loss(NamedTuple):
    """A log that held something and is gone. ``path`` is relative to the directory.

    ``how`` says what was found in its place: "is missing", "is empty" ...
    """

    path: str
    how: str


class Inventory:
    """The list of the directory ``root``; ``inventory_of`` finds it until ``close``.

    ``losses`` are the listed logs that were not found when the list was opened. Each is reported once: the
    list then forgets it. ``torn_bytes`` is the length of a torn entry that was cut from the list. Where no
    list is ``expected``, that there is none is no loss.
    """

    def __init__(self, root: Path, *, fsync: bool = False, expected: bool = True) -> None:
        self.root = root.absolute()
        self._expected = expected
        self._lock = threading.Lock()
        self._fsync = fsync
        self._end = 0
        self.torn_bytes = 0
        entries, self._lost_itself = self._read()
        self._known: dict[str, set[str]] = {}
        for holds, name in entries:
            self._change(name, holds=holds)
        self._unwritten = set[str]()
        self.losses = self._find_losses()
        for loss in self.losses:
            self._change(loss.path, holds=False)
        if self.losses or len(entries) > sum(map(len, self._known.values())) + _SPARE_ENTRIES:
            self._rewrite()
        _inventories.append(self)

    def add(self, path: Path) -> None:
        """List the log at ``path``: it holds something."""
        self._note(self._name(path), holds=True)

    def remove(self, path: Path) -> None:
        """Take the log at ``path``, or all logs in the folder ``path``, off the list."""
        name = self._name(path)
        self._note(name, holds=False)
        for log in tuple(self._known.get(name, ())):
            self._note(f"{name}/{log}", holds=False)

    def remove_below(self, folder: Path) -> None:
        """Take every log in ``folder`` and in the folders below it off the list."""
        top = self._name(folder)
        for name in [each for each in tuple(self._known) if each == top or each.startswith(f"{top}/")]:
            self.remove(self.root / name)

    def loss_of(self, path: Path) -> Loss | None:
        """How the log at ``path`` was lost; None when it was not."""
        name = self._name(path)
        return next((loss for loss in self.losses if loss.path == name), None)

    def lost_logs(self, folder: Path) -> list[Path]:
        """The logs that were lost in ``folder``, without the folders below it."""
        found = (self.root / loss.path for loss in self.losses)
        return [path for path in found if path.parent == folder.absolute()]

    def close(self) -> None:
        """Close the file. ``inventory_of`` finds the list no more."""
        _inventories.remove(self)
        os.close(self._descriptor)

    def _note(self, name: str, *, holds: bool) -> None:
        with self._lock:
            if not self._change(name, holds=holds):
                return
            self._unwritten.add(name)
            # On a full disk the entry is written with the next one, or at the next start.
            with suppress(OSError):
                for each in tuple(self._unwritten):
                    self._end = self._append(self._descriptor, self._end, each)
                    self._unwritten.discard(each)
                if self._fsync:
                    sync_data(self._descriptor)

    def _change(self, name: str, *, holds: bool) -> bool:
        """Set in memory whether a log holds something, and return whether that changed it.

        Logs are grouped by folder, since there may be many.
        """
        folder, _, log = name.rpartition("/")
        logs = self._known.setdefault(folder, set())
        news = (log in logs) != holds
        (logs.add if holds else logs.discard)(log)
        if not logs:
            del self._known[folder]
        return news

    def _names(self) -> Iterator[str]:
        return (f"{folder}/{log}".lstrip("/") for folder, logs in self._known.items() for log in sorted(logs))

    def _name(self, path: Path) -> str:
        """The name in the list. A packed segment has the name that it had before."""
        if path.suffix == _PACKED:
            path = path.with_suffix(".log")
        return path.absolute().relative_to(self.root).as_posix()

    def _find_losses(self) -> tuple[Loss, ...]:
        if not self._known:
            # An empty list beside logs that hold something is itself a loss.
            for name in _logs_with_something(self.root):
                self._change(name, holds=True)
                if self._expected:
                    self._lost_itself = self._lost_itself or "is missing or empty"
        found = ((name, trouble(self.root / name)) for name in self._names())
        losses = tuple(Loss(name, how) for name, how in found if how)
        return (Loss(NAME, self._lost_itself), *losses) if self._lost_itself else losses

    def _append(self, descriptor: int, end: int, name: str) -> int:
        folder, _, log = name.rpartition("/")
        payload = _encode((log in self._known.get(folder, ()), name))
        return frames.write_all(descriptor, [frames.header(payload), payload], end)

    def _read(self) -> tuple[list[tuple[bool, str]], str]:
        """Open the list and return its entries and what is wrong with it ("" when it is sound)."""
        path = self.root / NAME
        self._descriptor = _open(path)
        entries: list[tuple[bool, str]] = []
        trouble = ""
        try:
            for frame in frames.scan(self._descriptor, path):
                entries.append(_decode(os.pread(self._descriptor, frame.length, frame.start)))
                self._end = frame.end
            self.torn_bytes = os.fstat(self._descriptor).st_size - self._end
            os.ftruncate(self._descriptor, self._end)
        except (DamagedLogError, msgspec.MsgspecError):
            trouble = f"is damaged at byte {self._end}"
        return entries, trouble

    def _rewrite(self) -> None:
        """Replace the file by one that has only the present entries."""
        path = self.root / NAME
        # On a full disk the old file stays in use, and its losses are reported once more.
        with suppress(OSError), ExitStack() as undo:
            with rewriting(path, fsync=False) as draft:
                descriptor, end = _open(draft), 0
                undo.callback(os.close, descriptor)
                for name in self._names():
                    end = self._append(descriptor, end, name)
                os.fsync(descriptor)
            undo.pop_all()
            os.close(self._descriptor)
            self._descriptor, self._end = descriptor, end
            sync_folders(path, levels=1)


_inventories: Final[list[Inventory]] = []


def inventory_of(path: Path) -> Inventory | None:
    """The list of the data directory that ``path`` lies in; None when it has none."""
    where = path.absolute()
    return next((each for each in _inventories if where.is_relative_to(each.root)), None)


def unlist(path: Path) -> None:
    """Take the log at ``path``, or the logs in the folder ``path``, off the list, before they are removed."""
    if (inventory := inventory_of(path)) is not None:
        inventory.remove(path)


def unlist_below(folder: Path) -> None:
    """Take every log below ``folder`` off the list, before they are removed."""
    if (inventory := inventory_of(folder)) is not None:
        inventory.remove_below(folder)


def sync_names(path: Path) -> None:
    """Return when the names of a file and of its folders in the data directory survive loss of power.

    Without a directory it is the file's folder and two above it. Raises OSError.
    """
    inventory = inventory_of(path)
    levels = 3 if inventory is None else len(path.absolute().relative_to(inventory.root).parts)
    sync_folders(path, levels=levels)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _logs_with_something(root: Path) -> Iterator[str]:
    for path in root.rglob("*"):
        if path.suffix in _LOGS and path.name != NAME and path.is_file() and not trouble(path):
            inside = path.relative_to(root)
            if inside.parts[0] not in _NOT_OURS:
                yield inside.with_suffix(".log").as_posix()


_NOT_OURS: Final = ("rabbitmq", "put-aside")


def trouble(path: Path) -> str:
    """What is wrong with a file that held something; "" when it, or its packed form, still does."""
    packed = path.with_suffix(_PACKED)
    if packed.exists() and packed.stat().st_size:
        return ""
    try:
        if not path.stat().st_size:
            return "is empty"
        with path.open("rb") as file:
            size = _FIRST_LOOK_BYTES
            while chunk := file.read(size):
                if chunk.strip(b"\0"):
                    return ""
                size = _LOOK_BYTES
    except FileNotFoundError:
        return "is missing"
    return "holds nothing but zeros"
