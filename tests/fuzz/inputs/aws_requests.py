"""Requests to the AWS port in the protocols of its services, and the answers that a relay reads."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any, Final, cast
from zlib import crc32

import cbor2
import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, Scope
from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws import eventstream
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.aws_chunked import ChunkError, Unframing
from emulator.listeners.aws.credentials import DEFAULT_ACCOUNT
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.listeners.aws.service_model import kinesis_model
from emulator.relay.aws.relay_backend import _read_events
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals
from tests.fuzz.inputs.port_requests import request, stay_on_this_machine
from tests.fuzz.memory_transport import ByteLoop

_SIGNED: Final = (
    b"AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-2/%b/aws4_request, SignedHeaders=host, Signature=0"
)
_OPERATIONS: Final = sorted(kinesis_model().operations)
_SCOPE: Final = Scope(DEFAULT_ACCOUNT, "eu-west-2")
_STREAM: Final = {"StreamName": "input"}
_REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "PutRecord": {**_STREAM, "PartitionKey": "k", "Data": b"data", "ExplicitHashKey": "0"},
    "PutRecords": {**_STREAM, "Records": [{"PartitionKey": "k", "Data": b"data"}] * 2},
    "GetShardIterator": {
        **_STREAM,
        "ShardId": "shardId-000000000000",
        "ShardIteratorType": "AT_TIMESTAMP",
        "Timestamp": 1.5,
    },
    "GetRecords": {"ShardIterator": "AAAA", "Limit": 10},
    "ListShards": {**_STREAM, "ShardFilter": {"Type": "AT_LATEST"}, "MaxResults": 5},
    "SplitShard": {**_STREAM, "ShardToSplit": "shardId-000000000000", "NewStartingHashKey": "10"},
    "TagResource": {"ResourceARN": "arn:aws:kinesis:us-east-1:000000000000:stream/input", "Tags": {"a": "b"}},
    "RegisterStreamConsumer": {
        "StreamARN": "arn:aws:kinesis:eu-west-2:000000000000:stream/input",
        "ConsumerName": "c",
    },
    "CreateStream": {
        "StreamName": "other",
        "ShardCount": 1,
        "StreamModeDetails": {"StreamMode": "PROVISIONED"},
    },
}


def _headers(service: bytes, content_type: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"host", b"localhost"),
        (b"authorization", _SIGNED % service),
        (b"x-amz-date", b"20260101T000000Z"),
        (b"content-type", content_type),
    ]


def _open_app(events: Events) -> tuple[AwsApp, Engine, Clock]:
    clock = Clock(frozen_at=1_800_000_000.0)
    engine = Engine(None, clock, events)
    return AwsApp(EngineBackend(engine, clock), events), engine, clock


def _open_kinesis(content_type: bytes) -> Parse:
    """The first byte of an input chooses an operation, and the rest is its body."""
    loop = ByteLoop()
    events = Events(Clock(), keep=10)
    loop.watch(events)
    app, engine, clock = _open_app(events)
    headers = _headers(b"kinesis", content_type)

    def ask(operation: str, body: bytes) -> None:
        target = f"Kinesis_20131202.{operation}".encode()
        loop.run(request(app, "POST", "/", body, target, headers=headers))

    def parse(data: bytes) -> None:
        if not engine.names(_SCOPE):
            engine.call("CreateStream", {"StreamName": "input", "ShardCount": 2}, _SCOPE)
            clock.advance(60)
        ask(_OPERATIONS[data[0] % len(_OPERATIONS)] if data else "", data[1:])
        views = engine.streams(_SCOPE)
        if len(views) > 1 or any(view.shards[2:] for view in views):
            for name in engine.names(_SCOPE):
                engine.call("DeleteStream", {"StreamName": name, "EnforceConsumerDeletion": True}, _SCOPE)
            clock.advance(60)

    return parse


def _kinesis_seeds(write: Any) -> Iterable[tuple[str, bytes]]:
    for operation, asked in _REQUESTS.items():
        yield operation, bytes((_OPERATIONS.index(operation),)) + write(asked)


def _open_forms() -> Parse:
    """A line with a service, a target and the name of an operation; then a form, JSON or XML."""
    stay_on_this_machine()
    loop = ByteLoop()
    events = Events(Clock(), keep=10)
    app, *_ = _open_app(events)

    def parse(data: bytes) -> None:
        head, _, body = data.partition(b"\n")
        service, _, rest = head.partition(b" ")
        target, _, operation = rest.partition(b" ")
        if service not in _SERVICES:
            return
        kind = b"application/x-amz-json-1.0" if operation else b"application/x-www-form-urlencoded"
        method = "PUT" if service == b"s3" else "POST"
        loop.run(
            request(app, method, target.decode("latin-1"), body, operation, headers=_headers(service, kind))
        )

    return parse


_SERVICES: Final = (b"sqs", b"sns", b"cloudformation", b"s3", b"dynamodb", b"sts", b"ssm", b"monitoring")


def _form_seeds() -> Iterable[tuple[str, bytes]]:
    yield (
        "sqs-form",
        b"sqs /\nAction=CreateQueue&QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1",
    )
    yield "sqs-json", b'sqs / AmazonSQS.SendMessage\n{"QueueUrl": "http://localhost/0/q", "MessageBody": "b"}'
    yield (
        "sns",
        b"sns /\nAction=Subscribe&TopicArn=arn%3Aaws%3Asns%3Aeu-west-2%3A0%3At&Protocol=sqs&Endpoint=e",
    )
    yield (
        "sns-url",
        b"sns /\nAction=Subscribe&TopicArn=t&Protocol=http&Endpoint=http%3A%2F%2Flocalhost%3A1%2F",
    )
    template = b'{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}}}}'
    yield "stack", b"cloudformation /\nAction=CreateStack&StackName=s&TemplateBody=" + template
    yield (
        "s3-tags",
        b"s3 /b/k?tagging\n<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>",
    )
    yield (
        "s3-bucket",
        b"s3 /b\n<CreateBucketConfiguration><LocationConstraint>eu-west-2</LocationConstraint></CreateBucketConfiguration>",
    )
    yield "dynamodb", b'dynamodb / DynamoDB_20120810.PutItem\n{"TableName": "t", "Item": {"a": {"S": "b"}}}'
    yield "sts", b"sts /\nAction=GetCallerIdentity&Version=2011-06-15"
    yield "ssm", b'ssm / AmazonSSM.PutParameter\n{"Name": "/a", "Value": "b", "Type": "String"}'
    yield "cloudwatch", b"monitoring /\nAction=PutMetricData&Namespace=n&MetricData.member.1.MetricName=m"


class _Reply:
    """An upstream's answer whose body is the input, in two pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def pieces(self) -> AsyncIterator[bytes]:
        yield self._data[: len(self._data) // 2]
        yield self._data[len(self._data) // 2 :]

    def abandon(self) -> None:
        """Do nothing."""


def _open_event_stream() -> Parse:
    """The frames that an upstream sends for SubscribeToShard, in half of the inputs with right checksums."""
    loop = ByteLoop()

    async def read(data: bytes) -> None:
        async for _ in _read_events(cast("Any", _Reply(data))):
            pass

    def parse(data: bytes) -> None:
        with refusals(KinesisError):
            loop.run(read(_set_right(data[1:]) if data[:1] > b"\x7f" else data[1:]))

    return parse


def _set_right(data: bytes) -> bytes:
    """The frames in ``data`` with the checksums that they should have."""
    whole, at = bytearray(data), 0
    while at + 16 <= len(whole):
        length = int.from_bytes(whole[at : at + 4], "big")
        whole[at + 8 : at + 12] = struct.pack(">I", crc32(whole[at : at + 8]))
        end = at + length
        if not 16 <= length <= len(whole) - at:
            break
        whole[end - 4 : end] = struct.pack(">I", crc32(whole[at : end - 4]))
        at = end
    return bytes(whole)


def _event_stream_seeds() -> Iterable[tuple[str, bytes]]:
    kind = b"application/x-amz-json-1.1"
    event = msgspec.json.encode({"Records": [], "ContinuationSequenceNumber": "1", "MillisBehindLatest": 0})
    begun = eventstream.event("initial-response", kind, b"{}")
    yield "events", b"\xff" + begun + eventstream.event("SubscribeToShardEvent", kind, event)
    yield (
        "exception",
        b"\xff" + begun + eventstream.exception("ResourceInUseException", kind, b'{"message": "m"}'),
    )
    yield "as-sent", b"\0" + begun


def _open_chunks() -> Parse:
    def parse(data: bytes) -> None:
        unframing = Unframing()
        at = len(data) // 3
        with refusals(ChunkError):
            unframing.data(data[:at])
            unframing.data(data[at:])
            unframing.end()
        assert isinstance(unframing.trailers, dict)

    return parse


def _chunk_seeds() -> Iterable[tuple[str, bytes]]:
    signature = b";chunk-signature=" + b"0" * 64 + b"\r\n"
    yield "signed", b"5" + signature + b"hello\r\n0" + signature + b"\r\n"
    yield "trailer", b"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"


KINESIS_JSON = FuzzedParser(
    "bodies of Kinesis in JSON",
    partial(_open_kinesis, b"application/x-amz-json-1.1"),
    partial(_kinesis_seeds, msgspec.json.encode),
)
KINESIS_CBOR = FuzzedParser(
    "bodies of Kinesis in CBOR",
    partial(_open_kinesis, b"application/x-amz-cbor-1.1"),
    partial(_kinesis_seeds, cbor2.dumps),
)
AWS_FORMS = FuzzedParser("forms, JSON and XML of the services of moto", _open_forms, _form_seeds)
EVENT_STREAM = FuzzedParser(
    "an upstream's answer to SubscribeToShard", _open_event_stream, _event_stream_seeds
)
AWS_CHUNKED = FuzzedParser("the aws-chunked bodies of S3", _open_chunks, _chunk_seeds)
