"""Payload files: they hold each payload once, and packed segments and objects refer to it.

A message that is tapped and archived is kept three times. Each young copy is complete, so that no write waits
for another. When a segment is packed, each of its payloads goes into a payload file, or is found in a recent
one, and the packed copy keeps only a reference. A payload file never changes, and is removed with the last
reference to it. At a start the packed segments tell which files they refer to.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import accumulate, repeat
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from emulator.journal.aside import FOLDER as ASIDE
from emulator.journal.aside import put_aside
from emulator.journal.frames import DamagedLogError
from emulator.journal.inventory import trouble
from emulator.journal.packed import STRETCH_BYTES, SUFFIX, Index, PackedFile, PackedStorage
from emulator.journal.spliced import Piece
from emulator.machine.private_files import make_directory
from rdss_sandbox.files.rewriting import DRAFT, sync_folders

FOLDER: Final = "payloads"
PAYLOADS: Final = ".payloads"
_RECENT: Final = 2_500_000
"""How many of the latest payloads can be found again, which is how far the audit log may be behind. Each
takes 4 bytes of memory."""
_LEAST_SHARE: Final = 128
"""A file is referred to only for at least one part in this many of its bytes.

A reference to less would keep a whole file on disk, so those payloads are copied instead.
"""
_FILES_KNOWN: Final = 64
_ANY_TIME: Final = 1


class FoundPayloads(NamedTuple):
    """Payloads by their keys, and the files that they are in. The caller must ``release`` the files."""

    pieces: dict[int, Piece]
    files: set[int]


class MissingPayload(NamedTuple):
    """A payload file that is referred to and lost; ``how`` says what was found in its place."""

    path: Path
    how: str


class Payloads:
    """The payload files of the data directory ``root``; ``payloads_of`` finds them until ``close``.

    A payload's key is its CRC-32, so a payload that is found must be compared before it is referred to.
    ``missing`` are the files that something refers to and that are gone. Thread-safe. A caller of ``find``
    with many keys holds ``working``, so that only one such search takes memory at a time.
    """

    def __init__(self, root: Path, *, fsync: bool = False) -> None:
        self.root = root.absolute()
        self._fsync = fsync
        self.folder = self.root / FOLDER
        self.missing: tuple[MissingPayload, ...] = ()
        self.working = threading.Lock()
        self._lock = threading.Lock()
        self._holds = Counter[int]()
        self._recent: OrderedDict[int, array[int]] = OrderedDict()
        self._known: OrderedDict[int, PackedStorage] = OrderedDict()
        self._last = 0
        self._on_new_file: list[Callable[[], None]] = []
        self._closed = False
        _opened.append(self)

    def recover(self, *, careful: bool) -> None:
        """Read which files are referred to, and remove the others. With ``careful`` they are put aside.

        A packed file that cannot be read may refer to any of them: then none is removed.
        """
        there = self._list_files()
        unread = False
        living = set[int]()
        for path in self.root.rglob(f"*{SUFFIX}"):
            aside = path.relative_to(self.root).parts[0] == ASIDE
            if path.with_suffix(".log").exists() and not aside:
                # The process died while it packed this one. It is removed when its shard is opened.
                continue
            try:
                files = PackedStorage.open(path)[0].files
            except (DamagedLogError, OSError):
                unread = True
                continue
            self._holds.update(files)
            if not aside:
                living.update(files)
        self._last = max([*there, *self._holds, 0])
        found = ((self.path_of(number), trouble(self.path_of(number))) for number in sorted(living))
        self.missing = tuple(MissingPayload(path, how) for path, how in found if how)
        unheld = [number for number in there if number not in self._holds and not unread]
        if unheld and self._fsync:
            # When power fails, a file that was removed and refers to one of them may be there again.
            for folder, _, _ in os.walk(self.root):
                sync_folders(Path(folder, FOLDER), levels=1)
        for number in unheld:
            if careful or self.missing:
                put_aside(self.path_of(number), self.root)
            else:
                self.path_of(number).unlink()
        self._load_recent([number for number in there if self._holds[number]])

    def path_of(self, number: int) -> Path:
        """The path of the file with this number."""
        return self.folder / f"{number:016d}{PAYLOADS}"

    def read(self, file: int, start: int, length: int) -> bytes:
        """Bytes of a payload file. Raises ``DamagedLogError``."""
        try:
            found = (self._known.get(file) or self._storage(file)).read(start, length)
        except FileNotFoundError as error:
            raise DamagedLogError(self.path_of(file), 0, "it is missing, and records refer to it") from error
        if len(found) != length:
            raise DamagedLogError(self.path_of(file), start, "it is too short")
        return found

    def find(self, keys: set[int]) -> FoundPayloads:
        """Find where payloads with these keys may be, and hold their files.

        Two payloads can have one key: ``verify`` must compare them before they are referred to.
        """
        found = FoundPayloads({}, set())
        with self._lock:
            recent = [*reversed(self._recent.items())]
        for number, known in recent:
            hits = keys.intersection(known)
            if hits and self._hold_if_there(number):
                pieces = self._pieces(number, hits)
                if pieces:
                    found.files.add(number)
                    found.pieces.update(pieces)
                    keys = keys - pieces.keys()
                else:
                    self.release((number,))
            if not keys:
                break
        return found

    def known(self, keys: Collection[int]) -> set[int]:
        """Those of the keys for which a payload may be found."""
        with self._lock:
            recent = [*self._recent.values()]
        lookups = set(keys)
        return set().union(*(lookups.intersection(each) for each in recent))

    def verify(self, found: list[Piece | None], payloads: list[bytes]) -> list[Piece | None]:
        """Read and compare what was ``found``; None in the place of a piece that is not its payload."""
        # Payloads that are packed again mostly stand in the order of the first time: one read for all.
        if _in_a_row(found, payloads):
            file, start, _ = found[0]
            whole = b"".join(payloads)
            if self._same((file, start, len(whole)), whole):
                return [*found]
        return [
            piece if piece is not None and self._same(piece, data) else None
            for piece, data in zip(found, payloads, strict=True)
        ]

    def create_file(self) -> PayloadFile:
        """Create a payload file with the next number. Raises OSError."""
        with self._lock:
            self._last += 1
            make_directory(self.folder)
            return PayloadFile(self, self._last)

    def add(self, number: int, keys: array[int]) -> None:
        """Add a finished file, held once by its writer."""
        with self._lock:
            self._holds[number] += 1
            self._recent[number] = keys
            while len(self._recent) > 1 and sum(map(len, self._recent.values())) > _RECENT:
                self._recent.popitem(last=False)

    def hold(self, files: Iterable[int]) -> None:
        """Keep the files. Each call needs one ``release``."""
        with self._lock:
            self._holds.update(files)

    def release(self, files: Iterable[int], gone: Path | None = None) -> None:
        """Undo one ``hold`` of each file. A file without a hold is removed.

        ``gone`` is the file that referred to them, which was removed. Raises OSError, and removes nothing,
        where the disk does not take that.
        """
        with self._lock:
            if self._closed:
                # Another process may have opened the directory by now.
                return
            self._holds.subtract(files)
            unheld = [number for number in files if self._holds[number] <= 0]
            if unheld and gone is not None and self._fsync:
                # When power fails, it may be there again, and refer to them.
                sync_folders(gone, levels=1)
            for number in unheld:
                del self._holds[number]
                self._recent.pop(number, None)
                self._known.pop(number, None)
                self.path_of(number).unlink(missing_ok=True)

    def on_new_file(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` after each ``notify``, on the packer's thread."""
        self._on_new_file.append(callback)

    def notify(self) -> None:
        """Tell the callbacks that there may be new payloads to find."""
        for callback in self._on_new_file:
            callback()

    def close(self) -> None:
        """Stop: ``payloads_of`` finds it no more, and no file is removed any more."""
        with self._lock:
            self._closed = True
        _opened.remove(self)

    def _same(self, piece: Piece, data: bytes) -> bool:
        try:
            return piece[2] == len(data) and self.read(*piece) == data
        except (DamagedLogError, OSError):
            return False

    def _list_files(self) -> list[int]:
        """Return the numbers of the files, in order. Drafts that were never finished are removed."""
        numbers: list[int] = []
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if path.suffix == PAYLOADS and path.stem.isdecimal():
                numbers.append(int(path.stem))
            elif path.suffix == DRAFT:
                path.unlink()
        return numbers

    def _load_recent(self, numbers: list[int]) -> None:
        """Load the keys of the latest files, as many as may be known."""
        room = _RECENT
        for number in reversed(numbers):
            with suppress(DamagedLogError, OSError):
                keys, _ = _columns(PackedStorage.open(self.path_of(number))[1])
                room -= len(keys)
                if room < 0:
                    return
                self._recent[number] = keys
                self._recent.move_to_end(number, last=False)

    def _hold_if_there(self, number: int) -> bool:
        with self._lock:
            if number not in self._recent:
                return False
            self._holds[number] += 1
            return True

    def _pieces(self, number: int, lookups: set[int]) -> dict[int, Piece]:
        """Where the wanted payloads are in a file; {} when they are too small a part of it, or unreadable."""
        try:
            storage, index = PackedStorage.open(self.path_of(number))
        except (DamagedLogError, OSError):
            return {}
        keys, lengths = _columns(index)
        ends = accumulate(lengths)
        found = {
            key: (number, end - length, length)
            for key, length, end in zip(keys, lengths, ends, strict=True)
            if key in lookups
        }
        enough = _LEAST_SHARE * sum(length for _, _, length in found.values()) >= storage.end
        return found if enough else {}

    def _storage(self, number: int) -> PackedStorage:
        with self._lock:
            storage = self._known.get(number)
            if storage is None:
                storage = self._known[number] = PackedStorage.open(self.path_of(number))[0]
                if len(self._known) > _FILES_KNOWN:
                    self._known.popitem(last=False)
            return storage


class PayloadFile:
    """A payload file while it is written. No other packed file can refer to it until ``finish``."""

    def __init__(self, payloads: Payloads, number: int) -> None:
        self.number = number
        self._payloads = payloads
        self._file = PackedFile(payloads.path_of(number))
        self._room = bytearray()
        self._end = 0
        self._keys = array("I")
        self._lengths = array("I")

    def add(self, payloads: list[bytes], keys: list[int]) -> list[Piece]:
        """Append payloads and return where each is. Raises OSError."""
        lengths = [*map(len, payloads)]
        starts = accumulate(lengths[:-1], initial=self._end)
        pieces = [*zip(repeat(self.number), starts, lengths)]
        self._keys.extend(keys)
        self._lengths.extend(lengths)
        self._end += sum(lengths)
        self._room += b"".join(payloads)
        while len(self._room) >= STRETCH_BYTES:
            self._file.add(bytes(self._room[:STRETCH_BYTES]))
            del self._room[:STRETCH_BYTES]
        return pieces

    def finish(self) -> None:
        """Give the file its name and one hold; it then survives loss of power. Raises OSError."""
        if self._room:
            self._file.add(bytes(self._room))
        columns = self._keys.tobytes() + self._lengths.tobytes()
        # Salvage knows the block of the index by its time, which no other block of a packed file has.
        self._file.finish(Index(columns, self._end, len(self._keys), _ANY_TIME))
        self._payloads.add(self.number, self._keys)

    def discard(self) -> None:
        """Remove the file."""
        self._file.discard()


_opened: Final[list[Payloads]] = []


def payloads_of(path: Path) -> Payloads | None:
    """The payload files of the data directory that ``path`` lies in; None when it has none."""
    where = path.absolute()
    return next((each for each in _opened if where.is_relative_to(each.root)), None)


def _in_a_row(found: list[Piece | None], payloads: list[bytes]) -> TypeGuard[list[Piece]]:
    """Whether the pieces have the payloads' lengths and follow each other in one file."""
    at: tuple[int, int] | None = None
    for piece, data in zip(found, payloads, strict=True):
        if piece is None or piece[2] != len(data) or at not in (None, piece[:2]):
            return False
        at = piece[0], piece[1] + piece[2]
    return bool(found)


def _columns(index: Index) -> tuple[array[int], array[int]]:
    keys, lengths = array("I"), array("I")
    middle = len(index.columns) // 2
    keys.frombytes(index.columns[:middle])
    lengths.frombytes(index.columns[middle:])
    return keys, lengths
