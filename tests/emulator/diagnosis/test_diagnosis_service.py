"""Identity, verdicts, events and memory: what holds for every rule."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import boto3
import pytest

from emulator.clock import Clock
from emulator.diagnosis import recorder
from emulator.diagnosis.clients import identify
from emulator.diagnosis.leases import read_leases
from emulator.diagnosis.recorder import Recorder
from emulator.streams.wiretap import Wiretap
from tests.emulator.diagnosis.diagnosed_stream import FIRST, LEFT, Wire
from tests.waiting import wait_until

_KCL = "k (amazon-kinesis-client-library-java)"


def test_a_client_is_named_by_key_application_and_sdk(wire: Wire) -> None:
    """The access key is whatever the developer chose; the application id comes from the SDK's setting."""
    reader = wire.client("reader", user_agent_appid="shop")
    wire.read(reader, wire.iterator(reader))
    name = f"reader-{wire.stream}/shop (Boto3/{boto3.__version__})"
    (client,) = (each for each in wire.control.diagnosis().clients if each.name == name)
    assert (client.access_key, client.application, client.calls) == (f"reader-{wire.stream}", "shop", 2)
    (shown,) = (each for each in wire.control.readers(wire.stream).readers)
    assert (shown.client, shown.shard) == (name, FIRST)


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("aiobotocore/2.13 md/Botocore#1.34 lang/python#3.12", "k (aiobotocore/2.13)"),
        ("Boto3/1.40.1 md/Botocore#1.40.1 m/Z,b app/shop", "k/shop (Boto3/1.40.1)"),
        ("aws-sdk-java/2.31.2 md/io#async amazon-kinesis-client-library-java-3.1.0", _KCL),
        ("aws-sdk-java/2.31.2 amazon-kinesis-client-library-java-null", _KCL),
        ("aws-sdk-java/2.31.2 amazon-kinesis-client-library-java-KCL-ConsumerId-L7Y", _KCL),
        ("", "k"),
    ],
)
def test_the_sdk_is_read_from_the_user_agent(user_agent: str, name: str) -> None:
    """Of the rest, which differs from call to call, nothing counts: a worker of the KCL is one client."""
    assert identify("k", user_agent).name == name


def test_each_rule_says_whether_it_had_an_opportunity(wire: Wire) -> None:
    """A rule that had nothing to look at is not called right."""
    rules = ("skipped-at-start", "unread-child", "dropped-entries")

    def verdicts() -> list[tuple[str, int]]:
        by_rule = {each.rule: each for each in wire.control.diagnosis().rules}
        return [(by_rule[rule].verdict, by_rule[rule].looked) for rule in rules]

    wire.emulator.components.diagnosis.clear()
    assert verdicts() == [("no-opportunity", 0)] * 3
    reader = wire.client("reader")
    wire.put(2)
    wire.read(reader, wire.iterator(reader, start="LATEST"))
    iterator = wire.iterator(reader)
    wire.split()
    wire.read(reader, iterator)
    assert verdicts() == [("not-found", 1), ("not-found", 2), ("no-opportunity", 0)]
    wire.put(20)
    other = wire.client("other")
    wire.read(other, wire.iterator(other, LEFT, start="LATEST"))
    assert verdicts() == [("found", 2), ("not-found", 2), ("no-opportunity", 0)]


def test_a_finding_is_an_event_once_and_unasked(wire: Wire) -> None:
    """The sandbox looks by itself while clients call."""
    wire.put(2)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader, start="LATEST"))

    def told() -> list[dict[str, Any]]:
        events = wire.emulator.components.events.since(limit=100_000)
        return [
            each.fields
            for each in events
            if each.kind == "client.finding" and each.fields["stream"] == wire.stream
        ]

    wait_until(told)
    assert wire.rules() == wire.rules() == ["skipped-at-start"]
    (event,) = told()
    assert (event["rule"], event["shard"]) == ("skipped-at-start", FIRST)
    assert event["evidence"]["skipped"] == 2


def test_unread_records_of_children_are_behind(wire: Wire) -> None:
    """Who has read all that he knows of is behind nothing; the stream is behind what nobody has read."""
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.put(3)
    wire.split()
    wire.put(20)
    wire.read(reader, iterator)
    assert wire.control.readers(wire.stream).unread == {wire.stream: 20}
    assert wire.control.stream(wire.stream).unread == 20
    for child in (LEFT, "shardId-000000000002"):
        wire.read(reader, wire.iterator(reader, child, "LATEST"))
    assert wire.control.stream(wire.stream).unread == 20
    for child in (LEFT, "shardId-000000000002"):
        wire.read(reader, wire.iterator(reader, child))
    assert wire.control.stream(wire.stream).unread == 0


def test_leases_of_kcl_are_read(wire: Wire) -> None:
    """A child with a lease is a worker's, even before it asks for an iterator."""
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.put(2)
    wire.split()
    wire.put(20)
    wire.read(reader, iterator)
    dynamodb = boto3.client(
        "dynamodb",
        endpoint_url=wire.emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="kcl",
        aws_secret_access_key="secret",
    )
    table = f"app-{wire.stream}"
    dynamodb.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    key = f"000000000000:{wire.stream}:1:{LEFT}"
    item = {"leaseKey": {"S": key}, "leaseOwner": {"S": "worker-1"}, "checkpoint": {"S": "TRIM_HORIZON"}}
    dynamodb.put_item(TableName=table, Item=item)  # type: ignore[arg-type]
    wire.clock.advance(31)
    assert {each.shard for each in wire.findings()} == {"shardId-000000000002"}
    (lease,) = (each for each in wire.control.readers().leases if each.table == table)
    assert (lease.stream, lease.shard, lease.owner, lease.checkpoint) == (
        wire.stream,
        LEFT,
        "worker-1",
        "TRIM_HORIZON",
    )


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients and shards that are quiet for longest are forgotten, and their streams are judged no more."""
    monkeypatch.setattr(recorder, "MOST_CLIENTS", 3)
    monkeypatch.setattr(recorder, "MOST_SHARDS", 20)
    clock = Clock(frozen_at=1_000_000.0)
    record = Recorder(clock, Wiretap(clock, lambda _: None))
    for number in range(10):
        client = record.find(f"key-{number}", b"Boto3/1")
        clock.advance(1)
        for index in range(30):
            request = {"StreamName": "s", "ShardIteratorType": "LATEST"}
            token = recorder.ShardIterator(number, index, 1, 0).token()
            client.note_answer("GetShardIterator", request, {"ShardIterator": token}, 0.0)
    assert len(record.clients()) == 3
    assert sum(len(each.shards) for each in record.clients()) <= 20
    assert record.forgotten


def test_leases_while_dynamodb_is_being_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first client of DynamoDB loads it on another thread: until it is there, nobody has a lease."""
    monkeypatch.setitem(sys.modules, "moto.dynamodb.models", ModuleType("moto.dynamodb.models"))
    assert read_leases({}) == ()
