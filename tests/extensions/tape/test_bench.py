"""The benchmark of recording measures what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.rows import US
from tests.extensions.tape import bench_tape


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="only Linux tells it so precisely")
def test_every_measure_is_taken() -> None:
    """Small and large calls, each with and without a recorder, and what that costs."""
    rows = list(bench_tape.measure(turns=1, calls=5, batches=2))
    assert [row.subject for row in rows] == [bench_tape.UNRECORDED, US, US] * 2
    assert all(row.value > 0 for row in rows if row.unit == "ms")
