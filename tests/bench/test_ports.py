"""The benchmark of the ports measures what it says."""

from __future__ import annotations

import pytest

from tests.bench import ports
from tests.bench.rows import US


@pytest.mark.slow
def test_every_server_is_measured() -> None:
    """Ours, uvicorn's, and one that only answers."""
    rows = list(ports.measure(requests=300, rounds=1))
    assert all(row.value > 0 for row in rows)
    ours, others = ([row.value for row in rows if (row.subject == US) is mine] for mine in (True, False))
    assert (len(ours), len(others)) == (3, 6)
