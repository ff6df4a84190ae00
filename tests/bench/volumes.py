"""Much of what is small: the memory and the disk that the sandbox's process takes in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.bench.rows import US, Row
from tests.emulator.assembly.test_volumes import Taken, take_messages, take_objects, take_records

_VOLUMES: Final[dict[str, Callable[[Path], Taken]]] = {
    "200,000 AMQP messages of 1,000 random bytes": take_messages,
    "two million records of 100 random bytes": take_records,
    "50,000 objects of 1,000 random bytes": take_objects,
}


def measure() -> Iterator[Row]:
    """A sandbox with a data directory, for each volume a new one."""
    for volume, take in _VOLUMES.items():
        with TemporaryDirectory(prefix="bench-") as folder:
            taken = take(Path(folder) / "data")
        yield Row(f"{volume}, memory", US, taken.memory / 1e6, "MB")
        yield Row(f"{volume}, disk", US, taken.disk, "times their bytes")
