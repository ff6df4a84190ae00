"""The benchmark of what survives measures what it says."""

from __future__ import annotations

import pytest

from tests.bench import services
from tests.bench.rows import US


@pytest.mark.slow
def test_every_measure_is_taken() -> None:
    """Each of the writes and snapshots on disk and in memory, and a first call of each service."""
    rows = list(services.measure(items=20, objects=20, records=600, rounds=1))
    assert all(row.value > 0 for row in rows if "processor" not in row.measure)
    assert [row.subject for row in rows].count(US) == 6
    assert [row.subject for row in rows].count(services.IN_MEMORY) == 4
