"""The messages of any contract in tables, from their stream on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from emulator.clock import Clock
from sandbox.pipeline.pipeline_run import Job, once
from sandbox.pipeline.reports.impact import FaultInjection
from sandbox.pipeline.reports.pipeline_report import build_report
from sandbox.pipeline.reports.sql_query import ask, ask_spark
from sandbox.pipeline.stages.batch import Rules
from sandbox.pipeline.storage.table_storage import TableStorage
from schemas.contract import Contract
from tests.contracts import CONTRACTS, NAMES, make_samples
from tests.sandbox.pipeline.workload import Endpoint
from tests.schemas.asyncapi.documents import load_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_PARCELS = """
asyncapi: 3.0.0
info: {title: parcels, version: 1.0.0}
x-sandbox: {id: $message.payload#/id, reject: refused}
channels:
  parcels:
    messages:
      taken:
        payload:
          type: object
          required: [is, id, sender]
          properties:
            is: {const: taken}
            id: {type: string}
            sender: {type: object, properties: {name: {type: string}, post-code: {type: string}}}
            items: {type: array, items: {type: object, properties: {grams: {type: integer}}}}
            note: {oneOf: [{type: string}, {type: object}]}
            stream: {type: integer}
      given out:
        payload:
          type: object
          required: [is, id]
          properties: {is: {const: given}, id: {type: string}, at-door: {type: boolean}}
  refused: {}
"""


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


def test_each_message_of_a_document_has_a_table_of_what_it_carries(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """Objects are structs, arrays are arrays, alternatives JSON; bad messages and copies are not in it."""
    contract, stream = load_text(tmp_path, _PARCELS), endpoint.stream(2)
    taken = {"is": "taken", "id": "1", "sender": {"name": "Ada", "post-code": "EH1"},
             "items": [{"grams": 5}, {}], "note": {"to": ["the", "door"]}, "stream": 7}  # fmt: skip
    others = [
        {"is": "taken", "id": "2", "sender": {"name": "Bo"}, "note": "leave it"},
        {"is": "given", "id": "3", "at-door": True},
        {"is": "taken", "id": "4", "sender": "nobody"},
    ]
    for each in (taken, *others, taken):
        endpoint.put(stream, [json.dumps(each).encode()])
    place, rules = TableStorage.at(tmp_path / "to"), Rules((), contract=contract)
    tables = once(spark, Job(place, endpoint.url, streams=(stream,), rules=rules))

    rows = {name: count for name, count in tables.rows().items() if count and name != "figures"}
    assert rows == {
        "arrivals": 5, "messages": 3, "duplicates": 1, "rejects": 1,
        "message_taken": 2, "message_given_out": 1,
    }  # fmt: skip
    select = "SELECT id, sender, items, note, stream_2 FROM message_taken ORDER BY id"
    found = ask(tables, select).to_pylist()
    assert found == [
        {"id": "1", "sender": {"name": "Ada", "post_code": "EH1"}, "items": [{"grams": 5}, {"grams": None}],
         "note": '{"to":["the","door"]}', "stream_2": 7},
        {"id": "2", "sender": {"name": "Bo", "post_code": None}, "items": None, "note": '"leave it"',
         "stream_2": None},
    ]  # fmt: skip
    assert ask_spark(spark, tables, select).to_pylist() == found
    joined = "SELECT message_id, g.at_door FROM message_given_out g JOIN messages USING (sequence_number)"
    assert ask(tables, joined).to_pylist() == [{"message_id": "3", "at_door": True}]

    injected = FaultInjection("duplicate", Clock().time(), "1"), FaultInjection("delay", Clock().time(), None)
    report = build_report(tables, injected)
    assert (report.rejects, report.sequences, report.tenants) == ({"invalid": 1}, {"open": 0}, ())
    assert [(each.type, each.messages, each.duplicates) for each in report.impact] == [
        ("delay", 0, 0),
        ("duplicate", 1, 1),
    ]
