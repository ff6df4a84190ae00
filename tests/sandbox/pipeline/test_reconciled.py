"""A whole system under the faults of the demonstration, with deaths on the way, adds up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.pipeline.reports.pipeline_report import build_report
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Tables
from tests.bench import reconciliation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


def test_after_faults_and_deaths_everything_dispatched_is_everywhere_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Resharding, duplicates, latency, oversize, and a loader killed twice: nothing is missing anywhere."""
    ran = reconciliation.run(spark, tmp_path, messages=120, per_round=60, batch=150, driver_dies_at=())
    assert ran.found.exact, ran.found
    assert ran.deaths == 2
    struck = Counter(fault.type for fault in ran.injected)
    assert set(struck) == {"duplicate", "latency", "oversize", "reshard"}
    assert ran.found.dispatched == ran.found.audited == ran.found.in_tables == ran.rows["arrivals"]
    assert ran.rows["messages"] == 120
    assert ran.rows["duplicates"] == ran.rows["arrivals"] - ran.sent - ran.rows["queued"]

    tables = Tables(TableStorage.at(tmp_path / "tables"))
    told = {impact.type: impact for impact in build_report(tables, ran.injected).impact}
    assert {kind: impact.injected for kind, impact in told.items()} == struck
    assert told["oversize"].messages == told["oversize"].rejects == struck["oversize"]
    assert told["duplicate"].duplicates >= told["duplicate"].messages > 0
    assert told["reshard"].messages == struck["reshard"], "each came with the message that set it off"
    assert told["latency"].p50 is not None
