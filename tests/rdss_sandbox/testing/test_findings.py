"""Findings about the clients of a test's sandbox: in its report, and as an assertion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import boto3
import msgspec
import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.testing import NotDiagnosedError, Sandbox, findings

SENTENCE = r"unread-child: careless \(Boto3/.*\) read shardId-000000000000 to the end and never asked for "


def read(client: Any, shards: Iterable[str]) -> list[str]:
    """Read shards from their start as far as there are records; return the children that were named."""
    children = []
    for shard in shards:
        place = {"StreamName": "input", "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        answer = client.get_records(ShardIterator=client.get_shard_iterator(**place)["ShardIterator"])
        children += [child["ShardId"] for child in answer.get("ChildShards", ())]
    return children


@pytest.fixture
def split(seeded: Sandbox) -> Callable[[str], tuple[Any, list[str]]]:
    """Makes a client of that name and splits a shard of a stream with records."""

    def make(name: str) -> tuple[Any, list[str]]:
        client = boto3.client(
            "kinesis",
            endpoint_url=seeded.aws,
            region_name=seeded.region,
            aws_access_key_id=name,
            aws_secret_access_key="any",
        )
        shards = [shard["ShardId"] for shard in client.list_shards(StreamName="input")["Shards"]]
        client.split_shard(StreamName="input", ShardToSplit=shards[0], NewStartingHashKey="1000")
        for number in range(20):
            client.put_record(StreamName="input", Data=b"x", PartitionKey=str(number))
        return client, shards

    return make


def test_a_client_that_skips_a_child_fails_the_assertion(
    seeded: Sandbox, split: Callable[[str], tuple[Any, list[str]]]
) -> None:
    """With the rule, who did what, and what to do; without waiting for the rule's patience."""
    read(*split("careless"))
    with pytest.raises(AssertionError, match=rf"did what is wrong:\n(.|\n)*{SENTENCE}"):
        seeded.assert_no_findings()
    assert "what clients did wrong:\n  unread-child: careless" in seeded.report()


def test_a_client_that_reads_all_passes(
    seeded: Sandbox, split: Callable[[str], tuple[Any, list[str]]]
) -> None:
    """The children are read when their parent has ended."""
    client, shards = split("careful")
    read(client, read(client, shards))
    seeded.assert_no_findings()
    assert "what clients did wrong" not in seeded.report()


@pytest.mark.parametrize(
    ("unknown", "why"), [({"known": False}, "an upstream has the streams"), ({"complete": False}, "not all")]
)
def test_what_cannot_be_judged_is_no_pass(
    seeded: Sandbox, monkeypatch: pytest.MonkeyPatch, unknown: dict[str, bool], why: str
) -> None:
    """Streams of an upstream, and records that take too long to look through."""
    monkeypatch.setattr(findings, "_COMPLETE_SECONDS", 0.0)
    judged = msgspec.structs.replace(seeded.client.diagnosis(), **unknown)
    monkeypatch.setattr(Client, "diagnosis", lambda *_, **__: judged)
    with pytest.raises(NotDiagnosedError, match=why):
        seeded.assert_no_findings()
    assert "what clients did wrong" not in seeded.report()


def test_what_the_test_itself_sends_is_no_clients_mistake(seeded: Sandbox) -> None:
    """The example of docs/testing.md has no whole messages, and no client put them; a client's are found."""
    client = boto3.client(
        "kinesis",
        endpoint_url=seeded.aws,
        region_name=seeded.region,
        aws_access_key_id="careless",
        aws_secret_access_key="any",
    )
    seeded.send([{"messageHeader": {"messageId": f"m-{number}"}} for number in range(10)])
    assert "what clients did wrong" not in seeded.report()
    client.put_record(StreamName="input", Data=b'{"messageHeader": {"messageId": "c"}}', PartitionKey="c")
    seeded.send([{"messageHeader": {"messageId": "m-10"}}])
    (found,) = findings.list_findings(seeded.client)
    assert "careless" in found
    assert " 1 invalid message;" in found


def test_an_iterator_that_is_opened_again_is_one_reader(seeded: Sandbox) -> None:
    """The same client at the same place is one line of the report."""
    seeded.send([{"messageHeader": {"messageId": "m-0"}}])
    client = boto3.client(
        "kinesis",
        endpoint_url=seeded.aws,
        region_name=seeded.region,
        aws_access_key_id="again",
        aws_secret_access_key="any",
    )
    shards = [shard["ShardId"] for shard in client.list_shards(StreamName="input")["Shards"]]
    read(client, shards * 3)
    readers = seeded.client.readers("input").readers
    assert sorted(str(reader.shard) for reader in readers) == shards
    assert {reader.reads for reader in readers} == {3}
    lines = [line for line in seeded.report().splitlines() if line.startswith("  input shardId")]
    assert len(lines) == len(shards)
