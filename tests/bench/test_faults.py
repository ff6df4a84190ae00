"""The benchmark of the idle fault stage measures four ports that answer alike."""

from __future__ import annotations

import re

from tests.bench import faults


def test_every_call_is_compared_at_both_stages() -> None:
    """Three cases for each of three calls, each with a share of the bare call's time."""
    rows = list(faults.measure(rounds=2))
    cases = {re.sub(r".*cost of a ", "", row.measure) for row in rows}
    assert len(rows) == 9
    assert cases == {"stage without a fault", "stage with faults for another channel", "recorder of clients"}
    assert all(row.value > -100 and row.unit == "%" for row in rows)
