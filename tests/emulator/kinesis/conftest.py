"""A stream engine with its clock, on disk and in memory, called as boto3 would call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.kinesis.engine_calls import Api


@pytest.fixture(params=["disk", "memory"])
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Api]:
    """A relaxed engine on disk, then in memory."""
    api = Api(tmp_path / "kinesis" if request.param == "disk" else None)
    yield api
    api.engine.close()


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Callable[..., Api]]:
    """Engines on disk with options, as many as a test wants."""
    made: list[Api] = []

    def another(**options: Any) -> Api:
        made.append(Api(tmp_path / f"kinesis-{len(made)}", **options))
        return made[-1]

    yield another
    for api in made:
        api.engine.close()
