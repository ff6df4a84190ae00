"""What ``pip install`` brings without extras: how many packages, and how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.rows import US, Row
from tests.packaging.environment import ROOT, create_environment


def measure() -> Iterator[Row]:
    """Install this checkout into an empty environment, and count what is there beside pip."""
    with TemporaryDirectory() as folder:
        size = create_environment(Path(folder) / "environment", ROOT).measure()
    yield Row("packages that a plain installation brings", US, size.packages, "packages")
    yield Row("a plain installation on the disk, bytecode counted", US, round(size.bytes / 1e6, 1), "MB")
