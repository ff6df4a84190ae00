"""Whole runs, from the streams or the audit log of a sandbox to tables."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.pipeline.pipeline_run import CheckpointMissingError, Job, once
from sandbox.pipeline.reports.pipeline_report import build_report
from sandbox.pipeline.reports.report_page import render_page
from sandbox.pipeline.reports.sql_query import ask, ask_spark
from sandbox.pipeline.stages.batch import Rules
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import AnotherRunError, Tables
from schemas.rdss.envelope import serialise
from schemas.rdss.sequence import body_of
from tests.sandbox.pipeline.workload import Endpoint, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


def _job(endpoint: Endpoint, stream: str, to: Path | str, **more: Any) -> Job:
    return Job(TableStorage.at(to, endpoint.url), endpoint.url, streams=(stream,), **more)


def _codes(spark: SparkSession, tables: Tables) -> Counter[str]:
    return Counter(row.code for row in tables.read(spark, "rejects").collect())


def test_a_stream_becomes_tables_that_hold_everything_once(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """Messages, sequences, duplicates and rejects end where they belong, over two runs."""
    stream = endpoint.stream(shards=2)
    sent = load(seed=1, messages=120, sequences=2)
    half = len(sent.records) // 2
    endpoint.put(stream, sent.records[:half])
    job = _job(endpoint, stream, tmp_path)
    told: list[float] = []
    once(spark, job, progress=lambda _, share: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1.0
    endpoint.client("kinesis").split_shard(
        StreamName=stream, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**126)
    )
    endpoint.put(stream, sent.records[half:])
    tables = once(spark, job)
    rows = tables.rows()
    assert rows["arrivals"] == len(sent.records)
    assert rows["messages"] == 120
    assert rows["duplicates"] == sent.duplicates
    assert rows["sequences"] == 2
    assert _codes(spark, tables) == sent.bad
    joined = {row.body_sha256 for row in tables.read(spark, "sequences").collect()}
    assert joined == {hashlib.sha256(body_of(raw)).hexdigest() for raw in sent.joined}
    rejected = {bytes(row.data) for row in tables.read(spark, "rejects").collect()}
    assert rejected <= set(sent.records)
    once(spark, job)
    assert Tables(job.place).rows() == rows, "a run with nothing new changes nothing"

    found = build_report(tables)
    assert (found.rows, found.rejects) == (rows, dict(sorted(sent.bad.items())))
    assert found.sequences == {"joined": 2, "open": 0}
    assert sum(interval.messages for interval in found.intervals) == 120 + sent.parts
    assert stream in render_page(found)
    counted = "SELECT code, count(*) AS n FROM rejects GROUP BY code"
    for answer in (ask(tables, counted), ask_spark(spark, tables, counted)):
        assert {row["code"]: row["n"] for row in answer.to_pylist()} == sent.bad


def test_parts_that_never_come_end_as_rejects(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """A sequence incomplete beyond the time limit gives its parts to the rejects, with their bytes."""
    stream = endpoint.stream()
    sent = load(seed=2, messages=1, sequences=1)
    first = next(raw for raw in sent.records if b'"position":1,"total":2' in raw)
    job = _job(endpoint, stream, tmp_path, rules=Rules(sequence_limit=0.05))
    endpoint.put(stream, [first])
    assert once(spark, job).rows()["sequences"] == 0
    endpoint.put(stream, [raw for raw in sent.records if b'"total":1' in raw][:1])
    tables = once(spark, job)
    assert [row.status for row in tables.read(spark, "sequences").collect()] == ["overdue"]
    (reject,) = tables.read(spark, "rejects").filter("code = 'GENERR001' AND sequence IS NOT NULL").collect()
    assert bytes(reject.data) == first


def test_another_body_at_the_place_of_a_part_is_refused(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """It is no duplicate of the part that came first: it is rejected as GENERR004, as a receiver does it."""
    stream = endpoint.stream()
    sent = load(seed=2, messages=1, sequences=1)
    first, second = (
        next(raw for raw in sent.records if b'"position":%d,"total":2' % at in raw) for at in (1, 2)
    )
    message = json.loads(first)
    unlike = serialise({**message, "messageBody": "another text"})
    endpoint.put(stream, [first, unlike, first, second])
    tables = once(spark, _job(endpoint, stream, tmp_path))
    assert [row.status for row in tables.read(spark, "sequences").collect()] == ["joined"]
    (reject,) = tables.read(spark, "rejects").collect()
    assert (reject.code, bytes(reject.data)) == ("GENERR004", unlike)
    assert tables.rows()["duplicates"] == 1


def test_another_runs_tables_are_not_added_to(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """Tables belong to one checkpoint: with another one the run stops before it adds anything twice."""
    stream = endpoint.stream()
    endpoint.put(stream, load(seed=3, messages=3, sequences=0).records)
    rows = once(spark, _job(endpoint, stream, tmp_path / "tables")).rows()
    with pytest.raises(AnotherRunError, match="another checkpoint"):
        once(spark, _job(endpoint, stream, tmp_path / "tables", checkpoint=str(tmp_path / "other")))
    assert Tables(TableStorage.at(tmp_path / "tables")).rows() == rows


def test_tables_in_a_bucket_are_those_on_a_disk(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """The same stream gives the same rows in a folder and in S3; S3 needs a place for its offsets."""
    stream = endpoint.stream()
    endpoint.client("s3").create_bucket(Bucket="tables")
    sent = load(seed=4, messages=20, sequences=1)
    endpoint.put(stream, sent.records)
    local = once(spark, _job(endpoint, stream, tmp_path / "tables"))
    with pytest.raises(CheckpointMissingError, match="--checkpoint"):
        once(spark, _job(endpoint, stream, "s3://tables/some"))
    remote = once(spark, _job(endpoint, stream, "s3://tables/some", checkpoint=str(tmp_path / "offsets")))
    assert remote.rows() == local.rows()
    again = Tables(remote.place)
    for table, key in (("messages", "identity"), ("objects", "object_uuid"), ("sequences", "body_sha256")):
        rows = [sorted(row[key] for row in t.read(spark, table).collect()) for t in (local, again)]
        assert rows[0] == rows[1]
