"""The messages of any contract in tables, from their stream on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from emulator.clock import Clock
from sandbox.pipeline.pipeline_run import Job, once
from sandbox.pipeline.reports.query import ask
from sandbox.pipeline.stages.batch import Rules
from sandbox.pipeline.storage.table_storage import TableStorage
from schemas.contract import Contract
from tests.contracts import CONTRACTS, NAMES, make_samples
from tests.sandbox.pipeline.workload import Endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("contract", CONTRACTS, ids=NAMES)
def test_every_message_is_in_its_table_and_in_the_sums(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path, contract: Contract
) -> None:
    """Valid ones under their ids, those that came before, and bad ones with their code and their bytes.

    The figures have sums for each value of the labels that the contract sums by.
    """
    assert contract.samples is not None
    samples, stream = make_samples(contract, 5, Clock().time()), endpoint.stream(2)
    good, bad = list(samples.stream(20)), {code: samples.bad(code) for code in contract.samples.codes}
    for each in (*good, *bad.values(), *good[:4]):
        endpoint.put(stream, [each.data], each.key)
    job = Job(TableStorage.at(tmp_path), endpoint.url, streams=(stream,), rules=Rules((), contract=contract))
    tables = once(spark, job)

    assert {name: count for name, count in tables.rows().items() if count and name != "figures"} == {
        "arrivals": len(good) + len(bad) + 4, "messages": len(good), "duplicates": 4, "rejects": len(bad),
    } | ({"objects": tables.rows()["objects"]} if contract.objects else {})  # fmt: skip
    ids = ask(tables, "SELECT message_id FROM messages")["message_id"].to_pylist()
    assert sorted(ids) == sorted(each.key for each in good)
    rejects = ask(tables, "SELECT code, data FROM rejects").to_pylist()
    assert {row["code"]: row["data"] for row in rejects} == {code: each.data for code, each in bad.items()}

    summed = next(field for field in contract.fields if field.summed)
    sums = ask(
        tables,
        f"SELECT {summed.column} AS label, sum(messages)::INT AS count FROM figures "
        "WHERE outcome = 'messages' GROUP BY ALL",
    ).to_pylist()
    said = Counter(getattr(contract.peek(each.data, each.key), summed.attribute) for each in good)
    assert {row["label"]: row["count"] for row in sums} == said
