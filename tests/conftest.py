"""What the suites of several folders share: a whole sandbox of each profile."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.compose.stack import stack
from tests.expected_deviations import mark_differences
from tests.profile_sandboxes import houses

__all__ = ["houses", "stack"]

# A property holds or it does not; how fast is for the benchmark to say, on a machine that does nothing else.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_differences(items)
