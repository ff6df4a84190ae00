"""Calls of Kinesis become entries of a tape, whatever protocol they came in."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest

from extensions.tape.call_reading import CallReader
from rdss_sandbox.shapes.recordings import KinesisCall
from rdss_sandbox.shapes.tape import TapedMessage, TapedRead, TapedRefusal

CBOR = "application/x-amz-cbor-1.1"


def call(operation: str, body: Any, answer: Any, status: int = 200) -> KinesisCall:
    return KinesisCall(
        1.0, 0.5, "AKIA", operation, CBOR, cbor2.dumps(body), status, cbor2.dumps(answer)
    )  # fmt: skip


def test_cbor_is_read_as_json_is() -> None:
    """As the SDK of Java and the KPL speak it."""
    records = [{"Data": b"\x00one", "PartitionKey": "a"}, {"Data": b"two", "PartitionKey": "b"}]
    results = [{"ShardId": "s0", "SequenceNumber": "1"}, {"ErrorCode": "InternalFailure"}]
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/input"
    passed = call("PutRecords", {"StreamARN": arn, "Records": records}, {"Records": results})
    message, refusal = CallReader().read(passed)
    assert message == TapedMessage(1.0, "input", b"\x00one", 4, "a", "s0", "1", 0.5, "AKIA")
    assert refusal == TapedRefusal(
        1.0, "input", "PutRecords", "InternalFailure", "AKIA", records=1, of=2, latency=0.5
    )


def test_a_refusal_has_its_code_without_what_is_in_front_of_it() -> None:
    """As AWS writes some of them."""
    passed = call("PutRecord", {"StreamName": "input"}, {"__type": "com.amazonaws#SlowDown"}, 400)
    (found,) = CallReader().read(passed)
    assert found == TapedRefusal(1.0, "input", "PutRecord", "SlowDown", "AKIA", records=1, of=1, latency=0.5)


def test_a_reader_that_runs_already_is_known_by_its_stream() -> None:
    """Its iterator was given out before anybody recorded; of which shard is not known."""
    passed = KinesisCall(
        1.0, 0.5, "AKIA", "GetRecords", CBOR, b'{"ShardIterator":"x"}', 200,
        b'{"NextShardIterator":"y"}', "input", 3, 99,
    )  # fmt: skip
    (found,) = CallReader().read(passed)
    assert found == TapedRead(1.0, "input", "GetRecords", "AKIA", records=3, size=99, latency=0.5)


@pytest.mark.parametrize("body", [b"", b"\xff", cbor2.dumps([1]), cbor2.dumps({"Records": "x"})])
def test_what_cannot_be_read_gives_nothing(body: bytes) -> None:
    """Whatever the bytes are."""
    passed = KinesisCall(1.0, 0.5, "AKIA", "PutRecords", CBOR, body, 200, b"\x00")
    assert [*CallReader().read(passed)] == []
