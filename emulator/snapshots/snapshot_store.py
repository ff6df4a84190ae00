"""Where snapshots are kept: in the folder ``snapshots`` of the data directory, or else in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from emulator.journal.inventory import sync_names
from emulator.machine.private_files import make_directory
from emulator.snapshots import snapshot_file
from emulator.snapshots.snapshot_errors import BadNameError, NoSnapshotError, UnreadableError
from emulator.snapshots.snapshot_file import Sections
from rdss_sandbox.files.rewriting import remove_drafts, rewriting
from rdss_sandbox.shapes.snapshots import Snapshot

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX: Final = ".snapshot"
_LOADS: Final = "loads"


class Loads(msgspec.Struct):
    """How many loads were begun, and of which snapshot the last one was if it has not ended."""

    begun: int = 0
    unfinished: str = ""


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Loads).decode


class SnapshotStore:
    """The snapshots in ``folder``, which outlive the process; with None they are in memory.

    Those in ``more`` are only read, and only where there is none of their name.

    Callers take turns. Names are checked: every method with a name raises ``BadNameError``. A snapshot always
    survives loss of power, and so does the note that a load has begun.
    """

    def __init__(self, folder: Path | None, more: Path | None = None) -> None:
        self._folder = folder
        self._more = more
        self._held: dict[str, tuple[Snapshot, Sections]] = {}
        self._loads = Loads()
        if folder is not None and folder.exists():
            # A process that ended while it wrote one has left its draft.
            remove_drafts(folder)
            self._loads = read_loads(folder)

    @property
    def unfinished(self) -> str:
        """The snapshot whose load has begun and not ended; "" when there is none."""
        return self._loads.unfinished

    def save(self, snapshot: Snapshot, sections: Sections) -> Snapshot:
        """Keep a snapshot, in place of an earlier one of its name, and return it. Raises OSError."""
        check_name(snapshot.name)
        if self._folder is None:
            size = sum(len(blob) for blobs in sections.values() for blob in blobs)
            kept = msgspec.structs.replace(snapshot, bytes=size)
            self._held[snapshot.name] = kept, sections
            return kept
        make_directory(self._folder)
        path = self._path(snapshot.name)
        snapshot_file.write(path, snapshot, sections)
        sync_names(path)
        return msgspec.structs.replace(snapshot, bytes=path.stat().st_size)

    def read(self, name: str) -> tuple[Snapshot, Sections]:
        """Read a whole snapshot. Raises ``NoSnapshotError``, ``UnreadableError`` and OSError."""
        check_name(name)
        if name in self._held:
            return self._held[name]
        for folder in filter(None, (self._folder, self._more)):
            try:
                _, sections = snapshot_file.read(folder / f"{name}{_SUFFIX}")
            except FileNotFoundError:
                continue
            return self._describe(name, folder), sections
        raise NoSnapshotError(name, self._names())

    def list(self) -> tuple[Snapshot, ...]:
        """Every snapshot, by name. Of one that is damaged ``trouble`` says what to do."""
        return tuple(self._find(name) for name in self._names())

    def remove(self, name: str) -> None:
        """Remove a snapshot. Raises ``NoSnapshotError`` and OSError."""
        check_name(name)
        try:
            if self._folder is None:
                del self._held[name]
            else:
                self._path(name).unlink()
        except (KeyError, FileNotFoundError) as error:
            raise NoSnapshotError(name, [each.name for each in self.list()]) from error

    def begin_load(self, name: str) -> int:
        """Note that the load of a snapshot has begun, and return the load's number. Raises OSError.

        When the process dies before ``end_load``, the next start finishes the load.
        """
        self._note(Loads(self._loads.begun + 1, name))
        return self._loads.begun

    def end_load(self) -> None:
        """Note that the load has ended. Raises OSError."""
        self._note(Loads(self._loads.begun))

    def _note(self, loads: Loads) -> None:
        if self._folder is not None:
            make_directory(self._folder)
            with rewriting(self._folder / _LOADS) as draft:
                draft.write_bytes(_encode(loads))
        self._loads = loads

    def _names(self) -> Sequence[str]:
        """The names of all snapshots that can be loaded."""
        paths = (
            path for folder in filter(None, (self._folder, self._more)) for path in folder.glob(f"*{_SUFFIX}")
        )
        return sorted({*self._held, *(path.name.removesuffix(_SUFFIX) for path in paths)})

    def _find(self, name: str) -> Snapshot:
        if name in self._held:
            return self._held[name][0]
        folders = [each for each in (self._folder, self._more) if each is not None]
        return self._describe(name, next(each for each in folders if (each / f"{name}{_SUFFIX}").exists()))

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}{_SUFFIX}"

    def _describe(self, name: str, folder: Path) -> Snapshot:
        path = folder / f"{name}{_SUFFIX}"
        try:
            found = snapshot_file.read_head(path).snapshot
        except UnreadableError as error:
            return Snapshot(name, bytes=path.stat().st_size, trouble=str(error))
        # A file may have another name by now than it was saved under.
        return msgspec.structs.replace(found, name=name, bytes=path.stat().st_size)


def check_name(name: str) -> None:
    """Raise ``BadNameError`` unless a snapshot can have this name."""
    if not _NAME.fullmatch(name):
        raise BadNameError(name)


def read_loads(folder: Path) -> Loads:
    """Read how far the loads of a data directory's snapshots came.

    Raises ``UnreadableError`` when that is damaged.
    """
    path = folder / _LOADS
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return Loads()
    except msgspec.MsgspecError as error:
        raise UnreadableError(
            f"{path} is damaged, so it is not known whether a snapshot was being loaded: remove the file if "
            "none was, or give another --data-dir"
        ) from error
