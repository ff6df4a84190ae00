"""The trace of a lab: what its sandbox's recorders write down besides what rules judge by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import boto3
import pytest

from emulator.clock import Clock, stopwatch
from emulator.diagnosis.kinesis_trace import KinesisTrace
from emulator.diagnosis.recorder import ClientRecord, Recorder
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import KinesisError
from emulator.streams.wiretap import Wiretap
from rdss_sandbox.shapes.trace import DISCONNECT, Delivery, Put, Read
from sandbox.certify.history import Life
from sandbox.certify.lab import INPUT, Lab

_SHARD = "shardId-000000000000"
_NUMBER = "49600000000000000000000000000000000000000000000000000002"
_SUBSCRIPTION = {
    "ConsumerARN": f"arn:aws:kinesis:us-east-1:000000000000:stream/{INPUT}/consumer/fan:1",
    "ShardId": _SHARD,
    "StartingPosition": {"Type": "TRIM_HORIZON"},
}


@pytest.fixture
def lab() -> Lab:
    return Lab(1)


@pytest.fixture
def record(lab: Lab) -> ClientRecord:
    """The record of a client whose calls the lab traces."""
    recorder = Recorder(clock := Clock(), Wiretap(clock, lambda _: None))
    recorder.trace = KinesisTrace(lab)
    return recorder.find("key", b"agent")


@pytest.mark.parametrize(
    ("failure", "error"),
    [(KinesisError("InternalFailure", ""), "InternalFailure"), (ClientGoneError(), DISCONNECT)],
)
def test_an_event_stream_that_fails_is_a_failed_read(
    lab: Lab, record: ClientRecord, failure: Exception, error: str
) -> None:
    """An error inside of it, and a connection that is cut, come after what was pushed until then."""

    async def events() -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        pushed = {"SequenceNumber": _NUMBER, "Data": b"no message", "PartitionKey": "k"}
        yield "SubscribeToShardEvent", {"Records": [pushed], "ContinuationSequenceNumber": _NUMBER}
        raise failure

    async def follow() -> None:
        with pytest.raises(type(failure)):
            async for _ in record.follow(_SUBSCRIPTION, events(), stopwatch()):
                pass

    asyncio.run(follow())
    assert [(each.pushed, each.shard, each.records, each.error) for each in lab.history.reads()] == [
        (True, _SHARD, (Delivery(_NUMBER, None),), ""),
        (True, _SHARD, (), error),
    ]


def test_a_refused_subscription_is_a_failed_read(lab: Lab, record: ClientRecord) -> None:
    """A clause about reads sees it as it sees a refused GetRecords."""
    record.note_refusal("SubscribeToShard", _SUBSCRIPTION, "LimitExceededException", stopwatch())
    (read,) = lab.history.reads()
    assert (read.pushed, read.error) == (True, "LimitExceededException")


def test_a_call_belongs_to_the_start_during_which_it_came(lab: Lab, record: ClientRecord) -> None:
    """The answer may come when the next start is under way."""
    lab.history.lives = [Life(0, 0.0), Life(1, lab.now + 1.0)]
    request = {"StreamName": INPUT, "Data": b"{}", "PartitionKey": "k"}
    record.note_answer("PutRecord", request, {"SequenceNumber": _NUMBER}, stopwatch())
    record.note_answer("PutRecord", request, {"SequenceNumber": _NUMBER}, stopwatch() + 2.0)
    assert [each.life for each in lab.history.puts()] == [0, 1]


def test_a_call_without_an_answer_is_no_refusal(lab: Lab, record: ClientRecord) -> None:
    """It is in the trace, and no rule takes the next try for one after a refusal."""
    request = {"StreamName": INPUT, "Data": b"{}", "PartitionKey": "k"}
    record.note_refusal("PutRecord", request, DISCONNECT, stopwatch())
    assert [each.error for each in lab.history.puts()] == [DISCONNECT]
    assert not record.refused.snapshot()


def test_a_request_that_lacks_what_it_needs_is_traced(lab: Lab, record: ClientRecord) -> None:
    """AWS refuses it by name; the trace has what there is of it."""
    for operation in ("PutRecord", "PutRecords", "GetRecords", "GetShardIterator", "SubscribeToShard"):
        record.note_refusal(operation, {}, "ValidationException", stopwatch())
    assert [type(each) for each in lab.history.exchanges].count(Put) == 2
    assert [type(each) for each in lab.history.exchanges].count(Read) == 2
    assert {each.error for each in lab.history.exchanges if not isinstance(each, Put)} == {
        "ValidationException"
    }


def test_every_request_is_a_sign_of_life(lab: Lab) -> None:
    """One for leases in DynamoDB, and one that only looks at a stream, change no item of the trace."""
    with lab.running():
        where = {"endpoint_url": lab.environment["AWS_ENDPOINT_URL"], "region_name": "us-east-1"}
        session = boto3.Session("certify", "certify")
        moments = [lab.requested_at]
        for ask in (
            session.client("dynamodb", **where).list_tables,
            session.client("kinesis", **where).list_streams,
        ):
            ask()
            moments.append(lab.requested_at)
    assert moments == sorted(set(moments))
    assert not lab.history.exchanges
