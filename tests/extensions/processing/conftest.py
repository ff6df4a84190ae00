"""A process, or several, over one store; outside systems with scripts; a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.processing import Processing
from tests.extensions.processing.processing_site import Site
from tests.sandbox.applications.conftest import town


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    here = Site(tmp_path)
    yield here
    here.close()


@pytest.fixture
def process(site: Site) -> Processing:
    return site.open()
