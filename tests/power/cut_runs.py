"""A store's workload, cut at every change that it makes to the disk, and what the next start has then."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, Protocol
from unittest.mock import patch

from emulator.journal import frames
from emulator.rng import Chance, Draws
from tests.power.power_cuts import WAYS, Disk, Left, write
from tests.power.recorded_disk import Change, RecordedDisk, Said

_MEMORY: Final = Path("/dev/shm")


class Found(NamedTuple):
    """What a start has: each key with its value, and the lines that it says of what is gone.

    ``refusal`` is the line of a start that refuses.
    """

    values: Mapping[str, bytes]
    told: Sequence[str] = ()
    refusal: str = ""


class DurableStore(Protocol):
    """A store with a workload of its own."""

    name: str

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        """Use the store below the disk's folder, and say what is asked of it and what it has answered."""

    def read(self, folder: Path, *, fsync: bool) -> Found:
        """Start on what a cut has left, and read everything."""


class Verdict(NamedTuple):
    """What was wrong after one cut; ``said`` is whether the start had anything to say."""

    at: int
    way: str
    wrong: str


class CutStore(NamedTuple):
    """What came of the cuts of one workload.

    ``places`` is how often it was cut, ``states`` how many disks that left, each of which was started on:
    ``told`` of the starts said that something is gone, ``refused`` refused.
    """

    places: int
    states: int
    told: int
    refused: int
    wrong: Sequence[Verdict]


def record(store: DurableStore, seed: int, *, fsync: bool) -> Sequence[Change]:
    """Run the workload on a whole disk."""
    with temporary_folder() as folder:
        disk = RecordedDisk(folder)
        with disk.recording():
            store.work(disk, Draws(seed), fsync=fsync)
    return disk.changes


def cut_everywhere(store: DurableStore, seed: int, *, fsync: bool, most: int | None = None) -> CutStore:
    """Cut the workload behind every change, or ``most`` of them, in each way, and judge each start."""
    changes = record(store, seed, fsync=fsync)
    places = [at for at, change in enumerate(changes) if not isinstance(change, Said)]
    chosen = set(choose(places, most))
    disk, allowed, tried = Disk(), Promises(), Counter[str]()
    wrong: list[Verdict] = []
    for at, change in enumerate(changes):
        if isinstance(change, Said):
            allowed.take(change)
            continue
        disk.take(change)
        if at not in chosen:
            continue
        for said in _said_next(changes, at):
            allowed.take(said)
        for way, left in _different(disk, seed, at):
            tried["states"] += 1
            found = _start(store, left, fsync=fsync)
            tried["told"] += bool(found.told)
            tried["refused"] += bool(found.refusal)
            why = allowed.judge(found, fsync=fsync, way=way) or _judge_words(found, left)
            if why:
                wrong.append(Verdict(at, way, why))
    return CutStore(len(chosen), tried["states"], tried["told"], tried["refused"], wrong)


def choose(places: Sequence[int], most: int | None) -> Sequence[int]:
    """At most so many of the places, evenly spaced, with the last; all for None."""
    if most is None or most >= len(places):
        return places
    return [places[len(places) * number // most - 1] for number in range(1, most + 1)]


def _said_next(changes: Sequence[Change], at: int) -> Iterator[Said]:
    """What is said behind a change, before the next: a cut may come behind it just as well."""
    for each in changes[at + 1 :]:
        if not isinstance(each, Said):
            return
        yield each


def _different(disk: Disk, seed: int, at: int) -> Iterator[tuple[str, Left]]:
    """What the ways of a cut leave, each once."""
    seen: list[Left] = []
    for way in WAYS:
        left = disk.cut(way, Chance(seed).draws(str(at), way))
        if left not in seen:
            seen.append(left)
            yield way, left


def _judge_words(found: Found, left: Left) -> str:
    """Say which log a start cut without a word; "" where none."""
    for name, content in left.items():
        torn = content is not None and name.endswith(".log") and frames.end_of_frames(content) < len(content)
        if torn and not found.told and not found.refusal:
            return f"it says nothing of what it cut off {name}"
    return ""


def _start(store: DurableStore, left: Left, *, fsync: bool) -> Found:
    with idle_disk(), temporary_folder() as folder:
        write(left, folder)
        return store.read(folder, fsync=fsync)


def idle_disk() -> AbstractContextManager[object]:
    """Wait for no disk in the block: what is written there is thrown away soon."""
    return patch.multiple(os, fsync=lambda _: None, fdatasync=lambda _: None)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder, in memory where that can be had."""
    with TemporaryDirectory(prefix="power-", dir=_MEMORY if _MEMORY.is_dir() else None) as name:
        folder = Path(name, "data")
        folder.mkdir()
        yield folder


class Promises:
    """The values that each key may have: the last that was answered, and those that were asked for since."""

    def __init__(self) -> None:
        self._allowed: defaultdict[str, list[bytes | None]] = defaultdict(lambda: [None])
        self._ever: defaultdict[str, set[bytes | None]] = defaultdict(lambda: {None})

    def take(self, said: Said) -> None:
        values = self._allowed[said.key]
        self._ever[said.key].add(said.value)
        if said.done:
            # What was asked for before it is over, too.
            del values[: values.index(said.value)]
        elif said.value not in values:
            values.append(said.value)

    def judge(self, found: Found, *, fsync: bool, way: str) -> str:
        """Say what is wrong with a start; "" where nothing is."""
        if found.refusal:
            if fsync or way == "kept":
                return f"it does not start: {found.refusal}"
            return "" if "sandbox repair" in found.refusal else f"it refuses without advice: {found.refusal}"
        for key, value in found.values.items():
            if value not in self._ever[key]:
                return f"{key} has what was never written: {value[:60]!r}"
        if fsync or way == "kept":
            for key, values in self._allowed.items():
                if found.values.get(key) not in values:
                    return f"{key} has {found.values.get(key)!r:.60}, not {values!r:.90}"
        return ""
