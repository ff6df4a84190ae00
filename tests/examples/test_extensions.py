"""The packages in ``examples/``, each installed by pip, do what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.environment import Environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("extended")]

_STRIKES = """
from datetime import UTC, datetime, timedelta

import boto3


def test_it_strikes(sandbox):
    sandbox.faults.add("clock_skew", skew=-3600)
    sandbox.send({"messageHeader": {"messageId": "m-1"}})
    kinesis = boto3.client("kinesis")
    shard = kinesis.list_shards(StreamName="input")["Shards"][0]["ShardId"]
    at = kinesis.get_shard_iterator(StreamName="input", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    (record,) = kinesis.get_records(ShardIterator=at["ShardIterator"])["Records"]
    age = datetime.now(UTC) - record["ApproximateArrivalTimestamp"]
    assert timedelta(minutes=59) < age < timedelta(minutes=61)
"""


def test_the_fault_is_one_of_the_faults(extended: Environment, tmp_path: Path) -> None:
    """The command has it with its attributes, and it strikes in a suite of somebody's, as any of ours."""
    said = extended.run("sandbox", "fault", "add", "clock_skew", "--help", cwd=tmp_path)
    assert "--skew" in said
    assert "--drift" in said
    (tmp_path / "test_mine.py").write_text(_STRIKES)
    assert "1 passed" in extended.run("python", "-m", "pytest", "-q", "-p", "no:randomly", cwd=tmp_path)
