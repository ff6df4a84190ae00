"""Wrongly scoped keys: an access key that is held to something is denied the rest, here and on the relay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings, read_settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.access import KeyPermission, StreamPermission

READER = KeyPermission("my-reader", ("input",), ("Get*", "DescribeStreamSummary", "ListShards"))
Connect = Callable[[str], Any]


@pytest.fixture(params=["embedded", "relay"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """Each profile in turn; the relay stands in front of a sandbox that denies nothing."""
    settings: dict[str, Any] = {"aws_port": 0, "control_port": 0, "data_dir": None, "access": (READER,)}
    with ExitStack() as stack:
        if request.param == "relay":
            behind = stack.enter_context(embedded(Settings(aws_port=0, control_port=0, data_dir=None)))
            settings |= {"profile": "relay", "upstream_aws": behind.aws}
        yield stack.enter_context(embedded(Settings(**settings)))


@pytest.fixture
def connect(sandbox: Embedded) -> Iterator[Connect]:
    with ExitStack() as stack:

        def connect(key: str) -> Any:
            keys = {"aws_access_key_id": key, "aws_secret_access_key": "any"}
            client = boto3.client("kinesis", endpoint_url=sandbox.aws, region_name="us-east-1", **keys)
            return stack.enter_context(closing(client))

        yield connect


@pytest.fixture
def control(sandbox: Embedded) -> Iterator[Client]:
    with Client(sandbox.control) as client:
        yield client


def iterator(client: Any, stream: str) -> str:
    shard = client.list_shards(StreamName=stream)["Shards"][0]["ShardId"]
    placed = client.get_shard_iterator(StreamName=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    return str(placed["ShardIterator"])


def denied(call: Callable[..., Any], **request: Any) -> str:
    """The message of the denial; it has to be one."""
    with pytest.raises(ClientError) as refused:
        call(**request)
    assert refused.value.response["Error"]["Code"] == "AccessDeniedException"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(refused.value.response["Error"]["Message"])


def test_what_is_permitted_works_and_the_rest_is_denied(connect: Connect) -> None:
    """A reader of input reads input; it may not write there, nor read elsewhere, nor list the streams."""
    reader, other = connect("my-reader"), connect("any-other")
    other.put_record(StreamName="input", Data=b"x", PartitionKey="k")
    assert reader.get_records(ShardIterator=iterator(reader, "input"))["ResponseMetadata"]
    assert reader.describe_stream_summary(StreamName="input")

    entry = {"Data": b"x", "PartitionKey": "k"}
    denied(reader.put_record, StreamName="input", **entry)
    denied(reader.put_records, StreamName="input", Records=[entry])
    denied(reader.list_shards, StreamName="output")
    denied(reader.describe_stream_summary, StreamARN="arn:aws:kinesis:us-east-1:000000000000:stream/output")
    denied(reader.get_records, ShardIterator=iterator(other, "output"))
    denied(reader.list_streams)
    denied(reader.delete_stream, StreamName="input")
    assert other.list_streams()["StreamNames"]


def test_the_denial_has_awss_words(connect: Connect) -> None:
    """Who, what, on which resource, and why: as a policy that lacks the action has it."""
    said = denied(connect("my-reader").put_record, StreamName="input", Data=b"x", PartitionKey="k")

    assert said == (
        "User: arn:aws:iam::000000000000:user/my-reader is not authorized to perform: kinesis:PutRecord on "
        "resource: arn:aws:kinesis:us-east-1:000000000000:stream/input because no identity-based policy "
        "allows the kinesis:PutRecord action"
    )


def test_nothing_is_denied_where_nobody_asked_for_it(control: Client, connect: Connect) -> None:
    """Forgotten, a key may do everything; what a reset begins with is what the settings say."""
    assert control.access.list() == (READER,)
    assert control.access.forget("my-reader") == READER
    assert connect("my-reader").list_streams()["StreamNames"]
    with pytest.raises(RefusedError, match="no permission is for the access key 'my-reader'"):
        control.access.forget("my-reader")

    control.reset()
    denied(connect("my-reader").list_streams)


def test_a_key_is_held_while_it_works(control: Client, connect: Connect) -> None:
    """Taken away under way, the right to read ends at the next read, and an event tells of it."""
    reader = connect("late")
    place = iterator(reader, "output")
    reader.get_records(ShardIterator=place)
    control.access.permit("late", StreamPermission(("input", "rdss-*"), ("kinesis:*",)))

    assert "stream/output because" in denied(reader.get_records, ShardIterator=place)
    assert reader.describe_stream_summary(StreamName="input")
    last = control.events(limit=10_000)[-1]
    assert (last.kind, last.fields["access_key"], last.fields["operation"]) == (
        "access.denied",
        "late",
        "GetRecords",
    )


def test_a_consumer_and_a_tagged_stream_are_that_streams(control: Client, connect: Connect) -> None:
    """What names a stream by a consumer's or a resource's ARN is judged by its stream."""
    other = connect("any-other")
    arn = other.describe_stream_summary(StreamName="output")["StreamDescriptionSummary"]["StreamARN"]
    consumer = other.register_stream_consumer(StreamARN=arn, ConsumerName="fan")["Consumer"]["ConsumerARN"]
    control.access.permit("scoped", StreamPermission(("input",)))
    scoped = connect("scoped")

    assert consumer in denied(scoped.describe_stream_consumer, ConsumerARN=consumer)
    start = {"ShardId": "shardId-000000000000", "StartingPosition": {"Type": "LATEST"}}
    denied(scoped.subscribe_to_shard, ConsumerARN=consumer, **start)
    denied(scoped.list_tags_for_resource, ResourceARN=arn)


def test_the_next_page_of_a_listing_is_that_streams(control: Client, connect: Connect) -> None:
    """A token that somebody else was given opens no other stream."""
    other = connect("any-other")
    token = {
        stream: other.list_shards(StreamName=stream, MaxResults=1)["NextToken"]
        for stream in ("input", "output")
    }
    control.access.permit("scoped", StreamPermission(("input",)))
    scoped = connect("scoped")

    assert len(scoped.list_shards(NextToken=token["input"])["Shards"]) == 1
    assert "stream/output because" in denied(scoped.list_shards, NextToken=token["output"])


def test_an_operation_that_there_is_not_is_refused(control: Client) -> None:
    """The name that matches nothing is told, with those that there are."""
    with pytest.raises(
        RefusedError, match=r"no operation of Kinesis is called 'GetRecrods'; they are .*GetRecords"
    ):
        control.access.permit("x", StreamPermission(operations=("GetRecrods",)))
    with (
        pytest.raises(SettingsError, match=r"an access of the settings: no operation .* 'Nothing'"),
        embedded(Settings(data_dir=None, access=(KeyPermission("x", operations=("Nothing",)),))),
    ):
        pass


def test_it_is_written_in_the_settings(tmp_path: Path) -> None:
    """In sandbox.toml, or as JSON in the environment."""
    (tmp_path / "sandbox.toml").write_text(
        '[[sandbox.access]]\naccess_key = "my-reader"\nstreams = ["input"]\noperations = ["Get*"]\n'
    )
    assert read_settings({}, {}, tmp_path).access == (KeyPermission("my-reader", ("input",), ("Get*",)),)
    given = {"SANDBOX_ACCESS": '[{"access_key": "w", "operations": ["Put*"]}]'}
    assert read_settings({}, given, tmp_path).access == (KeyPermission("w", ("*",), ("Put*",)),)
