"""Both protocols on the wire: what raw bytes get as an answer."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import cbor2
import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.kinesis import Scope
from emulator.listeners.aws.protocols import Cbor11, Json11
from emulator.listeners.aws.service_model import kinesis_model
from tests.emulator.endpoint_fixtures import Endpoint

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

JSON = "application/x-amz-json-1.1"
CBOR = "application/x-amz-cbor-1.1"
NO_BLOB = "can not be converted to a Blob"


def call(endpoint: Endpoint, operation: str, request: Any, content_type: str = JSON) -> httpx.Response:
    encode = cbor2.dumps if content_type == CBOR else msgspec.json.encode
    return endpoint.http.post("/", headers=endpoint.headers(operation, content_type), content=encode(request))


def read(response: httpx.Response) -> Any:
    """A body as its content type says."""
    if not response.content:
        return {}
    if response.headers["content-type"] == CBOR:
        return cbor2.loads(response.content, semantic_decoders={1: lambda millis, _: millis / 1000})
    return response.json()


@pytest.mark.parametrize("content_type", [JSON, CBOR])
def test_a_record_goes_in_and_comes_out(endpoint: Endpoint, content_type: str) -> None:
    """Every byte value survives, in base64 or as a byte string; answers come in the request's protocol."""
    data = bytes(range(256))
    sent = data if content_type == CBOR else base64.b64encode(data).decode()
    assert call(endpoint, "CreateStream", {"StreamName": "s", "ShardCount": 1}, content_type).content == b""
    put = read(
        call(endpoint, "PutRecord", {"StreamName": "s", "PartitionKey": "k", "Data": sent}, content_type)
    )
    place = {"StreamName": "s", "ShardId": put["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = read(call(endpoint, "GetShardIterator", place, content_type))
    response = call(endpoint, "GetRecords", iterator, content_type)
    assert response.headers["content-type"] == content_type
    (record,) = read(response)["Records"]
    assert record["Data"] == sent
    assert record["SequenceNumber"] == put["SequenceNumber"]


def test_cbor_timestamps_are_tag_1_in_milliseconds(endpoint: Endpoint) -> None:
    """What the Java SDK expects: c1 and an integer of milliseconds, in both directions."""
    before = round(endpoint.clock.time() * 1000)
    call(endpoint, "CreateStream", {"StreamName": "s", "ShardCount": 1})
    body = call(endpoint, "DescribeStreamSummary", {"StreamName": "s"}, CBOR).content
    seen: list[int] = []
    cbor2.loads(body, semantic_decoders={1: lambda value, _: seen.append(value)})
    assert len(seen) == 1
    assert isinstance(seen[0], int)
    assert before <= seen[0] <= round(endpoint.clock.time() * 1000)
    at = {
        "StreamName": "s",
        "ShardId": "shardId-000000000000",
        "ShardIteratorType": "AT_TIMESTAMP",
        "Timestamp": cbor2.CBORTag(1, before),
    }
    assert call(endpoint, "GetShardIterator", at, CBOR).status_code == 200


@pytest.mark.parametrize("content_type", [JSON, CBOR])
def test_errors_have_aws_shape(endpoint: Endpoint, content_type: str) -> None:
    """Type and message in the body, the type and a request id in the headers."""
    response = call(endpoint, "DescribeStream", {"StreamName": "nowhere"}, content_type)
    assert response.status_code == 400
    assert response.headers["content-type"] == content_type
    assert response.headers["x-amzn-errortype"] == "ResourceNotFoundException"
    assert response.headers["x-amzn-requestid"]
    assert read(response) == {
        "__type": "ResourceNotFoundException",
        "message": "Stream nowhere under account 000000000000 not found.",
    }


@pytest.mark.parametrize(
    ("headers", "status", "error"),
    [
        ({"authorization": None}, 400, "MissingAuthenticationTokenException"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=a"}, 400, "IncompleteSignatureException"),
        ({"x-amz-date": None}, 400, "IncompleteSignatureException"),
        ({"x-amz-target": "Kinesis_20131202.Nonsense"}, 400, "UnknownOperationException"),
        ({"x-amz-target": "Kinesis_20131202."}, 400, "UnknownOperationException"),
        ({"x-amz-target": None}, 400, "UnknownOperationException"),
        ({"content-type": "text/plain"}, 404, "UnknownOperationException"),
    ],
)
def test_requests_that_are_not_in_order(
    endpoint: Endpoint, headers: dict[str, str | None], status: int, error: str
) -> None:
    """A missing signature, operation or content type is named as AWS names it."""
    merged = endpoint.headers("ListStreams") | headers
    sent = {name: value for name, value in merged.items() if value is not None}
    response = endpoint.http.post("/", headers=sent, content=b"{}")
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (status, error)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"null", b"\xff\xfe", b'{"Limit": "many"}', b"[" * 5000], ids=len
)
def test_bodies_that_are_no_request(endpoint: Endpoint, body: bytes) -> None:
    """A body that is not a JSON object of the right types is a SerializationException."""
    response = endpoint.http.post("/", headers=endpoint.headers("ListStreams"), content=body)
    assert (response.status_code, response.json()["__type"]) == (400, "SerializationException")


@pytest.mark.parametrize("body", [b"", b"\xbf", b"\x80", b"\xc1\x61x", b"\xd8", b"\x9f" * 5000], ids=len)
def test_cbor_bodies_that_are_no_request(endpoint: Endpoint, body: bytes) -> None:
    """The same in CBOR."""
    response = endpoint.http.post("/", headers=endpoint.headers("ListStreams", CBOR), content=body)
    assert (response.status_code, read(response)["__type"]) == (400, "SerializationException")


@pytest.mark.parametrize("key", [1, None, 2.5, True, b"k", (1, 2), "k" * 129], ids=repr)
def test_a_key_of_cbor_that_is_no_text_is_refused(endpoint: Endpoint, key: Any) -> None:
    """JSON has texts alone for keys, CBOR anything."""
    request = {"StreamName": "s", "Tags": {key: "value"}}
    assert call(endpoint, "AddTagsToStream", request, CBOR).status_code == 400


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300, -1e300], ids=str)
@pytest.mark.parametrize("content_type", [JSON, CBOR])
def test_numbers_that_are_none_or_beyond_all_are_refused(
    endpoint: Endpoint, kinesis: KinesisClient, value: float, content_type: str
) -> None:
    """Where a whole number or a time belongs: 400, and the next request is answered."""
    kinesis.create_stream(StreamName="s", ShardCount=1)
    place = {"StreamName": "s", "ShardId": "0", "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": value}
    for operation, request in (("ListStreams", {"Limit": value}), ("GetShardIterator", place)):
        encode = cbor2.dumps if content_type == CBOR else json.dumps
        body = encode(request)
        headers = endpoint.headers(operation, content_type)
        response = endpoint.http.post("/", headers=headers, content=body)
        assert response.status_code == 400, response.content
    assert call(endpoint, "ListStreams", {}, content_type).status_code == 200


async def test_a_request_without_end_is_refused(endpoint: Endpoint) -> None:
    """A body beyond what any operation takes gets a 413 and does not fill the memory."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": bytes(1_000_000), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in endpoint.headers("PutRecords").items()]
    await endpoint.app({"method": "POST", "query_string": b"", "headers": headers}, receive, send)
    assert sent[0]["status"] == 413
    assert b"RequestEntityTooLargeException" in sent[1]["body"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("abc", f"'abc' {NO_BLOB}: Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ("+/+=", f"'+/+=' {NO_BLOB}: Invalid last non-pad Base64 character dectected"),
        ("AAAAAB==", f"'AAAAAB==' {NO_BLOB}: Invalid last non-pad Base64 character dectected"),
        ("=+/=", "'=+/=' can not be converted to a Blob: Invalid Base64 character: '='"),
        ("AA=A", "'AA=A' can not be converted to a Blob: Invalid Base64 character: '='"),
        ("A===", "'A===' can not be converted to a Blob: Invalid Base64 character: '='"),
        ("AA-_", "'AA-_' can not be converted to a Blob: Invalid Base64 character: '-'"),
        ("AA\nA", "'AA\nA' can not be converted to a Blob: Invalid Base64 character: '\n'"),
        ("é" * 100, f"'{'é' * 100}' can not be converted to a Blob: Invalid Base64 character: 'é'"),
        (1, "NUMBER_VALUE can not be converted to a Blob"),
        ([], "Start of list found where not expected"),
        ({}, "Start of structure or map found where not expected."),
    ],
)
def test_data_that_is_no_base64(endpoint: Endpoint, data: Any, why: str) -> None:
    """What is wrong with a blob is said in AWS's words, of one record and of several, and nothing is kept."""
    call(endpoint, "CreateStream", {"StreamName": "s", "ShardCount": 1})
    record = {"PartitionKey": "k", "Data": data}
    for operation, request in (("PutRecord", record), ("PutRecords", {"Records": [record]})):
        response = call(endpoint, operation, {"StreamName": "s"} | request)
        assert (response.status_code, response.json()) == (
            400,
            {"__type": "SerializationException", "Message": why},
        )
    assert endpoint.engine.streams(Scope("000000000000", "eu-west-2"))[0].records == 0


@pytest.mark.parametrize(
    ("operation", "member", "value", "why"),
    [
        ("PutRecord", "StreamName", 3, "NUMBER_VALUE can not be converted to a String"),
        ("PutRecord", "StreamName", True, "TRUE_VALUE can not be converted to a String"),
        ("GetRecords", "Limit", "5", "STRING_VALUE can not be converted to an Integer"),
        ("DeleteStream", "EnforceConsumerDeletion", "yes", "STRING_VALUE can not be converted to a Boolean"),
        ("PutRecords", "Records", 1, "Expected list or null"),
        ("AddTagsToStream", "Tags", "a", "Expected map or null"),
    ],
)
@pytest.mark.parametrize("content_type", [JSON, CBOR])
def test_a_value_of_another_type(  # noqa: PLR0917 -- the columns of a table
    endpoint: Endpoint, operation: str, member: str, value: Any, why: str, content_type: str
) -> None:
    """AWS's words, under the name that it gives them in this error alone."""
    response = call(endpoint, operation, {member: value}, content_type)
    assert response.status_code == 400
    assert read(response) == {"__type": "SerializationException", "Message": why}


def test_streams_belong_to_the_account_and_region_of_the_signature(endpoint: Endpoint) -> None:
    """A 12-digit access key is an account of its own; another region sees other streams."""
    headers = endpoint.headers("CreateStream")
    there = headers["authorization"].replace("=test/", "=111122223333/").replace("eu-west-2", "us-west-1")
    endpoint.http.post(
        "/",
        headers=headers | {"authorization": there},
        content=b'{"StreamName":"s","ShardCount":1}',
    )
    assert read(call(endpoint, "ListStreams", {}))["StreamNames"] == []
    described = endpoint.http.post(
        "/",
        headers=endpoint.headers("DescribeStreamSummary") | {"authorization": there},
        content=b'{"StreamName":"s"}',
    ).json()
    arn = described["StreamDescriptionSummary"]["StreamARN"]
    assert arn == "arn:aws:kinesis:us-west-1:111122223333:stream/s"


_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_input_is_answered_with_a_500(endpoint: Endpoint, data: st.DataObject) -> None:
    """Whatever the members of whichever operation hold, the answer is AWS's 200 or 400."""
    name = data.draw(st.sampled_from(sorted(kinesis_model().operations)))
    shape = kinesis_model().operations[name].request
    members = sorted(kinesis_model().shapes[shape].members) if shape else []
    request = {
        member: data.draw(_JSON_VALUES) for member in data.draw(st.lists(st.sampled_from(members or ["x"])))
    }
    response = call(endpoint, name, request, data.draw(st.sampled_from([JSON, CBOR])))
    assert response.status_code in (200, 400), response.text


@given(
    data=st.binary(max_size=50),
    key=st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()),
    when=st.integers(0, 2**41),
)
def test_both_protocols_read_the_same_request(data: bytes, key: str, when: int) -> None:
    """A request means the same in JSON and in CBOR."""
    json_body = msgspec.json.encode({"StreamName": "s", "Data": data, "PartitionKey": key, "None": None})
    cbor_body = cbor2.dumps({"StreamName": "s", "Data": data, "PartitionKey": key})
    expected = {"StreamName": "s", "Data": data, "PartitionKey": key}
    assert Json11().read(json_body, "PutRecordInput") == expected
    assert Cbor11().read(cbor_body, "PutRecordInput") == expected
    at = {"ShardId": "x", "Timestamp": when / 1000}
    assert Json11().read(msgspec.json.encode(at), "GetShardIteratorInput") == at
    tagged = {"ShardId": "x", "Timestamp": cbor2.CBORTag(1, when)}
    assert Cbor11().read(cbor2.dumps(tagged), "GetShardIteratorInput") == at
