"""``sandbox diagnose`` and ``sandbox readers``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import Embedded

Ask = Callable[..., Any]


@pytest.fixture
def careless(emulator: Embedded) -> None:
    """A consumer that starts at LATEST on a stream with two records."""
    kinesis = boto3.client(
        "kinesis",
        endpoint_url=emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="my-consumer",
        aws_secret_access_key="secret",
    )
    shards = [shard["ShardId"] for shard in kinesis.list_shards(StreamName="input")["Shards"]]
    for key in ("1", "2"):
        kinesis.put_record(StreamName="input", Data=b"early", PartitionKey=key)
    for shard in shards:
        given = kinesis.get_shard_iterator(StreamName="input", ShardId=shard, ShardIteratorType="LATEST")
        kinesis.get_records(ShardIterator=given["ShardIterator"])


def test_nothing_to_find(ask: Ask) -> None:
    found = ask("diagnose")
    assert (found.code, found.out.startswith("0 findings about 0 clients; ")) == (0, True)


def test_nothing_is_found_of_a_stream_that_there_is_not(ask: Ask) -> None:
    """A name that is mistyped is no stream without faults."""
    refused = ask("diagnose", "--stream", "inptu")
    assert (refused.code, "inptu" in refused.err) == (2, True)
    assert ask("diagnose", "--stream", "input").code == 0


@pytest.mark.usefixtures("careless")
def test_findings_have_the_client_the_evidence_and_what_to_do(ask: Ask) -> None:
    """Exit code 1; --json is the diagnosis as the control API gives it."""
    found = ask("diagnose", "--rules")
    assert found.code == 1
    assert "skipped-at-start (loses)" in found.out
    assert "my-consumer (Boto3/" in found.out
    assert "do: Start at TRIM_HORIZON" in found.out
    assert "no-opportunity" in found.out
    diagnosis = json.loads(ask("diagnose", "--json").out)
    assert sum(each["evidence"]["skipped"] for each in diagnosis["findings"]) == 2
    assert ask("diagnose", "--stream", "error").code == 0
    assert ask("diagnose", "--client", "somebody else").code == 0


@pytest.mark.usefixtures("careless")
def test_an_exchange_that_was_kept_is_judged_alike(ask: Ask, sandbox: Ask, tmp_path: Path) -> None:
    kept = tmp_path / "exchange.json"
    live = json.loads(ask("diagnose", "--save", str(kept), "--json").out)
    again = json.loads(sandbox("diagnose", "--from", str(kept), "--json").out)
    assert [each["said"] for each in again["findings"]] == [each["said"] for each in live["findings"]]
    kept.write_text("{}")
    refused = sandbox("diagnose", "--from", str(kept))
    assert (refused.code, "was not written by sandbox diagnose --save" in refused.err) == (2, True)
    assert sandbox("diagnose", "--from", str(kept), "--watch").code == 2


@pytest.mark.usefixtures("careless")
def test_readers_have_names(ask: Ask) -> None:
    shown = ask("readers", "input")
    assert shown.code == 0
    assert "my-consumer (Boto3/" in shown.out
    assert "findings about clients; sandbox diagnose shows them" in shown.out
    (first, *_) = json.loads(ask("readers", "--json").out)["readers"]
    assert first["client"].startswith("my-consumer")


def test_nobody_reads(ask: Ask) -> None:
    """Of a stream that is not there it is said that there is none."""
    assert ask("readers").out.startswith("nobody reads now")
    assert "no stream is named 'inptu'; there are: audit" in ask("readers", "inptu").err
