"""The benchmark of the AWS relay measures both ways to the upstream."""

from __future__ import annotations

import pytest

from tests.bench import aws_relay
from tests.bench.rows import US


def test_every_measure_is_taken_directly_and_through_the_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three, for both."""
    monkeypatch.setattr(aws_relay, "CALLS", 20)
    monkeypatch.setattr(aws_relay, "BATCHES", 2)
    rows = list(aws_relay.measure(seconds=1.0, rounds=1))
    measures = {row.measure for row in rows if row.subject == US}
    assert len(measures) == 3
    assert measures == {row.measure for row in rows if row.subject == aws_relay.DIRECTLY}
    assert all(row.value > 0 for row in rows)
