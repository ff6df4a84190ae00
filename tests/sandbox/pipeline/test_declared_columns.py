"""The columns of a message in the tables are the fields that its contract declares."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from sandbox.pipeline.stages.parsing import build_judge
from sandbox.pipeline.storage.schema import TABLES, build_tables, describe_fields
from schemas.contract import Contract, Sample
from tests.contracts import CONTRACTS, NAMES, make_samples
from tests.parcels import PARCELS
from tests.schemas.asyncapi.documents import load_text

NOW = 1_790_000_000.0


def test_the_columns_of_rdss_keep_their_names_types_and_order() -> None:
    """Tables that are there already are read by them."""
    assert [(column.name, column.type) for column in TABLES["messages"].columns[7:17]] == [
        ("message_id", "STRING"),
        ("correlation_id", "STRING"),
        ("message_class", "STRING"),
        ("message_type", "STRING"),
        ("sequence", "STRING"),
        ("position", "INT"),
        ("total", "INT"),
        ("tenant", "BIGINT"),
        ("version", "STRING"),
        ("published", "TIMESTAMP"),
    ]
    assert [column.name for column in TABLES["sequences"].columns[9:15]] == [
        "message_id", "message_class", "message_type", "tenant", "version", "published",
    ]  # fmt: skip


def test_another_contract_has_its_own_columns() -> None:
    """Its label is a column, and nothing of RDSS is; the code belongs to the verdict."""
    assert [column.name for column in describe_fields(PARCELS.fields)] == [
        "message_id", "message_type", "depot",
    ]  # fmt: skip


def test_no_table_of_a_document_has_a_column_twice(tmp_path: Path) -> None:
    """Not even where its messages call their values as the pipeline calls its columns, in any letters."""
    names = {column.name for table in TABLES.values() for column in table.columns}
    for spelled in (sorted(names)[:20], sorted(names)[20:], [name.title() for name in sorted(names)]):
        payload = {"properties": {name: {"type": "string"} for name in spelled}}
        document = {"asyncapi": "3.0.0", "info": {"title": "t", "version": "1"},
                    "channels": {"c": {"messages": {"m": {"payload": payload}}}}}  # fmt: skip
        for table in build_tables(load_text(tmp_path, json.dumps(document))).values():
            lowered = [column.name.lower() for column in table.stored]
            assert len(lowered) == len(set(lowered))


@pytest.mark.parametrize("contract", CONTRACTS, ids=NAMES)
def test_every_record_becomes_a_row_of_its_contracts_columns(contract: Contract) -> None:
    """Valid, bad or unreadable: the tables have what the message says, its verdict and its bytes."""
    assert contract.samples is not None
    samples = make_samples(contract, 3, NOW)
    good = [samples.message(kind) for kind in contract.samples.kinds]
    bad = {code: samples.bad(code) for code in contract.samples.codes}
    sent = [*good, *bad.values(), Sample(b"\xff", "unreadable")]
    records = pa.record_batch(
        {
            "data": [each.data for each in sent],
            "partitionKey": [each.key for each in sent],
            "streamName": ["input"] * len(sent),
            "shardId": ["0"] * len(sent),
            "sequenceNumber": [str(number) for number in range(len(sent))],
            "approximateArrivalTimestamp": pa.array([int(NOW * 1e6)] * len(sent), pa.timestamp("us", "UTC")),
        }
    )
    (rows,) = build_judge((), contract)(iter([records]))
    assert rows.schema.names == [column.name for column in build_tables(contract)["arrivals"].columns]
    found = rows.to_pylist()
    assert [row["message_type"] for row in found[: len(good)]] == list(contract.samples.kinds)
    assert [row["message_id"] for row in found[: len(good)]] == [each.key for each in good]
    codes = [row["code"] for row in found]
    assert codes[:-1] == [*([None] * len(good)), *map(str, bad)]
    assert codes[-1] in contract.codes
    assert len({row["identity"] for row in found}) == len(found)
    assert [row["data"] for row in found] == [each.data for each in sent]
