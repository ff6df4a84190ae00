"""One batch through every stage, without a stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.pipeline.stages import table_choice
from sandbox.pipeline.stages.batch import Past, Rules, process
from sandbox.pipeline.stages.parsing import RECORDS
from sandbox.pipeline.stages.storing import Incoming
from sandbox.pipeline.storage.files import BatchAttempt
from sandbox.pipeline.storage.schema import build_tables
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Tables
from schemas.contract import Contract, Sample
from tests.contracts import CONTRACTS, NAMES, make_samples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.parametrize("contract", CONTRACTS, ids=NAMES)]
NOW = datetime(2026, 11, 21, 23, 59, 50, tzinfo=UTC)


@pytest.fixture
def rules(contract: Contract) -> Rules:
    return Rules(dedupe_window=3600, contract=contract)


def _batch(
    spark: SparkSession, past: Past, rules: Rules, number: int, rows: list[tuple[Sample, datetime | None]]
) -> None:
    records = [
        (each.data, each.key, "input", "shard-0", f"{number}{at}", when)
        for at, (each, when) in enumerate(rows)
    ]
    incoming = Incoming(spark.createDataFrame(records, RECORDS), lambda batches: batches)
    tables = past.sequences.tables
    process(incoming, past, rules, BatchAttempt(tables.place, number, "t", tables.schema), "run")


def _prepared(folder: Path, contract: Contract) -> Tables:
    tables = Tables(TableStorage.at(folder), build_tables(contract))
    tables.prepare()
    return tables


@pytest.mark.parametrize("written_by", ["driver", "tasks"])
def test_duplicates_are_known_across_batches_days_and_restarts_and_forgotten_behind_the_window(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    written_by: str,
    rules: Rules,
) -> None:
    """A message is a duplicate within the window, whichever batch, day or run it came in; behind it, none.

    It is the same whether the driver writes the rows of a batch, as of a small one, or Spark's tasks do.
    """
    if written_by == "tasks":
        monkeypatch.setattr(table_choice, "_FEW", 0)
    tables = _prepared(tmp_path, rules.contract)
    past = Past.of(tables, rules)
    one, two, three = make_samples(rules.contract, 5, NOW.timestamp()).stream(3)
    early = [(one, NOW), (two, NOW + timedelta(seconds=20)), (one, NOW + timedelta(seconds=1))]
    _batch(spark, past, rules, 0, early)
    _batch(spark, past, rules, 1, [(three, NOW + timedelta(minutes=2)), (two, NOW + timedelta(minutes=2))])
    assert (tables.rows()["messages"], tables.rows()["duplicates"]) == (3, 2)
    again = Past.of(Tables(tables.place, tables.schema), rules)
    _batch(spark, again, rules, 2, [(one, NOW + timedelta(minutes=50))])
    assert again.sequences.tables.rows()["duplicates"] == 3
    assert len(again.identities) == 3
    _batch(spark, again, rules, 3, [(one, NOW + timedelta(hours=3))])
    assert (again.sequences.tables.rows()["messages"], again.sequences.tables.rows()["duplicates"]) == (4, 3)
    assert len(again.identities) == 0, "what has left the window is not kept"


def test_lines_without_any_arrival_are_rejects_with_their_bytes(
    spark: SparkSession, tmp_path: Path, rules: Rules
) -> None:
    """A batch of nothing but damaged lines of the audit log is not lost."""
    tables = _prepared(tmp_path, rules.contract)
    damaged = [(Sample(data, "k"), None) for data in (b"{half a line", b"\xff")]
    _batch(spark, Past.of(tables, rules), rules, 0, damaged)
    rows = tables.read(spark, "rejects").collect()
    assert sorted(bytes(row.data) for row in rows) == [b"{half a line", b"\xff"]
    assert {row.code for row in rows} == {rules.contract.judge(b"\xff").code}
