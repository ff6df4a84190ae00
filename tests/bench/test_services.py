"""The benchmark of what survives measures what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.bench import services
from tests.bench.rows import US

MOST_SECONDS: Final = 1.0
ROUNDS: Final = 3


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_records_are_loaded_in_under_a_second(tmp_path: Path) -> None:
    """From a snapshot of a sandbox that has its records on disk, with the audit log of them."""
    _, seconds = services.load_snapshots(str(tmp_path), services.RECORDS, ROUNDS)
    assert seconds < MOST_SECONDS


@pytest.mark.slow
def test_every_measure_is_taken() -> None:
    """Each of the writes and snapshots on disk and in memory, and a first call of each service."""
    rows = list(services.measure(items=20, objects=20, records=600, rounds=1))
    assert all(row.value > 0 for row in rows if "processor" not in row.measure)
    assert [row.subject for row in rows].count(US) == 6
    assert [row.subject for row in rows].count(services.IN_MEMORY) == 4
