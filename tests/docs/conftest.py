"""The pages are those of the whole project."""

from __future__ import annotations

import pytest

from tests.taken_out import describe_taken_out, list_taken_out


@pytest.fixture(autouse=True, scope="session")
def whole_project() -> None:
    """Skip where an extension was taken out: the pages tell of its commands and settings too."""
    if missing := list_taken_out():
        pytest.skip(describe_taken_out(missing))
