"""The pages are those of the whole project."""

from __future__ import annotations

import pytest

from tests.taken_out import require


@pytest.fixture(autouse=True, scope="session")
def whole_project() -> None:
    """Skip where an extension was taken out: the pages tell of its commands and settings too."""
    require("kinesis_source", "processing", "queues", "topics")
