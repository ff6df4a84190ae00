"""One batch through every stage, without a stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.pipeline.stages import routing
from sandbox.pipeline.stages.batch import Past, Rules, process
from sandbox.pipeline.stages.parsing import RECORDS
from sandbox.pipeline.stages.storing import Incoming
from sandbox.pipeline.storage.files import Attempt
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.tables import Tables
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
NOW = datetime(2026, 11, 21, 23, 59, 50, tzinfo=UTC)


def _batch(spark: SparkSession, past: Past, number: int, rows: list[tuple[bytes, datetime | None]]) -> None:
    records = [(data, "k", "input", "shard-0", f"{number}{at}", when) for at, (data, when) in enumerate(rows)]
    incoming = Incoming(spark.createDataFrame(records, RECORDS), lambda batches: batches)
    attempt = Attempt(past.sequences.tables.place, number, "t")
    process(incoming, past, Rules(dedupe_window=3600), attempt, "run")


def _prepared(folder: Path) -> Tables:
    tables = Tables(TableStorage.at(folder))
    tables.prepare()
    return tables


@pytest.mark.parametrize("written_by", ["driver", "tasks"])
def test_duplicates_are_known_across_batches_days_and_restarts_and_forgotten_behind_the_window(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written_by: str
) -> None:
    """A message is a duplicate within the window, whichever batch, day or run it came in; behind it, none.

    It is the same whether the driver writes the rows of a batch, as of a small one, or Spark's tasks do.
    """
    if written_by == "tasks":
        monkeypatch.setattr(routing, "_FEW", 0)
    tables = _prepared(tmp_path)
    past = Past.of(tables, Rules(dedupe_window=3600))
    one, two, three = (serialise(m) for m in Samples(5, now=NOW.timestamp()).stream(3))
    _batch(
        spark, past, 0, [(one, NOW), (two, NOW + timedelta(seconds=20)), (one, NOW + timedelta(seconds=1))]
    )
    _batch(spark, past, 1, [(three, NOW + timedelta(minutes=2)), (two, NOW + timedelta(minutes=2))])
    assert (tables.rows()["messages"], tables.rows()["duplicates"]) == (3, 2)
    again = Past.of(Tables(TableStorage.at(tmp_path)), Rules(dedupe_window=3600))
    _batch(spark, again, 2, [(one, NOW + timedelta(minutes=50))])
    assert again.sequences.tables.rows()["duplicates"] == 3
    assert len(again.identities) == 3
    _batch(spark, again, 3, [(one, NOW + timedelta(hours=3))])
    assert (again.sequences.tables.rows()["messages"], again.sequences.tables.rows()["duplicates"]) == (4, 3)
    assert len(again.identities) == 0, "what has left the window is not kept"


def test_lines_without_any_arrival_are_rejects_with_their_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """A batch of nothing but damaged lines of the audit log is not lost."""
    tables = _prepared(tmp_path)
    _batch(spark, Past.of(tables, Rules(dedupe_window=3600)), 0, [(b"{half a line", None), (b"\xff", None)])
    rows = tables.read(spark, "rejects").collect()
    assert sorted(bytes(row.data) for row in rows) == [b"{half a line", b"\xff"]
    assert {row.code for row in rows} == {"GENERR007"}
