"""A sandbox with something of everything, with a data directory and without one."""

from __future__ import annotations

from pathlib import Path

import httpx
import msgspec
import pytest

from tests.emulator.snapshots.whole_lesson import Teach, teach


@pytest.fixture
def on_disk(tmp_path: Path) -> Teach:
    """Runs a sandbox on the same data directory each time."""
    return lambda **more: teach(tmp_path, tmp_path / "data", **more)


@pytest.fixture(params=["in memory", "on disk"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path, on_disk: Teach) -> Teach:
    """Runs a sandbox with a data directory, and one without."""
    return on_disk if request.param == "on disk" else lambda **more: teach(tmp_path, None, **more)
