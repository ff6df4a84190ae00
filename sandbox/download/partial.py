"""A file on its way: what has come of it, and of which state of the original."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5, sha256
from pathlib import Path
from typing import IO, Final

_READ_BYTES: Final = 1 << 20


class Partial:
    """Beside the file's final name, which it gets only when it is whole; kept across restarts."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(target.name + ".part")
        self._tag_path = target.with_name(target.name + ".part-of")

    @property
    def size(self) -> int:
        """The bytes that have come."""
        return self._path.stat().st_size if self._path.exists() else 0

    @property
    def tag(self) -> str | None:
        """The state of the original that they are of, where it has a name."""
        return self._tag_path.read_text(encoding="utf-8") or None if self._tag_path.exists() else None

    @contextmanager
    def writing(self, start: int, tag: str | None) -> Iterator[IO[bytes]]:
        """Write from byte ``start`` on, which is the end or 0."""
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.truncate(start)
            if tag is not None or start == 0:
                self._tag_path.write_text(tag or "", encoding="utf-8")
            yield file

    def finish(self) -> Path:
        """Give it its final name, on disk before it is seen."""
        with self._path.open("rb") as file:
            os.fsync(file.fileno())
        self._path.replace(self._target)
        self._tag_path.unlink(missing_ok=True)
        return self._target

    def digests(self) -> dict[str, str]:
        """As ``digests`` of what has come."""
        return digests(self._path)

    def drop(self) -> None:
        """Begin anew."""
        self._path.unlink(missing_ok=True)
        self._tag_path.unlink(missing_ok=True)


def digests(path: Path) -> dict[str, str]:
    """The MD5 and SHA-256 of a file, in hexadecimal, by the names that checksums have in messages."""
    found = {"md5": md5(usedforsecurity=False), "sha256": sha256()}
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            for digest in found.values():
                digest.update(chunk)
    return {name: digest.hexdigest() for name, digest in found.items()}
