"""A process, or several, over one store; outside systems with scripts; a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.processing import Processing
from tests.extensions.processing.processing_platform import Platform
from tests.sandbox.applications.conftest import streams


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    here = Platform(tmp_path)
    yield here
    here.close()


@pytest.fixture
def process(platform: Platform) -> Processing:
    return platform.open()
