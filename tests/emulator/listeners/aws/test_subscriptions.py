"""SubscribeToShard as a client sees it: pushed, fast, five minutes long, in every protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cbor2
import httpx
import msgspec
import pytest
from botocore.eventstream import EventStreamBuffer

from emulator.clock import stopwatch
from tests.emulator.endpoint_fixtures import Endpoint

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

JSON = "application/x-amz-json-1.1"
CBOR = "application/x-amz-cbor-1.1"
SHARD = "shardId-000000000000"


Subscribe = Callable[..., Iterator[dict[str, Any]]]
"""Opens the event stream of a consumer: ``subscribe(consumer, shard, **position)``."""


@pytest.fixture
def consumer(kinesis: KinesisClient) -> str:
    """A consumer of a stream with one shard; its ARN."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    arn = kinesis.describe_stream_summary(StreamName="s")["StreamDescriptionSummary"]["StreamARN"]
    return kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="c")["Consumer"]["ConsumerARN"]


@pytest.fixture
def subscribe(kinesis: KinesisClient, consumer: str) -> Iterator[Subscribe]:
    """Open boto3's event stream at a position; the events one by one."""
    streams = []

    def start(consumer: str = consumer, shard: str = SHARD, **position: Any) -> Iterator[dict[str, Any]]:
        position = position or {"Type": "TRIM_HORIZON"}
        answer = kinesis.subscribe_to_shard(ConsumerARN=consumer, ShardId=shard, StartingPosition=position)
        streams.append(answer["EventStream"])
        return (event["SubscribeToShardEvent"] for event in answer["EventStream"])

    yield start
    for stream in streams:
        stream.close()


def with_records(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return next(event for event in events if event["Records"])


def test_records_are_pushed_within_50_ms(subscribe: Subscribe, kinesis: KinesisClient) -> None:
    """A record reaches the subscriber at once, not at the next poll (the best of ten: machines are busy)."""
    events = subscribe()
    next(events)
    waits = []
    for i in range(10):
        began = stopwatch()
        kinesis.put_record(StreamName="s", PartitionKey="k", Data=b"%d" % i)
        assert [record["Data"] for record in with_records(events)["Records"]] == [b"%d" % i]
        waits.append(stopwatch() - began)
    assert min(waits) < 0.05


def test_the_continuation_resumes_after_what_was_delivered(
    subscribe: Subscribe, kinesis: KinesisClient, endpoint: Endpoint
) -> None:
    """ContinuationSequenceNumber, given back, loses and repeats nothing; also before the first record."""
    events = subscribe(Type="LATEST")
    before = next(events)["ContinuationSequenceNumber"]
    kinesis.put_record(StreamName="s", PartitionKey="k", Data=b"one")
    after = with_records(events)["ContinuationSequenceNumber"]
    kinesis.put_record(StreamName="s", PartitionKey="k", Data=b"two")
    for number, expected in ((before, [b"one", b"two"]), (after, [b"two"])):
        endpoint.clock.advance(6)
        resumed = subscribe(Type="AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
        assert [record["Data"] for record in with_records(resumed)["Records"]] == expected


def test_a_subscription_ends_after_five_minutes_of_the_clock(
    subscribe: Subscribe, kinesis: KinesisClient, endpoint: Endpoint
) -> None:
    """The stream ends by itself, without an error, when the clock has gone on by five minutes."""
    events = subscribe()
    next(events)
    endpoint.clock.advance(301)
    assert [event for event in events if event["Records"]] == []


def test_the_end_of_a_shard_names_its_children(subscribe: Subscribe, kinesis: KinesisClient) -> None:
    """After a split the parent's stream ends with ChildShards and nothing to continue from."""
    kinesis.put_record(StreamName="s", PartitionKey="k", Data=b"last")
    events = subscribe()
    next(events)
    kinesis.split_shard(StreamName="s", ShardToSplit=SHARD, NewStartingHashKey=str(2**127))
    *_, end = events
    assert "ContinuationSequenceNumber" not in end
    assert [child["ShardId"] for child in end["ChildShards"]] == [
        "shardId-000000000001",
        "shardId-000000000002",
    ]
    assert {tuple(child["ParentShards"]) for child in end["ChildShards"]} == {(SHARD,)}


def test_a_second_subscription_is_refused_then_takes_over(
    subscribe: Subscribe, kinesis: KinesisClient, endpoint: Endpoint
) -> None:
    """Within five seconds ResourceInUseException; later the newer one gets the records."""
    first = subscribe()
    next(first)
    with pytest.raises(kinesis.exceptions.ResourceInUseException):
        subscribe()
    endpoint.clock.advance(6)
    second = subscribe()
    next(second)
    kinesis.put_record(StreamName="s", PartitionKey="k", Data=b"x")
    assert with_records(second)["Records"][0]["Data"] == b"x"
    assert [event for event in first if event["Records"]] == []


def test_errors_come_before_the_stream_begins(
    subscribe: Subscribe, kinesis: KinesisClient, consumer: str
) -> None:
    """An unknown consumer or shard is an ordinary error."""
    with pytest.raises(kinesis.exceptions.ResourceNotFoundException):
        subscribe(consumer=consumer.replace("/c:", "/other:"))
    with pytest.raises(kinesis.exceptions.ResourceNotFoundException):
        subscribe(shard="shardId-000000000009")


@contextmanager
def raw_frames(
    endpoint: Endpoint, consumer: str, content_type: str, *, http2: bool
) -> Iterator[Iterator[Any]]:
    request = {"ConsumerARN": consumer, "ShardId": SHARD, "StartingPosition": {"Type": "TRIM_HORIZON"}}
    body = cbor2.dumps(request) if content_type == CBOR else msgspec.json.encode(request)
    headers = endpoint.headers("SubscribeToShard", content_type)
    with (
        httpx.Client(http1=not http2, http2=http2, timeout=20, trust_env=False) as http,
        http.stream("POST", endpoint.url, headers=headers, content=body) as response,
    ):
        assert response.headers["content-type"] == "application/vnd.amazon.eventstream"
        buffer = EventStreamBuffer()

        def frames() -> Iterator[Any]:
            for piece in response.iter_raw():
                buffer.add_data(piece)
                yield from buffer

        yield frames()


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "h2c"])
@pytest.mark.parametrize("content_type", [JSON, CBOR])
def test_frames_on_the_wire(
    endpoint: Endpoint, kinesis: KinesisClient, consumer: str, content_type: str, http2: bool
) -> None:
    """First initial-response, then events in the request's protocol, over HTTP/1.1 and h2c alike."""
    kinesis.put_record(StreamName="s", PartitionKey="k", Data=b"\x00\xff")
    with raw_frames(endpoint, consumer, content_type, http2=http2) as frames:
        first, second = next(frames), next(frames)
    assert first.headers[":event-type"] == "initial-response"
    assert second.headers[":event-type"] == "SubscribeToShardEvent"
    assert second.headers[":content-type"] == content_type
    if content_type == CBOR:
        event = cbor2.loads(second.payload, semantic_decoders={1: lambda millis, _: millis / 1000})
        assert event["Records"][0]["Data"] == b"\x00\xff"
    else:
        event = msgspec.json.decode(second.payload)
        assert event["Records"][0]["Data"] == "AP8="
    assert abs(event["Records"][0]["ApproximateArrivalTimestamp"] - endpoint.clock.time()) < 60
