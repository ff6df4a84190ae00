"""What an interceptor can do to requests on their way."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError

from emulator.http.asgi import ClientGoneError
from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws.interception import wanted
from tests.emulator.endpoint_fixtures import Endpoint

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient


class _Everything:
    def __contains__(self, _stream: object) -> bool:
        return True


EVERY_STREAM = _Everything()


class On:
    """Runs ``act`` on one operation, on one stream if given."""

    def __init__(self, operation: str, act: Callable[..., Any], stream: str | None = None) -> None:
        self._operation, self._act, self._stream = operation, act, stream

    def watches(self, operation: str) -> Container[str] | None:
        if operation != self._operation:
            return None
        return EVERY_STREAM if self._stream is None else {self._stream}

    def wants(self, operation: str, stream: str | None, iterator: str | None = None) -> bool:
        return operation == self._operation and (None in (self._stream, stream) or stream == self._stream)

    async def __call__(self, operation: str, request: Any, scope: Any, proceed: Any) -> Any:
        return await self._act(request, proceed)


@pytest.fixture
def impatient(endpoint: Endpoint) -> KinesisClient:
    """A client that does not try again."""
    client = endpoint.client("kinesis", config=Config(retries={"total_max_attempts": 1}))
    client.create_stream(StreamName="a", ShardCount=1)
    client.create_stream(StreamName="b", ShardCount=1)
    return client


def data_in(client: Any, stream: str) -> list[bytes]:
    place = client.get_shard_iterator(
        StreamName=stream, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )
    return [record["Data"] for record in client.get_records(ShardIterator=place["ShardIterator"])["Records"]]


def test_requests_and_responses_can_be_changed(endpoint: Endpoint, impatient: KinesisClient) -> None:
    """Interceptors are called in their order, the first outermost."""

    async def twice(request: Any, proceed: Any) -> Any:
        await proceed(request)
        return await proceed(request)

    async def louder(request: Any, proceed: Any) -> Any:
        return await proceed({**request, "Data": request["Data"] + b"!"})

    endpoint.interceptors[:] = [On("PutRecord", twice), On("PutRecord", louder)]
    impatient.put_record(StreamName="a", PartitionKey="k", Data=b"x")
    assert data_in(impatient, "a") == [b"x!", b"x!"]


def test_an_interceptor_gets_only_what_it_wants(endpoint: Endpoint, impatient: KinesisClient) -> None:
    """A fault on one stream leaves the others alone."""

    async def refuse(request: Any, proceed: Any) -> Any:
        raise KinesisError("ProvisionedThroughputExceededException", "Rate exceeded for shard")

    endpoint.interceptors[:] = [On("PutRecord", refuse, stream="a")]
    impatient.put_record(StreamName="b", PartitionKey="k", Data=b"x")
    with pytest.raises(impatient.exceptions.ProvisionedThroughputExceededException, match="Rate exceeded"):
        impatient.put_record(StreamName="a", PartitionKey="k", Data=b"x")


def test_an_aborted_request_has_no_answer(endpoint: Endpoint, impatient: KinesisClient) -> None:
    """The client sees its connection close."""

    async def abort(request: Any, proceed: Any) -> Any:
        await proceed(request)
        raise ClientGoneError

    endpoint.interceptors[:] = [On("PutRecord", abort)]
    with pytest.raises(ConnectionClosedError):
        impatient.put_record(StreamName="a", PartitionKey="k", Data=b"x")
    assert data_in(impatient, "a") == [b"x"]


def test_a_failure_of_ours_is_an_internal_failure_and_an_event(
    endpoint: Endpoint, impatient: KinesisClient
) -> None:
    """The client gets AWS's 500 without a traceback; the events have the reason."""

    async def fail(request: Any, proceed: Any) -> Any:
        raise ZeroDivisionError("reason")

    endpoint.interceptors[:] = [On("PutRecord", fail)]
    with pytest.raises(impatient.exceptions.ClientError) as seen:
        impatient.put_record(StreamName="a", PartitionKey="k", Data=b"x")
    assert seen.value.response["Error"]["Code"] == "InternalFailure"
    assert seen.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert "reason" not in str(seen.value)
    (event,) = [event for event in endpoint.events.since() if event.kind == "aws.request.failed"]
    assert "reason" in event.fields["error"]


@pytest.mark.parametrize(
    ("body", "stream", "iterator"),
    [
        (b'{"StreamName": "a", "Records": []}', "a", None),
        (b'{"Records":[{"Data":"x"}],"StreamName":"a-1.b_c" }\n', "a-1.b_c", None),
        (b'{"Records":[{"Data":"x"}],"StreamName":"a","Limit":1}', "a", None),
        (b'{"Records":[{"StreamName":"b"}],"StreamName":"a"}', "a", None),
        (b'{"Records":[{"StreamName":"b"}]}', None, None),
        (b'{"Records":[{"Data":",\\"StreamName\\":\\"b\\"}"}],"Limit":2}', None, None),
        (b'{"StreamARN":"arn:aws:kinesis:us-east-1:000000000000:stream/a"}', "a", None),
        (b'{"ShardIterator":"i","Limit":5}', None, "i"),
        (b"{", None, None),
        (b"\xff", None, None),
    ],
)
def test_a_call_is_asked_for_by_what_its_body_names(
    body: bytes, stream: str | None, iterator: str | None
) -> None:
    """The stream wherever a client writes it, the iterator where there is one; never what a record says."""
    asked: list[tuple[str | None, str | None]] = []

    class Curious(On):
        def wants(self, operation: str, stream: str | None, iterator: str | None = None) -> bool:
            asked.append((stream, iterator))
            return True

    assert wanted([Curious("PutRecords", print)], "PutRecords", body)
    assert asked == [(stream, iterator)]
