"""A partial download: the fetched bytes, and the tag of the original's state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5, sha256
from pathlib import Path
from typing import IO, Final

from rdss_sandbox.files.rewriting import put_in_place

_READ_BYTES: Final = 1 << 20


class Partial:
    """A partial file beside the final name; it survives restarts and is renamed when it is whole."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(target.name + ".part")
        self._tag_path = target.with_name(target.name + ".part-of")

    @property
    def size(self) -> int:
        """The number of fetched bytes."""
        return self._path.stat().st_size if self._path.exists() else 0

    @property
    def tag(self) -> str | None:
        """The tag of the original's state, None where the server gave none."""
        return self._tag_path.read_text(encoding="utf-8") or None if self._tag_path.exists() else None

    @contextmanager
    def writing(self, start: int, tag: str | None) -> Iterator[IO[bytes]]:
        """Open the file to write from byte ``start`` on, which is its end or 0."""
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.truncate(start)
            if tag is not None or start == 0:
                self._tag_path.write_text(tag or "", encoding="utf-8")
            yield file

    def finish(self) -> Path:
        """Sync the file to disk, then rename it to its final name."""
        put_in_place(self._path, self._target)
        self._tag_path.unlink(missing_ok=True)
        return self._target

    def digests(self) -> dict[str, str]:
        """The MD5 and SHA-256 of the fetched bytes."""
        return digests(self._path)

    def drop(self) -> None:
        """Delete the fetched bytes."""
        self._path.unlink(missing_ok=True)
        self._tag_path.unlink(missing_ok=True)


def digests(path: Path) -> dict[str, str]:
    """The MD5 and SHA-256 of a file in hexadecimal, by their checksumType in messages."""
    found = {"md5": md5(usedforsecurity=False), "sha256": sha256()}
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            for digest in found.values():
                digest.update(chunk)
    return {name: digest.hexdigest() for name, digest in found.items()}
