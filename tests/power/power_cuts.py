"""What a disk has after a power cut: what was flushed, and of what was not, any part or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from emulator.rng import Draws
from tests.power.recorded_disk import (
    ROOT,
    Change,
    Flushed,
    Moved,
    Named,
    Resized,
    Said,
    Unnamed,
    Wrote,
)

PAGE_BYTES: Final = 4096


Left: TypeAlias = dict[str, bytes | None]
"""The files by their names, with what is in them, and the folders, whose names end in a slash."""


class Disk:
    """What is on a disk for good, and what was done since that may be or not."""

    def __init__(self) -> None:
        self._bytes: dict[int, bytearray] = defaultdict(bytearray)
        self._names: dict[int, dict[str, int]] = defaultdict(dict)
        self._folders = {ROOT}
        self._waiting: list[Change] = []

    def take(self, change: Change) -> None:
        """Take one more change, which waits for its flush."""
        if isinstance(change, Flushed):
            self._flush(change.node)
        elif not isinstance(change, Said):
            if isinstance(change, Named) and change.is_folder:
                self._folders.add(change.node)
            self._waiting.append(change)

    def cut(self, way: str, chance: Draws) -> Left:
        """What a cut leaves that goes this way."""
        left = Disk()
        left._folders = self._folders
        left._bytes.update((node, bytearray(data)) for node, data in self._bytes.items())
        left._names.update((node, dict(names)) for node, names in self._names.items())
        for change in WAYS[way](self._waiting, chance):
            left._apply(change)
        return left._list(ROOT, "")

    def _flush(self, node: int) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if _belongs(change, node):
                self._apply(change)
            else:
                self._waiting.append(change)

    def _apply(self, change: Change) -> None:
        if isinstance(change, Wrote):
            held, end = self._bytes[change.node], change.offset + len(change.data)
            held.extend(bytes(max(0, end - len(held))))
            held[change.offset : end] = change.data
        elif isinstance(change, Resized):
            held = self._bytes[change.node]
            del held[change.size :]
            held.extend(bytes(change.size - len(held)))
        elif isinstance(change, Named):
            self._names[change.parent][change.name] = change.node
        elif isinstance(change, Unnamed):
            self._drop(change.parent, change.name, change.node)
        elif isinstance(change, Moved):
            self._drop(change.parent, change.name, change.node)
            self._names[change.to][change.new_name] = change.node

    def _drop(self, parent: int, name: str, node: int) -> None:
        if self._names[parent].get(name) == node:
            del self._names[parent][name]

    def _list(self, node: int, path: str) -> Left:
        found: Left = {}
        for name, below in self._names[node].items():
            if below in self._folders:
                found[f"{path}{name}/"] = None
                found |= self._list(below, f"{path}{name}/")
            else:
                found[path + name] = bytes(self._bytes[below])
        return found


def write(left: Left, folder: Path) -> None:
    """Write what a cut left into an empty folder."""
    for name, content in left.items():
        if content is None:
            (folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (folder / name).write_bytes(content)


def _belongs(change: Change, node: int) -> bool:
    """Whether a flush of the node puts the change on the disk. What moves is in its new folder."""
    if isinstance(change, Wrote | Resized):
        return change.node == node
    if isinstance(change, Moved):
        return change.to == node
    return isinstance(change, Named | Unnamed) and change.parent == node


def _is_data(change: Change) -> bool:
    return isinstance(change, Wrote | Resized)


def _keep_all(waiting: Sequence[Change], _chance: Draws) -> Iterator[Change]:
    yield from waiting


def _drop_all(_waiting: Sequence[Change], _chance: Draws) -> Iterator[Change]:
    yield from ()


def _drop_data(waiting: Sequence[Change], _chance: Draws) -> Iterator[Change]:
    """Names are there, and files that were not flushed are as long as they were at the last flush."""
    yield from (change for change in waiting if not _is_data(change))


def _leave_zeros(waiting: Sequence[Change], _chance: Draws) -> Iterator[Change]:
    """Names and sizes are there, and zeros where a file has grown since the last flush."""
    for change in waiting:
        yield _grow(change) if isinstance(change, Wrote) else change


def _tear(waiting: Sequence[Change], chance: Draws) -> Iterator[Change]:
    """All is there, but for what was written last, which ends at any byte."""
    last = max((i for i, change in enumerate(waiting) if isinstance(change, Wrote)), default=-1)
    for i, change in enumerate(waiting):
        if i == last and isinstance(change, Wrote):
            yield change._replace(data=change.data[: chance.randrange(len(change.data) + 1)])
        else:
            yield change


def _reorder(waiting: Sequence[Change], chance: Draws) -> Iterator[Change]:
    """Any pages of files are there; names as far as the journal of the file system had come."""
    names = sum(not _is_data(change) for change in waiting)
    until = chance.randint(0, names)
    for change in waiting:
        if _is_data(change):
            yield from _some_pages(change, chance)
        elif until:
            until -= 1
            yield change


def _scatter(waiting: Sequence[Change], chance: Draws) -> Iterator[Change]:
    """Any pages of files are there, and any names: what POSIX allows and hardly a file system does."""
    for change in waiting:
        if _is_data(change):
            yield from _some_pages(change, chance)
        elif chance.random() < 0.5:
            yield change


def _some_pages(change: Change, chance: Draws) -> Iterator[Change]:
    if isinstance(change, Wrote):
        at, end = change.offset, change.offset + len(change.data)
        if chance.random() < 0.5:
            yield _grow(change)
        while at < end:
            following = min(end, (at // PAGE_BYTES + 1) * PAGE_BYTES)
            if chance.random() < 0.5:
                yield Wrote(change.node, at, change.data[at - change.offset : following - change.offset])
            at = following
    elif chance.random() < 0.5:
        yield change


def _grow(change: Wrote) -> Wrote:
    """The new size of the file, without the bytes."""
    return Wrote(change.node, change.offset + len(change.data), b"")


WAYS: Final[dict[str, Callable[[Sequence[Change], Draws], Iterator[Change]]]] = {
    "kept": _keep_all,
    "dropped": _drop_all,
    "names only": _drop_data,
    "zeros": _leave_zeros,
    "torn": _tear,
    "reordered": _reorder,
    "scattered": _scatter,
}
"""What is on the disk of what was not flushed, by the name of the way in which it is cut."""
