"""Where the bodies of objects are: pieces in few files, each in a frame with its number.

What refers to a piece has its number, so a piece can be moved, and stored in another form, without a change
to what refers to it. A file of which little is needed is emptied into another.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from isal.isal_zlib import compress, crc32, decompress

from emulator.buckets.objects.piece_table import PieceId, PiecePlace, PieceTable
from emulator.buckets.objects.sharing import Sharing
from emulator.journal import DamagedLogError, frames
from emulator.journal.payloads import Payloads
from emulator.journal.spliced import Find, no_payloads, render
from emulator.journal.storage import Storage, UnnamedFile

FILE_BYTES: Final = 64 << 20
_FILES: Final = 16
"""About the most files: a new one may grow to one part in this many of all that is stored."""
_NEEDED_SHARE: Final = 0.5
_SMALL_BYTES: Final = 4 << 20
_WORTH: Final = 0.9
"""A shorter form replaces a stored one only below this part of its length."""
_LEVEL: Final = 2


class Piece:
    """A piece of a body. Its bytes are kept as long as this object lives."""

    __slots__ = ("_bodies", "_check", "_number", "size")

    def __init__(self, bodies: Bodies, piece: PieceId) -> None:
        self._bodies = bodies
        self._number, self.size, self._check = piece

    @property
    def id(self) -> PieceId:
        """What a log says of it. ``size`` is how many bytes of the body it has."""
        return PieceId(self._number, self.size, self._check)

    def read(self) -> bytes:
        """Read its bytes. Raises OSError when they are not those that were kept."""
        return self._bodies.read(self.id)

    def __del__(self) -> None:
        self._bodies.release(self._number)


class BodyFile:
    """One file that takes about ``room`` bytes, and how many bytes of the pieces in it are needed."""

    def __init__(self, name: str, storage: Storage, room: int) -> None:
        self.name = name
        self.storage = storage
        self.room = room
        self.needed = 0


class Bodies:
    """Pieces in files without a name in ``directory``, by default where temporary files are. Thread-safe.

    The files are gone when the process ends, in whatever way. A file takes ``file_bytes``, or a part of all
    that is stored if that is more. The payloads that ``find`` finds in a piece are replaced by references
    once a file of ``payloads`` has them. Such pieces are in files of their own: the others are young and are
    soon replaced together, which frees their whole file.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        file_bytes: int = FILE_BYTES,
        payloads: Payloads | None = None,
        find: Find = no_payloads,
    ) -> None:
        self._directory = directory
        self._file_bytes = file_bytes
        self._payloads = payloads
        self._sharing = Sharing(self.read, self.splice, payloads, find) if payloads is not None else None
        self._lock = threading.Lock()
        self._files: dict[int, BodyFile] = {}
        self._filling: dict[bool, int] = {}
        self._places = PieceTable()
        self._references: dict[int, tuple[int, ...]] = {}
        self._released: deque[int] = deque()
        self._last = 0
        self._closed = False

    @property
    def stored_bytes(self) -> int:
        """The bytes that they take on disk, without those in payload files."""
        with self._lock:
            return sum(file.storage.end for file in self._files.values())

    def keep(self, data: bytes | memoryview) -> Piece:
        """Keep a piece of a body. Raises OSError."""
        packed = compress(data, _LEVEL)
        stored = packed if len(packed) < len(data) else bytes(data)
        with self._lock:
            self._drop_released()
            self._last += 1
            piece = PieceId(self._last, len(data), crc32(stored))
            self._append(piece.number, piece.size, stored)
        if self._sharing is not None:
            self._sharing.look_at(piece)
        return Piece(self, piece)

    def put_back(self, pieces: Iterable[tuple[PieceId, bytes | memoryview]]) -> None:
        """Keep copied pieces, in their stored form and under their numbers. Raises OSError."""
        with self._lock:
            for piece, stored in pieces:
                self._last = max(self._last, piece.number)
                self._append(piece.number, piece.size, bytes(stored))

    def list_pieces(self) -> Iterator[tuple[PieceId, bytes]]:
        """Yield every piece in its stored form. Raises ``DamagedLogError`` and OSError."""
        with self._lock:
            for number in self._places.numbers():
                place = self._places.find(number)
                assert place is not None
                found = self._read_frame(place)
                if found is None:
                    path = Path(self._files[place.file].name)
                    raise DamagedLogError(path, _start(place), "a block does not match its checksum")
                yield PieceId(number, found[0].size, found[0].check), found[1]

    def find(self, piece: PieceId) -> Piece:
        """The piece that a log refers to. Whether it can be read is seen when it is."""
        return Piece(self, piece)

    def read(self, piece: PieceId) -> bytes:
        """Read a piece. Raises OSError when its bytes are not those that were kept."""
        while True:
            with self._lock:
                place = self._places.find(piece.number)
                if place is None:
                    raise OSError(f"the stored bytes of an object are missing from {self._directory}")
                found, name = self._read_frame(place), self._files[place.file].name
                files = self._references.get(piece.number)
            if found is None or (files is None and found[0].check != piece.check):
                raise OSError(f"the stored bytes of an object are damaged at byte {_start(place)} of {name}")
            stored = found[1]
            if files is None:
                return stored if place.length == piece.size else decompress(stored)
            assert self._payloads is not None
            try:
                return render(decompress(stored), self._payloads.read)
            except DamagedLogError as error:
                # If the piece was changed meanwhile, the payload file that it referred to may be gone, and
                # its new form can be read. Otherwise the data is damaged.
                if self._references.get(piece.number) == files:
                    raise OSError(str(error)) from error

    def splice(self, piece: PieceId, encoded: bytes, files: tuple[int, ...]) -> bool:
        """Store a piece with references to payload ``files`` if that is shorter; return whether it is.

        Raises OSError.
        """
        stored = compress(encoded, _LEVEL)
        with self._lock:
            self._drop_released()
            place = self._places.find(piece.number)
            if place is None or len(stored) > _WORTH * place.length:
                return False
            self._let_go(piece.number)
            self._append(piece.number, piece.size, stored, files)
            self._empty_if_idle(place.file)
        return True

    def release(self, number: int) -> None:
        """Release a piece. Its room is freed now, or by the next call if the lock is held.

        The garbage collector may call this on a thread that holds the lock, so it must not wait for it.
        """
        self._released.append(number)
        if self._lock.acquire(blocking=False):
            try:
                self._drop_released()
            finally:
                self._lock.release()

    def sync(self) -> None:
        """Do nothing: it does not outlive the process."""

    def settle(self) -> None:
        """Drop what was released, and empty the files that are hardly needed."""
        with self._lock:
            self._drop_released()

    def keep_only(self, pieces: Iterable[int]) -> None:
        """Drop the pieces that nothing refers to, after the start."""
        numbers = set(pieces)
        with self._lock:
            for number in [number for number in self._places.numbers() if number not in numbers]:
                self._drop(number)
            for file in tuple(self._files):
                self._empty_if_idle(file)

    def clear(self) -> None:
        """Do nothing: a piece is gone with the last object that refers to it."""

    def close(self) -> None:
        """Close the files. What is released from now on stays in them, and nothing can be read."""
        if self._sharing is not None:
            self._sharing.close()
        with self._lock:
            self._closed = True
            for file in self._files.values():
                file.storage.close()

    def _append(self, number: int, size: int, stored: bytes, files: tuple[int, ...] = ()) -> BodyFile:
        """Store a piece, in place of where it was, and return the file that has it now."""
        spliced = bool(files)
        filling = self._files.get(self._filling.get(spliced, 0))
        if filling is None or filling.storage.end >= filling.room:
            following = max(self._files, default=0) + 1
            room = max(self._file_bytes, sum(file.storage.end for file in self._files.values()) // _FILES)
            filling = self._files[following] = self._create_file(following, room)
            self._filling[spliced] = following
        position = filling.storage.end + frames.HEADER_BYTES
        filling.storage.append([frames.header(stored, size=size, ordinal=number), stored])
        self._put(number, PiecePlace(self._filling[spliced], position, len(stored)))
        if spliced:
            self._references[number] = files
        return filling

    def _create_file(self, _number: int, room: int) -> BodyFile:
        return BodyFile("its file", UnnamedFile(self._directory), room)

    def _put(self, number: int, place: PiecePlace) -> None:
        """Note where a piece is now, in place of where it was."""
        before = self._places.take(number)
        if before is not None:
            self._files[before.file].needed -= before.length
        self._places.put(number, place)
        self._files[place.file].needed += place.length

    def _drop(self, number: int) -> set[int]:
        """Forget where a piece is. Returns the number of its file, if it is known."""
        place = self._places.take(number)
        if place is None:
            return set()
        self._files[place.file].needed -= place.length
        self._let_go(number)
        return {place.file}

    def _let_go(self, number: int) -> None:
        """Let go of the payload files that a piece refers to."""
        files = self._references.pop(number, None)
        if files is not None and self._sharing is not None:
            self._sharing.let_go(files)

    def _drop_released(self) -> None:
        idle = set[int]()
        while self._released and not self._closed:
            idle |= self._drop(self._released.popleft())
        for file in idle:
            self._empty_if_idle(file)

    def _read_frame(self, place: PiecePlace) -> tuple[frames.Frame, bytes] | None:
        """A piece in its stored form, with its header; None when it is damaged."""
        raw = self._files[place.file].storage.read(_start(place), frames.HEADER_BYTES + place.length)
        frame, stored = frames.parse(raw, _start(place)), raw[frames.HEADER_BYTES :]
        return (frame, stored) if frame is not None and crc32(stored) == frame.check else None

    def _empty_if_idle(self, number: int) -> None:
        """Move the needed pieces of a file to another and delete it, if they are a small part of it."""
        file = self._files[number]
        filled = [spliced for spliced, filling in self._filling.items() if filling == number]
        if file.needed >= max(_NEEDED_SHARE * file.storage.end, 1) or (filled and self._stays(file)):
            return
        for spliced in filled:
            del self._filling[spliced]
        for piece in list(self._places.numbers(number)):
            place = self._places.find(piece)
            found = self._read_frame(place) if place is not None else None
            if found is None:
                # A damaged piece stays where it is, and so does its file, for sandbox repair.
                return
            self._append(piece, found[0].size, found[1], self._references.get(piece, ()))
        self._delete(number)

    def _stays(self, file: BodyFile) -> bool:
        """Whether a file that is being filled is left alone, however little of it is needed."""
        return file.needed > 0 and file.storage.end < _SMALL_BYTES

    def _delete(self, number: int) -> None:
        self._files.pop(number).storage.delete()


def _start(place: PiecePlace) -> int:
    return place.position - frames.HEADER_BYTES
