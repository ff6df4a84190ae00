"""What packed segments and objects share: payloads, each once, in files of their own.

A message that is tapped and archived is kept three times over. While it is young each copy is a whole one, so
that nothing waits for anything. When its segment is packed, the payload goes into a payload file, or is found
in one that was written lately; what is left of the copy is where that was. A file is never changed, and goes
with the last that refers to it: at a start the packed segments say which they refer to.
"""

from __future__ import annotations

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

FOLDER: Final = "payloads"
PAYLOADS: Final = ".payloads"
_RECENT: Final = 1 << 20
"""So many of the last payloads are found again; each takes 4 bytes of memory."""
_LEAST_SHARE: Final = 128
"""Who needs less than this part of a file does not keep it from going: it has a copy of its own."""
_FILES_KNOWN: Final = 64
_ANY_TIME: Final = 1


class Found(NamedTuple):
    """Payloads by their keys, and the files that they are in, which are held until they are released."""

    pieces: dict[int, Piece]
    files: set[int]


class Missing(NamedTuple):
    """A payload file that is referred to, and ``how`` it was found."""

    path: Path
    how: str


class Payloads:
    """The payload files of the data directory ``root``, known to what lies in it until it is closed.

    ``missing`` are those that something refers to and that are gone. Thread-safe. Who looks for much at once
    holds ``working``, so that only one of them needs memory for it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.folder = self.root / FOLDER
        self.missing: tuple[Missing, ...] = ()
        self.working = threading.Lock()
        self._lock = threading.Lock()
        self._holds = Counter[int]()
        self._recent: OrderedDict[int, array[int]] = OrderedDict()
        self._known: OrderedDict[int, PackedStorage] = OrderedDict()
        self._last = 0
        self._on_more: list[Callable[[], None]] = []
        self._closed = False
        _opened.append(self)

    def recover(self, *, careful: bool) -> None:
        """Learn what is referred to, and remove what is not; ``careful``: put it aside instead.

        What cannot be read may refer to anything: then nothing is removed.
        """
        there = self._there()
        unread = False
        living = set[int]()
        for path in self.root.rglob(f"*{SUFFIX}"):
            if path.with_suffix(".log").exists():
                # It was not yet to be read from, and is removed when its shard is opened.
                continue
            try:
                files = PackedStorage.open(path)[0].files
            except (DamagedLogError, OSError):
                unread = True
                continue
            self._holds.update(files)
            if path.relative_to(self.root).parts[0] != ASIDE:
                living.update(files)
        self._last = max([*there, *self._holds, 0])
        found = ((self.path_of(number), trouble(self.path_of(number))) for number in sorted(living))
        self.missing = tuple(Missing(path, how) for path, how in found if how)
        for number in there:
            if number not in self._holds and not unread:
                if careful or self.missing:
                    put_aside(self.path_of(number), self.root)
                else:
                    self.path_of(number).unlink()
        self._recall([number for number in there if self._holds[number]])

    def path_of(self, number: int) -> Path:
        """The file of this number."""
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

    def find(self, keys: set[int]) -> Found:
        """Where payloads with these keys may be: whoever refers to one reads it first, and compares."""
        found = Found({}, set())
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
        """Those of the keys of which there may be payloads."""
        with self._lock:
            recent = [*self._recent.values()]
        wanted = set(keys)
        return set().union(*(wanted.intersection(each) for each in recent))

    def checked(self, found: list[Piece | None], payloads: list[bytes]) -> list[Piece | None]:
        """Of what was ``found`` that which is the payload, and can be read; None for what is not."""
        if _in_a_row(found, payloads):
            file, start, _ = found[0]
            whole = b"".join(payloads)
            if self._same((file, start, len(whole)), whole):
                return [*found]
        return [
            piece if piece is not None and self._same(piece, data) else None
            for piece, data in zip(found, payloads, strict=True)
        ]

    def begin(self) -> PayloadFile:
        """A new file, to be filled. Raises OSError."""
        with self._lock:
            self._last += 1
            make_directory(self.folder)
            return PayloadFile(self, self._last)

    def added(self, number: int, keys: array[int]) -> None:
        """A new file is there; whoever asked for it holds it."""
        with self._lock:
            self._holds[number] += 1
            self._recent[number] = keys
            while len(self._recent) > 1 and sum(map(len, self._recent.values())) > _RECENT:
                self._recent.popitem(last=False)

    def hold(self, files: Iterable[int]) -> None:
        """Have the files stay until they are released as often as they were held."""
        with self._lock:
            self._holds.update(files)

    def release(self, files: Iterable[int]) -> None:
        """Let the files go; one that nobody holds any more is removed."""
        with self._lock:
            if self._closed:
                # Somebody else may be at the files by now.
                return
            self._holds.subtract(files)
            for number in [number for number in files if self._holds[number] <= 0]:
                del self._holds[number]
                self._recent.pop(number, None)
                self._known.pop(number, None)
                self.path_of(number).unlink(missing_ok=True)

    def on_more(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called when there is more to find. It is called on the packer's thread."""
        self._on_more.append(callback)

    def tell(self) -> None:
        """There is more to find."""
        for callback in self._on_more:
            callback()

    def close(self) -> None:
        """Nobody finds it any more."""
        with self._lock:
            self._closed = True
        _opened.remove(self)

    def _same(self, piece: Piece, data: bytes) -> bool:
        try:
            return piece[2] == len(data) and self.read(*piece) == data
        except (DamagedLogError, OSError):
            return False

    def _there(self) -> list[int]:
        """The numbers of the files that are there. What was not finished is removed."""
        numbers: list[int] = []
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if path.suffix == PAYLOADS and path.stem.isdecimal():
                numbers.append(int(path.stem))
            elif path.suffix == ".draft":
                path.unlink()
        return numbers

    def _recall(self, numbers: list[int]) -> None:
        """Know again what is in the last files."""
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

    def _pieces(self, number: int, wanted: set[int]) -> dict[int, Piece]:
        """Where they are in a file; nothing when they are too little of it, or when it cannot be read."""
        try:
            storage, index = PackedStorage.open(self.path_of(number))
        except (DamagedLogError, OSError):
            return {}
        keys, lengths = _columns(index)
        ends = accumulate(lengths)
        found = {
            key: (number, end - length, length)
            for key, length, end in zip(keys, lengths, ends, strict=True)
            if key in wanted
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
    """A payload file while it is filled; nobody else knows of it until it is finished."""

    def __init__(self, payloads: Payloads, number: int) -> None:
        self.number = number
        self._payloads = payloads
        self._file = PackedFile(payloads.path_of(number))
        self._room = bytearray()
        self._end = 0
        self._keys = array("I")
        self._lengths = array("I")

    def add(self, payloads: list[bytes], keys: list[int]) -> list[Piece]:
        """Put payloads behind the others. Raises OSError."""
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
        """Have it take its place: it survives loss of power then. Held by who began it. Raises OSError."""
        if self._room:
            self._file.add(bytes(self._room))
        columns = self._keys.tobytes() + self._lengths.tobytes()
        # By their time salvage tells an index from what is packed.
        self._file.finish(Index(columns, self._end, len(self._keys), _ANY_TIME))
        self._payloads.added(self.number, self._keys)

    def discard(self) -> None:
        """Leave nothing of it."""
        self._file.discard()


_opened: Final[list[Payloads]] = []


def payloads_of(path: Path) -> Payloads | None:
    """The payload files of the directory in which ``path`` lies; None where there are none."""
    where = path.absolute()
    return next((each for each in _opened if where.is_relative_to(each.root)), None)


def _in_a_row(found: list[Piece | None], payloads: list[bytes]) -> TypeGuard[list[Piece]]:
    """Whether what was found is of the payloads' lengths, one behind the other in one file."""
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
