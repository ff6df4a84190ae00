"""A receiver as commands build it: its queues, where originals go, and what is refused after all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import boto3
import pytest
from botocore.stub import Stubber

from emulator.channels.channel import Channel
from emulator.channels.checkpoints import MemoryCheckpoints
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver import Arrival, MemoryOriginals, OriginalNotKeptError, S3Originals
from sandbox.receiver.assembled_receiver import assembled_receiver, queues_among
from sandbox.receiver.over_kinesis import open_endpoint
from sandbox.repository import Repository
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from tests.emulator.endpoint_fixtures import Endpoint, endpoint, loop_thread  # noqa: F401 -- fixtures
from tests.sandbox.receiver.receiver_on_tapes import NOW, Messages


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen_at=NOW, autojump=True)


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with closing(Engine(None, clock, Events(clock))) as engine:
        for name in ("input", "message_error_dev", "message_invalid_dev"):
            engine.call("CreateStream", {"StreamName": name, "ShardCount": 1}, DEFAULT_SCOPE)
        yield engine


def test_queues_have_the_names_that_the_sandbox_gives_them() -> None:
    """In the topology of the specification's streams, and in the one of this project."""
    assert queues_among(["input", "error", "invalid"]) == {"error": "error", "invalid": "invalid"}
    assert queues_among(["message_input_dev", "message_error_dev"]) == {
        "error": "message_error_dev",
        "invalid": "invalid",
    }


def test_a_message_that_fails_later_goes_to_the_queue_of_its_code(
    engine: Engine, clock: Clock, messages: Messages, tmp_path: Path
) -> None:
    """Work that goes on after a message was accepted may refuse it still, and whoever asked is told."""
    told: list[tuple[object, ...]] = []

    def open_channel(name: str, checkpoints: object) -> Channel:
        return MemoryChannel(engine, name, clock=clock, checkpoints=checkpoints)  # type: ignore[arg-type]

    message = messages.small()
    data = serialise(message)
    with (
        closing(Repository(tmp_path / "local.sqlite3", clock)) as repository,
        assembled_receiver(
            open_channel,
            MemoryOriginals(),
            stream="input",
            repository=repository,
            application=lambda _arrival, _store: None,
            clock=clock,
            queues=queues_among(["message_error_dev", "message_invalid_dev"]),
            refused=lambda arrival, code, why: told.append((arrival, code, why)),
            rejected=lambda data, code, why: told.append((data, code, why)),
        ) as receiver,
    ):
        receiver.reject(data, ErrorCode.APPERRMET001, "the archive was full")
        queue = f"message_{ErrorCode.APPERRMET001.queue}_dev"
        (came,) = open_channel(queue, MemoryCheckpoints()).read()
    rejected, (arrival, code, why) = told
    assert rejected == (data, ErrorCode.APPERRMET001, "the archive was full")
    assert isinstance(arrival, Arrival)
    assert (arrival.data, arrival.header.message_id, arrival.parts) == (
        data, message["messageHeader"]["messageId"], 1,
    )  # fmt: skip
    assert (code, why) == (ErrorCode.APPERRMET001, "the archive was full")
    assert b"APPERRMET001" in came.data
    assert b"the archive was full" in came.data


def test_originals_are_stored_as_they_are_in_s3() -> None:
    """Bytes of no type, under the key, and the address says where; a refusal of S3 is told with it."""
    s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    asked = {"Bucket": "b", "Key": "k", "Body": b"\x00", "ContentType": "application/octet-stream"}
    with closing(s3), Stubber(s3) as stubber:
        stubber.add_response("put_object", {}, asked)
        assert S3Originals(s3).keep("b", "k", b"\x00") == "s3://b/k"
        stubber.add_client_error("put_object", "NoSuchBucket", "it is not there")
        with pytest.raises(OriginalNotKeptError, match=r"kept as s3://b/k: .*it is not there"):
            S3Originals(s3).keep("b", "k", b"\x00")


def test_a_receiver_of_a_kinesis_endpoint_reads_on_from_its_checkpoints(endpoint: Endpoint) -> None:  # noqa: F811
    """What was committed is not read again by a channel that is opened anew with the same checkpoints."""
    endpoint.engine.call("CreateStream", {"StreamName": "input", "ShardCount": 1}, DEFAULT_SCOPE)
    open_channel, originals = open_endpoint(AwsEndpoint(endpoint.url, "us-east-1"), Clock())
    checkpoints = MemoryCheckpoints()
    with closing(open_channel("input", checkpoints)) as channel:
        channel.publish(b"one", "key")
        channel.publish(b"two", "key")
        first, _ = channel.read(wait=5.0)
        channel.commit(first)
    with closing(open_channel("input", checkpoints)) as channel:
        assert [each.data for each in channel.read(wait=5.0)] == [b"two"]
    with pytest.raises(OriginalNotKeptError):
        originals.keep("no-such-bucket", "k", b"")
