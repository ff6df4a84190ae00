"""What ``pip install`` brings without extras: packages, their size, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator.clock import stopwatch
from tests.bench.rows import US, Row
from tests.packaging.environment import ROOT, create_environment


def measure() -> Iterator[Row]:
    """Install this checkout into an empty environment; packages come from pip's cache if it has them."""
    with TemporaryDirectory() as folder:
        began = stopwatch()
        size = create_environment(Path(folder) / "environment", ROOT).measure()
        yield Row("packages that a plain installation brings", US, size.packages, "packages")
        yield Row("files of a plain installation, bytecode counted", US, round(size.bytes / 1e6, 1), "MB")
        yield Row("pip install into an empty environment", US, round(stopwatch() - began, 1), "s")
