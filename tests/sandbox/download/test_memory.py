"""A large file goes to disk, and from there into a package, a piece at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path

from emulator.clock import Clock
from sandbox.applications.package import write_package
from sandbox.download.download import Downloads
from sandbox.download.file_source import Fetch
from sandbox.download.remote_file import Checksum, RemoteFile

PIECE, PIECES = b"reef" * 16_384, 800
SIZE = len(PIECE) * PIECES
MOST_BYTES = 8_000_000


class LargeFile:
    """A source of one file of 52 MB, which is nowhere whole."""

    @contextmanager
    def fetch(self, _location: str, start: int, _tag: str | None) -> Iterator[Fetch]:
        yield Fetch(start, SIZE, "v1", (PIECE for _ in range(PIECES)))


def test_a_large_file_is_never_held_in_memory(tmp_path: Path) -> None:
    """Fetching and packaging 52 MB takes less than 8 MB at any time."""
    digest = md5()
    for _ in range(PIECES):
        digest.update(PIECE)
    file = RemoteFile(
        "u", "s3://bucket/large", "large.csv", SIZE, (Checksum("md5", digest.hexdigest()),), "S3"
    )
    downloads = Downloads(tmp_path / "staging", {"s3": LargeFile()}, Clock())
    tracemalloc.start()
    try:
        path = downloads.fetch(file)
        write_package(
            tmp_path / "package.zip", b"{}", [("large.csv", path)], datetime(2026, 1, 1, tzinfo=UTC)
        )
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size == SIZE
    assert most < MOST_BYTES
