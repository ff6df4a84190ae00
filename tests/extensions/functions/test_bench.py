"""The benchmark of functions measures what it says."""

from __future__ import annotations

from tests.bench.rows import US
from tests.extensions.functions import bench_functions as functions


def test_every_measure_is_taken() -> None:
    """An invocation, cold and warm, a stream and an idle mapping; the first three take time."""
    rows = list(functions.measure(records=500, invocations=5, cold=1, idle_seconds=0.1))
    assert [row.subject for row in rows] == [US] * 4
    assert all(row.value > 0 for row in rows[:3])
