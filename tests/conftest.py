"""What the suites of several folders share: a whole sandbox of each profile."""

from __future__ import annotations

import pytest

from tests.compose.stack import stack
from tests.differences import mark_differences
from tests.houses import houses

__all__ = ["houses", "stack"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_differences(items)
