"""A folder of which every change is written down as it is made, by whatever Python code makes it.

The functions of ``os`` and ``open`` themselves are replaced while it records, so that no store is built for
it. What is written goes to the real folder too. Only the disk itself is left out: what would be on it after a
cut is worked out afterwards, by ``power_cuts``.
"""

from __future__ import annotations

import builtins
import io
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias
from unittest.mock import patch

ROOT: Final = 0
_CREATING: Final = os.O_CREAT
_REPLACED: Final = (
    *("open", "close", "write", "pwrite", "pwritev", "writev", "sendfile", "ftruncate", "truncate"),
    *("fsync", "fdatasync", "rename", "replace", "unlink", "remove", "link", "mkdir", "rmdir"),
)


class UnstoredError(Exception):
    """A store answered that it has not stored something."""


class Wrote(NamedTuple):
    """Bytes of a file, from an offset on."""

    node: int
    offset: int
    data: bytes


class Resized(NamedTuple):
    """A file has another size."""

    node: int
    size: int


class Flushed(NamedTuple):
    """All of a file, or all names in a folder, were put on the disk."""

    node: int


class Named(NamedTuple):
    """There is a name in a folder, of a node that is new or has another name."""

    parent: int
    name: str
    node: int
    is_folder: bool


class Unnamed(NamedTuple):
    """A name is gone from a folder."""

    parent: int
    name: str
    node: int


class Moved(NamedTuple):
    """A name is gone, and at once another is there, in the place of what had it."""

    parent: int
    name: str
    to: int
    new_name: str
    node: int


class Said(NamedTuple):
    """No change of a file: a key is to have this value, or, once ``done``, was answered to have it."""

    key: str
    value: bytes | None
    done: bool


Change: TypeAlias = Wrote | Resized | Flushed | Named | Unnamed | Moved | Said
Strike: TypeAlias = Callable[[str, str], int | None]
"""Is told of each call and its path before it is made. Raises OSError for one that fails, and gives how many
bytes of a write are taken, where not all are."""


class RecordedDisk:
    """The ``changes`` below ``folder``, which is there and empty, while it is ``recording``."""

    def __init__(self, folder: Path, strike: Strike = lambda _call, _path: None) -> None:
        self.folder = folder
        self.changes: list[Change] = []
        self.struck = 0
        self._strike = strike
        self._root = str(folder.absolute())
        self._lock = threading.RLock()
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._sizes: dict[int, int] = {}
        self._open_nodes: dict[int, tuple[int, str]] = {}
        self._last = ROOT
        self._real: dict[str, Any] = {}

    @contextmanager
    def asking(
        self,
        values: Mapping[str, bytes | None] = MappingProxyType({}),
        refusal: type[Exception] = UnstoredError,
    ) -> Iterator[None]:
        """Note that a store is asked in the block for these values, None for no key, and has then answered.

        Where the one call that fails has struck in the block, the store may refuse, as by a ``refusal``.
        """
        struck = self.struck
        self.changes += (Said(key, value, done=False) for key, value in values.items())
        try:
            yield
        except (OSError, sqlite3.OperationalError, UnstoredError, refusal):
            if self.struck == struck:
                raise
        else:
            self.changes += (Said(key, value, done=True) for key, value in values.items())

    def let(self, values: Mapping[str, bytes | None]) -> None:
        """Note what may be from now on, of which nothing is answered."""
        self.changes += (Said(key, value, done=False) for key, value in values.items())

    def _meet(self, call: str, path: object) -> int | None:
        """Have a call fail, or take a part of what is written, where that is its turn."""
        try:
            taken = self._strike(call, str(path))
        except OSError:
            self.struck += 1
            raise
        return taken

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is done in the block. Only one folder is recorded at a time."""
        self._real = {name: getattr(os, name) for name in _REPLACED} | {"file": io.open}
        own = {name: getattr(self, f"_{name}") for name in _REPLACED}
        with (
            patch.multiple(os, **own),
            patch.object(io, "open", self._open_file),
            patch.object(builtins, "open", self._open_file),
        ):
            yield

    def replace(self, left: Mapping[str, bytes | None]) -> None:
        """Have what a cut left in the place of everything, and all of it on the disk.

        What had a file open has died with the power, and has closed it.
        """
        self._remove_tree(ROOT, self._root)
        self._names, self._sizes = {ROOT: {}}, {}
        self._open_nodes.clear()
        for name, content in left.items():
            if content is None:
                (self.folder / name).mkdir()
            else:
                (self.folder / name).write_bytes(content)
        self.changes += map(Flushed, (*self._names, *self._sizes))

    def _remove_tree(self, node: int, path: str) -> None:
        for name, below in self._names[node].items():
            if below in self._names:
                self._remove_tree(below, f"{path}/{name}")
                self._real["rmdir"](f"{path}/{name}")
            else:
                self._real["unlink"](f"{path}/{name}")

    # What is asked of os

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        place = None if flags & os.O_TMPFILE == os.O_TMPFILE else self._place(path, dir_fd)
        with self._lock:
            if place is not None and flags & (_CREATING | os.O_WRONLY | os.O_RDWR):
                self._meet("open", str(path))
            descriptor: int = self._real["open"](path, flags, mode, dir_fd=dir_fd)
            if place is None:
                return descriptor
            node = self._find(*place)
            if node is None:
                node = self._add(*place, is_folder=False)
            elif flags & os.O_TRUNC and self._sizes[node]:
                self._resize(node, 0)
            self._open_nodes[descriptor] = node, str(path)
        return descriptor

    def _close(self, descriptor: int) -> None:
        with self._lock:
            self._open_nodes.pop(descriptor, None)
            self._real["close"](descriptor)

    def _write(self, descriptor: int, data: Any) -> int:
        if descriptor not in self._open_nodes:
            return int(self._real["write"](descriptor, data))
        with self._lock:
            offset = os.lseek(descriptor, 0, os.SEEK_CUR)
            written = self._pwrite(descriptor, data, offset)
            os.lseek(descriptor, offset + written, os.SEEK_SET)
        return written

    def _writev(self, descriptor: int, buffers: Any) -> int:
        if descriptor not in self._open_nodes:
            return int(self._real["writev"](descriptor, buffers))
        return self._write(descriptor, b"".join(buffers))

    def _pwritev(self, descriptor: int, buffers: Any, offset: int) -> int:
        if descriptor not in self._open_nodes:
            return int(self._real["pwritev"](descriptor, buffers, offset))
        return self._pwrite(descriptor, b"".join(buffers), offset)

    def _pwrite(self, descriptor: int, data: Any, offset: int) -> int:
        if descriptor not in self._open_nodes:
            return int(self._real["pwrite"](descriptor, data, offset))
        node, path = self._open_nodes[descriptor]
        with self._lock:
            taken = bytes(data)[: self._meet("write", path)]
            written: int = self._real["pwrite"](descriptor, taken, offset)
            self.changes.append(Wrote(node, offset, taken[:written]))
            self._sizes[node] = max(self._sizes[node], offset + written)
        return written

    def _sendfile(self, out: int, source: int, offset: int, count: int) -> int:
        if out not in self._open_nodes:
            return int(self._real["sendfile"](out, source, offset, count))
        return self._write(out, os.pread(source, min(count, 1 << 20), offset))

    def _ftruncate(self, descriptor: int, size: int) -> None:
        known = self._open_nodes.get(descriptor)
        with self._lock:
            if known is not None:
                self._meet("truncate", known[1])
            self._real["ftruncate"](descriptor, size)
            if known is not None and self._sizes[known[0]] != size:
                self._resize(known[0], size)

    def _truncate(self, path: Any, size: int) -> None:
        if isinstance(path, int):
            self._ftruncate(path, size)
            return
        descriptor = self._open(path, os.O_WRONLY)
        try:
            self._ftruncate(descriptor, size)
        finally:
            self._close(descriptor)

    def _fsync(self, descriptor: int) -> None:
        self._flush("fsync", descriptor)

    def _fdatasync(self, descriptor: int) -> None:
        self._flush("fdatasync", descriptor)

    def _flush(self, call: str, descriptor: int) -> None:
        if descriptor not in self._open_nodes:
            self._real[call](descriptor)
            return
        node, path = self._open_nodes[descriptor]
        with self._lock:
            self._meet("sync", path)
            self.changes.append(Flushed(node))

    def _rename(self, source: Any, to: Any, **folders: Any) -> None:
        here, there = self._place(source), self._place(to)
        with self._lock:
            if here is not None:
                self._meet("rename", str(source))
            self._real["rename"](source, to, **folders)
            if here is None or there is None:
                assert here is there, "nothing moves into the folder, or out of it"
                return
            node = self._names[here[0]].pop(here[1])
            self._names[there[0]][there[1]] = node
            self.changes.append(Moved(*here, *there, node))

    _replace = _rename

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove_name("unlink", path, dir_fd)

    _remove = _unlink

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove_name("rmdir", path, dir_fd)

    def _remove_name(self, call: str, path: Any, dir_fd: int | None) -> None:
        place = self._place(path, dir_fd)
        with self._lock:
            if place is not None and self._find(*place) is not None:
                self._meet("unlink", str(path))
            self._real[call](path, dir_fd=dir_fd)
            if place is not None:
                self.changes.append(Unnamed(*place, self._names[place[0]].pop(place[1])))

    def _link(self, source: Any, to: Any, **given: Any) -> None:
        here, there = self._place(source), self._place(to)
        with self._lock:
            if there is not None:
                self._meet("link", str(to))
            self._real["link"](source, to, **given)
            if here is not None and there is not None:
                node = self._names[there[0]][there[1]] = self._names[here[0]][here[1]]
                self.changes.append(Named(*there, node, is_folder=False))

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        place = self._place(path, dir_fd)
        with self._lock:
            if place is not None and self._find(*place) is None:
                self._meet("mkdir", str(path))
            self._real["mkdir"](path, mode, dir_fd=dir_fd)
            if place is not None:
                self._add(*place, is_folder=True)

    # What a library in C says that it does

    def note_open(self, path: str) -> bool:
        """Note a file that may be new, and return whether it is."""
        with self._lock:
            place = self._place(path)
            if place is None or self._find(*place) is not None:
                return False
            self._add(*place, is_folder=False)
        return True

    def note_write(self, path: str, data: bytes, offset: int) -> bool:
        """Note a write, and return whether it is to succeed."""
        node = self._node(path)
        if node is None:
            return True
        with self._lock, suppress(OSError):
            self._meet("write", path)
            self.changes.append(Wrote(node, offset, data))
            self._sizes[node] = max(self._sizes[node], offset + len(data))
            return True
        return False

    def note_truncate(self, path: str, size: int) -> bool:
        """Note another size, and return whether that is to succeed."""
        node = self._node(path)
        if node is None:
            return True
        with self._lock, suppress(OSError):
            self._meet("truncate", path)
            self._resize(node, size)
            return True
        return False

    def note_sync(self, path: str) -> bool:
        """Note a flush of a file or of a folder's names, and return whether it is to succeed."""
        node = self._node(path)
        if node is None:
            return True
        with self._lock, suppress(OSError):
            self._meet("sync", path)
            self.changes.append(Flushed(node))
            return True
        return False

    def note_unlink(self, path: str) -> bool:
        """Note that a name is gone, and return whether it was known."""
        with self._lock:
            place = self._place(path)
            if place is None or self._find(*place) is None:
                return False
            self.changes.append(Unnamed(*place, self._names[place[0]].pop(place[1])))
        return True

    def _node(self, path: str) -> int | None:
        place = self._place(path)
        return None if place is None else self._find(*place)

    # What is asked of open

    def _open_file(  # noqa: PLR0917 -- as open has them
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        writes = any(letter in mode for letter in "wax+")
        ours = file in self._open_nodes if isinstance(file, int) else writes and self._place(file) is not None
        if not writes or not ours:
            return self._real["file"](file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw_mode = mode.replace("b", "").replace("t", "")
        raw = _RecordedFile(
            self, file, raw_mode, closefd, opener or (lambda path, flags: os.open(path, flags, 0o666))
        )
        if "a" in mode:
            raw.seek(0, os.SEEK_END)
        if not buffering:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    # The tree as it is

    def _place(self, path: Any, dir_fd: int | None = None) -> tuple[int, str] | None:
        """The folder of a path and its name there; None for one that is elsewhere."""
        if dir_fd is not None:
            held = self._open_nodes.get(dir_fd)
            return None if held is None else (held[0], os.fsdecode(path))
        whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 -- links stay as they are
        if not whole.startswith(self._root):
            return None
        *folders, name = whole.removeprefix(self._root).split("/")
        at = ROOT
        for each in folders[1:]:
            following = self._names[at].get(each)
            if following is None:
                return None
            at = following
        return at, name if folders else ""

    def _find(self, parent: int, name: str) -> int | None:
        return self._names[parent].get(name) if name else ROOT

    def _add(self, parent: int, name: str, *, is_folder: bool) -> int:
        self._last += 1
        self._names[parent][name] = self._last
        if is_folder:
            self._names[self._last] = {}
        else:
            self._sizes[self._last] = 0
        self.changes.append(Named(parent, name, self._last, is_folder))
        return self._last

    def _resize(self, node: int, size: int) -> None:
        self._sizes[node] = size
        self.changes.append(Resized(node, size))


class _RecordedFile(io.FileIO):
    """A file that Python code writes through a buffer: what the buffer lets go of is recorded."""

    def __init__(self, disk: RecordedDisk, file: Any, mode: str, closefd: bool, opener: Any) -> None:
        self._disk = disk
        super().__init__(file, mode, closefd, None if isinstance(file, int) else opener)

    def write(self, data: Any) -> int:
        return self._disk._write(self.fileno(), data)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        self._disk._ftruncate(self.fileno(), size)
        return size

    def close(self) -> None:
        if not self.closed and self.closefd:
            self._disk._open_nodes.pop(self.fileno(), None)
        super().close()
